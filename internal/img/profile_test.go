package img

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

func readProfile(t *testing.T, name string) []byte {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join("testdata/profile", name)))(t)
	return data
}

// The files are Pillow's.
func TestProfileIsReadFromEveryFormat(t *testing.T) {
	want := readProfile(t, "rgb.icc")
	for _, name := range []string{"rgb.jpg", "rgb.png", "rgb.webp", "animation.webp", "rgb.tiff", "rgb.avif"} {
		got, err := Profile(readProfile(t, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want the %d of rgb.icc", name, len(got), err, len(want))
		}
	}
	for _, none := range []string{"GIF89a", "nothing", ""} {
		if got, err := Profile([]byte(none)); got != nil || err != nil {
			t.Errorf("%q: %d bytes, %v", none, len(got), err)
		}
	}
}

// Pillow read the profiles of testdata/profile/list.csv, some of which take several segments.
func TestProfilesOfPhotographsAreThoseThatPillowReads(t *testing.T) {
	dir := goldens.Shared(t, "data", "jpeg")
	rows, err := csv.NewReader(bytes.NewReader(readProfile(t, "list.csv"))).ReadAll()
	if err != nil || len(rows) != 29 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	listed := map[string]bool{}
	for _, row := range rows[1:] {
		listed[row[0]] = true
		data := must.Get(os.ReadFile(filepath.Join(dir, row[0])))(t)
		got, err := Profile(data)
		text, sum := fmt.Sprint(err), fmt.Sprintf("%x", sha256.Sum256(got))
		switch {
		case row[1] == "RGB" && (err != nil || sum != row[2]),
			row[1] == "damaged" && text != "damaged", (row[1] == "CMYK" || row[1] == "GRAY") && text != "for "+row[1]:
			t.Errorf("%s: %d bytes with hash %s, error %v; want %v", row[0], len(got), sum, err, row[1:])
		}
	}
	others, err := filepath.Glob(filepath.Join(dir, "*", "*.jp*g"))
	if err != nil || len(others) < 50 {
		t.Fatalf("%d files, %v", len(others), err)
	}
	for _, name := range others {
		relative, _ := filepath.Rel(dir, name)
		data := must.Get(os.ReadFile(name))(t)
		if got, err := Profile(data); !listed[filepath.ToSlash(relative)] && (got != nil || err != nil) {
			t.Errorf("%s: %d bytes, %v, where Pillow finds no profile", relative, len(got), err)
		}
	}
}

// profileOf returns a header for a colour space, and zeros.
func profileOf(space string, size int) []byte {
	p := make([]byte, size)
	binary.BigEndian.PutUint32(p, uint32(size))
	copy(p[16:], space)
	copy(p[36:], "acsp")
	return p
}

// segment is a part of a profile in a JPEG file.
func segment(number, count byte, part []byte) []byte {
	head := []byte{0xff, 0xe2, byte((16 + len(part)) >> 8), byte(16 + len(part))}
	return slices.Concat(head, []byte("ICC_PROFILE\x00"), []byte{number, count}, part)
}

// withSegments puts segments behind the first marker of a JPEG file.
func withSegments(t *testing.T, segments ...[]byte) []byte {
	t.Helper()
	plain := must.Get(EncodeJPEG(NewRGB(8, 6), 90, nil))(t)
	return slices.Concat(plain[:2], bytes.Join(segments, nil), plain[2:])
}

// pngWith returns a file of one chunk iCCP.
func pngWith(body []byte) []byte {
	chunk := append([]byte("iCCP"), body...)
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk))
	return slices.Concat([]byte("\x89PNG\r\n\x1a\n"), binary.BigEndian.AppendUint32(nil, uint32(len(body))), chunk, sum)
}

func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	out := bytes.NewBufferString("name\x00\x00")
	w := zlib.NewWriter(out)
	w.Write(data)
	must.Do(t, w.Close())
	return out.Bytes()
}

