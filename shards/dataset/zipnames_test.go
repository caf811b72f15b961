package dataset

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"

	"hgld/internal/testing/must"
)

// zipOf packs empty files under names as they are.
func zipOf(t *testing.T, headers ...zip.FileHeader) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, h := range headers {
		f, err := w.CreateHeader(&h)
		if err == nil {
			_, err = io.WriteString(f, "x")
		}
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	return archive(t, "images.zip", out.Bytes())
}

func TestZipNamesAreReadInTheirEncoding(t *testing.T) {
	for _, c := range []struct {
		name string
		encoding.Encoding
		want string // of the note
	}{
		{"Größe", charmap.CodePage437, "CP437"}, {"Café", charmap.CodePage437, "CP437"},
		{"楷书", simplifiedchinese.GBK, "GBK"}, {"红色苹果", simplifiedchinese.GBK, "GBK"},
		{"日本", japanese.ShiftJIS, "Shift JIS"}, {"ねこカメラ", japanese.ShiftJIS, "Shift JIS"},
		{"Größe", charmap.Windows1252, "Windows-1252"},
	} {
		raw := must.Get(c.NewEncoder().String("pics/" + c.name + "/1.jpg"))(t)
		src, err := Folder{}.Open(t.Context(), Settings{Input: zipOf(t, zip.FileHeader{Name: raw, NonUTF8: true},
			zip.FileHeader{Name: "pics/b/2.jpg"})})
		if err != nil {
			t.Errorf("%s in %s: %v", c.name, c.want, err)
			continue
		}
		defer src.Close()
		notes := strings.Join(src.(*folderSource).Notes(), "\n")
		if _, names := src.(*folderSource).classes("pics/" + c.name + "/1.jpg"); !slices.Equal(names, []string{c.name}) ||
			!strings.Contains(notes, "1 name not in UTF-8, read as "+c.want) {
			t.Errorf("%s: %q, notes %q, want %s", c.name, names, notes, c.want)
		}
	}
	raw := "pics/\xbf\xac/1.jpg"
	field := append(binary.LittleEndian.AppendUint16(nil, 0x7075), 0, 0, 1)
	field = append(binary.LittleEndian.AppendUint32(field, crc32.ChecksumIEEE([]byte(raw))), "pics/楷/1.jpg"...)
	binary.LittleEndian.PutUint16(field[2:], uint16(len(field)-4))
	got, err := items(t, Folder{}, Settings{Input: zipOf(t, zip.FileHeader{Name: raw, NonUTF8: true, Extra: field},
		zip.FileHeader{Name: "pics/b/2.jpg"})})
	if want := []string{"pics/b/2.jpg train b", "pics/楷/1.jpg train 楷"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the field of Info-ZIP: %q, %v", got, err)
	}
	got, err = items(t, Folder{}, Settings{Input: zipOf(t, zip.FileHeader{Name: `pics\a\1.jpg`},
		zip.FileHeader{Name: `pics\b\`}, zip.FileHeader{Name: `pics\b\2.jpg`})})
	if want := []string{"pics/a/1.jpg train a", "pics/b/2.jpg train b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("backslashes: %q, %v", got, err)
	}
	unknown := zip.FileHeader{Name: "pics/\xff\xb0\xfe/1.jpg", NonUTF8: true}
	_, err = items(t, Folder{}, Settings{Input: zipOf(t, unknown)})
	wantError(t, err, "images.zip", "a name in an unknown encoding")
	unknown.Name = "pics/\xff\xb0\xfe.txt"
	if _, err := items(t, Folder{}, Settings{Input: zipOf(t, unknown, zip.FileHeader{Name: "a/1.jpg"})}); err != nil {
		t.Errorf("a text that is not read: %v", err)
	}
}

func TestHardLinksInATarAreTheirFiles(t *testing.T) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range []tar.Header{{Name: "a/1.jpg", Size: 1, Typeflag: tar.TypeReg},
		{Name: "b/2.jpg", Typeflag: tar.TypeLink, Linkname: "a/1.jpg"}} {
		h.Mode = 0o644
		err := w.WriteHeader(&h)
		if err == nil && h.Size > 0 {
			_, err = w.Write([]byte("x"))
		}
		must.Do(t, err)
	}
	must.Do(t, w.Close())
	got, err := items(t, Folder{}, Settings{Input: archive(t, "images.tar", out.Bytes())})
	if want := []string{"a/1.jpg train a", "b/2.jpg train b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
