package img

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
)

// libheif returns the decoder if it is installed and HGLD_LIBHEIF allows it, else nil. With
// HGLD_LIBHEIF=on it must exist.
func libheif(t testing.TB) HEIFDecoder {
	t.Helper()
	lib := must.Get(DefaultHEIF())(t)
	if lib == nil {
		t.Log(WhichHEIF())
	}
	return lib
}

// heifSamples calls do with every sample whose codec is installed.
func heifSamples(t testing.TB, do func(name string, data []byte, d *Decoder)) {
	lib := libheif(t)
	if lib == nil {
		return
	}
	extensions := strings.Join(lib.Extensions(), " ")
	names := must.Get(filepath.Glob("testdata/heif/*.*"))(t)
	n := 0
	for _, name := range names {
		if ext := filepath.Ext(name); ext != ".heic" && ext != ".avif" || !strings.Contains(extensions, ext) {
			continue
		}
		data := must.Get(os.ReadFile(name))(t)
		do(filepath.Base(name), data, &Decoder{HEIF: lib})
		n++
	}
	if n == 0 {
		t.Error("no sample was tried")
	}
}

// TestHEIFPixelsAreThoseOfOtherDecoders compares with pillow_heif and avifdec; see testdata/heif.
// They round at other places, and images of 10 bits twice.
func TestHEIFPixelsAreThoseOfOtherDecoders(t *testing.T) {
	heifSamples(t, func(name string, data []byte, d *Decoder) {
		m, err := d.Decode(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		f := must.Get(os.Open("testdata/heif/" + name + ".png"))(t)
		defer f.Close()
		want := must.Get(png.Decode(f))(t)
		const most, mean = 2, 0.7
		if gotMost, gotMean := difference(t, toRGB(want, false), m); gotMost > most || gotMean > mean {
			t.Errorf("%s: differs by up to %d, on average %.3f; want %d, %v", name, gotMost, gotMean, most, mean)
		} else {
			t.Logf("%s: differs by up to %d, on average %.3f", name, gotMost, gotMean)
		}
		info, err := d.Info(data)
		if err != nil || info.W != m.W || info.H != m.H || info.Format != filepath.Ext(name)[1:] || info.Orientation != 1 ||
			!info.NeedsHEIF() || info.Memory < len(m.Pix) {
			t.Errorf("%s: info %+v, %v for %d×%d pixels", name, info, err, m.W, m.H)
		}
	})
}

// turned.heic states its rotation twice, in irot and in EXIF.
func TestHEIFIsTurnedOnce(t *testing.T) {
	heifSamples(t, func(name string, data []byte, d *Decoder) {
		if name != "turned.heic" {
			return
		}
		const right = "\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06" // EXIF: to be turned right
		if !bytes.Contains(data, []byte("irot")) || !bytes.Contains(data, []byte(right)) {
			t.Error("the sample lacks irot or the orientation 6")
		}
		m, err := d.Decode(data)
		if err != nil || m.W != 26 || m.H != 37 {
			t.Fatalf("%v, %v", m, err)
		}
		if p := m.row(8)[19]; p[0] < 180 || p[1] > 90 { // red, at 8, 6 before the rotation to the right
			t.Errorf("pixel %v where the red rectangle belongs", p)
		}
	})
}

func TestHEIFOfManyGoroutinesIsTheSame(t *testing.T) {
	heifSamples(t, func(name string, data []byte, d *Decoder) {
		want := must.Get(d.Decode(data))(t)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 20 {
					if m, err := d.Decode(data); err != nil || !bytes.Equal(m.Pix, want.Pix) {
						t.Errorf("%s: other pixels, %v", name, err)
					}
				}
			})
		}
		all.Wait()
	})
}

