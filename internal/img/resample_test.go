package img

import (
	"bytes"
	"image"
	"math/rand/v2"
	"testing"
)

// noise returns an image of random bytes, or of the extremes 0 and 255 alone.
func noise(r *rand.Rand, w, h int, extreme bool) *RGB {
	m := NewRGB(w, h)
	for i := range m.Pix {
		m.Pix[i] = byte(r.Uint32())
		if extreme {
			m.Pix[i] = -(m.Pix[i] & 1)
		}
	}
	return m
}

// samePasses resizes a crop with and without vector instructions.
func samePasses(t *testing.T, fast, plain *Resampler, m *RGB, crop image.Rectangle, w, h int, f Filter) {
	t.Helper()
	plain.plain = true
	var got, want RGB
	fast.ResizeCrop(&got, m, crop, w, h, f)
	plain.ResizeCrop(&want, m, crop, w, h, f)
	if !bytes.Equal(got.Pix, want.Pix) {
		t.Fatalf("filter %d: %v of %d×%d to %d×%d differs from the plain passes", f, crop, m.W, m.H, w, h)
	}
}

func TestVectorsResampleAsThePlainPasses(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 33))
	var fast, plain Resampler
	for _, f := range []Filter{Bilinear, Bicubic, Lanczos} {
		for w := 1; w <= 70; w++ { // every remainder of a vector, of a group and of four rows
			m := noise(r, w, 1+w*7%23, w%2 == 0)
			samePasses(t, &fast, &plain, m, m.Bounds(), 71-w, 1+w%9, f)
			samePasses(t, &fast, &plain, m, m.Bounds(), w, 5, f)
			samePasses(t, &fast, &plain, m, m.Bounds(), 33, m.H, f)
		}
		for range 300 {
			m := noise(r, 1+r.IntN(300), 1+r.IntN(200), r.IntN(2) == 0)
			x, y := r.IntN(m.W), r.IntN(m.H)
			crop := image.Rect(x, y, x+1+r.IntN(m.W-x), y+1+r.IntN(m.H-y))
			samePasses(t, &fast, &plain, m, crop, 1+r.IntN(120), 1+r.IntN(120), f)
		}
	}
}

// Taps of a caller may have weights that do not fit in the parts of the vectors, or none.
func TestVectorsTakeAnyTaps(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 33))
	m := noise(r, 40, 30, false)
	random := func(inputs, outputs int, most int64) *Taps {
		taps := &Taps{Width: 6}
		for range outputs {
			count := r.IntN(taps.Width + 1)
			taps.First, taps.Count = append(taps.First, int32(r.IntN(inputs-count))), append(taps.Count, int32(count))
			for range taps.Width {
				taps.Weight = append(taps.Weight, int32(r.Int64N(2*most)-most))
			}
		}
		return taps
	}
	for i := range 200 {
		most := int64(1) << (16 + i%16)
		across, down := random(m.W, 37, most), random(m.H, 19, most)
		got, want := NewRGB(37, 19), NewRGB(37, 19)
		new(Resampler).Apply(got, m, m.Bounds(), across, down)
		(&Resampler{plain: true}).Apply(want, m, m.Bounds(), across, down)
		if !bytes.Equal(got.Pix, want.Pix) {
			t.Fatalf("weights below %d: the vectors differ from the plain passes", most)
		}
	}
}

func FuzzResample(f *testing.F) {
	f.Add(uint64(1), uint16(30), uint16(20), uint16(8), uint16(9), byte(0))
	f.Add(uint64(2), uint16(3), uint16(200), uint16(100), uint16(2), byte(1))
	f.Add(uint64(3), uint16(97), uint16(61), uint16(32), uint16(61), byte(2))
	f.Fuzz(func(t *testing.T, seed uint64, w, h, toW, toH uint16, filter byte) {
		side := func(n uint16) int { return 1 + int(n)%256 }
		r := rand.New(rand.NewPCG(seed, 1))
		m := noise(r, side(w), side(h), seed%2 == 0)
		x, y := r.IntN(m.W), r.IntN(m.H)
		crop := image.Rect(x, y, x+1+r.IntN(m.W-x), y+1+r.IntN(m.H-y))
		samePasses(t, new(Resampler), new(Resampler), m, crop, side(toW), side(toH), Filter(filter%3))
	})
}
