package img

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"math/bits"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/image/ccitt"
	"golang.org/x/image/tiff/lzw"
)

// Tags of TIFF 6.0, and values of them.
const (
	tiffWidth, tiffHeight, tiffBits, tiffCompression, tiffPhotometric = 256, 257, 258, 259, 262
	tiffFillOrder, tiffStrips, tiffSamples, tiffRows, tiffStripBytes  = 266, 273, 277, 278, 279
	tiffPlanes, tiffFaxOptions, tiffPredictor, tiffColours            = 284, 292, 317, 320
	tiffTileWidth, tiffTileHeight, tiffTiles, tiffTileBytes           = 322, 323, 324, 325
	tiffExtra, tiffFormat, tiffJPEGTables, tiffSampling, tiffICC      = 338, 339, 347, 530, 34675

	tiffWhiteIsZero, tiffBlackIsZero, tiffRGB, tiffPalette, tiffCMYK, tiffYCC = 0, 1, 2, 3, 5, 6

	tiffRaw, tiffFax3, tiffFax4, tiffLZW, tiffJPEG, tiffDeflate = 1, 3, 4, 5, 7, 8
	tiffOldDeflate, tiffPackBits, tiffZstandard                 = 32946, 32773, 50000
	tiffPremultiplied, tiffOpacity                              = 1, 2
)

var errTIFF = errors.New("the file is cut short or damaged")

// tiffFile describes the first image of a file. It lies in segments, which are strips of rows or tiles.
type tiffFile struct {
	data                                          []byte
	order                                         binary.ByteOrder
	w, h, bits, samples, photometric, compression int
	planes                                        int // samples, if each has segments of its own; else 1
	offsets, sizes                                tiffValues
	wide, high, across, down                      int // a segment, and how many there are
	colours, opacity                              int // samples of a colour; what the next one is, 0: nothing
	reversed, predicted                           bool
	palette                                       tiffValues
	sampled                                       image.Point // pixels that share their chroma, across and down
}

// tiffValues are the numbers of a tag.
type tiffValues struct {
	order        binary.ByteOrder
	width, count int
	raw          []byte
}

// at returns a number, 0 if it is not there.
func (v tiffValues) at(i int) int {
	if v.order == nil || i >= max(v.count, 1) || (i+1)*v.width > len(v.raw) {
		return 0
	}
	raw := v.raw[i*v.width:]
	switch v.width {
	case 1:
		return int(raw[0])
	case 4:
		return int(v.order.Uint32(raw))
	case 8:
		return int(v.order.Uint64(raw) & (1<<62 - 1))
	}
	return int(v.order.Uint16(raw))
}

// tiffField finds a tag in the first directory of a TIFF block, whose positions have 32 bits or, in BigTIFF, 64. The
// values have no order if it does not find the tag.
func tiffField(block []byte, tag uint16) (v tiffValues) {
	if len(block) < 16 {
		return v
	}
	var order binary.ByteOrder = binary.LittleEndian
	if block[0] == 'M' {
		order = binary.BigEndian
	}
	at, head, size := uint64(order.Uint32(block[4:])), 2, 12
	number := func(b []byte) uint64 { return uint64(order.Uint32(b)) }
	switch string(block[:4]) {
	case "II*\x00", "MM\x00*":
	case "II+\x00", "MM\x00+":
		at, head, size, number = order.Uint64(block[8:]), 8, 20, order.Uint64
	default:
		return v
	}
	if at > uint64(len(block)) || uint64(len(block))-at < uint64(head) {
		return v
	}
	entries, n := block[at:], uint64(order.Uint16(block[at:]))
	if head == 8 {
		n = order.Uint64(entries)
	}
	for entries = entries[head:]; n > 0 && len(entries) >= size; n, entries = n-1, entries[size:] {
		if order.Uint16(entries) != tag {
			continue
		}
		inside := size/2 - 2 // bytes of a value within the entry
		v = tiffValues{order: order, width: 2}
		switch order.Uint16(entries[2:]) {
		case 1, 2, 6, 7:
			v.width = 1
		case 4, 9, 13:
			v.width = 4
		case 16, 17, 18:
			v.width = 8
		}
		count := number(entries[4:])
		v.raw = entries[size-inside : size]
		if count > uint64(inside/v.width) {
			from := number(v.raw)
			if count > uint64(len(block)/v.width) || from > uint64(len(block))-count*uint64(v.width) {
				return tiffValues{order: order, width: v.width}
			}
			v.raw = block[from : from+count*uint64(v.width)]
		}
		v.count = int(count)
		return v
	}
	return v
}

// tiffTag reads a whole number from the first directory of a TIFF block. It returns 0 if it does not find the tag.
func tiffTag(block []byte, tag uint16) int { return tiffField(block, tag).at(0) }