func TestProfileThatIsBrokenOrForOtherPixelsIsAnError(t *testing.T) {
	whole := profileOf("RGB ", 300)
	one, two, three := whole[:100], whole[100:200], whole[200:]
	inks, err := os.ReadFile(filepath.Join(goldens.Shared(t, "data", "jpeg"), "pillow", "pil_sample_cmyk.jpg"))
	must.Do(t, err)
	longer := slices.Clone(whole)
	binary.BigEndian.PutUint32(longer, 301)
	bomb := packed(t, profileOf("RGB ", 5<<20))
	avif := readProfile(t, "rgb.avif")
	for name, c := range map[string]struct {
		file []byte
		want string // "" if there is no error
	}{
		"whole":              {withSegments(t, segment(1, 3, one), segment(2, 3, two), segment(3, 3, three)), ""},
		"in another order":   {withSegments(t, segment(3, 3, three), segment(1, 3, one), segment(2, 3, two)), ""},
		"a missing segment":  {withSegments(t, segment(1, 3, one), segment(3, 3, three)), "damaged"},
		"the first missing":  {withSegments(t, segment(2, 3, two), segment(3, 3, three)), "damaged"},
		"a segment twice":    {withSegments(t, segment(1, 3, one), segment(1, 3, one), segment(2, 3, two)), "damaged"},
		"one too many":       {withSegments(t, segment(1, 2, one), segment(2, 2, two), segment(3, 2, three)), "damaged"},
		"two counts":         {withSegments(t, segment(1, 3, one), segment(2, 4, two), segment(3, 3, three)), "damaged"},
		"numbered from 0":    {withSegments(t, segment(0, 1, whole)), "damaged"},
		"an empty segment":   {withSegments(t, segment(1, 1, nil)), "damaged"},
		"no number":          {withSegments(t, []byte("\xff\xe2\x00\x0eICC_PROFILE\x00")), "damaged"},
		"longer than stored": {withSegments(t, segment(1, 1, longer)), "damaged"},
		"without a mark":     {withSegments(t, segment(1, 1, make([]byte, 300))), "damaged"},
		"an unknown space":   {withSegments(t, segment(1, 1, profileOf("\x00RGB", 300))), "damaged"},
		"for grey":           {withSegments(t, segment(1, 1, profileOf("GRAY", 300))), "for GRAY"},
		"for Lab":            {withSegments(t, segment(1, 1, profileOf("Lab ", 300))), "for Lab"},
		"of inks":            {slices.Concat(inks[:2], segment(1, 1, whole), inks[2:]), "of a CMYK image"},
		"PNG":                {pngWith(packed(t, whole)), ""},
		"PNG, not zlib":      {pngWith([]byte("name\x00\x00zlib")), "damaged"},
		"PNG, cut":           {pngWith(packed(t, whole)[:20]), "damaged"},
		"PNG, method 1":      {pngWith([]byte("name\x00\x01")), "damaged"},
		"PNG, no name":       {pngWith(nil), "damaged"},
		"PNG, 5 MiB":         {pngWith(bomb), "damaged"},
		"TIFF, beyond": {[]byte("II*\x00\x08\x00\x00\x00\x01\x00\x73\x87\x07\x00\x2c\x01\x00\x00\x1a\x00\x00\x00"),
			"damaged"},
		"AVIF, no mark": {bytes.Replace(avif, []byte("acsp"), []byte("acs?"), 1), "damaged"},
		"none":          {withSegments(t), ""},
	} {
		got, err := Profile(c.file)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != c.want || err != nil && got != nil || err == nil && name != "none" && !bytes.Equal(got, whole) {
			t.Errorf("%s: %d bytes, error %q; want %q", name, len(got), text, c.want)
		}
	}
}

// A segment has at most 65,535 bytes, of which 16 are its length, the mark and the numbers.
func TestEncodedJPEGHasItsProfileInSegments(t *testing.T) {
	m := NewRGB(8, 6)
	plain := must.Get(EncodeJPEG(m, 90, nil))(t)
	const most = 65535 - 16
	for _, size := range []int{129, most, most + 1, 3*most + 7} {
		profile := profileOf("RGB ", size)
		for i := 128; i < size; i++ {
			profile[i] = byte(i * i >> 3)
		}
		got := must.Get(EncodeJPEG(m, 90, profile))(t)
		var segments [][]byte
		count := byte((size + most - 1) / most)
		for i := range count {
			segments = append(segments, segment(i+1, count, profile[int(i)*most:min(int(i+1)*most, size)]))
		}
		if want := slices.Concat(plain[:2], bytes.Join(segments, nil), plain[2:]); !bytes.Equal(got, want) {
			t.Errorf("%d bytes: other segments", size)
		}
		again, err := Profile(got)
		if err != nil || !bytes.Equal(again, profile) {
			t.Errorf("%d bytes: read back %d, %v", size, len(again), err)
		}
		if _, err := new(Decoder).Decode(got); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
