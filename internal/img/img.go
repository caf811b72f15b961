// Package img turns image files into pixels and pixels into the input of a
// network: decoding with limits, EXIF orientation, resampling, crops and
// normalisation.
//
// Pixels equal those of the tools that published results were made with. Decoded
// JPEG follows libjpeg-turbo (triangle upsampling of chroma, its colour
// arithmetic), resampling is Pillow's fixed-point arithmetic bit for bit, and
// crops are torchvision's on Pillow images.
//
// The package knows nothing of landmarks, data sets or files on disk.
package img

import (
	"fmt"
	"image"
	"unsafe"
)

// RGB is an image of 8 bits a channel: Pix holds H rows of W pixels of three
// bytes, red first, without padding.
type RGB struct {
	W, H int    // pixels
	Pix  []byte // [H,W,3], row-major
}

// NewRGB returns a black image.
func NewRGB(w, h int) *RGB {
	return &RGB{W: w, H: h, Pix: make([]byte, 3*w*h)}
}

// reset makes m an image of w×h pixels of undefined content, in its old memory
// where that is large enough.
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

// triples views bytes as pixels. An array of three bytes has size 3 and
// alignment 1, so the view is exact; it lets the compiler drop the bounds checks
// of the loops over pixels.
func triples(b []byte) [][3]byte {
	return unsafe.Slice((*[3]byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/3)
}

// check panics where a caller's image is not what it says.
func (m *RGB) check() {
	if m.W <= 0 || m.H <= 0 || len(m.Pix) != 3*m.W*m.H {
		panic(fmt.Sprintf("img: image of %d×%d with %d bytes", m.W, m.H, len(m.Pix)))
	}
}
