package dataset

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/csvfile"
	"hgld/internal/regular"
	"hgld/shards"
)

// Without leaves out the items of a source that a text file lists, one image id or path per line, or that a table with
// the columns id, path or both names. Blank lines, and of a list those that begin with #, say nothing. If the source
// ends and has none of the images, the last item is an error.
func Without(ctx context.Context, src shards.Source, file string) (*Excluding, error) {
	w := &Excluding{Source: src, file: file, listed: map[string]int{}}
	text, err := regular.ReadFile(file)
	if err != nil {
		return nil, err
	}
	list := w.lines
	if head, err := csvfile.NewReader(bytes.NewReader(text)).Read(); err == nil && len(head) > 1 &&
		(slices.Contains(head, "id") || slices.Contains(head, "path")) {
		list = w.table
	}
	if err := list(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if w.input, err = FileInput(ctx, file); err != nil {
		return nil, err
	}
	return w, nil
}

// lines reads a list.
func (w *Excluding) lines(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line != "" && !strings.HasPrefix(line, "#") {
			w.list(line)
		}
	}
	return lines.Err()
}

// table reads the columns id and path of a table.
func (w *Excluding) table(r io.Reader) error {
	t := csvfile.NewReader(r)
	head, err := t.Read()
	for err == nil {
		var row []string
		if row, err = t.Read(); err == nil {
			var names []string
			for i, name := range head {
				if (name == "id" || name == "path") && row[i] != "" {
					names = append(names, row[i])
				}
			}
			w.list(names...)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// list notes the names of one image.
func (w *Excluding) list(names ...string) {
	known := len(w.listed)
	for _, name := range names {
		if _, has := w.listed[name]; !has {
			w.listed[name] = w.images
		}
	}
	if len(w.listed) > known {
		w.images++
	}
}

// Excluding is a source without the images of a list.
type Excluding struct {
	shards.Source
	file    string
	input   shards.Input
	listed  map[string]int // the image of a name
	images  int
	unknown int
}

// Unknown returns how many images of the list the items did not have, once all were listed. They may have other
// names here.
func (w *Excluding) Unknown() int { return w.unknown }

// Items yields the items that are not listed.
func (w *Excluding) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		met := map[int]bool{}
		for item, err := range w.Source.Items(ctx) {
			path, byPath := w.listed[item.Path]
			id, byID := w.listed[item.ID.String()]
			if byPath && err == nil {
				met[path] = true
			}
			if byID && err == nil {
				met[id] = true
			}
			if err == nil && (byPath || byID) {
				continue
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
		if w.unknown = w.images - len(met); len(met) == 0 && w.images > 0 {
			yield(shards.Item{}, fmt.Errorf("%s lists %d images, and the data set has none of them; want ids of 16 "+
				"hexadecimal digits, or paths", filepath.Base(w.file), w.images))
		}
	}
}

// Inputs adds the list.
func (w *Excluding) Inputs(ctx context.Context, wanted func(int) bool) ([]shards.Input, error) {
	all, err := w.Source.Inputs(ctx, wanted)
	in := shards.Input{}
	if wanted(len(all)) {
		in = w.input
	}
	return append(all, in), err
}
