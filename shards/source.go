package shards

import (
	"context"
	"fmt"
	"image"
	"io"
	"iter"

	"hgld/internal/img"
	"hgld/labels"
)

// Source yields the items of a data set: an importer of package shards/dataset.
type Source interface {
	// Levels returns the names of the levels, finest first.
	Levels() []string
	// Landmarks reports whether the levels are GLDv2's, so that rows have its columns.
	Landmarks() bool
	// Items yields every item, always in the same order. It stops after an error.
	Items(ctx context.Context) iter.Seq2[Item, error]
	// Inputs lists the files that the data set is made from, for the manifest. It hashes those that are wanted, by
	// their places in the list, and leaves the others empty.
	Inputs(ctx context.Context, wanted func(i int) bool) ([]Input, error)
	// Close closes what the Open functions of items use.
	Close() error
}

// Item is an image to be written to a shard.
type Item struct {
	ID         ImageID           // of the image
	Path       string            // in the source, with slashes; unique
	Split      labels.Split      // of the image
	Names      []string          // class names, finest first; none for an image without label
	Partial    bool              // names may be "" at any level
	Landmark   labels.LandmarkID // −1 without one
	Attributes Attributes        // what is known of the image
	Where      string            // for messages: "labels.csv:17"

	// Group is the number of the archive with the image, from 1; 0 where this does not matter. Shards end where a group
	// ends, and a slice has all shards of a group, so that it opens its own archives alone. Settings.Shards ignores
	// groups. Groups follow one another in the order of the items.
	Group int
	// AttributesSum stands for the attributes in the key of a shard if a source gives them only to the items that it is
	// asked for.
	AttributesSum string

	Size    int64  // bytes; 0 where the image is missing or its size unknown
	Missing bool   // the source has no such image; Open says so too
	Stamp   string // what the source knows of the content beside the size, like a zip's CRC-32
	SHA256  string // expected hash in hexadecimal; "" where none is known
	Near    string // of a missing image: a file whose name is spelled almost like its own; "" if there is none

	Part *Part // of the image that becomes the row; nil: all of it

	// Open returns the image. If Missing is set, the error wraps fs.ErrNotExist and the
	// item becomes a failure of class missing; the same holds for an item without Size.
	// Several items may be open at once.
	Open func() (io.ReadCloser, error)
}

// Part is a rectangle of an image that becomes an image of its own, as JPEG.
type Part struct {
	Of   image.Point     // size of the upright image that the box is of, in pixels; 0×0: not known
	Box  image.Rectangle // in pixels; it may reach beyond the image
	Name string          // of the part in its image
}

// within returns the rectangle of the part that lies in the image; nil for no part.
func (p *Part) within(info img.Info) (*image.Rectangle, error) {
	if p == nil {
		return nil, nil
	}
	if p.Of != (image.Point{}) && p.Of != image.Pt(info.W, info.H) {
		return nil, fmt.Errorf("the image has %d×%d pixels and the list with its box says %d×%d; take the image that was "+
			"annotated", info.W, info.H, p.Of.X, p.Of.Y)
	}
	box := p.Box.Intersect(image.Rect(0, 0, info.W, info.H))
	if box.Empty() {
		return nil, fmt.Errorf("the box %v lies outside the image of %d×%d pixels", p.Box, info.W, info.H)
	}
	return &box, nil
}
