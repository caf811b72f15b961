package loss

import "hgld/labels"

// Distractor is the coarsest class, in a gallery, of an item without any class. No query has it. It is exact in
// float32, which a Ring keeps labels in.
const Distractor = 1<<24 - 1

// GalleryPath returns the labels of an item as an item of a gallery has them. One without any class is a negative of
// every query; as all −1 it would be ignored.
func GalleryPath(p labels.Path) labels.Path {
	if p.Depth() > 0 {
		return p
	}
	item := append(labels.Path(nil), p...)
	item[len(item)-1] = Distractor
	return item
}
