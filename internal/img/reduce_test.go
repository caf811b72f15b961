package img

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"image"
	"image/jpeg"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// greyJPEG returns a grey JPEG of any size. A block after the first takes six bits: no difference, and the end.
func greyJPEG(w, h int) []byte {
	m := image.NewGray(image.Rect(0, 0, 8, 8))
	for i := range m.Pix {
		m.Pix[i] = 128
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, m, nil); err != nil {
		panic(err)
	}
	data := file.Bytes()
	sof := bytes.Index(data, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(data[sof+5:], uint16(h))
	binary.BigEndian.PutUint16(data[sof+7:], uint16(w))
	data = data[:bytes.Index(data, []byte{0xff, 0xda})+10]
	bits := 6 * ((w + 7) / 8) * ((h + 7) / 8)
	data = append(data, bytes.Repeat([]byte{0b00101000, 0b10100010, 0b10001010}, (bits+23)/24)...)
	return append(data, 0xff, 0xd9)
}

// The probes are beyond the limits by factors of 2, 4 and 8. The hashes are those of Pillow's draft.
func TestImagesBeyondTheLimitsAreReduced(t *testing.T) {
	standard, fast := decoders(t)
	if fast == nil {
		return
	}
	for _, p := range probes() {
		small := Reduced(image.Rect(0, 0, 19, 11), p.reduction)
		limits := Limits{Pixels: small.Dx() * small.Dy(), Memory: 4 * small.Dx() * small.Dy()}
		if p.reduction == 1 || p.file == probe440 {
			limits.Memory = 0 // its coefficients, which no reduction makes fewer
		}
		for _, goFirst := range []bool{false, true} {
			d := Decoder{Limits: limits, JPEG: fast.JPEG, GoFirst: goFirst}
			info, err := d.Info([]byte(p.file))
			if err != nil || info.W != 19 || info.H != 11 || info.Reduction != p.reduction {
				t.Errorf("%v, %+v, want 19×11 and a reduction of %d", err, info, p.reduction)
			}
			m, err := d.Decode([]byte(p.file))
			if err != nil || goFirst && p.reduction == 1 {
				must.Do(t, err)
				continue
			}
			if sum := sha256.Sum256(m.Pix); hex.EncodeToString(sum[:]) != p.sha256 {
				t.Errorf("1/%d: other pixels than Pillow's", p.reduction)
			}
			var part Part
			must.Do(t, d.DecodePart(&part, []byte(p.file), func(w, h, reduction int) image.Rectangle {
				if w != 19 || h != 11 || reduction != p.reduction {
					t.Errorf("asked for a part of %d×%d, 1/%d", w, h, reduction)
				}
				return Reduced(image.Rect(8, 4, 19, 11), reduction)
			}))
			if want := Crop(m, part.Bounds().Add(part.At)); !bytes.Equal(part.Pix, want.Pix) {
				t.Errorf("1/%d: the part at %v differs from the image", p.reduction, part.At)
			}
		}
		standard.Limits = limits
		_, err := standard.Decode([]byte(p.file))
		if p.reduction > 1 && (!errors.Is(err, ErrTooBig) || !strings.HasSuffix(err.Error(), turboAdvice)) {
			t.Errorf("%v without a library; want an error that says what helps", err)
		}
	}
	few := &Decoder{Limits: Limits{Pixels: 5}, JPEG: fast.JPEG}
	if _, err := few.Decode([]byte(probe420)); !errors.Is(err, ErrTooBig) {
		t.Errorf("%v where an eighth is too big", err)
	}
	damaged := &Decoder{Limits: Limits{Pixels: 60}, JPEG: fast.JPEG}
	if _, err := damaged.Decode([]byte(probe420)[:len(probe420)/2]); err == nil {
		t.Error("half of a file was decoded")
	}
}

// A reduced image is turned like a whole one.
func TestReducedImagesAreUpright(t *testing.T) {
	_, fast := decoders(t)
	if fast == nil {
		return
	}
	const exif = "\xff\xe1\x00\x22Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00" +
		"\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00"
	turned := []byte(probe420[:2] + exif + probe420[2:])
	d := Decoder{Limits: Limits{Pixels: 60}, JPEG: fast.JPEG}
	m := must.Get(d.Decode(turned))(t)
	want := must.Get(d.Decode([]byte(probe420)))(t).turned(6)
	if m.W != 6 || m.H != 10 || !bytes.Equal(m.Pix, want.Pix) {
		t.Errorf("%d×%d, or other pixels than those of the file that lies on its side", m.W, m.H)
	}
	var part Part
	must.Do(t, d.DecodePart(&part, turned, func(w, h, reduction int) image.Rectangle {
		return Reduced(image.Rect(0, 0, w, h), reduction)
	}))
	if !bytes.Equal(part.Pix, want.Pix) || part.At != (image.Point{}) {
		t.Errorf("a part of %d×%d at %v, want all of the upright image", part.W, part.H, part.At)
	}
}

func TestSmallCopiesAreThoseOfTheWholeImage(t *testing.T) {
	standard, fast := decoders(t)
	drawn := NewRGB(203, 150)
	for i := range drawn.Pix {
		drawn.Pix[i] = byte(i / 3 % 203)
	}
	photo := must.Get(EncodeJPEG(drawn, 95, nil))(t)
	for _, d := range []*Decoder{standard, fast} {
		if d == nil {
			continue
		}
		for _, short := range []int{30, 75, 149, 150, 400} {
			m := must.Get(d.Small(photo, short, Bilinear))(t)
			w, h := ShortSide(203, 150, min(short, 150))
			if m.W != w || m.H != h {
				t.Errorf("%d×%d, want %d×%d", m.W, m.H, w, h)
				continue
			}
			most, mean := difference(t, Resize(drawn, w, h, Bilinear), m)
			if most > 12 || mean > 2 { // neighbours differ by up to 7 levels
				t.Errorf("short side %d: differs by up to %d, on average %.1f", short, most, mean)
			}
		}
	}
}
