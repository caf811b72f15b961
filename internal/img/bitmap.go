package img

import (
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"math/bits"
)

// bitmap is what the header of a BMP file says. x/image refuses runs, pixels of 16 bits and the headers of OS/2.
type bitmap struct {
	w, h    int
	down    bool // the first row is the top
	depth   int  // bits of a pixel: up to 8, it is the number of a colour
	runs    bool
	masks   [3]uint32 // of red, green and blue
	colours [256][3]byte
	at      int // of the pixels
}

var errBitmap = errors.New("the header is damaged, or of a kind that is not supported; save it as PNG")

// readBitmap reads a header; see bitmap.
func readBitmap(data []byte) (b bitmap, err error) {
	const before, core, header = 14, 12, 14 + 40
	if len(data) < header {
		return b, errBitmap
	}
	le := binary.LittleEndian
	size, packed, each := int(le.Uint32(data[before:])), le.Uint32(data[30:]), 4 // bytes of a colour
	b.w, b.h, b.depth = int(int32(le.Uint32(data[18:]))), int(int32(le.Uint32(data[22:]))), int(le.Uint16(data[28:]))
	if size == core { // of OS/2
		packed, each = 0, 3
		b.w, b.h, b.depth = int(le.Uint16(data[18:])), int(le.Uint16(data[20:])), int(le.Uint16(data[24:]))
	}
	if b.down = b.h < 0; b.down {
		b.h = -b.h
	}
	b.at = int(le.Uint32(data[10:]))
	const rgb, rle8, rle4, bitFields = 0, 1, 2, 3
	if size < core || size > core && size < 40 || size > len(data)-before || b.w <= 0 || b.h <= 0 ||
		b.at < before+size || b.at > len(data) {
		return b, errBitmap
	}
	b.runs = (b.depth == 8 && packed == rle8 || b.depth == 4 && packed == rle4) && !b.down
	switch {
	case (b.depth == 16 || b.depth == 32) && packed == bitFields && len(data) >= header+12:
		for c := range b.masks {
			b.masks[c] = le.Uint32(data[header+4*c:])
			if bits.OnesCount32(b.masks[c]) == 0 {
				return b, errBitmap
			}
		}
	case b.depth == 16 && packed == rgb:
		b.masks = [3]uint32{0x7c00, 0x3e0, 0x1f}
	case (b.depth == 24 || b.depth == 32) && packed == rgb:
		b.masks = [3]uint32{0xff0000, 0xff00, 0xff}
	case b.runs || (b.depth == 1 || b.depth == 2 || b.depth == 4 || b.depth == 8) && packed == rgb:
		table := data[before+size : b.at]
		for i := range min(len(table)/each, 1<<b.depth) {
			b.colours[i] = [3]byte{table[each*i+2], table[each*i+1], table[each*i]}
		}
	default:
		return b, errBitmap
	}
	return b, nil
}

func bitmapConfig(data []byte) (image.Config, error) {
	b, err := readBitmap(data)
	return image.Config{ColorModel: color.RGBAModel, Width: b.w, Height: b.h}, err
}

// decodeBitmap decodes the pixels.
func decodeBitmap(data []byte) (m *image.RGBA, err error) {
	defer recoverAs(&err) // of an index beyond the file
	b, err := readBitmap(data)
	if err != nil {
		return nil, err
	}
	stride := (b.depth*b.w + 31) / 32 * 4
	if !b.runs && stride*b.h > len(data)-b.at {
		return nil, errBitmap
	}
	m = image.NewRGBA(image.Rect(0, 0, b.w, b.h))
	set := func(x, y int, p [3]byte) {
		if !b.down {
			y = b.h - 1 - y
		}
		m.SetRGBA(x, y, color.RGBA{p[0], p[1], p[2], 255})
	}
	if b.runs {
		set(0, b.h-1, b.colours[0]) // what the runs skip: the first pixel in memory, and copies of it
		for n := 4; n < len(m.Pix); n *= 2 {
			copy(m.Pix[n:], m.Pix[:n])
		}
		return m, b.unpack(data[b.at:], set)
	}
	for y := range b.h {
		line := data[b.at+y*stride:][:stride]
		for x := range b.w {
			set(x, y, b.pixel(line, x))
		}
	}
	return m, nil
}

// pixel returns the colour of a pixel of a row.
func (b *bitmap) pixel(line []byte, x int) (p [3]byte) {
	if b.depth <= 8 {
		each := 8 / b.depth
		return b.colours[line[x/each]>>(b.depth*(each-1-x%each))&(1<<b.depth-1)]
	}
	v := uint32(0)
	for i := range b.depth / 8 {
		v |= uint32(line[x*b.depth/8+i]) << (8 * i)
	}
	for c, mask := range b.masks {
		shift, most := bits.TrailingZeros32(mask), uint64(1)<<bits.OnesCount32(mask)-1
		p[c] = byte(uint64(v&mask>>shift) * 255 / most)
	}
	return p
}

// unpack reads runs: a count and a value, or zero and a command.
func (b *bitmap) unpack(data []byte, set func(x, y int, p [3]byte)) error {
	x, y := 0, 0
	value := func(bytes []byte, i int) byte {
		if b.depth == 8 {
			return bytes[i]
		}
		return bytes[i/2] >> (4 * (1 - i%2)) & 15
	}
	put := func(v byte) {
		if x < b.w && y < b.h {
			set(x, y, b.colours[v])
		}
		x++
	}
	for len(data) >= 2 && y < b.h {
		count, command := int(data[0]), data[1]
		data = data[2:]
		switch {
		case count > 0:
			for i := range count {
				put(value([]byte{command}, i%(8/b.depth)))
			}
		case command == 0:
			x, y = 0, y+1
		case command == 1:
			return nil
		case command == 2 && len(data) >= 2:
			x, y, data = x+int(data[0]), y+int(data[1]), data[2:]
		default:
			n := (int(command)*b.depth + 7) / 8
			if padded := n + n%2; padded > len(data) {
				return errBitmap
			}
			for i := range int(command) {
				put(value(data, i))
			}
			data = data[n+n%2:]
		}
	}
	if y < b.h-1 {
		return errBitmap
	}
	return nil
}
