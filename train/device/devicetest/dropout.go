package devicetest

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// testDropout compares with the words of the elements: the same mask for a value
// and for its gradient, whatever they are. A kept element is rounded twice, once
// for 1/(1−p).
func testDropout(s *suite) {
	key := s.key(randomKey)
	for i, m := range matrices {
		for _, p := range []float32{0, 0.1, 0.5} {
			x := s.activation(m[0], m[1])
			put, y := s.put, s.alloc(s.dtype, m[0], m[1])
			if i%3 == 0 {
				put, y = s.putView, s.view(s.dtype, m[0], m[1])
			}
			want, kept := make([]float64, len(x.v)), 0
			for j, v := range x.v {
				if device.Unit(word(randomKey, 9, j)) >= p {
					want[j] = v / (1 - float64(p))
					kept++
				}
			}
			what := fmt.Sprint(m, " p ", p)
			s.b.Dropout(y, put(s.dtype, x), key, 9, p)
			s.same(what, y, want, 2e-7)
			for j, v := range s.get(y) {
				if (v == 0) != (want[j] == 0) {
					s.Fatalf("%s: element %d is %g, want %g", what, j, v, want[j])
				}
			}
			n := float64(len(x.v))
			if share := float64(p); math.Abs(float64(kept)-n*(1-share)) > 5*math.Sqrt(n*share*(1-share))+1e-9*n {
				s.Errorf("%s: %d of %g kept", what, kept, n)
			}
			place := put(s.dtype, x)
			s.b.Dropout(place, place, key, 9, p)
			s.equal("in place "+what, place, s.get(y))
		}
	}
	const n = 1000
	broken := zeros(n)
	for i := range broken.v {
		broken.v[i] = math.NaN()
	}
	y := s.alloc(device.F32, n)
	s.b.Dropout(y, s.put(device.F32, broken), key, 9, 0.5)
	for i, v := range s.get(y) {
		if dropped := device.Unit(word(randomKey, 9, i)) < 0.5; dropped != (v == 0) {
			s.Fatalf("element %d of NaN is %g, dropped %v", i, v, dropped)
		}
	}
}