// readTIFF reads the header. Its errors name what is not supported.
func readTIFF(data []byte) (t tiffFile, err error) {
	value := func(tag uint16, otherwise int) int {
		if v := tiffField(data, tag); v.order != nil {
			return v.at(0)
		}
		return otherwise
	}
	t = tiffFile{data: data, w: value(tiffWidth, 0), h: value(tiffHeight, 0), bits: value(tiffBits, 1),
		samples: value(tiffSamples, 1), photometric: value(tiffPhotometric, 0), compression: value(tiffCompression, 1),
		planes: 1, sampled: image.Pt(1, 1), reversed: value(tiffFillOrder, 1) == 2, predicted: value(tiffPredictor, 1) == 2,
		palette: tiffField(data, tiffColours)}
	t.order = binary.LittleEndian
	if data[0] == 'M' {
		t.order = binary.BigEndian
	}
	if t.photometric == tiffYCC && t.compression != tiffJPEG {
		t.sampled = image.Pt(2, 2)
		if v := tiffField(data, tiffSampling); v.order != nil {
			t.sampled = image.Pt(v.at(0), v.at(1))
		}
	}
	if value(tiffPlanes, 1) == 2 {
		t.planes = t.samples
	}
	if t.w <= 0 || t.h <= 0 || t.w > 1<<31 || t.h > 1<<31 || t.samples <= 0 || t.samples > 64 {
		return t, errTIFF
	}
	t.colours = map[int]int{tiffWhiteIsZero: 1, tiffBlackIsZero: 1, tiffRGB: 3, tiffPalette: 1, tiffCMYK: 4,
		tiffYCC: 3}[t.photometric]
	if extra := tiffField(data, tiffExtra); t.samples > t.colours && t.photometric != tiffCMYK {
		if t.opacity = extra.at(0); extra.order == nil || t.colours == 1 {
			t.opacity = tiffOpacity // as Pillow takes them
		}
	}
	if err := t.refuse(value); err != nil {
		return t, err
	}
	t.offsets, t.sizes = tiffField(data, tiffStrips), tiffField(data, tiffStripBytes)
	t.wide, t.high = t.w, value(tiffRows, t.h)
	if tiles := tiffField(data, tiffTiles); tiles.order != nil {
		t.offsets, t.sizes = tiles, tiffField(data, tiffTileBytes)
		if t.wide, t.high = value(tiffTileWidth, 0), value(tiffTileHeight, 0); t.wide < 16 || t.high < 16 || t.wide > 1<<20 {
			return t, errTIFF
		}
	}
	t.high = min(t.high, t.h)
	if t.high <= 0 {
		return t, errTIFF
	}
	t.across, t.down = (t.w+t.wide-1)/t.wide, (t.h+t.high-1)/t.high
	if t.offsets.count < t.across*t.down*t.planes {
		return t, errTIFF
	}
	return t, nil
}

// refuse returns an error for what is not supported.
func (t *tiffFile) refuse(value func(tag uint16, otherwise int) int) error {
	known := map[int]bool{1: true, 2: true, 4: true, 8: true, 16: true}
	chroma := map[int]bool{1: true, 2: true, 4: true}
	compressions := map[int]string{2: "fax", 6: "old JPEG", 34925: "LZMA", 34676: "LogLuv", 34712: "JPEG 2000",
		34887: "LERC", 50001: "WebP"}
	what := ""
	switch t.compression {
	case tiffRaw, tiffFax4, tiffLZW, tiffJPEG, tiffDeflate, tiffOldDeflate, tiffPackBits, tiffZstandard:
	case tiffFax3:
		if value(tiffFaxOptions, 0)&1 != 0 {
			what = "two-dimensional fax compression"
		}
	default:
		if what = fmt.Sprintf("compression %d", t.compression); compressions[t.compression] != "" {
			what = compressions[t.compression] + " compression"
		}
	}
	switch {
	case what != "":
	case t.photometric == 8:
		what = "Lab"
	case t.colours == 0:
		what = fmt.Sprintf("photometric interpretation %d", t.photometric)
	case value(tiffFormat, 1) != 1:
		what = "a signed or floating sample"
	case !known[t.bits] || t.bits < 8 && t.colours > 1 || t.bits > 8 && t.photometric == tiffPalette:
		what = fmt.Sprintf("a sample of %d bits", t.bits)
	case t.samples < t.colours:
		return errTIFF
	case t.compression == tiffJPEG &&
		(t.bits != 8 || t.samples != 1 && t.samples != 3 || t.samples != t.colours || t.planes > 1):
		what = "JPEG of more than three channels"
	case t.clumped() && (t.bits > 8 || t.samples > 3 || t.predicted || t.planes > 1):
		what = "this kind of YCbCr"
	case !chroma[t.sampled.X] || !chroma[t.sampled.Y]:
		return errTIFF
	case t.predicted && t.bits < 8 || value(tiffPredictor, 1) > 2:
		what = "the predictor"
	default:
		return nil
	}
	return fmt.Errorf("%s is not supported; save it as PNG", what)
}

