package input

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Vectored is a Dataset that holds vectors from another model instead of images. A run on it
// trains only a head: the network that model.backbone calls "vectors", and what follows it.
type Vectored interface {
	Dataset
	// Width returns the size of a vector.
	Width() int
	// Vector returns the vector of item i. The caller must not change it.
	Vector(i int) []float32
}

// AsVectored returns d as vectors, if it is Vectored, or consists of subsets of one.
func AsVectored(d Dataset) (v Vectored, ok bool) {
	switch d := d.(type) {
	case Vectored:
		return d, true
	case *Subset:
		if whole, ok := AsVectored(d.Of); ok {
			return vectorSubset{d, whole}, true
		}
	case *joined:
		if first, ok := AsVectored(d.parts[0]); ok {
			return joinedVectors{d, first.Width()}, true
		}
	}
	return nil, false
}

// vectorSubset is a subset of vectors.
type vectorSubset struct {
	*Subset
	whole Vectored
}

// Width returns the width of the whole data set.
func (s vectorSubset) Width() int { return s.whole.Width() }

// Vector returns the vector of the row.
func (s vectorSubset) Vector(i int) []float32 { return s.whole.Vector(s.Rows[i]) }

// joinedVectors are parts of one set of vectors.
type joinedVectors struct {
	*joined
	width int
}

// Width returns the width of every part.
func (j joinedVectors) Width() int { return j.width }

// Vector returns the vector of item i.
func (j joinedVectors) Vector(i int) []float32 {
	part, at := j.at(i)
	v, _ := AsVectored(part)
	return v.Vector(at)
}

// RowBytes returns the bytes of one input of the network: a vector of the given width or, if it is
// 0, an image of side×side pixels.
func RowBytes(width, side int) int {
	if width > 0 {
		return 4 * width
	}
	return 3 * side * side
}

// NotVectorError is an item that is no vector of the width that a network reads.
type NotVectorError struct {
	Width int    // numbers of a vector that the network reads
	ID    string // of the item
}

// Error names the item and the width.
func (e *NotVectorError) Error() string {
	return fmt.Sprintf("train: the network reads vectors of %d numbers, but %s is not one", e.Width, e.ID)
}

// vectorOf copies the vector of item i to dst, as bytes.
func vectorOf(d Dataset, dst []byte, i int) error {
	v, ok := AsVectored(d)
	if !ok || 4*v.Width() != len(dst) {
		return &NotVectorError{Width: len(dst) / 4, ID: d.ID(i)}
	}
	for k, x := range v.Vector(i) {
		binary.LittleEndian.PutUint32(dst[4*k:], math.Float32bits(x))
	}
	return nil
}
