package scrape

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/filehash"
	"hgld/internal/regular"
	"hgld/labels"
)

// CategoriesError reports a category file that a crawl cannot use.
type CategoriesError struct {
	Path string // of the file
	What string // what is wrong with it

	// Twice is set if a landmark is in two files. Otherwise no landmark has a category.
	Twice bool
}

// Error names the file and what is wrong.
func (e *CategoriesError) Error() string { return e.Path + ": " + e.What }

// ReadCategories reads landmarks and their categories from label files of any form that has
// categories, such as GLDv2's train_label_to_category.csv. split is that of the landmarks whose
// file names none. It returns the error of reading a file, an error of package labels, or a
// *CategoriesError.
func ReadCategories(paths []string, split labels.Split) (Input, error) {
	input := Input{Name: strings.Join(paths, ", ")}
	from := map[labels.LandmarkKey]string{}
	var sums []string
	for _, path := range paths {
		data, err := regular.ReadFile(path)
		if err != nil {
			return input, err
		}
		landmarks, err := parseCategories(data, path, split)
		if other := (*labels.SplitAskedError)(nil); len(paths) > 1 && errors.As(err, &other) {
			landmarks, err = parseCategories(data, path, "") // split is for the files that name none
		}
		if err != nil {
			return input, err
		}
		for _, l := range landmarks {
			key := labels.LandmarkKey{Split: l.Split, Landmark: l.ID}
			if first, twice := from[key]; twice {
				return input, &CategoriesError{Path: path, Twice: true,
					What: fmt.Sprintf("%s landmark %d is already in %s", l.Split, l.ID, first)}
			}
			from[key] = path
		}
		input.Landmarks = append(input.Landmarks, landmarks...)
		sums = append(sums, filehash.Text(data))
	}
	input.SHA256 = strings.Join(sums, " ")
	return input, nil
}

// parseCategories reads one file.
func parseCategories(data []byte, path string, split labels.Split) ([]Landmark, error) {
	table, err := labels.ParseCSV(bytes.NewReader(data), path, labels.ReadOptions{Split: split})
	if err != nil {
		return nil, err
	}
	var list []Landmark
	for _, l := range table.Rows {
		list = append(list, Landmark{ID: l.Landmark, Split: l.Split, Category: l.Category})
	}
	if !slices.ContainsFunc(list, func(l Landmark) bool { return l.Category != "" }) {
		return nil, &CategoriesError{Path: path, What: "no landmark has a category"}
	}
	return list, nil
}
