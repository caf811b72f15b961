package conformance

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// paceTolerance allows one rounding to float32. For β = 0.999 the first update computes 1 − β,
// which leaves ten of the sixteen digits of float64.
const paceTolerance = 1e-7

// testPace compares each number separately, since they differ in magnitude.
func testPace(s *suite) {
	for _, before := range []float64{0, 1, 9, 999, 123456, 1 << 24} {
		t := before + 1
		for _, beta := range [][2]float32{{0.9, 0.999}, {0, 0}, {0.5, 0.99999}} {
			first := 0.0
			if t == 1 {
				first = 1
			}
			s.pace(before, device.PaceKind{Beta1: beta[0], Beta2: beta[1]},
				1-math.Pow(float64(beta[0]), t), 1-math.Pow(float64(beta[1]), t), first)
		}
		for _, decay := range []float64{0, 0.9, 0.9999} {
			s.pace(before, device.PaceKind{Kind: device.Mean, Decay: decay}, 1-decay)
			s.pace(before, device.PaceKind{Kind: device.Mean, Decay: decay, Rise: true}, 1-min(decay, (1+t)/(10+t)))
		}
	}
}

func (s *suite) pace(before float64, o device.PaceKind, want ...float64) {
	s.Helper()
	what := fmt.Sprintf("%+v after %v updates", o, before)
	for _, set := range []float64{0, 3} {
		// The constants lie inside a larger array, as in a hyper array.
		all, count := s.alloc(device.F32, 8), s.put(device.I32, flag(before))
		dst := all.RowRange(3, 3+len(want))
		guard := s.put(device.I32, flag(set))
		s.b.Pace(dst, count, guard, o)
		for i, v := range s.get(all) {
			switch written := i >= 3 && i < 3+len(want); {
			case written && set == 0:
				s.near(fmt.Sprint(what, ": number ", i-3), []float64{v}, want[i-3:i-2], paceTolerance, denormal)
			case v == v:
				s.Fatalf("%s: wrote element %d with the flag %v", what, i, set)
			}
		}
		if set != 0 {
			s.equal(what+": count while the flag is set", count, []float64{before})
			continue
		}
		s.equal(what+": count", count, []float64{before + 1})
		s.b.Pace(dst, count, absent, o)
		s.equal(what+": count without a flag", count, []float64{before + 2})
	}
}
