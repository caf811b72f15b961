package classes

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/csvfile"
)

// Paths are the usual names of a column of paths of images.
var Paths = []string{"path", "file_name", "filename", "file", "filepath", "file_path", "image", "image_path"}

// describing are the names of columns that describe an image, besides Paths.
var describing = []string{"url", "split", "x_1", "x_2", "y_1", "y_2", "width", "height", "sha256", "md5"}

// Describes reports whether a column of this name describes an image, and is no level unless it is named as one.
func Describes(column string) bool {
	same := func(known string) bool { return strings.EqualFold(known, column) }
	return slices.ContainsFunc(Paths, same) || slices.ContainsFunc(describing, same)
}

// ReadHeading reads the heading of a table: the names of its columns, without white space around them.
func ReadHeading(r *csvfile.Reader) ([]string, error) {
	row, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty; want a heading and rows")
	}
	if err != nil {
		return nil, err
	}
	heading := make([]string, len(row))
	for k, name := range row {
		if name = strings.TrimSpace(name); name != "" && slices.Contains(heading, name) {
			return nil, &csvfile.Error{Line: r.Line(), Err: fmt.Errorf("column %.80q occurs twice; want different names", name)}
		}
		heading[k] = name
	}
	return heading, nil
}

// Column returns the column of the first of the names that a heading has, exactly or else in another case; −1 if it
// has none.
func Column(heading []string, names ...string) int {
	for _, name := range names {
		if k := slices.Index(heading, name); k >= 0 {
			return k
		}
		if k := slices.IndexFunc(heading, func(h string) bool { return strings.EqualFold(h, name) }); k >= 0 {
			return k
		}
	}
	return -1
}

// Numbered returns the columns level_0, level_1 … of a heading.
func Numbered(heading []string) (levels []string) {
	for slices.Contains(heading, "level_"+strconv.Itoa(len(levels))) {
		levels = append(levels, "level_"+strconv.Itoa(len(levels)))
	}
	return levels
}
