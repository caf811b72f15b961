package img

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"hgld/internal/dlopen"
	"hgld/internal/img/child"
	"hgld/internal/testing/goldens"
)

// faultVariable is set in children of tests. Its value names a fault of the decoder.
const faultVariable = "HGLD_TEST_FAULT"

func TestMain(m *testing.M) {
	if fault := os.Getenv(faultVariable); fault != "" {
		unchecked, _ = openHEIF(heifNames()...)
		child.Serve(func(_, data []byte, answer func(int) io.Writer) error { return faults[fault](data, answer) })
		return
	}
	if !ServeAsChild() {
		m.Run()
	}
}

var memory []byte // that a fault takes

// faults are decoders that do not answer with the header of an image.
var faults = map[string]func(data []byte, answer func(int) io.Writer) error{
	"hang": func([]byte, func(int) io.Writer) error { time.Sleep(time.Hour); return nil },
	"die":  func([]byte, func(int) io.Writer) error { os.Exit(9); return nil },
	"allocate": func([]byte, func(int) io.Writer) error {
		memory = bytes.Repeat([]byte{1}, 4<<30)
		return nil
	},
	"lie": func(_ []byte, answer func(int) io.Writer) error {
		return binary.Write(answer(binary.Size(heifWire{})), binary.BigEndian, heifWire{W: 1 << 40, H: 1 << 40, Stored: 1})
	},
	"garble": func(_ []byte, answer func(int) io.Writer) error { answer(1 << 50); return nil },
	"unchecked": func(data []byte, answer func(int) io.Writer) error {
		lib := unchecked
		f := &heifFile{lib: lib, context: dlopen.Call(lib.call.newContext)}
		err := heifError(dlopen.CallPair(lib.call.read, f.context, uintptr(unsafe.Pointer(unsafe.SliceData(data))),
			uintptr(len(data)), 0))
		runtime.KeepAlive(data)
		if err != nil {
			return err
		}
		if err := heifError(dlopen.CallPair(lib.call.primary, f.context, dlopen.Address(&f.handle))); err != nil {
			return err
		}
		if err := f.decode(heifInterleaved); err != nil {
			return err
		}
		return errors.New(decodedAnyway)
	},
}

var unchecked *heif // of a child

// inThisProcess returns the decoder without children, or nil if there is none.
func inThisProcess(t testing.TB) HEIFDecoder {
	lib := libheif(t)
	if lib == nil {
		return nil
	}
	return lib.(heifInChild).heif
}

func TestDecoderThatFailsIsABrokenImage(t *testing.T) {
	heifSamples(t, func(name string, data []byte, d *Decoder) {
		if name != "lossy.heic" && name != "lossy.avif" {
			return
		}
		for fault, want := range map[string]string{"hang": "it took longer than 1s", "die": "exit status 9",
			"allocate": "memory", "garble": "something else", "lie": "a size of 1099511627776"} {
			if fault == "allocate" && runtime.GOOS != "linux" {
				continue // other systems do not bound the memory
			}
			lib := d.HEIF.(heifInChild)
			lib.pool, lib.headerTime = child.NewPool(faultVariable+"="+fault), time.Second
			if fault != "hang" {
				lib.headerTime = time.Minute
			}
			_, err := (&Decoder{HEIF: lib}).Decode(data)
			if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrTooBig) {
				t.Errorf("%s: %v, want %q", fault, err, want)
			}
		}
	})
}

func TestPixelsOfAChildAreThoseOfTheProcess(t *testing.T) {
	heifSamples(t, func(name string, data []byte, d *Decoder) {
		want, err := (&Decoder{HEIF: inThisProcess(t)}).Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Decode(data)
		if err != nil || got.W != want.W || got.H != want.H || !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("%s: other pixels, %v", name, err)
		}
		for n := 0; n < len(data); n += 101 { // the same errors
			_, want := (&Decoder{HEIF: inThisProcess(t)}).Decode(data[:n])
			_, got := d.Decode(data[:n])
			if (want == nil) != (got == nil) || want != nil && (want.Error() != got.Error() ||
				errors.Is(want, ErrTooBig) != errors.Is(got, ErrTooBig)) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	})
}

// Without the checks before it, the library decodes 16384×16384 pixels of a file that says 64×64.
func TestMemoryOfAHostileFileIsBounded(t *testing.T) {
	lib := libheif(t)
	if lib == nil || runtime.GOOS != "linux" || !strings.Contains(strings.Join(lib.Extensions(), " "), ".avif") {
		return
	}
	data, err := os.ReadFile("testdata/coded16384.avif")
	if err != nil {
		t.Fatal(err)
	}
	of := lib.(heifInChild)
	of.pool = child.NewPool(faultVariable + "=unchecked")
	if _, err = (&Decoder{HEIF: of}).Decode(data); err == nil || strings.Contains(err.Error(), decodedAnyway) {
		t.Errorf("error %v", err)
	} else {
		t.Log(err)
	}
}

const decodedAnyway = "the file was decoded"

func TestSizeOfAnotherIsTooBigInAChild(t *testing.T) {
	lib := libheif(t)
	if lib == nil {
		return
	}
	data, err := os.ReadFile(goldens.Shared(t, "cases", "adv", "lie16384.avif"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Decoder{HEIF: lib}).Decode(data); !errors.Is(err, ErrTooBig) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkHEIF decodes the files of the folder HGLD_HEIF, by default the samples, with and without a child.
func BenchmarkHEIF(b *testing.B) {
	lib := libheif(b)
	if lib == nil {
		return
	}
	folder := os.Getenv("HGLD_HEIF")
	if folder == "" {
		folder = "testdata/heif"
	}
	for _, pattern := range []string{"*.heic", "*.avif"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			b.Fatal(err)
		}
		var all [][]byte
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, data)
		}
		if len(all) == 0 {
			continue
		}
		for name, heif := range map[string]HEIFDecoder{"child": lib, "in-process": inThisProcess(b)} {
			b.Run(pattern[2:]+"/"+name, func(b *testing.B) {
				d := &Decoder{HEIF: heif}
				for i := 0; b.Loop(); i++ {
					if _, err := d.Decode(all[i%len(all)]); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "img/s")
			})
		}
	}
}
