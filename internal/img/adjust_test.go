package img

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"os"
	"strconv"
	"testing"

	"hgld/internal/testing/must"
)

// small returns the images of testdata/adjust.py.
func small(t *testing.T, name string) *RGB {
	t.Helper()
	m := NewRGB(61, 47)
	switch name {
	case "noise":
		x := uint32(2463534242)
		for i := range m.Pix {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			m.Pix[i] = byte(x)
		}
	case "slope":
		for y := range m.H {
			for x, row := 0, m.row(y); x < m.W; x++ {
				row[x] = [3]byte{byte(40 + 3*x), byte(20 + (5*y+x)%150), byte(x * y)}
			}
		}
	case "grey":
		m.Fill(0, 0, m.W, m.H, [3]byte{90, 90, 90})
	default:
		t.Fatalf("unknown image %q", name)
	}
	return m
}

// adjust applies an operation of testdata/adjust.csv.
func adjust(t *testing.T, m *RGB, op string, a float64) *RGB {
	t.Helper()
	switch op {
	case "brightness":
		Brightness(m, float32(a))
	case "contrast":
		Contrast(m, float32(a))
	case "saturation":
		Saturation(m, float32(a))
	case "sharpness":
		Sharpness(m, float32(a))
	case "hue":
		Hue(m, a)
	case "posterize":
		Posterize(m, int(a))
	case "solarize":
		Solarize(m, a)
	case "autocontrast":
		AutoContrast(m)
	case "equalize":
		Equalize(m)
	case "shear_x":
		return Warp(m, ShearX(a))
	case "shear_y":
		return Warp(m, ShearY(a))
	case "translate_x":
		return Warp(m, Translate(int(a), 0))
	case "translate_y":
		return Warp(m, Translate(0, int(a)))
	case "rotate":
		return Warp(m, Rotate(m.W, m.H, a))
	default:
		t.Fatalf("unknown operation %q", op)
	}
	return m
}

// The operations give the pixels of torchvision on PIL images, bit for bit.
func TestAdjustmentsHavePillowsPixels(t *testing.T) {
	f := must.Get(os.Open("testdata/adjust.csv"))(t)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil || len(rows) < 100 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		t.Run(row[0]+"/"+row[1]+"/"+row[2], func(t *testing.T) {
			a := must.Get(strconv.ParseFloat(row[1], 64))(t)
			out := adjust(t, small(t, row[2]), row[0], a)
			if sum := sha256.Sum256(out.Pix); hex.EncodeToString(sum[:]) != row[3] {
				t.Error("the pixels differ from Pillow's")
			}
		})
	}
}
