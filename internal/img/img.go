// Package img decodes image files and prepares pixels as the input of a network: limits, EXIF
// orientation, resampling, crops and normalisation.
//
// Pixels equal those of the tools behind published results. Decoded JPEG follows libjpeg-turbo
// (triangle upsampling of chroma, its colour arithmetic), resampling is Pillow's fixed-point
// arithmetic bit for bit, and crops are torchvision's on Pillow images.
package img

import (
	"fmt"
	"image"
	"unsafe"
)

// RGB is an image with 8 bits per channel. Pix holds H rows of W pixels of three bytes, red first,
// without padding.
type RGB struct {
	W, H int    // pixels
	Pix  []byte // [H,W,3], row-major
}

// NewRGB returns a black image.
func NewRGB(w, h int) *RGB {
	return &RGB{W: w, H: h, Pix: make([]byte, 3*w*h)}
}

// reset makes m an image of w×h pixels with undefined content. It reuses the memory of m if that is
// large enough.
func (m *RGB) reset(w, h int) {
	m.W, m.H = w, h
	if n := 3 * w * h; cap(m.Pix) >= n {
		m.Pix = m.Pix[:n]
	} else {
		m.Pix = make([]byte, n)
	}
}

// Bounds returns the rectangle (0, 0)–(W, H).
func (m *RGB) Bounds() image.Rectangle { return image.Rect(0, 0, m.W, m.H) }

// row returns the pixels of row y.
func (m *RGB) row(y int) [][3]byte {
	return triples(m.Pix[3*m.W*y : 3*m.W*(y+1)])
}

// triples returns bytes as pixels. An array of three bytes has size 3 and alignment 1, so the
// conversion is exact. It lets the compiler omit bounds checks in loops over pixels.
func triples(b []byte) [][3]byte {
	return unsafe.Slice((*[3]byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/3)
}

// check panics if the size of a caller's image does not match its pixels.
func (m *RGB) check() {
	if m.W <= 0 || m.H <= 0 || len(m.Pix) != 3*m.W*m.H {
		panic(fmt.Sprintf("img: image of %d×%d with %d bytes", m.W, m.H, len(m.Pix)))
	}
}
