package conformance

import (
	"fmt"
	"math"
	"slices"

	"hgld/train/device"
)

// word returns the random word of an element.
func word(key [2]uint32, stream uint32, element int) uint32 {
	block := device.Philox([4]uint32{uint32(element / 4), 0, stream, 0}, key)
	return block[element%4]
}

var randomKey = [2]uint32{0x89ABCDEF, 3}

func (s *suite) key(key [2]uint32) device.Array {
	return s.put(device.I32, vector(float64(int32(key[0])), float64(int32(key[1]))))
}

// testRandom compares uniform numbers exactly. It compares normal numbers by their value of
// the distribution function, which needs no inverse.
func testRandom(s *suite) {
	key := s.key(randomKey)
	for _, n := range append([]int{3, 5, 1 << 16}, sizes...) {
		dst := s.alloc(device.F32, n)
		s.b.Random(dst, key, 7, device.Dist{Kind: device.Uniform, A: -1, B: 3})
		want := filled(func(i int) float64 {
			return float64(float32(-1 + 4*float64(device.Unit(word(randomKey, 7, i)))))
		}, n)
		s.equal(fmt.Sprint("uniform ", n), dst, want.V)
		for _, kind := range []device.DistKind{device.Normal, device.TruncatedNormal} {
			s.b.Random(dst, key, 7, device.Dist{Kind: kind, A: 0, B: 1})
			standard := s.get(dst)
			for i, x := range standard {
				s.standsAt(i, x, kind)
			}
			s.b.Random(dst, key, 7, device.Dist{Kind: kind, A: 5, B: 2})
			for i, x := range standard {
				standard[i] = 5 + 2*x
			}
			s.same(fmt.Sprint("mean 5, deviation 2, kind ", kind), dst, standard, 1e-6)
		}
	}
	testMoments(s)
	flat, view := s.alloc(device.F32, 31*33), s.view(device.F32, 31, 33)
	s.b.Random(flat, key, 1, device.Dist{Kind: device.Normal, B: 1})
	s.b.Random(view, key, 1, device.Dist{Kind: device.Normal, B: 1})
	s.equal("of a view", view, s.get(flat))
	// rounding alone could return the upper end: 1 + u·2⁻²³ is 1 or the next number
	narrow := s.alloc(device.F32, 1000)
	s.b.Random(narrow, key, 1, device.Dist{Kind: device.Uniform, A: 1, B: math.Nextafter32(1, 2)})
	s.equal("a narrow interval", narrow, slices.Repeat([]float64{1}, 1000))
}

// standsAt checks that the distribution function at x equals the value that the word of
// element i encodes. An error of 1e-7 in x changes a tail by a relative x²·1e-7.
func (s *suite) standsAt(i int, x float64, kind device.DistKind) {
	s.Helper()
	w := word(randomKey, 7, i)
	below, above := (float64(w)+0.5)*0x1p-32, (float64(^w)+0.5)*0x1p-32
	if kind == device.TruncatedNormal {
		tail := math.Erfc(math.Sqrt2) / 2
		below, above = tail+below*(1-2*tail), tail+above*(1-2*tail)
		if math.Abs(x) > 2 {
			s.Fatalf("element %d: %g is beyond two deviations", i, x)
		}
	}
	got, want := math.Erfc(-x/math.Sqrt2)/2, below
	if x > 0 {
		got, want = math.Erfc(x/math.Sqrt2)/2, above
	}
	if !(math.Abs(got-want) <= 3e-7*(1+x*x)*want) {
		s.Fatalf("kind %d, element %d: %g is at %g of the distribution, want %g", kind, i, x, got, want)
	}
}

// testMoments allows five standard errors.
func testMoments(s *suite) {
	const n = 1 << 16
	density := math.Exp(-2) / math.Sqrt(2*math.Pi) // density of the normal distribution at 2
	cut := 1 - 4*density/(1-math.Erfc(math.Sqrt2))
	for kind, variance := range map[device.DistKind]float64{
		device.Uniform: 1.0 / 12, device.Normal: 1, device.TruncatedNormal: cut,
	} {
		for step := range uint32(2) {
			dst := s.alloc(device.F32, n)
			s.b.Random(dst, s.key([2]uint32{11, step}), 2, device.Dist{Kind: kind, A: 0, B: 1})
			mean, square := 0.0, 0.0
			centre := 0.0
			if kind == device.Uniform {
				centre = 0.5
			}
			for _, v := range s.get(dst) {
				mean += (v - centre) / n
				square += (v - centre) * (v - centre) / n
			}
			if math.Abs(mean) > 5*math.Sqrt(variance/n) || math.Abs(square-variance) > 5*variance*math.Sqrt(2.0/n) {
				s.Errorf("kind %d: mean %g off, variance %g, want %g", kind, mean, square, variance)
			}
		}
	}
}
