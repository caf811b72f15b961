package img

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"sync"
)

// Go's decoders refuse some files that libjpeg, libpng, Pillow and browsers show. mend returns such a file as they take
// it, nil if it cannot tell how. It is called once a decoder has failed.
func mend(name string, data []byte) []byte {
	switch name {
	case "jpeg":
		return mendJPEG(data)
	case "png":
		return mendPNG(data)
	}
	return nil
}

// mendJPEG adds the Huffman tables of the standard (ITU-T T.81, K.3) to a frame of a webcam, which leaves them out.
func mendJPEG(data []byte) []byte {
	h := readJPEGHeader(data)
	if h.tables || h.progressive || h.scans == 0 {
		return nil
	}
	const start = 2
	return append(append(bytes.Clone(data[:start]), standardTables()...), data[start:]...)
}

// standardTables are the segments DHT of the standard tables, which Go's encoder writes.
var standardTables = sync.OnceValue(func() (segments []byte) {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, image.NewRGBA(image.Rect(0, 0, 1, 1)), nil); err != nil {
		return nil
	}
	data := file.Bytes()
	for at := 2; at+4 < len(data) && data[at+1] != 0xda; {
		end := at + 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		if data[at+1] == 0xc4 {
			segments = append(segments, data[at:end]...)
		}
		at = end
	}
	return segments
})

// mendPNG leaves out the auxiliary chunks, of which a decoder needs tRNS alone, so that their checksums and places do
// not matter, and the bytes behind the pixels. Damage to the pixels stays.
func mendPNG(data []byte) []byte {
	parts, sound := map[string][]byte{}, true
	for at := 8; at+12 <= len(data); {
		n := uint64(binary.BigEndian.Uint32(data[at:]))
		if n > uint64(len(data)-at-12) {
			return nil
		}
		body := data[at+4 : at+8+int(n)]
		name, sum := string(body[:4]), binary.BigEndian.Uint32(data[at+8+int(n):])
		switch good := crc32.ChecksumIEEE(body) == sum; {
		case name[0] >= 'a' && name != "tRNS": // auxiliary
		case good:
			parts[name] = append(parts[name], body[4:]...)
		case name != "tRNS":
			sound = false
		}
		if at += 12 + int(n); name == "IEND" {
			break
		}
	}
	head := parts["IHDR"]
	if _, ends := parts["IEND"]; !sound || !ends || len(head) != 13 || len(parts["IDAT"]) == 0 {
		return nil
	}
	if colours, most := parts["PLTE"], 3<<min(head[8], 8); head[9] == 3 { // libpng ignores what pixels cannot name
		parts["PLTE"] = colours[:min(len(colours), most)]
	}
	pixels, err := pngPixels(head, parts["IDAT"])
	if err != nil {
		return nil
	}
	parts["IDAT"] = pixels
	out := bytes.Clone(data[:8])
	for _, name := range []string{"IHDR", "PLTE", "tRNS", "IDAT", "IEND"} {
		body, is := parts[name]
		if !is {
			continue
		}
		out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
		from := len(out)
		out = append(append(out, name...), body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[from:]))
	}
	return out
}

// pngPixels returns compressed data without those behind the last row. An image beyond 64 MiB stays as it is.
func pngPixels(head, packed []byte) ([]byte, error) {
	w, h := int64(binary.BigEndian.Uint32(head)), int64(binary.BigEndian.Uint32(head[4:]))
	bits := int64(head[8]) * map[byte]int64{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[head[9]]
	size := int64(0)
	add := func(w, h int64) {
		if w > 0 && h > 0 {
			size += h * (1 + (w*bits+7)/8)
		}
	}
	if head[12] == 0 {
		add(w, h)
	} else { // Adam7: passes from a corner, with steps across and down
		for _, pass := range [][4]int64{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2},
			{0, 1, 1, 2}} {
			add((w-pass[0]+pass[2]-1)/pass[2], (h-pass[1]+pass[3]-1)/pass[3])
		}
	}
	const most = 64 << 20
	if size > most {
		return packed, nil
	}
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	// The rows go through the compressor, so that they are never held as a whole.
	var out bytes.Buffer
	z, err := zlib.NewWriterLevel(&out, zlib.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(z, r, size); err != nil {
		return nil, err
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(r, most)); err != nil || n == 0 { // the checksum
		return packed, err
	}
	err = z.Close()
	return out.Bytes(), err
}

// errGIF is the error of a GIF whose first frame cannot be found.
var errGIF = errors.New("the first frame is cut short or damaged")

// gifHeader describes the first frame of a GIF.
type gifHeader struct {
	frame      image.Rectangle
	colours    color.Palette
	interlaced bool
	pixels     []byte // from the width of their codes on
}

// readGIF reads what stands before the pixels of the first frame.
func readGIF(data []byte) (h gifHeader, err error) {
	defer recoverAs(&err) // of an index beyond the file
	at := 6
	palette := func(flags byte) color.Palette {
		if flags&0x80 == 0 {
			return nil
		}
		colours := make(color.Palette, 256) // indices beyond the table are black
		for i := range colours {
			colours[i] = color.NRGBA{A: 255}
		}
		for i := range 2 << (flags & 7) {
			colours[i] = color.NRGBA{data[at], data[at+1], data[at+2], 255}
			at += 3
		}
		return colours
	}
	flags := data[at+4]
	at += 7
	h.colours = palette(flags)
	transparent := -1
	for data[at] == 0x21 { // an extension
		if data[at+1] == 0xf9 && data[at+3]&1 != 0 {
			transparent = int(data[at+6])
		}
		for at += 2; data[at] != 0; at += 1 + int(data[at]) {
		}
		at++
	}
	if data[at] != 0x2c {
		return h, errGIF
	}
	number := func(i int) int { return int(binary.LittleEndian.Uint16(data[at+i:])) }
	h.frame = image.Rect(number(1), number(3), number(1)+number(5), number(3)+number(7))
	flags = data[at+9]
	at += 10
	if own := palette(flags); own != nil {
		h.colours = own
	}
	if h.colours == nil || h.frame.Empty() {
		return h, errGIF
	}
	if transparent >= 0 {
		h.colours[transparent] = color.NRGBA{}
	}
	h.interlaced, h.pixels = flags&0x40 != 0, data[at:]
	return h, nil
}

// decodeGIF decodes the first frame of a GIF as browsers do: it may be larger than the screen that the header declares,
// and what follows its pixels is ignored.
func decodeGIF(data []byte) (m *image.Paletted, err error) {
	defer recoverAs(&err)
	h, err := readGIF(data)
	if err != nil {
		return nil, err
	}
	var packed []byte
	for at := 1; h.pixels[at] != 0; at += 1 + int(h.pixels[at]) {
		packed = append(packed, h.pixels[at+1:at+1+int(h.pixels[at])]...)
	}
	m = image.NewPaletted(h.frame, h.colours)
	if _, err := io.ReadFull(lzw.NewReader(bytes.NewReader(packed), lzw.LSB, int(h.pixels[0])), m.Pix); err != nil {
		return nil, errGIF
	}
	if h.interlaced {
		rows, from, width := bytes.Clone(m.Pix), 0, m.Stride
		for _, pass := range [][2]int{{0, 8}, {4, 8}, {2, 4}, {1, 2}} {
			for y := pass[0]; y < h.frame.Dy(); y += pass[1] {
				copy(m.Pix[y*width:], rows[from:from+width])
				from += width
			}
		}
	}
	return m, nil
}
