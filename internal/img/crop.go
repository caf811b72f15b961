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

// centre returns where n of the length inputs lie in a crop in their middle, as torchvision's CenterCrop does: from
// `from` on, and in the crop from `to` on. Half an odd remainder is rounded to even. An axis that is too short is
// surrounded by black, with an odd column or row at the end.
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
