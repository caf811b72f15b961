package img

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// decoders returns image/jpeg's decoder, and libjpeg-turbo's if it is installed and HGLD_TURBOJPEG
// allows it. With HGLD_TURBOJPEG=on it must exist.
func decoders(t testing.TB) (standard, fast *Decoder) {
	t.Helper()
	lib := must.Get(DefaultJPEG())(t)
	if lib == nil {
		t.Log(WhichJPEG())
		return new(Decoder), nil
	}
	return new(Decoder), &Decoder{JPEG: lib}
}

// jpegFiles calls do with every JPEG of the shared data.
func jpegFiles(t *testing.T, do func(name string, data []byte)) {
	t.Helper()
	dir := goldens.Shared(t, "data", "jpeg")
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.HasPrefix(data, []byte{0xff, 0xd8}) {
			name, _ := filepath.Rel(dir, path)
			do(filepath.ToSlash(name), data)
		}
		return err
	})
	must.Do(t, err)
}

// TestGoldenTurboJPEGPixelsArePillows compares every bit. About a dozen files that Pillow opens are
// left to the standard library, with version 3 of the library one more than with 2. The standard
// library reads those with junk between their segments and rejects the damaged ones; see the next
// test.
func TestGoldenTurboJPEGPixelsArePillows(t *testing.T) {
	_, fast := decoders(t)
	if fast == nil {
		return
	}
	f := must.Get(os.Open("testdata/pillow.csv"))(t)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows := must.Get(r.ReadAll())(t)
	dir := goldens.Shared(t, "data", "jpeg")
	equal := 0
	for _, row := range rows[1:] {
		data := must.Get(os.ReadFile(filepath.Join(dir, row[0])))(t)
		info, err := fast.Info(data)
		if err != nil {
			t.Errorf("%s: %v", row[0], err)
			continue
		}
		w, h := info.W, info.H
		if info.Orientation >= 5 {
			w, h = h, w
		}
		stored := new(RGB)
		_, err = fast.JPEG.DecodeJPEG(stored, data, w, h, 1, image.Rect(0, 0, w, h))
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		m := stored.turned(info.Orientation)
		if sum := sha256.Sum256(m.Pix); hex.EncodeToString(sum[:]) != row[1] {
			t.Errorf("%s: other pixels than Pillow's", row[0])
		}
		equal++
	}
	if equal < 82 {
		t.Errorf("the library decoded %d of %d files, want 82 or more", equal, len(rows)-1)
	}
}

// TestBothJPEGDecodersAgree tries all files, the largest photographs only in the long form.
// If the standard library reads one, so does libjpeg-turbo, and the pixels differ only as two
// inverse transforms may. If it does not, the errors have the same text, but for the advice to install
// the library, except for three files that image/jpeg cannot read and libjpeg can.
func TestBothJPEGDecodersAgree(t *testing.T) {
	standard, fast := decoders(t)
	if fast == nil {
		return
	}
	read, same := 0, 0
	jpegFiles(t, func(name string, data []byte) {
		if strings.HasPrefix(name, "commons/") && len(data) > 750_000 && !effort.Long() {
			return
		}
		a, aErr := standard.Decode(data)
		b, bErr := fast.Decode(data)
		switch {
		case name == "jpeg-decoder/reftest/non-interleaved-mcu.jpg", name == "jpeg-decoder/reftest/mozilla/jpg-cmyk-2.jpg",
			name == "sharp/giant-image.jpg": // of 280 megapixels
			if aErr == nil || bErr != nil {
				t.Errorf("%s: %v and %v", name, aErr, bErr)
			}
		case aErr != nil || bErr != nil:
			if strings.TrimSuffix(fmt.Sprint(aErr), turboAdvice) != fmt.Sprint(bErr) {
				t.Errorf("%s: image/jpeg says %v, libjpeg-turbo %v", name, aErr, bErr)
			}
		default:
			read++
			limit, average := 3, 0.05
			// A colour is the product of an ink and of black, each decoded and rounded by itself.
			if h := readJPEGHeader(data); h.channels == 4 {
				limit, average = 4, 0.15
			}
			if most, mean := difference(t, a, b); most > limit || mean > average && a.W > 8 {
				t.Errorf("%s: differs by up to %d, on average %.3f", name, most, mean)
			} else if most == 0 {
				same++
			}
		}
	})
	t.Logf("%d files read, %d of them equal", read, same)
	if read < 80 {
		t.Errorf("%d files read", read)
	}
}

// A truncated file gives the same error with and without the library, at every length.
func TestTruncatedJPEGIsTheSameErrorWithBothDecoders(t *testing.T) {
	standard, fast := decoders(t)
	if fast == nil {
		return
	}
	for _, whole := range [][]byte{[]byte(probe420), []byte(probe440)} {
		for n := range len(whole) {
			_, a := standard.Decode(whole[:n])
			if _, b := fast.Decode(whole[:n]); a == nil || b == nil || a.Error() != b.Error() {
				t.Errorf("%d of %d bytes: %v and %v", n, len(whole), a, b)
			}
		}
	}
}

func TestTwelveBitJPEGNeverReachesTheLibrary(t *testing.T) {
	d := &Decoder{JPEG: fakeJPEG(func(int, int) (*RGB, error) { panic("asked") })}
	deep := []byte(probe420)
	deep[bytes.Index(deep, []byte{0xff, 0xc0})+4] = 12
	if _, err := d.Decode(deep); err == nil || !strings.Contains(err.Error(), "precision") {
		t.Errorf("12 bits: %v, want an error that names the precision", err)
	}
}

