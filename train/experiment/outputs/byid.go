package outputs

import (
	"context"
	"fmt"

	"hgld/train/input"
	"hgld/train/qrels"
)

// ImagesByID returns a function that finds the image of an id: of the item with that id, or else of the one file
// with that name, without its folders and its extension, as the ids of GLDv2 name its files.
func ImagesByID(d input.Dataset) func(ctx context.Context, id string) ([]byte, error) {
	rows, stems := make(map[string]int, d.Len()), map[string][]int{}
	for i := range d.Len() {
		rows[d.ID(i)] = i
		stem := qrels.Stem(d.ID(i))
		stems[stem] = append(stems[stem], i)
	}
	return func(ctx context.Context, id string) ([]byte, error) {
		i, has := rows[id]
		if found := stems[id]; !has && len(found) > 1 {
			return nil, fmt.Errorf("%d images are called %.80q, %.200q and %.200q among them: want their paths as ids",
				len(found), id, d.ID(found[0]), d.ID(found[1]))
		} else if !has && len(found) == 1 {
			i, has = found[0], true
		}
		if !has {
			return nil, fmt.Errorf("no image is called %.80q", id)
		}
		return d.Image(ctx, i)
	}
}
