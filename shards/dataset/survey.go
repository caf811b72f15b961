package dataset

import (
	"context"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/labels"
	"hgld/shards"
)

// Survey counts the images of a data set, without opening one.
type Survey struct {
	// Levels names the levels, finest first.
	Levels []string
	// Images counts the images of each split.
	Images map[labels.Split]int

	classes map[labels.Split]map[string]int // images of each finest class
}

// NewSurvey counts the items of a source. Images without a finest class count as images of
// their split alone.
func NewSurvey(ctx context.Context, src shards.Source) (*Survey, error) {
	s := &Survey{Levels: src.Levels(), Images: map[labels.Split]int{}, classes: map[labels.Split]map[string]int{}}
	for item, err := range src.Items(ctx) {
		if err != nil {
			return nil, err
		}
		s.Images[item.Split]++
		if len(item.Names) == 0 || item.Names[0] == "" {
			continue
		}
		if s.classes[item.Split] == nil {
			s.classes[item.Split] = map[string]int{}
		}
		s.classes[item.Split][item.Names[0]]++
	}
	return s, nil
}

// Classes counts the finest classes that have at least so many images in a split.
func (s *Survey) Classes(split labels.Split, images int) int {
	n := 0
	for _, has := range s.classes[split] {
		if has >= images {
			n++
		}
	}
	return n
}

// Sure returns how many classes of the training split have at least so many images, whichever
// share of all its classes is held out.
func (s *Survey) Sure(images int, held float64) int {
	all := s.Classes(labels.Train, 1)
	return s.Classes(labels.Train, images) - int(math.Ceil(held*float64(all)))
}

// Test returns the splits to evaluate: the queries and, unless they rank one another, the
// gallery. Both are "" if all images are for training.
func (s *Survey) Test() (query, gallery labels.Split) {
	has := func(split labels.Split) bool { return s.Images[split] > 0 }
	switch {
	case has(labels.Query) && has(labels.Gallery):
		return labels.Query, labels.Gallery
	case has(labels.Test) && has(labels.Index):
		return labels.Test, labels.Index
	}
	for _, split := range []labels.Split{labels.Test, labels.Val, labels.Query, labels.Index, labels.Gallery} {
		if has(split) {
			return split, ""
		}
	}
	return "", ""
}

// Kind returns the importer for images that only their path describes: csv for a table, parquet for
// a Parquet file or a folder with some, and folder for another folder or an archive.
func Kind(input string) string {
	info, err := os.Stat(input)
	switch {
	case err == nil && info.IsDir():
		if holdsParquet(input) {
			return "parquet"
		}
	case strings.EqualFold(filepath.Ext(input), ".csv"):
		return "csv"
	case isParquet(input):
		return "parquet"
	}
	return "folder"
}

// holdsParquet reports whether a Parquet file lies at the top of a folder or in a folder there, as
// in those that the Hub serves.
func holdsParquet(folder string) bool {
	for _, pattern := range []string{"*.parquet", "*/*.parquet"} {
		if found, err := fs.Glob(os.DirFS(folder), pattern); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// FirstImage returns an image in a folder that is no data set yet, "" if there is none among its
// first files.
func FirstImage(folder string) string {
	const looked = 1000
	if info, err := os.Stat(folder); err != nil || !info.IsDir() || shards.IsDataSet(folder) {
		return ""
	}
	image, seen := "", 0
	filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // what cannot be read holds no image
		seen++
		if err == nil && !d.IsDir() && (isImage(path) || slices.Contains(phones, strings.ToLower(filepath.Ext(path)))) {
			image = path
		}
		if image != "" || seen > looked {
			return fs.SkipAll
		}
		return nil
	})
	return image
}

// Within reports whether a path lies in a folder, or is that folder. It returns false if there
// is no such folder. Links in either path are followed as far as the path exists.
func Within(folder, path string) (bool, error) {
	if info, err := os.Stat(folder); folder == "" || err != nil || !info.IsDir() {
		return false, nil
	}
	from, err := resolved(folder)
	if err != nil {
		return false, err
	}
	to, err := resolved(path)
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(from, to)
	return err == nil && filepath.IsLocal(rel), nil
}

// resolved returns the absolute form of a path, with the links of its existing part followed.
func resolved(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	missing := ""
	for at := abs; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, missing), nil
		}
		if at == filepath.Dir(at) {
			return abs, nil
		}
		missing = filepath.Join(filepath.Base(at), missing)
	}
}
