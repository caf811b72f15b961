package img

import (
	"image"
	"image/color"
)

// toRGB converts a decoded image and blends transparent pixels onto white. Like Pillow, it keeps
// the upper eight of sixteen bits. Four-channel images are converted in place.
func toRGB(m image.Image, webp bool) *RGB {
	switch m := m.(type) {
	case *image.YCbCr:
		return fromYCbCr(m, webp)
	case *image.NYCbCrA:
		out := fromYCbCr(&m.YCbCr, webp)
		for y := range out.H {
			alpha := m.A[m.AOffset(m.Rect.Min.X, m.Rect.Min.Y+y):][:out.W]
			for x, a := range alpha {
				p := &out.row(y)[x]
				*p = [3]byte{onWhite(p[0], a), onWhite(p[1], a), onWhite(p[2], a)}
			}
		}
		return out
	case *image.Gray:
		return fromRows(m.Rect, m.Pix, m.Stride, 1, nil, func(p []byte) [3]byte { return [3]byte{p[0], p[0], p[0]} })
	case *image.Gray16:
		return fromRows(m.Rect, m.Pix, m.Stride, 2, nil, func(p []byte) [3]byte { return [3]byte{p[0], p[0], p[0]} })
	case *image.Paletted:
		return fromPalette(m)
	case *image.CMYK:
		return fromRows(m.Rect, m.Pix, m.Stride, 4, m.Pix, fromCMYK)
	case *image.RGBA:
		return fromRows(m.Rect, m.Pix, m.Stride, 4, m.Pix, func(p []byte) [3]byte {
			rest := 255 - p[3]
			return [3]byte{p[0] + rest, p[1] + rest, p[2] + rest}
		})
	case *image.NRGBA:
		return fromRows(m.Rect, m.Pix, m.Stride, 4, m.Pix, func(p []byte) [3]byte {
			return [3]byte{onWhite(p[0], p[3]), onWhite(p[1], p[3]), onWhite(p[2], p[3])}
		})
	case *image.RGBA64:
		return fromRows(m.Rect, m.Pix, m.Stride, 8, m.Pix, func(p []byte) [3]byte {
			rest := 255 - p[6]
			return [3]byte{p[0] + rest, p[2] + rest, p[4] + rest}
		})
	case *image.NRGBA64:
		return fromRows(m.Rect, m.Pix, m.Stride, 8, m.Pix, func(p []byte) [3]byte {
			return [3]byte{onWhite(p[0], p[6]), onWhite(p[2], p[6]), onWhite(p[4], p[6])}
		})
	}
	return fromAny(m)
}

// fromRows converts pixels of size bytes each. reuse may be the memory of pix. The result then
// overwrites it from the front, where an RGB pixel never reaches beyond the wider pixel that it
// comes from.
func fromRows(r image.Rectangle, pix []byte, stride, size int, reuse []byte, pixel func([]byte) [3]byte) *RGB {
	out := &RGB{W: r.Dx(), H: r.Dy(), Pix: reuse}
	out.reset(out.W, out.H)
	for y := range out.H {
		row := out.row(y)
		src := pix[y*stride:][:size*out.W]
		for x := range row {
			row[x] = pixel(src[size*x:][:size])
		}
	}
	return out
}

// onWhite blends a colour of the given opacity onto white and rounds to nearest.
func onWhite(c, alpha byte) byte {
	return byte((int(c)*int(alpha) + 255*(255-int(alpha)) + 127) / 255)
}

// fromCMYK is Pillow's conversion without a colour profile: black and the inks are subtracted from
// white.
func fromCMYK(p []byte) [3]byte {
	white := int32(255 - p[3])
	ink := func(c byte) byte {
		v := int32(c)*white + 128
		return clip8(white - (v>>8+v)>>8)
	}
	return [3]byte{ink(p[0]), ink(p[1]), ink(p[2])}
}

func fromPalette(m *image.Paletted) *RGB {
	var table [256][3]byte
	for i, c := range m.Palette {
		n := color.NRGBAModel.Convert(c).(color.NRGBA)
		table[i] = [3]byte{onWhite(n.R, n.A), onWhite(n.G, n.A), onWhite(n.B, n.A)}
	}
	return fromRows(m.Rect, m.Pix, m.Stride, 1, nil, func(p []byte) [3]byte { return table[p[0]] })
}

// fromAny handles image types that no known decoder returns today.
func fromAny(m image.Image) *RGB {
	b := m.Bounds()
	out := NewRGB(b.Dx(), b.Dy())
	for y := range out.H {
		row := out.row(y)
		for x := range row {
			n := color.NRGBAModel.Convert(m.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
			row[x] = [3]byte{onWhite(n.R, n.A), onWhite(n.G, n.A), onWhite(n.B, n.A)}
		}
	}
	return out
}
