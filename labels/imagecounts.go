package labels

import (
	"fmt"
	"io"
	"strings"
)

// ReadImageCounts counts the images of each landmark in one of GLDv2's image lists: one
// row per image (train.csv id,url,landmark_id; index_image_to_landmark.csv
// id,landmark_id) or one row per landmark (train_clean.csv landmark_id,images, with
// spaces between the images). The split is determined as in ParseCSV.
func ReadImageCounts(r io.Reader, name string, o ReadOptions) (map[LandmarkKey]int, error) {
	s, err := readSheet(r, name)
	if err != nil {
		return nil, err
	}
	images := s.column("images")
	if s.column("landmark_id") < 0 || images < 0 && s.column("id") < 0 && s.column("image_id") < 0 {
		return nil, fmt.Errorf("%s:1: got %s; want id,landmark_id (one row per image) or landmark_id,images (one row per "+
			"landmark)", name, s.headers())
	}
	split, err := splitOf(s, o)
	if err != nil {
		return nil, err
	}
	counts := map[LandmarkKey]int{}
	for i := range s.rows {
		key, err := s.landmark(i, split)
		if err != nil {
			return nil, err
		}
		n := 1
		if images >= 0 {
			n = len(strings.Fields(s.rows[i].fields[images]))
		}
		counts[key] += n
	}
	return counts, nil
}
