package dataset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/classes"
	"hgld/internal/csvfile"
	"hgld/internal/regular"
)

// rowsRead is how many rows of a table ImageFolders reads: enough to meet every folder, and
// few enough to answer at once.
const rowsRead = 10_000

// ImageFolders returns the folders beside a CSV that hold its images: those with which the
// paths in its first rows begin. column names the column of paths; "" means one of the usual names. Images in
// the CSV's own folder cannot be told from other files there. It returns none for a CSV that
// is missing or malformed, and an error if the CSV cannot be read.
func ImageFolders(table, column string) ([]string, error) {
	f, err := regular.Open(table)
	if atomicfile.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return nil, err
	}
	rows := csvfile.NewReader(f)
	rows.Ragged()
	head, err := rows.Read()
	if err != nil {
		return nil, readError(err)
	}
	usual := classes.Paths
	if column != "" {
		usual = []string{column}
	}
	at := classes.Column(head, usual...)
	if at < 0 {
		return nil, nil
	}
	var folders []string
	for range rowsRead {
		row, err := rows.Read()
		if err != nil {
			return slices.Sorted(slices.Values(folders)), readError(err)
		}
		if at >= len(row) {
			continue
		}
		top, _, inFolder := strings.Cut(strings.ReplaceAll(row[at], `\`, "/"), "/")
		folder := filepath.Join(filepath.Dir(table), top)
		if !inFolder || !filepath.IsLocal(top) || top == "." || slices.Contains(folders, folder) {
			continue
		}
		info, err := os.Stat(folder)
		switch {
		case err != nil && !atomicfile.IsMissing(err):
			return nil, err
		case err == nil && info.IsDir():
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	return folders, nil
}

// readError is an error if it comes from reading a file, and nil if it is about what was read.
func readError(err error) error {
	if errors.As(err, new(*fs.PathError)) {
		return err
	}
	return nil
}
