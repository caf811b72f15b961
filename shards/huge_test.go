package shards

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"strings"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// hugeJPEG is a grey photograph of 12,000×8,000 pixels: more than image/jpeg decodes within the memory of a build.
func hugeJPEG(t *testing.T) []byte {
	var file bytes.Buffer
	m := image.NewGray(image.Rect(0, 0, 8, 8))
	copy(m.Pix, bytes.Repeat([]byte{128}, len(m.Pix)))
	must.Do(t, jpeg.Encode(&file, m, nil))
	data := file.Bytes()
	sof := bytes.Index(data, []byte{0xff, 0xc0})
	binary.BigEndian.PutUint16(data[sof+5:], 8000)
	binary.BigEndian.PutUint16(data[sof+7:], 12000)
	data = data[:bytes.Index(data, []byte{0xff, 0xda})+10]
	const blocks, bits = 1500 * 1000, 6 // a block without a difference, in a pattern of 24 bits
	data = append(data, bytes.Repeat([]byte{0b00101000, 0b10100010, 0b10001010}, blocks*bits/24)...)
	return append(data, 0xff, 0xd9)
}

func TestHugePhotographsAreStored(t *testing.T) {
	library := must.Get(img.DefaultJPEG())(t)
	if library == nil {
		return // it is a failure: see TestImagesBeyondTheLimitsAreReduced
	}
	huge := hugeJPEG(t)
	for _, side := range []int{0, 20, 5000} {
		src, dir, o := newSource(t, 30), t.TempDir(), small()
		src.put(&src.items[0], huge)
		src.items[0].Path = "huge.jpg"
		o.ShortSide, o.JPEG = side, library
		mustBuild(t, src, dir, o)
		found := false
		for row, err := range mustSplit(t, mustOpen(t, dir), labels.Train).Rows(t.Context(), true) {
			must.Do(t, err)
			if row.Path != "huge.jpg" {
				continue
			}
			found = true
			changes := row.Attributes.Modifications
			switch {
			case side == 0 && (row.W != 12000 || row.H != 8000 || !bytes.Equal(row.Image, huge) || changes != ""):
				t.Errorf("%d×%d, %q; want the file itself", row.W, row.H, changes)
			case side == 20 && (row.W != 30 || row.H != 20),
				side == 5000 && (row.W != 6000 || row.H != 4000): // a half has a shorter side of 4,000
				t.Errorf("short side %d: %d×%d", side, row.W, row.H)
			case side > 0 && !strings.HasPrefix(changes, "resized from 12000×8000, decoded at 1/2, bicubic, JPEG"):
				t.Errorf("%q does not say that the image was reduced", changes)
			}
		}
		if !found {
			t.Errorf("short side %d: the photograph is missing", side)
		}
	}
}
