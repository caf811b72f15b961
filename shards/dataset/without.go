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
func Without(ctx context.Context, src shards.Source, file string) (shards.Source, error) {
	w := &excluding{Source: src, file: file, listed: map[string]bool{}}
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

type excluding struct {
	shards.Source
	file   string
	input  shards.Input
	listed map[string]bool
}

// Items yields the items that are not listed.
func (w *excluding) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		left := 0
		for item, err := range w.Source.Items(ctx) {
			if err == nil && (w.listed[item.Path] || w.listed[item.ID.String()]) {
				left++
				continue
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
		if left == 0 && len(w.listed) > 0 {
			yield(shards.Item{}, fmt.Errorf("%s lists %d images, and the data set has none of them; want ids of 16 "+
				"hexadecimal digits, or paths", filepath.Base(w.file), len(w.listed)))
		}
	}
}

// Inputs adds the list.
func (w *excluding) Inputs(ctx context.Context, wanted func(int) bool) ([]shards.Input, error) {
	all, err := w.Source.Inputs(ctx, wanted)
	in := shards.Input{}
	if wanted(len(all)) {
		in = w.input
	}
	return append(all, in), err
}
