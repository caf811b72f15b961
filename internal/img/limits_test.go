package img

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"hgld/internal/testing/must"
)

func TestEmptyFileIsNamed(t *testing.T) {
	if _, err := (&Decoder{}).Info(nil); err == nil || err.Error() != "the file is empty" {
		t.Errorf("%v", err)
	}
}

func TestLimitsAreErrTooBig(t *testing.T) {
	small := encode(t, png.Encode, image.NewRGBA(image.Rect(0, 0, 40, 30)))
	for name, l := range map[string]Limits{
		"bytes":  {Bytes: len(small) - 1},
		"pixels": {Pixels: 40*30 - 1},
		"memory": {Memory: 40*30*4 - 1},
	} {
		if _, err := (&Decoder{Limits: l}).Decode(small); !errors.Is(err, ErrTooBig) {
			t.Errorf("%s: %v, want ErrTooBig", name, err)
		}
	}
	if _, err := (&Decoder{Limits: Limits{Bytes: len(small), Pixels: 40 * 30,
		Memory: 40 * 30 * 4}}).Decode(small); err != nil {
		t.Errorf("at the limits: %v", err)
	}
}

func TestEmptyAndUnknownFilesAreRefused(t *testing.T) {
	for _, data := range []string{"", "\xff", "hello, world, this is no image",
		"<svg xmlns='http://www.w3.org/2000/svg'/>", "RIFF\x00\x00\x00\x00WAVE"} {
		if _, err := new(Decoder).Decode([]byte(data)); err == nil {
			t.Errorf("%q was decoded", data)
		}
	}
}

// fakeJPEG replaces libjpeg-turbo.
type fakeJPEG func(w, h int) (*RGB, error)

func (f fakeJPEG) DecodeJPEG(dst *RGB, _ []byte, w, h, _ int, _ image.Rectangle) (image.Point, error) {
	m, err := f(w, h)
	if err == nil {
		*dst = *m
	}
	return image.Point{}, err
}

func TestLibraryDecodesJPEGFirst(t *testing.T) {
	data := encode(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) },
		image.NewRGBA(image.Rect(0, 0, 2, 1)))
	d := &Decoder{JPEG: fakeJPEG(func(w, h int) (*RGB, error) { return &RGB{w, h, []byte{1, 2, 3, 4, 5, 6}}, nil })}
	if m, err := d.Decode(data); err != nil || string(m.Pix) != "\x01\x02\x03\x04\x05\x06" {
		t.Errorf("got %v, %v, want the second decoder's pixels", m, err)
	}
	d.JPEG = fakeJPEG(func(int, int) (*RGB, error) { return nil, fmt.Errorf("odd sampling: %w", errors.ErrUnsupported) })
	if m, err := d.Decode(data); err != nil || m.W != 2 {
		t.Errorf("got %v, %v, want the standard library's pixels", m, err)
	}
	d.JPEG = fakeJPEG(func(int, int) (*RGB, error) { return nil, errors.New("bad Huffman code") })
	if _, err := d.Decode(data); err == nil {
		t.Error("an error of the second decoder was hidden")
	}
}

func TestPanicInADecoderIsAnError(t *testing.T) {
	data := encode(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) },
		image.NewRGBA(image.Rect(0, 0, 2, 1)))
	d := &Decoder{JPEG: fakeJPEG(func(int, int) (*RGB, error) { panic("index out of range") })}
	if _, err := d.Decode(data); err == nil || !strings.Contains(err.Error(), "damaged image") {
		t.Errorf("error %v", err)
	}
}

// bombs returns files that are made to cost memory or time: huge sizes in small files, real data
// that expand a thousandfold, and hundreds of scans.
func bombs(t *testing.T) map[string][]byte {
	all := map[string][]byte{}
	photo := encode(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) },
		image.NewGray(image.Rect(0, 0, 64, 64)))
	sof := bytes.Index(photo, []byte{0xff, 0xc0})
	for _, size := range [][2]uint16{{65535, 65535}, {65535, 1}, {1, 65535}, {0, 64}, {64, 0}, {0, 0}, {8000, 8000},
		{30000, 2000}} {
		for _, marker := range []byte{0xc0, 0xc1, 0xc2} {
			b := bytes.Clone(photo)
			b[sof+1] = marker
			binary.BigEndian.PutUint16(b[sof+5:], size[1])
			binary.BigEndian.PutUint16(b[sof+7:], size[0])
			all[fmt.Sprintf("jpeg %x %v", marker, size)] = b
			if size[0] == 8000 {
				all[fmt.Sprintf("jpeg %x %v, padded", marker, size)] = append(b[:len(b)-2:len(b)-2], make([]byte, 300_000)...)
			}
		}
	}
	sos := bytes.Index(photo, []byte{0xff, 0xda})
	scans := bytes.Clone(photo[:len(photo)-2])
	scans[sof+1] = 0xc2
	for range 100_000 {
		scans = append(scans, photo[sos:sos+14]...)
	}
	all["jpeg of 100,000 scans"] = scans
	all["jpeg of 200 megapixels"] = greyJPEG(20_000, 10_000)
	all["jpeg of 200 megapixels in two scans"] = append(all["jpeg of 200 megapixels"], photo[sos:]...)
	zeros := packedZeros(260_000_000)
	for _, c := range []struct{ colour, depth byte }{{0, 8}, {2, 8}, {6, 8}, {0, 16}, {2, 16}, {6, 16}, {0, 1}, {3, 8}} {
		for _, size := range [][2]uint32{{1 << 31, 1 << 31}, {1<<31 - 1, 1}, {50_000, 50_000}, {8000, 8000}} {
			all[fmt.Sprintf("png %v %v", c, size)] = hugePNG(size[0], size[1], c.colour, c.depth, zeros)
		}
	}
	g := encode(t, func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) },
		image.NewGray(image.Rect(0, 0, 8, 8)))
	for _, at := range []int{6, 8} {
		b := bytes.Clone(g)
		copy(b[6:10], "\xff\xff\xff\xff")
		binary.LittleEndian.PutUint16(b[at:], 900)
		all[fmt.Sprintf("gif %d", at)] = b
	}
	b := encode(t, bmp.Encode, image.NewRGBA(image.Rect(0, 0, 8, 8)))
	for i, size := range [][2]uint32{{1 << 30, 1 << 30}, {7999, 7999}, {1 << 31, 1}} {
		b := bytes.Clone(b)
		binary.LittleEndian.PutUint32(b[18:], size[0])
		binary.LittleEndian.PutUint32(b[22:], size[1])
		all[fmt.Sprintf("bmp %d", i)] = b
	}
	for _, lie := range []uint32{1 << 30, 8000} {
		b := encode(t, func(w io.Writer, m image.Image) error { return tiff.Encode(w, m, nil) },
			image.NewGray(image.Rect(0, 0, 77, 55)))
		all[fmt.Sprintf("tiff %d", lie)] = bytes.ReplaceAll(b, []byte{77, 0, 0, 0},
			binary.LittleEndian.AppendUint32(nil, lie))
	}
	all["webp lossless"] = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\xff\xff\xff\x0f\x00\x00\x00\x00\x00\x00\x00\x00")
	all["webp lossy"] = []byte("RIFF\x20\x00\x00\x00WEBPVP8 " +
		"\x14\x00\x00\x00\x10\x00\x00\x9d\x01\x2a\xff\x3f\xff\x3f\x00\x00\x00\x00\x00\x00\x00\x00")
	return all
}