// clumped reports whether several pixels share their chroma, which follows their luma.
func (t *tiffFile) clumped() bool {
	return t.sampled != image.Pt(1, 1)
}

// row returns the bytes of a row of a segment, or of a row of clumps.
func (t *tiffFile) row() int {
	if t.clumped() {
		return (t.wide + t.sampled.X - 1) / t.sampled.X * (t.sampled.X*t.sampled.Y + 2)
	}
	return (t.wide*t.samples/t.planes*t.bits + 7) / 8
}

// memory estimates what decoding holds: the image, and the planes of a segment.
func (t *tiffFile) memory() float64 {
	all, part := 3*float64(t.w)*float64(t.h), float64(t.row())*float64(t.high)*float64(t.planes)
	if t.compression == tiffJPEG {
		part = 7.5 * float64(t.wide) * float64(t.high) // with planes of 4:2:0
	}
	return all + part
}

func tiffConfig(r io.Reader) (c image.Config, err error) {
	data, err := io.ReadAll(r)
	if err == nil {
		var t tiffFile
		t, err = readTIFF(data)
		c.Width, c.Height = t.w, t.h
	}
	return c, err
}

// decodeTIFF decodes the first image of a file, as stored.
func (d *Decoder) decodeTIFF(data []byte) (*RGB, error) {
	t, err := readTIFF(data)
	if err != nil {
		return nil, err
	}
	m, planes := NewRGB(t.w, t.h), make([][]byte, t.planes)
	for i := range t.across * t.down {
		corner := image.Pt(i%t.across*t.wide, i/t.across*t.high)
		rows, columns := min(t.high, t.h-corner.Y), min(t.wide, t.w-corner.X)
		if t.compression == tiffJPEG {
			part, err := d.tiffPicture(&t, i)
			if err != nil {
				return nil, err
			}
			if part.W < columns || part.H < rows {
				return nil, errTIFF
			}
			for y := range rows {
				copy(m.row(corner.Y + y)[corner.X:], part.row(y)[:columns])
			}
			continue
		}
		for p := range planes {
			if planes[p], err = t.unpack(p*t.across*t.down+i, rows, planes[p]); err != nil {
				return nil, err
			}
		}
		for y := range rows {
			t.convert(m.row(corner.Y + y)[corner.X:][:columns], planes, y)
		}
	}
	return m, nil
}

// segment returns the bytes of a segment, as stored.
func (t *tiffFile) segment(i int) ([]byte, error) {
	at, n := t.offsets.at(i), t.sizes.at(i)
	if at > len(t.data) {
		return nil, errTIFF
	}
	if rest := len(t.data) - at; n == 0 || n > rest { // some programs leave the size out
		n = rest
	}
	return t.data[at : at+n], nil
}

// tiffPicture decodes a segment that is a JPEG. Its tables are elsewhere, and Adobe's marker says whether its colours
// are RGB.
func (d *Decoder) tiffPicture(t *tiffFile, i int) (*RGB, error) {
	stored, err := t.segment(i)
	if err != nil || len(stored) < 2 {
		return nil, errTIFF
	}
	out := bytes.Clone(stored[:2])
	if tables := tiffField(t.data, tiffJPEGTables).raw; len(tables) > 4 {
		out = append(out, tables[2:len(tables)-2]...)
	}
	if t.samples == 3 {
		adobe := []byte("\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00")
		if t.photometric == tiffYCC {
			adobe[len(adobe)-1] = 1
		}
		out = append(out, adobe...)
	}
	return d.Decode(append(out, stored[2:]...))
}

// unpack decompresses the rows of a segment into memory that it reuses.
func (t *tiffFile) unpack(i, rows int, into []byte) ([]byte, error) {
	stored, err := t.segment(i)
	if err != nil {
		return nil, err
	}
	if t.reversed {
		stored = bytes.Clone(stored)
		for i, b := range stored {
			stored[i] = bits.Reverse8(b)
		}
	}
	n := t.row() * ((rows + t.sampled.Y - 1) / t.sampled.Y)
	if cap(into) < n {
		into = make([]byte, n)
	}
	into = into[:n]
	var r io.Reader = bytes.NewReader(stored)
	switch t.compression {
	case tiffFax3, tiffFax4:
		form := ccitt.Group3
		if t.compression == tiffFax4 {
			form = ccitt.Group4
		}
		r = ccitt.NewReader(r, ccitt.MSB, form, t.wide, rows, &ccitt.Options{Invert: true})
	case tiffLZW:
		z := lzw.NewReader(r, lzw.MSB, 8)
		defer z.Close()
		r = z
	case tiffDeflate, tiffOldDeflate:
		if r, err = zlib.NewReader(r); err != nil {
			return nil, errTIFF
		}
	case tiffZstandard:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, errTIFF
		}
		defer z.Close()
		r = z
	case tiffPackBits:
		return into, unpackBits(into, stored)
	}
	if _, err := io.ReadFull(r, into); err != nil {
		return nil, errTIFF
	}
	if t.predicted {
		for y := range rows {
			t.unpredict(into[y*t.row():][:t.row()])
		}
	}
	return into, nil
}

