package main

import (
	"cmp"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// looked is how many rows of a table of images are looked at for their folders:
// enough to meet all of them, and few enough for status to stay instant.
const looked = 10_000

// imageFolders are the folders with the images of a CSV that lie beside it: those
// that the paths in its first rows begin with. Images in the very folder of the CSV
// are not told from what else is there, and a CSV that cannot be read names none.
func (s *shardsSettings) imageFolders() []string {
	if s.Dataset != "csv" || s.Images != "" {
		return nil
	}
	f, err := os.Open(s.Input)
	if err != nil {
		return nil
	}
	defer f.Close()
	rows := csv.NewReader(f)
	rows.FieldsPerRecord = -1
	head, err := rows.Read()
	if err != nil {
		return nil
	}
	head[0] = strings.TrimPrefix(head[0], "\ufeff")
	name := s.Columns.Path
	if name == "" {
		name = "path"
	}
	at := slices.Index(head, name)
	if at < 0 {
		return nil
	}
	var folders []string
	for range looked {
		row, err := rows.Read()
		if err != nil {
			break
		}
		if at >= len(row) {
			continue
		}
		top, _, inFolder := strings.Cut(row[at], "/")
		folder := filepath.Join(filepath.Dir(s.Input), top)
		if !inFolder || !filepath.IsLocal(top) || top == "." || slices.Contains(folders, folder) {
			continue
		}
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	return folders
}

// weights is the file or the run that the training starts from. A run that has a
// checkpoint goes on without it.
func (s *trainSettings) weights() string {
	path := cmp.Or(s.Model.Weights, s.From)
	if len(missing([]string{path})) > 0 && len(runFiles(s.Out)) > 0 {
		return ""
	}
	return path
}
