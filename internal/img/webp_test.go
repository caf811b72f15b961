package img

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// animate wraps the chunk of a still WebP of 6×4 pixels as the first of two frames, at a place on a canvas.
func animate(tb testing.TB, still []byte, x, y, w, h int) []byte {
	tb.Helper()
	put24 := func(b []byte, v int) { b[0], b[1], b[2] = byte(v), byte(v>>8), byte(v>>16) }
	frame := make([]byte, 16)
	put24(frame, x/2)
	put24(frame[3:], y/2)
	put24(frame[6:], 5)
	put24(frame[9:], 3)
	frame = append(frame, still[12:]...)
	canvas := make([]byte, 10)
	canvas[0] = 2
	put24(canvas[4:], w-1)
	put24(canvas[7:], h-1)
	out := []byte("RIFF\x00\x00\x00\x00WEBP")
	for _, c := range []chunk{{"VP8X", canvas}, {"ANIM", make([]byte, 6)}, {"ANMF", frame}, {"ANMF", frame[:20]}} {
		out = binary.LittleEndian.AppendUint32(append(out, c.name...), uint32(len(c.data)))
		out = append(out, c.data...)
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

func TestAnimatedWebPIsItsFirstFrame(t *testing.T) {
	const text = "UklGRjYAAABXRUJQVlA4TCoAAAAvBcAAELkyRPQ/dhHR/4BBtpGKeP46d/8MIyMQSPYnzOYJnAAmoiIR0j8="
	still := must.Get(base64.StdEncoding.DecodeString(text))(t)
	d := &Decoder{}
	want := must.Get(d.Decode(still))(t)
	whole, err := d.Decode(animate(t, still, 0, 0, 6, 4))
	if err != nil || !bytes.Equal(whole.Pix, want.Pix) {
		t.Errorf("%v: not the pixels of the frame", err)
	}
	part := must.Get(d.Decode(animate(t, still, 2, 4, 9, 8)))(t)
	for y := range 8 {
		for x := range 9 {
			expect := [3]byte{255, 255, 255}
			if x >= 2 && x < 8 && y >= 4 {
				expect = want.row(y - 4)[x-2]
			}
			if got := part.row(y)[x]; got != expect {
				t.Fatalf("pixel %d,%d is %v, want %v", x, y, got, expect)
			}
		}
	}
	for name, data := range map[string][]byte{"beyond its canvas": animate(t, still, 4, 4, 9, 8),
		"without a frame": animate(t, still, 0, 0, 6, 4)[:44]} {
		if _, err := d.Decode(data); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
		if _, err := d.Info(data); err == nil {
			t.Errorf("%s: Info finds nothing", name)
		}
	}
}

// A valid file of a kind that is not decoded is called that, and not damaged.
func TestKindsOfTIFFAreCalledUnsupported(t *testing.T) {
	le := binary.LittleEndian
	file := func(tags ...uint16) []byte { // tag and value
		out := le.AppendUint16([]byte("II*\x00\x08\x00\x00\x00"), uint16(len(tags)/2))
		for i := 0; i < len(tags); i += 2 {
			out = le.AppendUint16(le.AppendUint16(out, tags[i]), 3)
			out = le.AppendUint32(le.AppendUint32(out, 1), uint32(tags[i+1]))
		}
		return append(out, make([]byte, 64)...)
	}
	for want, data := range map[string][]byte{
		"Lab":             file(256, 4, 257, 4, 262, 8, 277, 3, 258, 8),
		"LZMA":            file(256, 4, 257, 4, 262, 2, 277, 3, 258, 8, 259, 34925),
		"fax":             file(256, 4, 257, 4, 259, 2, 262, 0),
		"two-dimensional": file(256, 4, 257, 4, 259, 3, 262, 0, 292, 1),
		"12 bits":         file(256, 4, 257, 4, 258, 12, 262, 1),
		"floating":        file(256, 4, 257, 4, 258, 16, 262, 1, 339, 3),
		"compression 77":  file(256, 4, 257, 4, 258, 8, 262, 1, 259, 77),
		"JPEG of more":    file(256, 4, 257, 4, 258, 8, 262, 5, 277, 4, 259, 7),
	} {
		if _, err := new(Decoder).Decode(data); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "is not supported; save it as PNG") {
			t.Errorf("%s: %v", want, err)
		}
	}
}
