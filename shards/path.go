package shards

import (
	"context"
	"fmt"

	"hgld/labels"
)

// SplitOf returns the split of row i.
func (v *View) SplitOf(i int) labels.Split {
	sh, _ := v.at(i)
	return sh.file.Split
}

// Path returns the path of the image of row i, as the input had it. It reads no image and does
// not compare the shard with its checksum, so that a few rows of a large set take no time.
func (v *View) Path(ctx context.Context, i int) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	sh, at := v.at(i)
	row, err := v.rowAlone(ctx, sh, at)
	if err != nil {
		return "", fmt.Errorf("shards: %w", err)
	}
	return row.Path, nil
}

// rowAlone reads a row without its image.
func (v *View) rowAlone(ctx context.Context, sh *shard, at int) (*Row, error) {
	f, err := sh.open()
	if err != nil {
		return nil, err
	}
	r, err := v.set.rowsOf(ctx, sh, f, false)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Row(at)
}
