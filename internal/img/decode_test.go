package img

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// TestDecodesOrRefusesEveryAwkwardFile tries real photographs, files with odd markers, and files
// that crashed other decoders. What image/jpeg can read must have the size that the markers and the
// orientation give. Everything else must be an error.
func TestDecodesOrRefusesEveryAwkwardFile(t *testing.T) {
	dir := goldens.Shared(t, "data", "jpeg")
	f := must.Get(os.Open(filepath.Join(dir, "manifest.csv")))(t)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, row := range rows[1:] {
		get := func(name string) string { return row[column[name]] }
		t.Run(get("file"), func(t *testing.T) {
			data := must.Get(os.ReadFile(filepath.Join(dir, get("file"))))(t)
			m, err := new(Decoder).Decode(data)
			switch result := get("go_result"); result {
			case "invalid JPEG format: uninitialized Huffman table": // decoded if it is a webcam's frame: see mend_test.go
			case "ok":
				must.Do(t, err)
				w, _ := strconv.Atoi(get("width"))
				h, _ := strconv.Atoi(get("height"))
				if o, _ := strconv.Atoi(get("exif_orientation")); o >= 5 {
					w, h = h, w
				}
				if m.W != w || m.H != h || len(m.Pix) != 3*w*h {
					t.Errorf("%d×%d with %d bytes, want %d×%d", m.W, m.H, len(m.Pix), w, h)
				}
			default:
				if err == nil && bytes.HasPrefix(data, []byte{0xff, 0xd8}) { // one file is really a PNG
					t.Errorf("decoded; image/jpeg says %q", result)
				}
			}
		})
	}
	if len(rows) != 166 {
		t.Errorf("%d files in the manifest, want 165", len(rows)-1)
	}
}

// TestPixelsEqualLibjpegs compares with PNGs that ImageMagick made from the same files with
// libjpeg. Two inverse cosine transforms may round a sample differently by one, which the colour
// conversion increases to at most 4.
func TestPixelsEqualLibjpegs(t *testing.T) {
	dir := goldens.Shared(t, "data", "jpeg", "jpeg-decoder", "reftest")
	compared := 0
	for _, pattern := range []string{"*.jpg", "mozilla/*.jpg"} {
		files := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
		for _, file := range files {
			data := must.Get(os.ReadFile(file))(t)
			want, err := os.ReadFile(file[:len(file)-4] + ".png")
			if err != nil {
				continue
			}
			got, err := new(Decoder).Decode(data)
			if err != nil {
				continue // the other test checks which files must decode
			}
			compared++
			ref := must.Get(new(Decoder).Decode(want))(t)
			if most, mean := difference(t, got, ref); most > 4 || mean > 0.35 {
				t.Errorf("%s: differs by up to %d, on average %.2f", filepath.Base(file), most, mean)
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d files compared", compared)
	}
}

// TestEveryOrientationShowsTheSamePicture uses photographs stored in all eight orientations.
// Rotated upright they are the same image, each encoded again. The first of each series has other
// colours, so it only has to be nearer to the others than its mirror image.
func TestEveryOrientationShowsTheSamePicture(t *testing.T) {
	dir := goldens.Shared(t, "data", "jpeg", "orientation")
	for _, name := range []string{"landscape", "portrait"} {
		second := decodeFile(t, filepath.Join(dir, name+"_2.jpg"))
		for o := 3; o <= 8; o++ {
			m := decodeFile(t, filepath.Join(dir, fmt.Sprintf("%s_%d.jpg", name, o)))
			if _, mean := difference(t, m, second); mean > 6 { // a wrong rotation differs by 30 or more
				t.Errorf("%s with orientation %d differs by %.1f on average", name, o, mean)
			}
		}
		first := decodeFile(t, filepath.Join(dir, name+"_1.jpg"))
		_, mean := difference(t, first, second)
		if _, other := difference(t, mirrored(first), second); mean > other/2 {
			t.Errorf("%s with orientation 1 differs by %.1f, mirrored by %.1f", name, mean, other)
		}
	}
}

func TestTurnedMovesEveryPixelWhereExifSays(t *testing.T) {
	m := NewRGB(3, 2)  // 0 1 2
	for i := range 6 { // 3 4 5
		m.Pix[3*i] = byte(i)
	}
	for o, want := range []string{1: "3x2 012345", 2: "3x2 210543", 3: "3x2 543210", 4: "3x2 345012",
		5: "2x3 031425", 6: "2x3 304152", 7: "2x3 524130", 8: "2x3 251403"} {
		if o == 0 {
			continue
		}
		turned := m.turned(o)
		got := fmt.Sprintf("%dx%d ", turned.W, turned.H)
		for _, p := range triples(turned.Pix) {
			got += strconv.Itoa(int(p[0]))
		}
		if got != want {
			t.Errorf("orientation %d: %s, want %s", o, got, want)
		}
	}
}

// colours returns an image with every kind of pixel. The right half has transparent columns.
func colours() *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, 6, 4))
	for y := range 4 {
		for x := range 6 {
			alpha := byte(255)
			if x >= 3 {
				alpha = 128
			}
			m.SetNRGBA(x, y, color.NRGBA{byte(50 * x), byte(80 * y), byte(255 - 40*x), alpha})
		}
	}
	return m
}

