package img

import (
	"fmt"
	"image"
	"math"
)

// ShortSide returns the size of a w×h image after its shorter side is resized to size, as
// torchvision's Resize(int) does: the longer side is size·long/short, rounded down.
func ShortSide(w, h, size int) (int, int) {
	if w <= h {
		return size, size * h / w
	}
	return size * w / h, size
}

// Crop returns a copy of the rectangle r of m.
func Crop(m *RGB, r image.Rectangle) *RGB {
	if r.Empty() || !r.In(m.Bounds()) {
		panic(fmt.Sprintf("img: crop %v of an image of %d×%d", r, m.W, m.H))
	}
	out := NewRGB(r.Dx(), r.Dy())
	for y := range out.H {
		copy(out.row(y), m.row(r.Min.Y + y)[r.Min.X:r.Max.X])
	}
	return out
}

// CenterCrop returns the w×h pixels in the middle of m, as torchvision does. Half an odd remainder
// is rounded to even. An image that is too small is surrounded by black, with an odd column or row
// at the end.
func CenterCrop(m *RGB, w, h int) *RGB {
	out := NewRGB(w, h)
	toX, fromX, nx := centre(m.W, w)
	toY, fromY, ny := centre(m.H, h)
	for y := range ny {
		copy(out.row(toY + y)[toX:toX+nx], m.row(fromY + y)[fromX:fromX+nx])
	}
	return out
}

// centre returns where n of the length inputs lie in a crop. They are copied from `from` to `to`.
func centre(length, crop int) (to, from, n int) {
	if length < crop {
		return (crop - length) / 2, 0, length
	}
	return 0, int(math.RoundToEven(float64(length-crop) / 2)), crop
}

// RandomCrop draws the rectangle of torchvision's RandomResizedCrop in a w×h image. The area is a
// uniform share of the image within scale, width/height is log-uniform within ratio, and the
// position is uniform. After ten tries that do not fit, it returns the largest centred rectangle
// whose shape is within ratio. draw returns uniform numbers in [0, 1). It is called twice for every
// try, and twice more for the one that fits.
func RandomCrop(w, h int, scale, ratio [2]float64, draw func() float64) image.Rectangle {
	between := func(lo, hi float64) float64 { return lo + float64((hi-lo)*draw()) }
	area := float64(w) * float64(h)
	for range 10 {
		target := area * between(scale[0], scale[1])
		shape := math.Exp(between(math.Log(ratio[0]), math.Log(ratio[1])))
		cw := int(math.RoundToEven(math.Sqrt(target * shape)))
		ch := int(math.RoundToEven(math.Sqrt(target / shape)))
		if 0 < cw && cw <= w && 0 < ch && ch <= h {
			top := int(draw() * float64(h-ch+1))
			left := int(draw() * float64(w-cw+1))
			return image.Rect(left, top, left+cw, top+ch)
		}
	}
	cw, ch := w, h
	switch shape := float64(w) / float64(h); {
	case shape < ratio[0]:
		ch = int(math.RoundToEven(float64(w) / ratio[0]))
	case shape > ratio[1]:
		cw = int(math.RoundToEven(float64(h) * ratio[1]))
	}
	left, top := (w-cw)/2, (h-ch)/2
	return image.Rect(left, top, left+cw, top+ch)
}

// Flip mirrors m horizontally in place.
func Flip(m *RGB) {
	for y := range m.H {
		row := m.row(y)
		for i, j := 0, len(row)-1; i < j; i, j = i+1, j-1 {
			row[i], row[j] = row[j], row[i]
		}
	}
}

// Normalizer converts bytes to the float32 input of a network with a table of (b/255 − mean)/std.
// Every step is rounded to float32, as in torchvision's ToTensor and Normalize.
type Normalizer struct{ table [3][256]float32 }

// ImageNet returns the Normalizer with ImageNet's channel means and deviations, which every
// published backbone uses.
func ImageNet() *Normalizer {
	return NewNormalizer([3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225})
}

// NewNormalizer returns the Normalizer of the given channel means and deviations.
func NewNormalizer(mean, std [3]float32) *Normalizer {
	n := new(Normalizer)
	for c := range n.table {
		for b := range n.table[c] {
			unit := float32(b) / 255
			n.table[c][b] = float32(unit-mean[c]) / std[c]
		}
	}
	return n
}

// CHW writes m into dst as three planes [3, H, W]. If flipped is set, it reads the image right to
// left, which saves a Flip.
func (n *Normalizer) CHW(dst []float32, m *RGB, flipped bool) {
	m.check()
	size := m.W * m.H
	if len(dst) != 3*size {
		panic(fmt.Sprintf("img: %d values for an image of %d×%d", len(dst), m.W, m.H))
	}
	for y := range m.H {
		row := m.row(y)
		red, green, blue := dst[y*m.W:][:len(row)], dst[size+y*m.W:][:len(row)], dst[2*size+y*m.W:][:len(row)]
		if flipped {
			for i := range row {
				p := row[len(row)-1-i]
				red[i], green[i], blue[i] = n.table[0][p[0]], n.table[1][p[1]], n.table[2][p[2]]
			}
			continue
		}
		for i, p := range row {
			red[i], green[i], blue[i] = n.table[0][p[0]], n.table[1][p[1]], n.table[2][p[2]]
		}
	}
}

// Within returns the size of a w×h image whose longer side is reduced to at most size, as Pillow's
// thumbnail does: the shorter side is the whole number that keeps the proportions best, and at least 1. An
// image that is small enough keeps its size.
func Within(w, h, size int) (int, int) {
	if max(w, h) <= size {
		return w, h
	}
	shape := float64(w) / float64(h)
	// off is how far the proportions are from those of the image with n pixels on the shorter side.
	short, off := float64(size)/shape, func(n float64) float64 { return math.Abs(shape - float64(size)/n) }
	if w < h {
		short, off = float64(size)*shape, func(n float64) float64 { return math.Abs(shape - n/float64(size)) }
	}
	n := math.Floor(short)
	if up := math.Ceil(short); n == 0 || off(up) < off(n) {
		n = up
	}
	if w < h {
		return int(n), size
	}
	return size, int(n)
}
