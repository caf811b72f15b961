package img

import (
	"bytes"
	"encoding/binary"
	"os"
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
		err := checkHEIFReferences(file(c.references))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, odd := range []string{"", "\x00\x00\x00\x01meta", "\x00\x00\x00\x00meta", "\xff\xff\xff\xffmeta"} {
		if err := checkHEIFReferences([]byte(odd)); err != nil {
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
	if err := checkHEIFReferences(data); err == nil {
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
