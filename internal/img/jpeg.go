package img

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"slices"
)

func jpegConfig(r io.Reader) (image.Config, error) { return jpeg.DecodeConfig(r) }
func jpegDecode(r io.Reader) (image.Image, error)  { return jpeg.Decode(r) }

// jpegHeader holds what could be read from the markers of a JPEG file.
type jpegHeader struct {
	progressive bool
	components  [4]component // the first of them
	channels    int          // components in the list
	exif        []byte       // TIFF block of the first Exif segment
	scans       int
	profile     *[][]byte // if not nil, gets the numbered parts of an ICC profile

	tables       bool // it has Huffman tables
	frames, w, h int
	bits         byte // of a sample
	common       bool // nothing is unusual before the first scan
}

// component is a channel: its name in the file, and its sampling factors.
type component struct{ id, h, v byte }

// readJPEGHeader reads the markers. It is lenient, because the decoder rejects what it cannot read.
func readJPEGHeader(data []byte) jpegHeader {
	h := jpegHeader{common: true}
	h.read(data)
	return h
}

func (h *jpegHeader) read(data []byte) {
	for at := 2; at+4 <= len(data); {
		if data[at] != 0xff { // scan data, or junk between segments
			h.common = h.common && h.scans > 0
			skip := bytes.IndexByte(data[at:], 0xff)
			if skip < 0 {
				break
			}
			at += skip
			continue
		}
		marker := data[at+1]
		if marker == 0 || marker == 0xff || marker >= 0xd0 && marker <= 0xd8 || marker == 0x01 {
			h.common = h.common && h.scans > 0
			at++ // stuffing, fill bytes, restart markers: no segment follows
			if marker != 0xff {
				at++
			}
			continue
		}
		if marker == 0xd9 {
			break
		}
		n := int(binary.BigEndian.Uint16(data[at+2:]))
		if n < 2 || at+2+n > len(data) {
			break
		}
		h.segment(marker, data[at+4:at+2+n])
		at += 2 + n
	}
}

func (h *jpegHeader) segment(marker byte, body []byte) {
	switch {
	case marker == 0xda:
		h.scans++
	case marker == 0xc4:
		h.tables = true
	case marker >= 0xc0 && marker <= 0xc2:
		h.frame(marker, body)
	case marker == 0xc9 || marker == 0xca: // arithmetic coding
		h.frame(marker, body)
		h.common = false
	case marker == 0xe1 && h.exif == nil:
		if block, ok := bytes.CutPrefix(body, []byte("Exif\x00\x00")); ok {
			h.exif = block
		}
	case marker == 0xe2 && h.profile != nil && h.scans == 0:
		if part, ok := bytes.CutPrefix(body, []byte(profileMark)); ok {
			*h.profile = append(*h.profile, part)
		}
	case h.scans == 0 && marker != 0xc4 && marker < 0xdb || marker == 0xdc || marker > 0xdd && marker < 0xe0 ||
		marker > 0xef && marker < 0xfe:
		h.common = false // neither tables nor text
	}
}

// frame reads the size and the components.
func (h *jpegHeader) frame(marker byte, body []byte) {
	h.progressive = marker == 0xc2 || marker == 0xca
	if h.scans == 0 {
		h.frames++
	}
	if len(body) < 6 {
		h.common = false
		return
	}
	if h.frames == 1 {
		h.bits, h.h, h.w = body[0], int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
	}
	h.channels = 0
	for c := body[6:]; len(c) >= 3 && h.channels < len(h.components); c = c[3:] {
		h.components[h.channels] = component{c[0], c[1] >> 4, c[1] & 15}
		h.common = h.common && c[2] <= 3
		h.channels++
	}
	list := h.components
	switch first := list[0]; {
	case body[0] != 8 || int(body[5]) != h.channels || len(body) != 6+3*h.channels || first.h-1 > 1 || first.v-1 > 1:
		h.common = false
	case h.channels == 3:
		for i, c := range list[1:3] {
			h.common = h.common && c.h == 1 && c.v == 1 && c.id != list[i].id && c.id != first.id
		}
	case h.channels != 1:
		h.common = false
	}
}

// config returns the size if the header is a common one, which image/jpeg accepts.
func (h *jpegHeader) config() (c image.Config, common bool) {
	c = image.Config{ColorModel: color.YCbCrModel, Width: h.w, Height: h.h}
	switch h.channels {
	case 1:
		c.ColorModel = color.GrayModel
	case 4:
		c.ColorModel = color.CMYKModel
	}
	return c, h.common && h.frames == 1 && h.scans > 0
}