// coloursOnWhite is colours as Pillow blends it onto white.
var coloursOnWhite = [][3]byte{
	{0, 0, 255}, {50, 0, 215}, {100, 0, 175}, {202, 127, 195}, {227, 127, 175}, {252, 127, 155},
	{0, 80, 255}, {50, 80, 215}, {100, 80, 175}, {202, 167, 195}, {227, 167, 175}, {252, 167, 155},
	{0, 160, 255}, {50, 160, 215}, {100, 160, 175}, {202, 207, 195}, {227, 207, 175}, {252, 207, 155},
	{0, 240, 255}, {50, 240, 215}, {100, 240, 175}, {202, 247, 195}, {227, 247, 175}, {252, 247, 155},
}

func TestAlphaIsBlendedOnWhite(t *testing.T) {
	m := colours()
	deep := image.NewNRGBA64(m.Rect)
	for y := range 4 {
		for x := range 6 {
			c := m.NRGBAAt(x, y)
			deep.SetNRGBA64(x, y, color.NRGBA64{uint16(c.R) * 257, uint16(c.G) * 257, uint16(c.B) * 257, uint16(c.A) * 257})
		}
	}
	palette := image.NewPaletted(m.Rect, nil)
	for i := range 24 {
		palette.Palette = append(palette.Palette, m.NRGBAAt(i%6, i/6))
		palette.Pix[i] = byte(i)
	}
	webp, err := base64.StdEncoding.DecodeString("UklGRjYAAABXRUJQVlA4TCoAAAAvBcAAELkyRPQ/dhHR/4BBtpGKeP46d/8MIyMQSPYnzOYJnAAmoiIR0j8=")
	must.Do(t, err)
	for name, data := range map[string][]byte{
		"png":         encode(t, png.Encode, m),
		"png 16 bit":  encode(t, png.Encode, deep),
		"png palette": encode(t, png.Encode, palette),
		"tiff":        encode(t, func(w io.Writer, m image.Image) error { return tiff.Encode(w, m, nil) }, m),
		"webp":        webp,
	} {
		got, err := new(Decoder).Decode(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, p := range triples(got.Pix) {
			for c := range 3 { // premultiplied formats lose a bit
				if d := int(p[c]) - int(coloursOnWhite[i][c]); d > 1 || d < -1 {
					t.Errorf("%s: pixel %d is %v, want %v", name, i, p, coloursOnWhite[i])
					break
				}
			}
		}
	}
}

// The expected pixels are Pillow's. The chroma filters round differently by at most 3.
func TestWebPColoursEqualLibwebps(t *testing.T) {
	data, err := base64.StdEncoding.DecodeString("UklGRnAAAABXRUJQVlA4IGQAAABwBACdASoGAAQAAMASJbACdLoB+AFGA/AC4AP4B6gH8AygDyAP0ABgazbAAAD+3jXf+xQEa+8yTnGHH4A7Tn1ck5H8WL/jfdErcj02Q/6bM1lnx9K9mP9hQ/xomZbCajLd7mAA")
	must.Do(t, err)
	want := &RGB{W: 6, H: 4, Pix: []byte{
		0, 11, 214, 21, 14, 199, 74, 16, 161, 122, 14, 119, 174, 15, 80, 202, 20, 63,
		17, 74, 237, 47, 78, 220, 99, 81, 183, 147, 78, 140, 199, 79, 101, 227, 84, 87,
		20, 155, 234, 50, 159, 217, 101, 160, 179, 151, 158, 138, 202, 160, 99, 231, 164, 84,
		45, 219, 255, 75, 222, 241, 127, 224, 202, 176, 222, 161, 227, 223, 122, 255, 228, 105}}
	got := must.Get(new(Decoder).Decode(data))(t)
	if most, _ := difference(t, got, want); most > 3 {
		t.Errorf("differs by %d from libwebp", most)
	}
}

func TestWebPAndTiffOrientationTurns(t *testing.T) {
	webp, err := base64.StdEncoding.DecodeString("UklGRmIAAABXRUJQVlA4WAoAAAAIAAAABQAAAwAAVlA4TCIAAAAvBcAAALmM6H/sChHR/4BCthGgQzx/nR9hZI79HxMAkZIDRVhJRhoAAABNTQAqAAAACAABARIAAwAAAAEABgAAAAAAAA==")
	must.Do(t, err)
	info, err := new(Decoder).Info(webp)
	if err != nil || info.W != 4 || info.H != 6 || info.Orientation != 6 {
		t.Fatalf("info %+v, %v, want 4×6 with orientation 6", info, err)
	}
	m, err := new(Decoder).Decode(webp)
	if err != nil || m.W != 4 || m.H != 6 {
		t.Fatalf("decoded %v, %v, want 4×6", m, err)
	}
	if got, want := [3]byte(m.Pix[:3]), coloursOnWhite[18]; got != want { // the lower left pixel moves to the upper left
		t.Errorf("first pixel %v, want %v", got, want)
	}
}

func TestPlainFormatsKeepTheirPixels(t *testing.T) {
	src := NewRGB(7, 5)
	rgba := image.NewRGBA(src.Bounds())
	for i := range 35 {
		p := [3]byte{byte(i * 7), byte(255 - i), byte(i * i)}
		copy(src.Pix[3*i:], p[:])
		copy(rgba.Pix[4*i:], []byte{p[0], p[1], p[2], 255})
	}
	for name, data := range map[string][]byte{
		"png": encode(t, png.Encode, rgba),
		"bmp": encode(t, bmp.Encode, rgba),
		"tiff": encode(t, func(w io.Writer, m image.Image) error {
			return tiff.Encode(w, m, &tiff.Options{Compression: tiff.Deflate})
		}, rgba),
	} {
		got, err := new(Decoder).Decode(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !bytes.Equal(got.Pix, src.Pix) {
			t.Errorf("%s: pixels changed", name)
		}
	}
}

func TestGIFFrameIsPlacedOnItsCanvas(t *testing.T) {
	frame := image.NewPaletted(image.Rect(2, 1, 4, 3), color.Palette{color.NRGBA{10, 20, 30, 255}, color.NRGBA{}})
	frame.Pix[3] = 1
	var buf bytes.Buffer
	err := gif.EncodeAll(&buf, &gif.GIF{Image: []*image.Paletted{frame}, Delay: []int{0},
		Config: image.Config{Width: 5, Height: 4}})
	must.Do(t, err)
	m := must.Get(new(Decoder).Decode(buf.Bytes()))(t)
	if m.W != 5 || m.H != 4 {
		t.Fatalf("%d×%d, want 5×4", m.W, m.H)
	}
	for y := range 4 {
		for x := range 5 {
			want := [3]byte{255, 255, 255}
			if x >= 2 && x < 4 && y >= 1 && y < 3 && !(x == 3 && y == 2) {
				want = [3]byte{10, 20, 30}
			}
			if got := m.row(y)[x]; got != want {
				t.Errorf("pixel (%d, %d) is %v, want %v", x, y, got, want)
			}
		}
	}
}

func TestEncodeJPEGKeepsThePicture(t *testing.T) {
	dir := goldens.Shared(t, "data", "jpeg")
	m := decodeFile(t, filepath.Join(dir, "pillow", "flower.jpg"))
	data := must.Get(EncodeJPEG(m, 95, nil))(t)
	again := must.Get(new(Decoder).Decode(data))(t)
	if _, mean := difference(t, again, m); mean > 2 {
		t.Errorf("quality 95 changes pixels by %.2f on average", mean)
	}
	c, err := jpeg.DecodeConfig(bytes.NewReader(data))
	if err != nil || c.Width != m.W || c.Height != m.H {
		t.Errorf("config %v, %v", c, err)
	}
}

func encode(t *testing.T, f func(io.Writer, image.Image) error, m image.Image) []byte {
	t.Helper()
	var buf bytes.Buffer
	must.Do(t, f(&buf, m))
	return buf.Bytes()
}

func decodeFile(t testing.TB, file string) *RGB {
	t.Helper()
	data := must.Get(os.ReadFile(file))(t)
	m, err := new(Decoder).Decode(data)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return m
}

// difference returns the largest and the mean difference of two images of the same size.
func difference(t *testing.T, a, b *RGB) (most int, mean float64) {
	t.Helper()
	if a.W != b.W || a.H != b.H {
		t.Fatalf("%d×%d and %d×%d", a.W, a.H, b.W, b.H)
	}
	sum := 0
	for i := range a.Pix {
		d := int(a.Pix[i]) - int(b.Pix[i])
		if d < 0 {
			d = -d
		}
		most, sum = max(most, d), sum+d
	}
	return most, float64(sum) / float64(len(a.Pix))
}

func TestLargeImagesAreEncodedToTheSameBytes(t *testing.T) {
	m := NewRGB(37, 26)
	for i := range m.Pix {
		m.Pix[i] = byte(i * i)
	}
	plain := must.Get(EncodeJPEG(m, 90, nil))(t)
	var large bytes.Buffer
	must.Do(t, jpeg.Encode(&large, opaque{m}, &jpeg.Options{Quality: 90}))
	if !bytes.Equal(plain, large.Bytes()) {
		t.Error("other bytes")
	}
}
