package img

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func box(kind string, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), append([]byte(kind), body...)...)
}

// reference returns a box of iref with ids of 16 bits.
func reference(kind string, from uint16, to ...uint16) []byte {
	body := binary.BigEndian.AppendUint16(nil, from)
	body = binary.BigEndian.AppendUint16(body, uint16(len(to)))
	for _, id := range to {
		body = binary.BigEndian.AppendUint16(body, id)
	}
	return box(kind, body)
}

func TestReferencesOfHEIFThatEndNowhereAreRefused(t *testing.T) {
	var chain, doubling [][]byte
	for i := range uint16(9) {
		chain = append(chain, reference("dimg", i, i+1))
		doubling = append(doubling, reference("dimg", i, i+1, i+1, i+1, i+1))
	}
	tiles := make([]uint16, 300)
	for i := range tiles {
		tiles[i] = uint16(10 + i)
	}
	full := make([]byte, 4) // version and flags
	file := func(references [][]byte) []byte {
		return bytes.Join([][]byte{box("ftyp", []byte("heic\x00\x00\x00\x00heic")),
			box("meta", full, box("hdlr", full), box("iref", append([][]byte{full}, references...)...)),
			box("mdat", []byte("pixels")), []byte("what a phone appends")}, nil)
	}
	for name, c := range map[string]struct {
		references [][]byte
		want       string
	}{
		"a grid with opacity": {[][]byte{reference("dimg", 1, tiles...), reference("auxl", 2, 1), reference("dimg", 2, 8, 9),
			reference("prem", 1, 2), reference("thmb", 3, 1), reference("cdsc", 4, 1, 2)}, ""},
		"none":                      {nil, ""},
		"an image of itself":        {[][]byte{reference("dimg", 1, 1)}, "refers to itself"},
		"a circle":                  {[][]byte{reference("dimg", 1, 2), reference("dimg", 2, 1)}, "refers to itself"},
		"its own opacity":           {[][]byte{reference("auxl", 1, 1)}, "refers to itself"},
		"a circle over opacity":     {[][]byte{reference("dimg", 1, 2), reference("auxl", 1, 2)}, "refers to itself"},
		"eight deep":                {chain[:8], ""},
		"nine deep":                 {chain, "more than 8 others"},
		"two images, 4⁶ times":      {doubling[:6], ""},
		"two images, 4⁷ times":      {doubling[:7], "more than 20000 others"},
		"a reference that is short": {[][]byte{box("dimg", []byte{0, 1, 0, 9, 0})}, "cut off"},
	} {
		err := checkHEIF(file(c.references), 64e6)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, odd := range []string{"", "\x00\x00\x00\x01meta", "\x00\x00\x00\x00meta", "\xff\xff\xff\xffmeta"} {
		if err := checkHEIF([]byte(odd), 64e6); err != nil {
			t.Errorf("%q: %v", odd, err)
		}
	}
}

// The opacity of alpha.heic becomes its own opacity. libheif 1.15.1 then recurses until its stack
// overflows.
func TestHEIFThatOverflowsTheStackOfLibheifIsAnError(t *testing.T) {
	data, err := os.ReadFile("testdata/heif/alpha.heic")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("auxl"))
	copy(data[at+8:], data[at+4:at+6]) // to = from
	if err := checkHEIF(data, 64e6); err == nil {
		t.Fatal("the file is not what it should be")
	}
	lib := libheif(t)
	if lib == nil {
		return
	}
	if _, err := (&Decoder{HEIF: lib}).Decode(data); err == nil || !strings.Contains(err.Error(), "refers to itself") {
		t.Errorf("error %v", err)
	}
}

// manyItems returns a file with this number of rows in its box iinf.
func manyItems(n int) []byte {
	full := make([]byte, 4)
	infos := [][]byte{full, binary.BigEndian.AppendUint16(nil, uint16(n))}
	for i := range n {
		infos = append(infos, box("infe", []byte{2, 0, 0, 0, byte(i >> 8), byte(i), 0, 0}, []byte("hvc1")))
	}
	return bytes.Join([][]byte{box("ftyp", []byte("heic\x00\x00\x00\x00heic")),
		box("meta", full, box("pitm", full, []byte{0, 1}), box("iinf", infos...))}, nil)
}

func TestHEIFWithVeryManyImagesIsRefused(t *testing.T) {
	if err := checkHEIF(manyItems(mostHEIFItems), 64e6); err != nil {
		t.Error(err)
	}
	if err := checkHEIF(manyItems(10_000), 64e6); err == nil || !strings.Contains(err.Error(), "10000 images") {
		t.Error(err)
	}
	full, property := make([]byte, 4), box("irot", []byte{0})
	for _, table := range [][]byte{box("iprp", box("ipco", bytes.Repeat(property, 5000))),
		box("iref", full, bytes.Repeat(reference("cdsc", 1, 2), 5000)), box("iloc", full, []byte{0, 0, 0xff, 0xff}),
		box("iprp", box("ipma", full, []byte{0, 0, 0xff, 0xff}))} {
		if err := checkHEIF(box("meta", full, table), 64e6); err == nil || !strings.Contains(err.Error(), "4000") &&
			!strings.Contains(err.Error(), "2000") {
			t.Errorf("%.20q: %v", table, err)
		}
	}
}

// The size is read from the data of the codec: the header of coded16384.avif says 64×64.
func TestSizeOfHEIFIsThatOfItsCodec(t *testing.T) {
	lie, err := os.ReadFile("testdata/coded16384.avif")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkHEIF(lie, 64e6); !errors.Is(err, ErrTooBig) || !strings.Contains(err.Error(), "16384×16384") {
		t.Errorf("error %v", err)
	}
	files, err := filepath.Glob("testdata/heif/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if ext := filepath.Ext(name); ext != ".heic" && ext != ".avif" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		const size = 37 * 26
		if err := checkHEIF(data, size-1); !errors.Is(err, ErrTooBig) {
			t.Errorf("%s is larger than the limit: %v", name, err)
		}
		if err := checkHEIF(data, 64*64); err != nil { // what x265 pads the image to
			t.Errorf("%s: %v", name, err)
		}
	}
	lib := libheif(t)
	if lib == nil {
		return
	}
	if _, err := (&Decoder{HEIF: lib}).Decode(lie); !errors.Is(err, ErrTooBig) {
		t.Errorf("error %v", err)
	}
}

// Any bytes are either refused or have an image within the limit.
func FuzzHEIFBoxes(f *testing.F) {
	files, err := filepath.Glob("testdata/heif/*c")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range append(files, "testdata/coded16384.avif", "testdata/heif/alpha.avif") {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(manyItems(20))
	f.Fuzz(func(t *testing.T, data []byte) {
		if checkHEIF(data, 64e6) == nil && checkHEIF(data, 1<<62) != nil {
			t.Error("refused with a higher limit only")
		}
	})
}