// sane reports whether the header describes an image of one, three or four channels of 8 bits, in any sampling: a
// library may decode it.
func (h *jpegHeader) sane() bool {
	return h.frames == 1 && h.bits == 8 && h.scans > 0 && h.w > 0 && h.h > 0 && h.channels != 2 && h.channels > 0
}

// cuttable reports whether a part of an image can be decoded without the rest: all of a pixel is in
// one scan, and the file is not truncated, which a part might not show.
func (h *jpegHeader) cuttable(data []byte) bool {
	return !h.progressive && h.scans == 1 && bytes.HasSuffix(data, []byte{0xff, 0xd9})
}

// plausible rejects files that were built to be expensive. Every block of 8×8 pixels takes at least
// one bit for its mean value, so a file of n bytes has at most 512·n pixels. Twice that is allowed,
// because of odd samplings. A progressive file visits all pixels in every scan; about ten scans are
// usual.
func (h *jpegHeader) plausible(pixels, bytes int) error {
	if pixels/1024 > bytes {
		return fmt.Errorf("%w: jpeg: %d pixels in %d bytes", ErrTooBig, pixels, bytes)
	}
	const scanned = 6.4e9 // a hundred scans of 64 million pixels
	if work := float64(pixels) * float64(h.scans); h.scans > 100 && work > scanned/100 || work > scanned {
		return fmt.Errorf("%w: jpeg: %d scans of %d pixels", ErrTooBig, h.scans, pixels)
	}
	return nil
}

// planes returns the samples of a pixel in all channels: 1.5 of 4:2:0.
func (h *jpegHeader) planes() (sum float64) {
	most := component{h: 1, v: 1}
	for _, c := range h.components[:h.channels] {
		most.h, most.v = max(most.h, c.h), max(most.v, c.v)
	}
	for _, c := range h.components[:h.channels] {
		sum += float64(int(c.h)*int(c.v)) / float64(int(most.h)*int(most.v))
	}
	return sum
}

// bytesPerPixel estimates what decoding holds: the planes, 32-bit coefficients of a progressive
// image, and the result.
func (h *jpegHeader) bytesPerPixel() float64 {
	planes := h.planes()
	total := planes + 3
	if h.channels == 4 {
		total = planes + 4 // CMYK becomes RGB in place
	}
	if h.progressive {
		total += 4 * planes
	}
	return total
}

// mostReduction is the largest: a pixel of the result is the mean of a block.
const mostReduction = 8

// reduce finds the least reduction that brings an image within the limits. libjpeg holds 16-bit coefficients of a
// file of several scans.
func (h *jpegHeader) reduce(info *Info, limits Limits) bool {
	pixels, whole, coefficients := 3.0, float64(h.w)*float64(h.h), 0.0
	if h.channels == 4 {
		pixels += 4
	}
	if info.Orientation >= 5 {
		pixels += 3
	}
	if h.progressive || h.scans > 1 {
		coefficients = 2 * h.planes() * whole
	}
	for r := 2; r <= mostReduction; r *= 2 {
		size := Reduced(image.Rect(0, 0, h.w, h.h), r).Max
		small := float64(size.X) * float64(size.Y)
		memory := coefficients + pixels*small
		if small <= float64(limits.Pixels) && memory <= float64(limits.Memory) {
			info.Reduction, info.Memory, info.cuttable = r, int(memory), false
			return true
		}
	}
	return false
}

func jpegOrientation(data []byte) int {
	h := readJPEGHeader(data)
	return tiffOrientation(h.exif)
}

// EncodeJPEG returns m as baseline JPEG with 4:2:0 sampling. quality is from 1 to 100. profile is the
// ICC profile of the pixels, or nil; see [Profile].
func EncodeJPEG(m *RGB, quality int, profile []byte) ([]byte, error) {
	m.check()
	var from image.Image = opaque{m}
	if len(m.Pix) <= largeImage {
		rgba := image.NewRGBA(m.Bounds())
		for i, p := range triples(m.Pix) {
			copy(rgba.Pix[4*i:4*i+4], []byte{p[0], p[1], p[2], 255})
		}
		from = rgba
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, from, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	const start = 2 // the marker of a file's beginning
	return slices.Insert(out.Bytes(), start, profileSegments(profile)...), nil
}

// opaque passes the pixels of a large image to the encoder one by one. This is slower, but avoids a
// copy of four bytes per pixel. The bytes are the same.
type opaque struct{ *RGB }

// ColorModel implements image.Image.
func (opaque) ColorModel() color.Model { return color.RGBAModel }

// At implements image.Image.
func (m opaque) At(x, y int) color.Color {
	p := m.Pix[3*(y*m.W+x):]
	return color.RGBA{p[0], p[1], p[2], 255}
}
