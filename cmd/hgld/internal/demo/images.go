package demo

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image/jpeg"
	"os"
	"path/filepath"
	"strconv"

	"hgld/internal/atomicfile"
	"hgld/internal/testing/sketch"
)

const (
	views       = 8  // pictures per landmark
	pictureSize = 40 // side length in pixels
)

// drawLandmarks draws the pictures of every landmark that has a form. It also writes
// images.csv with path, split and landmark id.
func drawLandmarks(dir string, w *world) (pictures int, err error) {
	if err := atomicfile.MkdirAll(filepath.Join(dir, "images"), 0o755); err != nil {
		return 0, err
	}
	var table bytes.Buffer
	rows := csv.NewWriter(&table)
	if err := rows.Write([]string{"path", "split", "landmark_id"}); err != nil {
		return 0, err
	}
	for _, l := range w.landmarks {
		if l.group < 0 {
			continue
		}
		for view := range views {
			name := fmt.Sprintf("%04d_%d.jpg", l.id, view)
			var data bytes.Buffer
			picture := sketch.Picture(w.groups[l.group].form, l.id, view, pictureSize)
			if err := jpeg.Encode(&data, picture, &jpeg.Options{Quality: 90}); err != nil {
				return 0, err
			}
			if err := os.WriteFile(filepath.Join(dir, "images", name), data.Bytes(), 0o644); err != nil {
				return 0, err
			}
			if err := rows.Write([]string{"images/" + name, "train", strconv.Itoa(l.id)}); err != nil {
				return 0, err
			}
			pictures++
		}
	}
	rows.Flush()
	if err := rows.Error(); err != nil {
		return 0, err
	}
	return pictures, os.WriteFile(filepath.Join(dir, "images.csv"), table.Bytes(), 0o644)
}