// mutated damages a file in one of the usual ways: bits, bytes, missing and repeated pieces, sizes
// in segment headers.
func mutated(r *rand.Rand, data []byte) []byte {
	b := bytes.Clone(data)
	for range 1 + r.IntN(4) {
		at := 2 + r.IntN(len(b)-2)
		end := min(len(b), at+1+r.IntN(16))
		switch r.IntN(6) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.IntN(256))
		case 2:
			b = append(b[:at:at], b[end:]...)
		case 3:
			b = append(b[:end:end], b[at:]...)
		case 4:
			for i := at; i < end; i++ {
				b[i] = byte(r.Uint32())
			}
		case 5: // inside a segment of the header
			if i := bytes.IndexByte(b[at:], 0xff); i >= 0 && at+i+6 < len(b) {
				b[at+i+1+r.IntN(5)] = byte(r.IntN(256))
			}
		}
		if len(b) < 8 {
			return b
		}
	}
	return b
}

// A crash of the library would end the process.
func TestMutatedJPEGsNeverCrash(t *testing.T) {
	standard, fast := decoders(t)
	if fast == nil {
		return
	}
	small := Limits{Pixels: 1 << 20}
	standard.Limits, fast.Limits = small, small
	r, r2 := rand.New(rand.NewPCG(1, 14)), rand.New(rand.NewPCG(1, 15))
	var part Part
	var both, fastOnly, standardOnly int
	var whole [][]byte
	for _, name := range []string{"pillow/hopper.jpg", "pillow/hopper_gray.jpg", "jpeg-decoder/reftest/restarts.jpg",
		"jpeg-decoder/reftest/rgb.jpg"} {
		data := must.Get(os.ReadFile(filepath.Join(goldens.Shared(t, "data", "jpeg"), name)))(t)
		whole = append(whole, data)
	}
	whole = append(whole, []byte(probe420), []byte(probe440))
	mutations := 200
	if effort.Long() {
		mutations = 1000
	}
	for i := range mutations {
		data := mutated(r, whole[i%len(whole)])
		a, aErr := standard.Decode(data)
		b, bErr := fast.Decode(data)
		err := fast.DecodePart(&part, data, func(w, h, _ int) image.Rectangle { return anyPart(r2, w, h) })
		if err != nil && bErr == nil {
			t.Errorf("mutation %d is read, but a part of it is not: %v", i, err)
		}
		switch {
		case aErr == nil && bErr == nil:
			both++
			if a.W != b.W || a.H != b.H || len(a.Pix) != len(b.Pix) {
				t.Fatalf("mutation %d: %d×%d and %d×%d", i, a.W, a.H, b.W, b.H)
			}
		case bErr == nil:
			fastOnly++
		case aErr == nil:
			standardOnly++
		}
	}
	t.Logf("of %d: both read %d, only libjpeg-turbo %d", mutations, both, fastOnly)
	if standardOnly != 0 || both == 0 || both == mutations {
		t.Errorf("both read %d, only the standard library %d", both, standardOnly)
	}
}

func TestTurboJPEGGivesTheSameBytesOnManyThreads(t *testing.T) {
	_, fast := decoders(t)
	if fast == nil {
		return
	}
	data := []byte(probe420)
	want := must.Get(fast.Decode(data))(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				m, err := fast.Decode(data)
				if err != nil || !bytes.Equal(m.Pix, want.Pix) {
					t.Errorf("other pixels, %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	if lib := fast.JPEG.(*turbo); len(lib.idle) == 0 || len(lib.idle) > runtime.GOMAXPROCS(0) {
		t.Errorf("%d decompressors are kept", len(lib.idle))
	}
}

// TestTurboJPEGKeepsNoMemory measures Go's memory and, if the system reports it, the memory of the
// process. 40,000 calls, half of which fail, must not increase it.
func TestTurboJPEGKeepsNoMemory(t *testing.T) {
	_, fast := decoders(t)
	if fast == nil {
		return
	}
	whole := []byte(probe440)
	m, all := new(RGB), image.Rect(0, 0, 19, 11)
	if n := testing.AllocsPerRun(100, func() { fast.JPEG.DecodeJPEG(m, whole, 19, 11, 1, all) }); n != 0 {
		t.Errorf("%v allocations a call into the same memory, want none", n)
	}
	broken := whole[:len(whole)/2]
	calls := func(n int) {
		for range n {
			fast.JPEG.DecodeJPEG(m, whole, 19, 11, 1, all)
			fast.JPEG.DecodeJPEG(m, broken, 19, 11, 1, all)
		}
	}
	calls(2000)
	before := resident()
	calls(20000)
	if grown := resident() - before; grown > 8<<10 {
		t.Errorf("the process grew by %d kB", grown)
	}
}

// resident returns the memory of this process in kB, or 0 if the system does not report it.
func resident() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kb, _ := strconv.Atoi(strings.Fields(after + " 0")[0])
	return kb
}

func TestOpenJPEGFollowsTheVariable(t *testing.T) {
	if lib, err := OpenJPEG("off"); lib != nil || err != nil {
		t.Errorf("off: %v, %v", lib, err)
	}
	if _, err := OpenJPEG("never"); err == nil || !strings.Contains(err.Error(), "known: on, off") {
		t.Errorf("never: %v", err)
	}
	if _, err := OpenJPEG("/nowhere/libturbojpeg.so.0"); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("path: %v", err)
	}
	if _, fast := decoders(t); fast != nil {
		if _, err := OpenJPEG("libm.so.6"); err == nil || !strings.Contains(err.Error(), "libm.so.6") {
			t.Errorf("another library: %v", err)
		}
	}
	t.Setenv(JPEGVariable, "off")
	if s := WhichJPEG(); s != "image/jpeg (HGLD_TURBOJPEG is set)" {
		t.Errorf("WhichJPEG() = %q", s)
	}
}
