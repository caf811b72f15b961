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
	if v, ok = d.(Vectored); ok {
		return v, true
	}
	of, ok := sources(d)[0].(Vectored)
	if !ok {
		return nil, false
	}
	return partVectors{d, of.Width()}, true
}

// partVectors are parts of one set of vectors.
type partVectors struct {
	Dataset
	width int
}

// Width returns the width of the whole set.
func (p partVectors) Width() int { return p.width }

// Vector returns the vector of item i.
func (p partVectors) Vector(i int) []float32 {
	of, at := source(p.Dataset, i)
	return of.(Vectored).Vector(at)
}

// RowBytes returns the bytes of one input of the network: a vector of the given width or, if it is
// 0, an image of side×side pixels.
func RowBytes(width, side int) int {
	if width > 0 {
		return 4 * width
	}
	return 3 * side * side
}

// vectorOf copies the vector of item i to dst, as bytes.
func vectorOf(d Dataset, dst []byte, i int) error {
	of, at := source(d, i)
	v, ok := of.(Vectored)
	if !ok || 4*v.Width() != len(dst) {
		return fmt.Errorf("train: the network reads vectors of %d numbers, but %s is not one", len(dst)/4, d.ID(i))
	}
	for k, x := range v.Vector(at) {
		binary.LittleEndian.PutUint32(dst[4*k:], math.Float32bits(x))
	}
	return nil
}
