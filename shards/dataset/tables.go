package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/csvfile"
	"hgld/internal/parquetfile"
	"hgld/internal/regular"
)

// openTable opens a table: of text, which may be compressed by gzip or lack a heading, of JSON lines, or a Parquet
// file. The caller closes the file.
func openTable(name string) (io.Closer, *csvfile.Reader, error) {
	if isParquet(name) {
		return openParquetTable(name)
	}
	f, err := regular.Open(name)
	if err != nil {
		return nil, nil, err
	}
	in, bare := io.Reader(f), withoutGzip(name)
	if bare != name {
		if in, err = gzip.NewReader(f); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: it is not compressed by gzip: %w", filepath.Base(name), err), f.Close())
		}
	}
	switch strings.ToLower(filepath.Ext(bare)) {
	case ".jsonl", ".ndjson":
		r, err := jsonLines(in)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: %w", filepath.Base(name), err), f.Close())
		}
		return f, r, nil
	}
	return f, headed(in), nil
}

// withoutGzip returns a name without .gz, which is spelled in any case.
func withoutGzip(name string) string {
	if ext := filepath.Ext(name); strings.EqualFold(ext, ".gz") {
		return strings.TrimSuffix(name, ext)
	}
	return name
}

// headed returns a reader of a table of text. A list whose first line is the path of an image and a class, as in the
// lists of ImageNet and Caffe, has no heading.
func headed(in io.Reader) *csvfile.Reader {
	const looked = 4096
	r := bufio.NewReaderSize(in, looked)
	head, _ := r.Peek(looked)
	line, _, _ := strings.Cut(strings.TrimPrefix(string(head), "\ufeff"), "\n")
	for _, separator := range " ,;\t" {
		if cells := strings.Split(strings.TrimRight(line, "\r"), string(separator)); len(cells) == 2 && isImage(cells[0]) &&
			!isImage(cells[1]) && !strings.ContainsAny(cells[1], csvfile.Separators) {
			return csvfile.Unheaded(r, separator, "path", "label")
		}
	}
	return csvfile.NewReader(r)
}

// jsonLines reads a table with an object in each line. A value that is no text, number or truth value stays JSON.
func jsonLines(in io.Reader) (*csvfile.Reader, error) {
	type object struct {
		cells map[string]string
		line  int
	}
	var rows []object
	columns := map[string]bool{}
	lines := bufio.NewScanner(csvfile.Text(in))
	lines.Buffer(nil, longestText)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		d := json.NewDecoder(strings.NewReader(strictJSON(lines.Text())))
		d.UseNumber()
		values := map[string]any{}
		if err := d.Decode(&values); err != nil {
			return nil, fmt.Errorf("line %d: %w; want an object of JSON in each line", n, err)
		}
		row := object{map[string]string{}, n}
		for column, value := range values {
			columns[column] = true
			if text, err := classText(value); err == nil {
				row.cells[column] = text
			} else if text, err := json.Marshal(value); err == nil {
				row.cells[column] = string(text)
			}
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", len(rows)+1, err)
	}
	heading, at := slices.Sorted(maps.Keys(columns)), -1
	return csvfile.Rows(func() ([]string, int, error) {
		if at++; at == 0 {
			return heading, 1, nil
		}
		if at > len(rows) {
			return nil, 0, io.EOF
		}
		var cells []string
		for _, column := range heading {
			cells = append(cells, rows[at-1].cells[column])
		}
		return cells, rows[at-1].line, nil
	}), nil
}

// openParquetTable reads the columns of texts and numbers.
func openParquetTable(name string) (io.Closer, *csvfile.Reader, error) {
	f, err := parquetfile.Open(name)
	if err != nil {
		return nil, nil, err
	}
	var heading []string
	var columns [][]string
	for _, leaf := range f.Leaves() {
		if !isClass(leaf) {
			continue
		}
		cells, err := f.Texts(leaf)
		if err != nil {
			continue // numbers such as 0.5 are no class, and other columns describe the images
		}
		heading, columns = append(heading, leaf.Name), append(columns, cells)
	}
	if len(columns) == 0 {
		err := fmt.Errorf("%s has no columns of texts or whole numbers", filepath.Base(name))
		return nil, nil, errors.Join(err, f.Close())
	}
	row := -1
	return f, csvfile.Rows(func() ([]string, int, error) {
		if row++; row == 0 {
			return heading, 0, nil
		}
		if row > len(columns[0]) {
			return nil, 0, io.EOF
		}
		var cells []string
		for _, column := range columns {
			cells = append(cells, column[row-1])
		}
		return cells, row, nil
	}), nil
}
