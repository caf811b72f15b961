package dataset

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"hgld/internal/regular"
	"hgld/shards"
)

// Without leaves out the items of a source that a text file lists, one image id or path per line. Blank lines and
// lines that begin with # say nothing. If the source ends and has none of the images, the last item is an error.
func Without(ctx context.Context, src shards.Source, file string) (*Excluding, error) {
	w := &Excluding{Source: src, file: file, listed: map[string]bool{}}
	f, err := regular.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line != "" && !strings.HasPrefix(line, "#") {
			w.listed[line] = true
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if w.input, err = FileInput(ctx, file); err != nil {
		return nil, err
	}
	return w, nil
}

// Excluding is a source without the images of a list.
type Excluding struct {
	shards.Source
	file    string
	input   shards.Input
	listed  map[string]bool
	unknown int
}

// Unknown returns how many images of the list the items did not have, once all were listed. They may have other
// names here.
func (w *Excluding) Unknown() int { return w.unknown }

// Items yields the items that are not listed.
func (w *Excluding) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		met := map[string]bool{}
		for item, err := range w.Source.Items(ctx) {
			path, id := item.Path, item.ID.String()
			if err == nil && (w.listed[path] || w.listed[id]) {
				for _, name := range []string{path, id} {
					if w.listed[name] {
						met[name] = true
					}
				}
				continue
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
		if w.unknown = len(w.listed) - len(met); len(met) == 0 && len(w.listed) > 0 {
			yield(shards.Item{}, fmt.Errorf("%s lists %d images, and the data set has none of them; want ids of 16 "+
				"hexadecimal digits, or paths", filepath.Base(w.file), len(w.listed)))
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
