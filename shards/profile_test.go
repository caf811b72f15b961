package shards

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// profiled puts a profile for a colour space into a JPEG file, as one segment of the given count.
func profiled(file []byte, space string, count byte) (with, profile []byte) {
	profile = make([]byte, 200)
	binary.BigEndian.PutUint32(profile, uint32(len(profile)))
	copy(profile[16:], space)
	copy(profile[36:], "acsp")
	head := append([]byte{0xff, 0xe2, 0, byte(16 + len(profile))}, "ICC_PROFILE\x00\x01"...)
	return slices.Concat(file[:2], head, []byte{count}, profile, file[2:]), profile
}

// profileSource has 30 images. The first four have a profile; that of the first alone can be kept.
func profileSource(t *testing.T) (src *memorySource, kept []byte) {
	t.Helper()
	src = newSource(t, 30)
	inks, err := os.ReadFile(filepath.Join(goldens.Shared(t, "data", "jpeg"), "jpeg-decoder", "reftest", "ycck.jpg"))
	must.Do(t, err)
	first, kept := profiled(photo(t, 60, 40, 1), "RGB ", 1)
	grey, _ := profiled(photo(t, 60, 40, 2), "GRAY", 1)
	broken, _ := profiled(photo(t, 60, 40, 3), "RGB ", 2) // the second segment is missing
	for i, data := range [][]byte{first, grey, broken, inks} {
		src.put(&src.items[i], data)
	}
	return src, kept
}

func TestProfileSurvivesResizing(t *testing.T) {
	src, profile := profileSource(t)
	o, dir := small(), t.TempDir()
	o.ShortSide = 10
	r := mustBuild(t, src, dir, o)
	if len(r.Failures) > 0 {
		t.Errorf("failures %v", r.Failures)
	}
	left := map[string]string{src.items[1].Path: ", ICC profile left out (for GRAY)",
		src.items[2].Path: ", ICC profile left out (damaged)", src.items[3].Path: ", ICC profile left out (for CMYK)"}
	for _, row := range allRows(t, dir) {
		got, err := img.Profile(row.Image)
		var want []byte
		if row.Path == src.items[0].Path {
			want = profile
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: a profile of %d bytes, %v; want %d", row.Path, len(got), err, len(want))
		}
		if m := row.Attributes.Modifications; !strings.HasSuffix(m, ", bicubic, JPEG quality 95"+left[row.Path]) {
			t.Errorf("%s: modified %q", row.Path, m)
		}
	}
	want := "3 images stored without an ICC profile that is damaged or for other pixels: column modified says why"
	if !slices.Contains(r.Notes, want) {
		t.Errorf("notes %q", r.Notes)
	}
	var stats Stats
	must.Do(t, json.Unmarshal([]byte(contents(t, dir)[StatsFile]), &stats))
	for _, of := range stats.Splits { // the last of the four is in val
		if want := map[labels.Split]int{labels.Train: 2, labels.Val: 1}[of.Split]; of.NoProfile != want {
			t.Errorf("%s: %d profiles left out, want %d", of.Split, of.NoProfile, want)
		}
	}
	if v := mustVerify(t, dir); len(v.Damage) > 0 {
		t.Errorf("damage: %v", v.Damage[0])
	}
}

func TestImagesThatAreNotResizedKeepTheirBytes(t *testing.T) {
	src, _ := profileSource(t)
	dir := t.TempDir()
	r := mustBuild(t, src, dir, small())
	for _, row := range allRows(t, dir) {
		at := slices.IndexFunc(src.items, func(i Item) bool { return i.Path == row.Path })
		data, _, err := read(&src.items[at])
		must.Do(t, err)
		if !bytes.Equal(row.Image, data) || row.Attributes.Modifications != "" {
			t.Errorf("%s: %d bytes of %d, modified %q", row.Path, len(row.Image), len(data), row.Attributes.Modifications)
		}
	}
	if text := contents(t, dir)[StatsFile]; strings.Contains(text, "profile") || slices.ContainsFunc(r.Notes,
		func(n string) bool { return strings.Contains(n, "profile") }) {
		t.Error("profiles are counted as left out")
	}
}
