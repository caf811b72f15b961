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

	"hgld/internal/img/child"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// faultVariable is set in children of tests. Its value names a fault of the decoder.
const faultVariable = "HGLD_TEST_FAULT"

func TestMain(m *testing.M) {
	if fault := os.Getenv(faultVariable); fault != "" {
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

// hostileHEIF are files that no check of ours looks into before libheif reads them.
func hostileHEIF(t *testing.T) map[string][]byte {
	t.Helper()
	read := func(name string) []byte {
		data := must.Get(os.ReadFile(name))(t)
		return data
	}
	itself := read("testdata/heif/alpha.heic") // its opacity is its own opacity: version 1.15 recurses
	at := bytes.Index(itself, []byte("auxl"))
	copy(itself[at+8:], itself[at+4:at+6])
	return map[string][]byte{"itself.heic": itself, "coded16384.avif": read("testdata/coded16384.avif"),
		"lie16384.avif": read(goldens.Shared(t, "cases", "adv", "lie16384.avif"))} // headers that say 64×64
}

// A recursion without an end, and data of 16384×16384 pixels, end at most the child.
func TestHostileFileIsABrokenImage(t *testing.T) {
	lib := libheif(t)
	if lib == nil || runtime.GOOS != "linux" { // other systems do not bound the memory
		return
	}
	for name, data := range hostileHEIF(t) {
		if !strings.Contains(strings.Join(lib.Extensions(), " "), filepath.Ext(name)) {
			continue
		}
		d := &Decoder{HEIF: lib}
		if _, err := d.Decode(data); err == nil {
			t.Errorf("%s was decoded", name)
		} else {
			t.Log(name, err)
		}
		sound := must.Get(os.ReadFile("testdata/heif/lossy" + filepath.Ext(name)))(t)
		if _, err := d.Decode(sound); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// BenchmarkHEIF decodes the files of the folder HGLD_HEIF, by default the samples, in children.
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
		files := must.Get(filepath.Glob(filepath.Join(folder, pattern)))(b)
		var all [][]byte
		for _, file := range files {
			data := must.Get(os.ReadFile(file))(b)
			all = append(all, data)
		}
		if len(all) == 0 {
			continue
		}
		b.Run(pattern[2:], func(b *testing.B) {
			d := &Decoder{HEIF: lib}
			for i := 0; b.Loop(); i++ {
				if _, err := d.Decode(all[i%len(all)]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "img/s")
		})
	}
}