func TestHEIFBeyondTheLimitsIsErrTooBig(t *testing.T) {
	heifSamples(t, func(name string, data []byte, d *Decoder) {
		for limit, l := range map[string]Limits{"bytes": {Bytes: len(data) - 1}, "pixels": {Pixels: 37*26 - 1},
			"memory": {HEIF: 37*26*8 - 1}} {
			of := &Decoder{HEIF: d.HEIF, Limits: l}
			if _, err := of.Info(data); !errors.Is(err, ErrTooBig) {
				t.Errorf("%s, %s: %v, want ErrTooBig", name, limit, err)
			}
			if _, err := of.Decode(data); !errors.Is(err, ErrTooBig) {
				t.Errorf("%s, %s: decoding: %v, want ErrTooBig", name, limit, err)
			}
		}
		at := bytes.Index(data, []byte("ispe")) + 8
		for _, size := range [][2]uint32{{60_000, 60_000}, {1 << 31, 1 << 31}, {1<<32 - 1, 1}, {0, 26}, {16, 16},
			{7000, 7000}} {
			lie := bytes.Clone(data)
			binary.BigEndian.PutUint32(lie[at:], size[0])
			binary.BigEndian.PutUint32(lie[at+4:], size[1])
			info, err := d.Info(lie)
			m, decoding := d.Decode(lie)
			if decoding == nil && (err != nil || m.W != info.W || m.H != info.H || m.W*m.H > 37*26) {
				t.Errorf("%s with the size %v was decoded as %d×%d", name, size, m.W, m.H)
			}
		}
	})
}

// TestDamagedHEIFIsAnError decodes every sample truncated at each length, and with each bit of
// every seventh byte flipped. A crash of the library would end the test.
func TestDamagedHEIFIsAnError(t *testing.T) {
	heifSamples(t, func(name string, data []byte, d *Decoder) {
		for n := range data {
			if m, err := d.Decode(data[:n]); err == nil && n < len(data)-64 { // EXIF may be at the end
				t.Errorf("%s: the first %d bytes are an image of %d×%d", name, n, m.W, m.H)
			}
		}
		step := 7
		if !effort.Exhaustive() {
			step = 31
		}
		decoded := 0
		for at := 0; at < len(data); at += step {
			for bit := range 8 {
				flipped := bytes.Clone(data)
				flipped[at] ^= 1 << bit
				if m, err := d.Decode(flipped); err == nil {
					decoded++
					if len(m.Pix) != 3*m.W*m.H {
						t.Errorf("%s: %d×%d with %d bytes", name, m.W, m.H, len(m.Pix))
					}
				}
			}
		}
		t.Logf("%s: %d damaged files were decoded", name, decoded)
	})
}

func TestHEIFIsKnownByItsBrands(t *testing.T) {
	file := func(brands ...string) []byte {
		text := fmt.Sprintf("\x00\x00\x00%cftyp%s\x00\x00\x00\x00%s", 12+4*len(brands), brands[0],
			strings.Join(brands[1:], ""))
		return []byte(text + "\x00\x00\x00\x08meta")
	}
	for want, list := range map[string][][]string{
		"heic": {{"heic", "mif1", "heic"}, {"heix"}, {"hevc", "msf1"}, {"mif1", "heic"}, {"msf1", "hevc"}, {"mif1"},
			{"MiHE", "mif1"}},
		"avif": {{"avif", "mif1", "miaf"}, {"avis", "msf1"}, {"mif1", "avif"}, {"abcd", "avif"}},
		"":     {{"isom", "mp42"}, {"qt  "}, {"M4A "}},
	} {
		for _, brands := range list {
			if got := heifFormat(file(brands...)); got != want {
				t.Errorf("%v is %q, want %q", brands, got, want)
			}
		}
	}
	for _, data := range []string{"", "\x00\x00\x00\x18ftyphei", "\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01"} {
		if got := heifFormat([]byte(data)); got != "" {
			t.Errorf("%q is %q", data, got)
		}
	}
}

func TestHEIFWithoutALibraryNamesIt(t *testing.T) {
	data, err := os.ReadFile("testdata/heif/lossy.heic")
	must.Do(t, err)
	_, err = new(Decoder).Decode(data)
	if !errors.Is(err, ErrNoHEIF) || !strings.Contains(err.Error(), "apt install libheif1") {
		t.Errorf("error %v", err)
	}
}

func TestLibheifIsChosenByTheVariable(t *testing.T) {
	if lib, err := OpenHEIF("off"); lib != nil || err != nil {
		t.Errorf("off gives %v, %v", lib, err)
	}
	for which, want := range map[string]string{"yes": "known: on, off, or the path",
		"/nowhere/libheif.so": "HGLD_LIBHEIF=/nowhere"} {
		if lib, err := OpenHEIF(which); lib != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, %v; want an error with %q", which, lib, err, want)
		}
	}
	t.Setenv(HEIFVariable, "off")
	if s := WhichHEIF(); s != "HEIC and AVIF are left out (HGLD_LIBHEIF is set)" {
		t.Errorf("WhichHEIF() = %q", s)
	}
}
