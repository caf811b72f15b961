package img

import (
	"bytes"
	"encoding/binary"
	"image"
)

// upright returns the orientation for formats that cannot state one.
func upright([]byte) int { return 1 }

// tiffOrientation reads tag 0x0112 of a TIFF file, or of the EXIF data of another format, which is
// a TIFF block. If the value is damaged, missing or outside 1 to 8, it returns 1, upright.
func tiffOrientation(block []byte) int {
	if v := tiffTag(block, 0x0112); v >= 1 && v <= 8 {
		return v
	}
	return 1
}

// pngOrientation reads the eXIf chunk.
func pngOrientation(data []byte) int { return tiffOrientation(pngChunk(data, "eXIf")) }

// pngChunk returns the body of the first chunk with a name, nil if there is none.
func pngChunk(data []byte, name string) []byte {
	for at := 8; at+12 <= len(data); {
		n := uint64(binary.BigEndian.Uint32(data[at:]))
		if uint64(at)+12+n > uint64(len(data)) {
			return nil
		}
		if string(data[at+4:at+8]) == name {
			return data[at+8 : at+8+int(n)]
		}
		at += 12 + int(n)
	}
	return nil
}

// webpOrientation reads the EXIF chunk.
func webpOrientation(data []byte) int {
	for at := 12; at+8 <= len(data); {
		n := uint64(binary.LittleEndian.Uint32(data[at+4:]))
		if uint64(at)+8+n > uint64(len(data)) {
			return 1
		}
		if string(data[at:at+4]) == "EXIF" {
			return tiffOrientation(bytes.TrimPrefix(data[at+8:at+8+int(n)], []byte("Exif\x00\x00")))
		}
		at += 8 + int(n+n&1)
	}
	return 1
}

// inverse returns the orientation that undoes another one.
func inverse(orientation int) int {
	switch orientation {
	case 6:
		return 8
	case 8:
		return 6
	}
	return orientation
}

// turnedSize returns the size of an image of w×h pixels under an EXIF orientation.
func turnedSize(w, h, orientation int) (int, int) {
	if orientation >= 5 {
		return h, w
	}
	return w, h
}

// turnedPart returns where a part of an image of w×h pixels lies under an EXIF orientation.
func turnedPart(r image.Rectangle, w, h, orientation int) image.Rectangle {
	if orientation >= 5 { // mirrored at the main diagonal, then as 1 to 4
		r = image.Rect(r.Min.Y, r.Min.X, r.Max.Y, r.Max.X)
		w, h = h, w
	}
	if o := orientation; o == 2 || o == 3 || o == 6 || o == 7 {
		r.Min.X, r.Max.X = w-r.Max.X, w-r.Min.X
	}
	if o := orientation; o == 3 || o == 4 || o == 7 || o == 8 {
		r.Min.Y, r.Max.Y = h-r.Max.Y, h-r.Min.Y
	}
	return r
}

// turned returns m as it is displayed under an EXIF orientation.
func (m *RGB) turned(orientation int) *RGB {
	if orientation < 2 || orientation > 8 {
		return m
	}
	out := new(RGB)
	m.turnTo(out, orientation)
	return out
}

// turnTo writes m, as it is displayed under an EXIF orientation from 2 to 8, to out. The pixel at
// column x and row y of the result is the stored pixel number start + x·across + y·down.
func (m *RGB) turnTo(out *RGB, orientation int) {
	w, h := m.W, m.H
	last := w*h - 1
	var start, across, down int
	switch orientation {
	case 2: // mirrored left to right
		start, across, down = w-1, -1, w
	case 3: // by 180 degrees
		start, across, down = last, -1, -w
	case 4: // mirrored top to bottom
		start, across, down = last-(w-1), 1, -w
	case 5: // mirrored at the main diagonal
		start, across, down = 0, w, 1
	case 6: // to be turned right
		start, across, down = last-(w-1), -w, 1
	case 7: // mirrored at the other diagonal
		start, across, down = last, -w, -1
	case 8: // to be turned left
		start, across, down = w-1, w, -1
	}
	out.reset(turnedSize(w, h, orientation))
	src := triples(m.Pix)
	for y := range out.H {
		at := start + y*down
		row := out.row(y)
		for x := range row {
			row[x] = src[at]
			at += across
		}
	}
}
