package img

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"testing"
	"unsafe"

	"hgld/internal/dlopen"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
)

// A header that is read without image/jpeg says what image/jpeg says, in damaged files too.
func TestCommonJPEGHeadersAreThoseOfTheStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 33))
	files, common := 0, 0
	jpegFiles(t, func(name string, data []byte) {
		head := data[:min(len(data), 20_000)]
		for i := range 200 {
			if i > 0 {
				head = mutated(r, data[:min(len(data), 1000)])
			}
			h := readJPEGHeader(head)
			got, ok := h.config()
			if i == 0 {
				files++
			}
			if !ok {
				continue
			}
			if i == 0 {
				common++
			}
			want, err := jpeg.DecodeConfig(bytes.NewReader(head))
			if err != nil || got.Width != want.Width || got.Height != want.Height {
				t.Errorf("%s: %d×%d, the standard library says %d×%d, %v", name, got.Width, got.Height, want.Width,
					want.Height, err)
			}
		}
	})
	t.Logf("%d of %d files are common", common, files)
	if common < 100 {
		t.Errorf("%d of %d files are common", common, files)
	}
}

// anyPart draws a part of an image: any, a single pixel, or one at an edge.
func anyPart(r *rand.Rand, w, h int) image.Rectangle {
	x, y := r.IntN(w), r.IntN(h)
	part := image.Rect(x, y, x+1+r.IntN(w-x), y+1+r.IntN(h-y))
	switch r.IntN(6) {
	case 0:
		part.Max = part.Min.Add(image.Pt(1, 1))
	case 1:
		part.Max = image.Pt(w, h)
	case 2:
		part.Min = image.Point{}
	}
	return part
}

// samePart decodes a part of a file, and compares it with the whole.
func samePart(p *Part, d *Decoder, data []byte, whole *RGB, r *rand.Rand) error {
	var part image.Rectangle
	calls := 0
	err := d.DecodePart(p, data, func(w, h, _ int) image.Rectangle {
		calls++
		if w != whole.W || h != whole.H {
			return image.Rect(0, 0, 1, 1)
		}
		part = anyPart(r, w, h)
		return part
	})
	switch held := p.Bounds().Add(p.At); {
	case err != nil:
		return err
	case calls != 1:
		return fmt.Errorf("asked %d times for the part", calls)
	case !part.In(held) || !held.In(whole.Bounds()):
		return fmt.Errorf("%v of %d×%d is wanted, %v is decoded", part, whole.W, whole.H, held)
	case !bytes.Equal(Crop(whole, part).Pix, Crop(&p.RGB, part.Sub(p.At)).Pix):
		return fmt.Errorf("%v of %d×%d differs from the whole image", part, whole.W, whole.H)
	}
	return nil
}

