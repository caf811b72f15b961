package img

import "image"

// fromYCbCr converts planes to RGB. It brings chroma at half resolution to full resolution with the
// triangle filter of libjpeg ("fancy upsampling": nearest sample ¾, next one ¼, alternating
// rounding), so that pixels equal Pillow's up to the rounding of the inverse cosine transform. WebP
// stores luma in 16–235 and is converted as libwebp does.
func fromYCbCr(m *image.YCbCr, webp bool) *RGB {
	out := NewRGB(m.Rect.Dx(), m.Rect.Dy())
	u := newUpsampler(m)
	toRGB := rowToRGB
	if webp {
		toRGB = webpRowToRGB
	}
	for y := range out.H {
		luma := m.Y[m.YOffset(m.Rect.Min.X, m.Rect.Min.Y+y):][:out.W]
		cb, cr := u.rows(y)
		toRGB(out.row(y), luma, cb, cr)
	}
	return out
}

// upsampler expands rows of chroma to the width of luma.
type upsampler struct {
	m         *image.YCbCr
	w, h      int // of a chroma plane
	fx, fy    int // pixels per sample
	intoCb    []byte
	intoCr    []byte
	fancyWide bool
}

func newUpsampler(m *image.YCbCr) *upsampler {
	u := &upsampler{m: m, fx: 1, fy: 1}
	switch m.SubsampleRatio {
	case image.YCbCrSubsampleRatio422:
		u.fx = 2
	case image.YCbCrSubsampleRatio420:
		u.fx, u.fy = 2, 2
	case image.YCbCrSubsampleRatio440:
		u.fy = 2
	case image.YCbCrSubsampleRatio411:
		u.fx = 4
	case image.YCbCrSubsampleRatio410:
		u.fx, u.fy = 4, 2
	}
	u.w = (m.Rect.Dx() + u.fx - 1) / u.fx
	u.h = (m.Rect.Dy() + u.fy - 1) / u.fy
	u.fancyWide = u.fx == 2 && u.w > 2 // libjpeg repeats samples in narrower images
	u.intoCb, u.intoCr = make([]byte, u.w*u.fx), make([]byte, u.w*u.fx)
	return u
}

// rows returns the chroma of row y, at least as long as a row of luma.
func (u *upsampler) rows(y int) (cb, cr []byte) {
	at := y / u.fy
	near := at
	if u.fy == 2 { // the row on the other side of y, or the same row at the edges
		near = min(max(at-1+2*(y&1), 0), u.h-1)
	}
	line := func(plane []byte, row int) []byte {
		return plane[row*u.m.CStride:][:u.w]
	}
	switch {
	case u.fx == 1 && u.fy == 1:
		return line(u.m.Cb, at), line(u.m.Cr, at)
	case u.fx == 1:
		blendDown(u.intoCb, line(u.m.Cb, at), line(u.m.Cb, near), y&1)
		blendDown(u.intoCr, line(u.m.Cr, at), line(u.m.Cr, near), y&1)
	case u.fancyWide && u.fy == 1:
		widen(u.intoCb, line(u.m.Cb, at))
		widen(u.intoCr, line(u.m.Cr, at))
	case u.fancyWide:
		widenBetween(u.intoCb, line(u.m.Cb, at), line(u.m.Cb, near))
		widenBetween(u.intoCr, line(u.m.Cr, at), line(u.m.Cr, near))
	default:
		repeat(u.intoCb, line(u.m.Cb, at), u.fx)
		repeat(u.intoCr, line(u.m.Cr, at), u.fx)
	}
	return u.intoCb, u.intoCr
}

// repeat writes every sample n times.
func repeat(dst, src []byte, n int) {
	for i := range dst {
		dst[i] = src[i/n]
	}
}

// blendDown returns ¾ of a row and ¼ of its neighbour. Odd rows round up.
func blendDown(dst, row, near []byte, odd int) {
	row, near = row[:len(dst)], near[:len(dst)]
	for i := range dst {
		dst[i] = byte((3*int(row[i]) + int(near[i]) + 1 + odd) >> 2)
	}
}

// widen doubles a row of at least three samples.
func widen(dst, src []byte) {
	last := len(src) - 1
	dst = dst[:2*len(src)]
	dst[0] = src[0]
	dst[1] = byte((3*int(src[0]) + int(src[1]) + 2) >> 2)
	for i := 1; i < last; i++ {
		v := 3 * int(src[i])
		dst[2*i] = byte((v + int(src[i-1]) + 1) >> 2)
		dst[2*i+1] = byte((v + int(src[i+1]) + 2) >> 2)
	}
	dst[2*last] = byte((3*int(src[last]) + int(src[last-1]) + 1) >> 2)
	dst[2*last+1] = src[last]
}

// widenBetween blends a row with its neighbour and doubles it, rounding once.
func widenBetween(dst, row, near []byte) {
	near = near[:len(row)]
	dst = dst[:2*len(row)]
	this := 3*int(row[0]) + int(near[0])
	before := this
	for i := 0; i < len(row)-1; i++ {
		next := 3*int(row[i+1]) + int(near[i+1])
		pair := dst[2*i : 2*i+2 : 2*i+2]
		pair[0] = byte((3*this + before + 8) >> 4)
		pair[1] = byte((3*this + next + 7) >> 4)
		before, this = this, next
	}
	dst[len(dst)-2] = byte((3*this + before + 8) >> 4)
	dst[len(dst)-1] = byte((4*this + 7) >> 4)
}

// rowToRGB is JFIF's conversion in libjpeg's 16-bit fixed point:
//
//	R = Y + 1.402 Cr, G = Y − 0.34414 Cb − 0.71414 Cr, B = Y + 1.772 Cb
func rowToRGB(dst [][3]byte, luma, cb, cr []byte) {
	luma, cb, cr = luma[:len(dst)], cb[:len(dst)], cr[:len(dst)]
	const half = 1 << 15
	for i := range dst {
		y := int32(luma[i])
		b, r := int32(cb[i])-128, int32(cr[i])-128
		red := y + (91881*r+half)>>16
		green := y + (-22554*b-46802*r+half)>>16
		blue := y + (116130*b+half)>>16
		dst[i] = [3]byte{clip8(red), clip8(green), clip8(blue)}
	}
}

// webpRowToRGB is libwebp's conversion from BT.601 with luma in 16–235, in its
// 14-bit fixed point.
func webpRowToRGB(dst [][3]byte, luma, cb, cr []byte) {
	luma, cb, cr = luma[:len(dst)], cb[:len(dst)], cr[:len(dst)]
	for i := range dst {
		y := int32(luma[i]) * 19077 >> 8
		u, v := int32(cb[i]), int32(cr[i])
		red := y + v*26149>>8 - 14234
		green := y - u*6419>>8 - v*13320>>8 + 8708
		blue := y + u*33050>>8 - 17685
		dst[i] = [3]byte{clip8(red >> 6), clip8(green >> 6), clip8(blue >> 6)}
	}
}
