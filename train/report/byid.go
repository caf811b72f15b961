package report

import (
	"context"
	"fmt"

	"hgld/train/input"
)

// ImagesByID returns a function that finds the image of an id.
func ImagesByID(d input.Dataset) func(ctx context.Context, id string) ([]byte, error) {
	rows := make(map[string]int, d.Len())
	for i := range d.Len() {
		rows[d.ID(i)] = i
	}
	return func(ctx context.Context, id string) ([]byte, error) {
		i, has := rows[id]
		if !has {
			return nil, fmt.Errorf("no image is called %.80q", id)
		}
		return d.Image(ctx, i)
	}
}