func TestPartOfAnImageIsThatOfTheWhole(t *testing.T) {
	standard, fast := decoders(t)
	all := func(w, h, _ int) image.Rectangle { return image.Rect(0, 0, w, h) }
	for _, d := range []*Decoder{standard, fast} {
		if d == nil {
			continue
		}
		r := rand.New(rand.NewPCG(2, 33))
		var p Part
		jpegFiles(t, func(name string, data []byte) {
			times := 20
			switch {
			case d == standard && len(data) > 60_000 || len(data) > 300_000 && !effort.Long():
				return
			case d == standard || len(data) > 60_000:
				times = 2
			}
			whole, err := d.Decode(data)
			for range times {
				if err != nil {
					if failed := d.DecodePart(&p, data, all); failed == nil || failed.Error() != err.Error() {
						t.Errorf("%s: %v, want %v", name, failed, err)
					}
				} else if err := samePart(&p, d, data, whole, r); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// withOrientation inserts EXIF data with an orientation into a JPEG.
func withOrientation(data []byte, orientation byte) []byte {
	exif := "\xff\xe1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" +
		string(rune(orientation)) + "\x00\x00\x00\x00\x00\x00"
	return append(append([]byte("\xff\xd8"), exif...), data[2:]...)
}

func TestPartOfATurnedImageIsThatOfTheWhole(t *testing.T) {
	standard, fast := decoders(t)
	var p Part
	for _, d := range []*Decoder{standard, fast} {
		if d == nil {
			continue
		}
		r := rand.New(rand.NewPCG(3, 33))
		for orientation := byte(1); orientation <= 8; orientation++ {
			data := withOrientation([]byte(probe420), orientation)
			whole := must.Get(d.Decode(data))(t)
			if info, err := d.Info(data); err != nil || info.Orientation != int(orientation) {
				t.Fatalf("orientation %d, %v, want %d", info.Orientation, err, orientation)
			}
			for range 50 {
				if err := samePart(&p, d, data, whole, r); err != nil {
					t.Errorf("orientation %d: %v", orientation, err)
				}
			}
		}
	}
}

// encodeTurbo encodes an image with libjpeg-turbo, which knows more samplings of chroma than Go does.
func encodeTurbo(t *testing.T, path string, m *RGB, sampling, quality int) []byte {
	t.Helper()
	lib := must.Get(dlopen.Open(path))(t)
	var fn struct {
		create  uintptr `name:"tjInitCompress"`
		encode  uintptr `name:"tjCompress2"`
		destroy uintptr `name:"tjDestroy"`
	}
	must.Do(t, lib.Functions(&fn))
	out := &struct {
		pix, file []byte
		to, n     uintptr
	}{pix: m.Pix, file: make([]byte, 12*(m.W+32)*(m.H+32)+4096)}
	out.to, out.n = uintptr(unsafe.Pointer(&out.file[0])), uintptr(len(out.file))
	const keepBuffer = 1 << 10
	handle := dlopen.Call(fn.create)
	failed := dlopen.Call(fn.encode, handle, uintptr(unsafe.Pointer(&out.pix[0])), uintptr(m.W), 0, uintptr(m.H), turboRGB,
		dlopen.Address(&out.to), dlopen.Address(&out.n), uintptr(sampling), uintptr(quality), keepBuffer)
	dlopen.Call(fn.destroy, handle)
	if int32(failed) != 0 {
		t.Fatalf("libjpeg-turbo does not encode %d×%d with sampling %d", m.W, m.H, sampling)
	}
	return out.file[:out.n]
}

// Every sampling of chroma is smoothed in its own way, and needs its own neighbours.
func TestPartsOfEverySamplingAreThoseOfTheWhole(t *testing.T) {
	_, fast := decoders(t)
	if fast == nil {
		return
	}
	lib := fast.JPEG.(*turbo)
	r := rand.New(rand.NewPCG(4, 33))
	files, smaller := 30, 0
	if effort.Long() {
		files = 1000
	}
	var p Part
	for sampling, name := range []string{"4:4:4", "4:2:2", "4:2:0", "grey", "4:4:0", "4:1:1"} {
		for range files {
			m := noise(r, 1+r.IntN(200), 1+r.IntN(150), r.IntN(2) == 0)
			data := encodeTurbo(t, lib.path, m, sampling, 20+r.IntN(80))
			whole := must.Get(fast.Decode(data))(t)
			for range 20 {
				if err := samePart(&p, fast, data, whole, r); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if p.Bounds() != whole.Bounds() {
					smaller++
				}
			}
		}
	}
	if parts := lib.parts.region != 0; parts != (smaller > 0) {
		t.Errorf("version 3 of the library: %v; %d parts were decoded alone", parts, smaller)
	}
}

func TestDecodePartReusesItsMemory(t *testing.T) {
	_, fast := decoders(t)
	if fast == nil {
		return
	}
	var p Part
	whole := func(w, h, _ int) image.Rectangle { return image.Rect(0, 0, w, h) }
	for _, data := range [][]byte{[]byte(probe420), []byte(probe440), withOrientation([]byte(probe420), 6)} {
		if n := testing.AllocsPerRun(100, func() {
			must.Do(t, fast.DecodePart(&p, data, whole))
		}); n != 0 {
			t.Errorf("%v allocations a call, want none", n)
		}
	}
}