// unpackBits decompresses runs: a count and bytes, or a count below zero and one byte.
func unpackBits(into, stored []byte) error {
	for len(into) > 0 {
		if len(stored) < 2 {
			return errTIFF
		}
		n := int(int8(stored[0]))
		switch stored = stored[1:]; {
		case n >= 0 && n < len(stored):
			into = into[copy(into, stored[:n+1]):]
			stored = stored[n+1:]
		case n >= 0:
			return errTIFF
		case n > -128:
			run := into[:min(1-n, len(into))]
			for i := range run {
				run[i] = stored[0]
			}
			into, stored = into[len(run):], stored[1:]
		}
	}
	return nil
}

// unpredict adds to each sample of a row the one before it.
func (t *tiffFile) unpredict(row []byte) {
	n := t.samples / t.planes
	if t.bits == 8 {
		for i := n; i < len(row); i++ {
			row[i] += row[i-n]
		}
		return
	}
	for i := 2 * n; i < len(row); i += 2 {
		t.order.PutUint16(row[i:], t.order.Uint16(row[i:])+t.order.Uint16(row[i-2*n:]))
	}
}

// convert writes a row of pixels: the upper 8 bits of 16, on white.
func (t *tiffFile) convert(row [][3]byte, planes [][]byte, y int) {
	if t.clumped() {
		each := t.sampled.X*t.sampled.Y + 2
		line := planes[0][y/t.sampled.Y*t.row():]
		for x := range row {
			clump := line[x/t.sampled.X*each:][:each]
			row[x] = t.colour([5]byte{clump[y%t.sampled.Y*t.sampled.X+x%t.sampled.X], clump[each-2], clump[each-1]})
		}
		return
	}
	var p [5]byte
	rows, n := make([][]byte, t.samples), t.samples/t.planes
	for k := range rows {
		rows[k] = planes[k/n][y*t.row():][:t.row()]
	}
	used, most, upper := min(t.colours+min(t.opacity, 1), len(p)), 255, 0
	if t.bits < 8 && t.photometric != tiffPalette {
		most = 1<<t.bits - 1
	}
	if t.order == binary.LittleEndian {
		upper = 1
	}
	for x := range row {
		for k := range used {
			i := x*n + k%n
			switch t.bits {
			case 8:
				p[k] = rows[k][i]
			case 16:
				p[k] = rows[k][2*i+upper]
			default:
				each := 8 / t.bits
				v := rows[k][i/each] >> (t.bits * (each - 1 - i%each)) & (1<<t.bits - 1)
				p[k] = byte(int(v) * 255 / most)
			}
		}
		row[x] = t.colour(p)
	}
}

// colour returns the colour of the samples of a pixel.
func (t *tiffFile) colour(p [5]byte) (c [3]byte) {
	switch t.photometric {
	case tiffWhiteIsZero:
		c = [3]byte{255 - p[0], 255 - p[0], 255 - p[0]}
	case tiffBlackIsZero:
		c = [3]byte{p[0], p[0], p[0]}
	case tiffPalette:
		n := t.palette.count / 3
		for k := range c {
			c[k] = byte(t.palette.at(k*n+int(p[0])) >> 8)
		}
	case tiffCMYK:
		return fromCMYK(p[:4])
	case tiffYCC:
		one := [][3]byte{{}}
		rowToRGB(one, p[:1], p[1:2], p[2:3])
		c = one[0]
	default:
		c = [3]byte(p[:3])
	}
	alpha := p[t.colours]
	for k, v := range c {
		switch t.opacity {
		case tiffPremultiplied:
			c[k] = byte(min(255, int(v)+255-int(alpha)))
		case tiffOpacity:
			c[k] = onWhite(v, alpha)
		}
	}
	return c
}

// tiffProfile returns the bytes of the tag of a profile.
func tiffProfile(data []byte) ([]byte, error) {
	v := tiffField(data, tiffICC)
	if v.order == nil {
		return nil, nil
	}
	if v.count <= 4 {
		return nil, errDamagedProfile
	}
	return v.raw, nil
}
