package input

import (
	"bytes"
	"math"
	"testing"

	"hgld/internal/img"
	"hgld/train/sample"
)

// picture is a colourful image.
func picture() *img.RGB {
	m := img.NewRGB(48, 40)
	random := sample.NewRandom(3)
	for i := range m.Pix {
		m.Pix[i] = byte(random.IntN(256))
	}
	return m
}

func TestJitterDrawsWithinItsBounds(t *testing.T) {
	flat := func() *img.RGB {
		m := img.NewRGB(4, 4)
		m.Fill(0, 0, 4, 4, [3]byte{100, 100, 100})
		return m
	}
	least, most := 255, 0
	for key := range uint64(500) {
		m := flat()
		Jitter{Brightness: 0.4}.apply(m, sample.NewRandom(key))
		least, most = min(least, int(m.Pix[0])), max(most, int(m.Pix[0]))
	}
	if least < 59 || least > 62 || most > 140 || most < 137 { // 500 draws from [60, 140], truncated
		t.Errorf("brightness from %d to %d, want all of 60 to 140", least, most)
	}
	m := flat()
	Jitter{Contrast: 1, Saturation: 1, Hue: 0.5}.apply(m, sample.NewRandom(1))
	if !bytes.Equal(m.Pix, flat().Pix) {
		t.Error("an even grey has no contrast, saturation or hue, and has changed")
	}
}

// Each operation has a range that begins with the image itself, but for those without a
// magnitude; at its end each changes the image, whatever the sign.
func TestRandAugmentsOperationsHaveTheirRange(t *testing.T) {
	for i, op := range randAugmentOps {
		for _, sign := range []float64{-1, 1} {
			none, all := picture(), picture()
			op(none, 0, sign)
			op(all, 1, sign)
			same, changed := bytes.Equal(none.Pix, picture().Pix), !bytes.Equal(all.Pix, picture().Pix)
			if still := i < 11; same != still && i != 11 && i != 12 { // all values occur: nothing to stretch; 255 is solarized
				t.Errorf("operation %d: at magnitude 0 the image is kept: %v", i, same)
			}
			if want := i != 0 && i != 12; changed != want {
				t.Errorf("operation %d, sign %v: at full magnitude the image changes: %v", i, sign, changed)
			}
		}
	}
	seen := map[string]bool{}
	for key := range uint64(400) {
		m := picture()
		RandAugment{Ops: 1, Magnitude: 20}.apply(m, sample.NewRandom(key))
		seen[string(m.Pix)] = true
	}
	// nothing (twice: the identity and the contrast that is there), 9 operations of two signs, 3 of none
	if len(seen) != 1+2*9+3 {
		t.Errorf("%d different images, want %d", len(seen), 1+2*9+3)
	}
}

func TestEraseFillsARectangleWithTheMean(t *testing.T) {
	e := Erase{Probability: 0.25, Scale: [2]float64{0.1, 0.3}, Ratio: [2]float64{0.5, 2}}
	mean := [3]float32{0.485, 0.456, 0.406}
	colour := [3]byte{124, 116, 104} // rounded from 123.7, 116.3, 103.5
	erased, total := 0, 2000
	for key := range uint64(total) {
		m := img.NewRGB(40, 50)
		e.apply(m, mean, sample.NewRandom(key))
		left, top, right, bottom, n := m.W, m.H, -1, -1, 0
		for y := range m.H {
			for x := range m.W {
				switch p := [3]byte(m.Pix[3*(y*m.W+x):]); p {
				case colour:
					left, top, right, bottom, n = min(left, x), min(top, y), max(right, x), max(bottom, y), n+1
				case [3]byte{}:
				default:
					t.Fatalf("colour %v", p)
				}
			}
		}
		if n == 0 {
			continue
		}
		erased++
		w, h := right-left+1, bottom-top+1
		share, shape := float64(n)/2000, float64(h)/float64(w)
		if n != w*h || share < 0.09 || share > 0.32 || shape < 0.45 || shape > 2.2 { // sides are whole pixels
			t.Fatalf("%d of %d×%d pixels", n, w, h)
		}
	}
	// five standard deviations of a binomial share
	if share := float64(erased) / float64(total); math.Abs(share-0.25) > 5*math.Sqrt(0.25*0.75/float64(total)) {
		t.Errorf("%.3f of the images are erased, want about 0.25", share)
	}
}
