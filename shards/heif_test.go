package shards

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// fakeHEIF imitates a version of libheif. Its images are 60×40 pixels of one grey, which is the
// number after the brands.
type fakeHEIF string

func (f fakeHEIF) Version() string    { return "libheif " + string(f) }
func (fakeHEIF) Extensions() []string { return []string{".heic"} }

func (fakeHEIF) InspectHEIF([]byte, int) (img.HEIFHeader, error) {
	return img.HEIFHeader{W: 60, H: 40, Stored: 60 * 40, Bits: 8}, nil
}

func (fakeHEIF) DecodeHEIF(data []byte, h img.HEIFHeader) (*img.RGB, error) {
	if len(data) < 17 {
		return nil, errors.New("cut off")
	}
	return &img.RGB{W: h.W, H: h.H, Pix: bytes.Repeat(data[16:17], 3*h.W*h.H)}, nil
}

func heicFile(grey byte) []byte {
	return append([]byte("\x00\x00\x00\x10ftypheic\x00\x00\x00\x00"), grey)
}

// heicSource has 30 images. Two of them are HEIC, one with the name of a JPEG.
func heicSource(t *testing.T) *memorySource {
	src := newSource(t, 30)
	src.put(&src.items[0], heicFile(100))
	src.items[0].Path = "photos/phone.heic"
	src.put(&src.items[1], heicFile(200))
	return src
}

func buildRecordOf(t *testing.T, dir string) string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, BuildFile)))(t)
	return string(text)
}

func TestHEICIsStoredAsJPEG(t *testing.T) {
	for _, side := range []int{0, 20} {
		for _, headersOnly := range []bool{false, true} {
			src, dir, o := heicSource(t), t.TempDir(), small()
			o.ShortSide, o.HEIF, o.HeadersOnly = side, fakeHEIF("1.15.1"), headersOnly
			mustBuild(t, src, dir, o)
			wantW, wantH, resized := 60, 40, ""
			if side > 0 {
				wantW, wantH, resized = 30, 20, "resized from 60×40, bicubic, "
			}
			found := 0
			for row, err := range mustSplit(t, mustOpen(t, dir), labels.Train).Rows(t.Context(), true) {
				must.Do(t, err)
				if !strings.HasPrefix(row.Attributes.Modifications, "converted") {
					continue
				}
				found++
				m, err := new(img.Decoder).Decode(row.Image) // without libheif
				if err != nil || m.W != wantW || m.H != wantH || row.W != wantW || row.H != wantH {
					t.Fatalf("%s: %v, columns say %d×%d", row.Path, err, row.W, row.H)
				}
				if grey := int(m.Pix[0]); grey != 100 && grey != 200 {
					t.Errorf("%s: grey %d", row.Path, grey)
				}
				want := fmt.Sprintf("converted from HEIC (sha256 %x) by libheif 1.15.1, %sJPEG quality 95",
					sha256Of(heicFile(m.Pix[0])), resized)
				if row.Attributes.Modifications != want {
					t.Errorf("%s: %q, want %q", row.Path, row.Attributes.Modifications, want)
				}
			}
			if found != 2 {
				t.Errorf("%d images were converted, want 2", found)
			}
			if text := buildRecordOf(t, dir); !strings.Contains(text, `"heif": "libheif 1.15.1"`) {
				t.Errorf("BUILD.json names no decoder: %s", text)
			}
			if v := mustVerify(t, dir); len(v.Damage) > 0 {
				t.Errorf("damage: %v", v.Damage[0])
			}
		}
	}
}

func TestDataSetsWithoutHEICDoNotDependOnTheDecoder(t *testing.T) {
	src, a, b, o := newSource(t, 30), t.TempDir(), t.TempDir(), small()
	mustBuild(t, src, a, o)
	o.HEIF = fakeHEIF("1.15.1")
	mustBuild(t, src, b, o)
	sameContents(t, contents(t, b), contents(t, a))
	o.HEIF = fakeHEIF("1.19.8")
	if r := mustBuild(t, src, b, o); r.Kept != len(r.Manifest.Files) {
		t.Errorf("%d of %d shards kept", r.Kept, len(r.Manifest.Files))
	}
}

func TestOneVersionConvertsAllHEICOfADataSet(t *testing.T) {
	src, dir, o := heicSource(t), t.TempDir(), small()
	o.HEIF = fakeHEIF("1.15.1")
	mustBuild(t, src, dir, o)
	want := contents(t, dir)
	if r := mustBuild(t, src, dir, o); r.Kept != len(r.Manifest.Files) {
		t.Errorf("with the same version, %d of %d shards kept", r.Kept, len(r.Manifest.Files))
	}
	sameContents(t, contents(t, dir), want)
	o.HEIF = fakeHEIF("1.19.8")
	if r := mustBuild(t, src, dir, o); r.Kept != len(r.Manifest.Files)-1 {
		t.Errorf("with another version, %d of %d shards kept; want all but one", r.Kept, len(r.Manifest.Files))
	}
	if text := buildRecordOf(t, dir); !strings.Contains(text, `"heif": "libheif 1.19.8"`) {
		t.Errorf("BUILD.json: %s", text)
	}
	fresh := t.TempDir()
	mustBuild(t, src, fresh, o)
	sameContents(t, contents(t, dir), contents(t, fresh))
}

// A rebuild without libheif leaves a finished data set unchanged.
func TestHEICWithoutADecoderIsAFailureAndReplacesNothing(t *testing.T) {
	src, dir, o := heicSource(t), t.TempDir(), small()
	o.AllowMissing = 0
	_, err := Build(t.Context(), src, dir, o)
	wantError(t, err, "2 of 30 images cannot be used", "libheif", "apt install libheif1")
	o.HEIF = fakeHEIF("1.15.1")
	mustBuild(t, src, dir, o)
	want := contents(t, dir)
	o.HEIF, o.AllowMissing = nil, 0.5
	_, err = Build(t.Context(), src, dir, o)
	wantError(t, err, "28 images, fewer than the 30")
	now := contents(t, dir)
	for name, text := range want {
		if now[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
}

func TestDamagedHEICIsAFailure(t *testing.T) {
	src, dir, o := heicSource(t), t.TempDir(), small()
	src.put(&src.items[1], heicFile(0)[:16])
	o.HEIF, o.AllowMissing = fakeHEIF("1.15.1"), 0.5
	r := mustBuild(t, src, dir, o)
	if len(r.Failures) != 1 || r.Failures[0].Class != DecodeFailure || r.Failures[0].Error != "heic: cut off" {
		t.Errorf("failures %v", r.Failures)
	}
}
