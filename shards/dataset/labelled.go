package dataset

import (
	"context"
	"iter"
	"slices"

	"hgld/shards"
)

// Labelled leaves out the items of a source that lack a class at some level, such as
// images of landmarks without a supercategory. H-GLDv2 consists of the remaining ones.
func Labelled(src shards.Source) shards.Source { return labelled{src} }

type labelled struct{ shards.Source }

func (l labelled) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		for item, err := range l.Source.Items(ctx) {
			if err == nil && (len(item.Names) == 0 || slices.Contains(item.Names, "")) {
				continue
			}
			if !yield(item, err) {
				return
			}
		}
	}
}