// packedZeros returns a zlib stream that expands a thousandfold, to n zeros.
func packedZeros(n int) []byte {
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err != nil {
		panic(err)
	}
	zeros := make([]byte, 1<<16)
	for range n / len(zeros) {
		z.Write(zeros)
	}
	z.Close()
	return packed.Bytes()
}

// hugePNG returns a black PNG of any size.
func hugePNG(w, h uint32, colour, depth byte, packed []byte) []byte {
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	header = append(header, depth, colour, 0, 0, 0)
	out := []byte("\x89PNG\r\n\x1a\n")
	for _, chunk := range []struct {
		name string
		data []byte
	}{{"IHDR", header}, {"PLTE", make([]byte, 768)}, {"IDAT", packed}, {"IEND", nil}} {
		if chunk.name == "PLTE" && colour != 3 {
			continue
		}
		out = binary.BigEndian.AppendUint32(out, uint32(len(chunk.data)))
		body := append([]byte(chunk.name), chunk.data...)
		out = append(out, body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	}
	return out
}

// TestBombsStayBelow300MB decodes every bomb in a separate process and reads the peak of its
// memory.
func TestBombsStayBelow300MB(t *testing.T) {
	if os.Getenv("HGLD_BOMB_CHILD") != "" {
		standard, fast := decoders(t)
		for name, data := range bombs(t) {
			m, err := standard.Decode(data)
			if err == nil {
				fmt.Printf("decoded %s: %d×%d\n", name, m.W, m.H)
			}
			m = nil
			runtime.GC()
			if fast != nil && strings.HasPrefix(name, "jpeg") {
				fast.Decode(data) // to measure its memory
			}
			data = nil
			runtime.GC()
		}
		status := must.Get(os.ReadFile("/proc/self/status"))(t)
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		fmt.Println("peak", strings.Fields(peak)[0])
		return
	}
	if runtime.GOOS != "linux" {
		return // the peak is read from /proc
	}
	if n := len(bombs(t)); n < 50 {
		t.Errorf("only %d bombs", n)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestBombsStayBelow300MB$")
	child.Env = append(os.Environ(), "HGLD_BOMB_CHILD=1")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, after, found := strings.Cut(string(out), "peak ")
	if !found {
		t.Fatalf("no peak in %s", out)
	}
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil || kb > 300_000 {
		t.Errorf("peak %d kB, %v\n%s", kb, err, out)
	}
}

func FuzzDecode(f *testing.F) {
	m := colours()
	for _, e := range []func(io.Writer, image.Image) error{
		png.Encode, bmp.Encode,
		func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) },
		func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) },
		func(w io.Writer, m image.Image) error { return tiff.Encode(w, m, nil) },
	} {
		var buf bytes.Buffer
		must.Do(f, e(&buf, m))
		f.Add(buf.Bytes())
	}
	for _, ending := range []string{"jpg", "png", "webp", "tiff", "avif"} {
		data := must.Get(os.ReadFile("testdata/profile/rgb." + ending))(f)
		f.Add(data)
	}
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\xff\xff\xff\x0f\x00\x00\x00\x00\x00\x00\x00\x00"))
	d := &Decoder{Limits: Limits{Pixels: 1 << 20, Memory: 16 << 20}}
	f.Fuzz(func(t *testing.T, data []byte) {
		if profile, err := Profile(data); err == nil && profile != nil && len(profile) < profileHeader {
			t.Errorf("a profile of %d bytes", len(profile))
		}
		info, infoErr := d.Info(data)
		m, err := d.Decode(data)
		if err != nil {
			return
		}
		if infoErr != nil || m.W != info.W || m.H != info.H || len(m.Pix) != 3*m.W*m.H {
			t.Errorf("%d×%d with %d bytes; info %+v, %v", m.W, m.H, len(m.Pix), info, infoErr)
		}
	})
}
