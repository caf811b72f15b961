package img

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"io"

	"golang.org/x/image/webp"
)

// An animated WebP holds its frames in chunks ANMF behind VP8X, each with the chunks of a still image
// (https://developers.google.com/speed/webp/docs/riff_container). hgld takes the first frame.

// webpFrame is the first frame of an animation.
type webpFrame struct {
	still  []byte          // the frame as a file of its own
	at     image.Rectangle // its place on the canvas
	canvas image.Point     // size of the canvas
}

// chunk is a part of a RIFF file.
type chunk struct {
	name string
	data []byte
}

// chunks takes a RIFF file apart, as far as it is whole.
func chunks(data []byte) (list []chunk) {
	for len(data) >= 8 {
		n := uint64(binary.LittleEndian.Uint32(data[4:]))
		if n > uint64(len(data)-8) {
			break
		}
		list = append(list, chunk{string(data[:4]), data[8 : 8+n]})
		data = data[min(8+n+n&1, uint64(len(data))):]
		if last := list[len(list)-1].name; last == "ANMF" {
			break // the first frame is enough
		}
	}
	return list
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// firstFrame returns the first frame of an animation, nil for a still image.
func firstFrame(data []byte) *webpFrame {
	const header = 12
	if len(data) < header {
		return nil
	}
	all := chunks(data[header:])
	if len(all) == 0 || all[0].name != "VP8X" || len(all[0].data) < 10 || all[0].data[0]&2 == 0 {
		return nil
	}
	f := &webpFrame{canvas: image.Pt(uint24(all[0].data[4:])+1, uint24(all[0].data[7:])+1)}
	last := all[len(all)-1]
	if last.name != "ANMF" || len(last.data) < 16 {
		return f
	}
	from := image.Pt(2*uint24(last.data), 2*uint24(last.data[3:]))
	f.at = image.Rectangle{from, from.Add(image.Pt(uint24(last.data[6:])+1, uint24(last.data[9:])+1))}
	var body bytes.Buffer
	put := func(name string, data []byte) {
		body.WriteString(name)
		binary.Write(&body, binary.LittleEndian, uint32(len(data)))
		body.Write(data)
		if len(data)%2 == 1 {
			body.WriteByte(0)
		}
	}
	for _, c := range chunks(last.data[16:]) {
		if c.name == "ALPH" {
			extended := make([]byte, 10)
			extended[0] = 1 << 4
			copy(extended[4:7], last.data[6:9])
			copy(extended[7:10], last.data[9:12])
			put("VP8X", extended)
		}
		if c.name == "ALPH" || c.name == "VP8 " || c.name == "VP8L" {
			put(c.name, c.data)
		}
	}
	f.still = binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(4+body.Len()))
	f.still = append(append(f.still, "WEBP"...), body.Bytes()...)
	return f
}

func webpConfig(r io.Reader) (image.Config, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return image.Config{}, err
	}
	f := firstFrame(data)
	if f == nil {
		return webp.DecodeConfig(bytes.NewReader(data))
	}
	c, err := f.config()
	c.Width, c.Height = f.canvas.X, f.canvas.Y
	return c, err
}

// config checks the frame against its place.
func (f *webpFrame) config() (image.Config, error) {
	if f.still == nil {
		return image.Config{}, errors.New("an animation without a frame")
	}
	c, err := webp.DecodeConfig(bytes.NewReader(f.still))
	if err == nil && (image.Pt(c.Width, c.Height) != f.at.Size() || !f.at.In(image.Rectangle{Max: f.canvas})) {
		err = errors.New("the first frame of the animation lies beyond its canvas")
	}
	return c, err
}

func webpDecode(r io.Reader) (image.Image, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if f := firstFrame(data); f != nil {
		if _, err := f.config(); err != nil {
			return nil, err
		}
		data = f.still
	}
	return webp.Decode(bytes.NewReader(data))
}

// onWhite places the first frame of an animation on its canvas, which is transparent and shows white.
func (f *webpFrame) onWhite(m *RGB) *RGB {
	if f.at == (image.Rectangle{Max: f.canvas}) {
		return m
	}
	out := NewRGB(f.canvas.X, f.canvas.Y)
	for i := range out.Pix {
		out.Pix[i] = 255
	}
	for y := range m.H {
		copy(out.Pix[3*((f.at.Min.Y+y)*out.W+f.at.Min.X):], m.Pix[3*y*m.W:3*(y+1)*m.W])
	}
	return out
}
