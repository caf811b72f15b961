package conformance

import (
	"fmt"
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// stepTolerance allows for the few float32 operations of an update, on numbers of similar
// size.
const stepTolerance = 1e-6

// hyper returns the array of hyperparameters that Adam and SGD read at step t.
func hyper(t int, rate, decay, scale, beta1, beta2 float64) *array {
	h := zeros(device.HyperLen)
	h.V[device.HyperRate], h.V[device.HyperDecay], h.V[device.HyperScale] = rate, decay, scale
	h.V[device.HyperBias1] = 1 - math.Pow(beta1, float64(t))
	h.V[device.HyperBias2] = 1 - math.Pow(beta2, float64(t))
	if t == 1 {
		h.V[device.HyperFirstStep] = 1
	}
	return h
}

func flag(v float64) *array { return vector(v) }

// shadowTypes are the types of a shadow copy of the weights.
var shadowTypes = []device.DType{device.F32, device.BF16, device.F16}

func testAdam(s *suite) {
	for i, n := range append(sizes, 40000) {
		for _, decoupled := range []bool{false, true} {
			o := device.AdamKind{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decoupled: decoupled}
			w, m, v := s.master(n), zeros(n), zeros(n)
			shadowType := shadowTypes[i%3]
			shadow := s.alloc(shadowType, n)
			if i%4 == 3 {
				shadow = absent
			}
			dw, dm, dv := s.put(device.F32, w), s.put(device.F32, m), s.put(device.F32, v)
			start := w.Clone()
			for t := 1; t <= 3; t++ {
				g := s.master(n)
				h := hyper(t, 0.01*float64(t), 0.1, 0.5, 0.9, 0.999)
				s.b.Adam(dw, dm, dv, s.put(device.F32, g), shadow, s.put(device.F32, h), s.put(device.I32, flag(0)), o)
				reference.Adam(w, m, v, g, h.V, o)
			}
			what := fmt.Sprint(n, " decoupled ", decoupled)
			s.same("w "+what, dw, w.V, stepTolerance)
			s.same("m "+what, dm, m.V, stepTolerance)
			s.same("v "+what, dv, v.V, stepTolerance)
			s.update(what, dw, start, w)
			kept := s.get(dw)
			if i%4 != 3 {
				s.shadow(what, shadow, kept)
			}
			nan := zeros(n)
			nan.V[n/2] = math.NaN()
			h := s.put(device.F32, hyper(4, 0.1, 0.1, 1, 0.9, 0.999))
			s.b.Adam(dw, dm, dv, s.put(device.F32, nan), shadow, h, s.put(device.I32, flag(3)), o)
			s.equal("w while the flag is set, "+what, dw, kept)
		}
	}
}

// update compares the change of the weights, which is small relative to the weights. The
// length of Adam's first steps is about the learning rate, so a change of 1e-2 in a weight of
// size 1 is accurate to 6e-8/1e-2 = 6e-6.
func (s *suite) update(what string, got device.Array, start, want *array) {
	s.Helper()
	v, moved := s.get(got), make([]float64, len(start.V))
	for i := range v {
		v[i] -= start.V[i]
		moved[i] = want.V[i] - start.V[i]
	}
	s.near("update "+what, v, moved, 5e-5, 0)
}

func (s *suite) shadow(what string, shadow device.Array, w []float64) {
	s.Helper()
	want := filled(func(i int) float64 { return rounded(shadow.Type, w[i]) }, len(w))
	s.equal("shadow "+what, shadow, want.V)
}

func testSGD(s *suite) {
	kinds := []device.SGDKind{{}, {Momentum: 0.9}, {Momentum: 0.9, Dampening: 0.5}, {Momentum: 0.9, Nesterov: true}}
	for i, n := range append(sizes, 40000) {
		for k, o := range kinds {
			w, m, dm := s.master(n), zeros(n), absent
			shadow := s.alloc(shadowTypes[i%3], n)
			if k > 0 {
				dm = s.alloc(device.F32, n) // NaN, which the first step must not read
			}
			dw := s.put(device.F32, w)
			for t := 1; t <= 3; t++ {
				g := s.master(n)
				h := hyper(t, 0.1, 0.01, 0.5, 0.9, 0.9)
				s.b.SGD(dw, dm, s.put(device.F32, g), shadow, s.put(device.F32, h), s.put(device.I32, flag(0)), o)
				reference.SGD(w, m, g, h.V, o)
			}
			what := fmt.Sprintf("%d %+v", n, o)
			s.same("w "+what, dw, w.V, stepTolerance)
			if k > 0 {
				s.same("m "+what, dm, m.V, stepTolerance)
			}
			kept := s.get(dw)
			s.shadow(what, shadow, kept)
			h := s.put(device.F32, hyper(4, 0.1, 0.1, 1, 0.9, 0.9))
			s.b.SGD(dw, dm, s.put(device.F32, s.master(n)), shadow, h, s.put(device.I32, flag(1)), o)
			s.equal("w while the flag is set, "+what, dw, kept)
			s.b.SGD(dw, dm, s.put(device.F32, zeros(n)), absent, s.put(device.F32, hyper(4, 0, 0, 1, 0.9, 0.9)), absent, o)
			s.equal("w at rate 0 without flag and shadow, "+what, dw, kept)
		}
	}
}

func testAverage(s *suite) {
	for _, m := range matrices {
		old, x := s.master(m[0], m[1]), s.master(m[0], m[1])
		want := filled(func(i int) float64 { return old.V[i] + 0.25*(x.V[i]-old.V[i]) }, m[0], m[1])
		dst, dx, rate := s.put(device.F32, old), s.put(device.F32, x), s.put(device.F32, flag(0.25))
		s.b.Average(dst, dx, rate, s.put(device.I32, flag(2)))
		s.equal(fmt.Sprint("while the flag is set, ", m), dst, old.V)
		s.b.Average(dst, dx, rate, s.put(device.I32, flag(0)))
		s.same(fmt.Sprint(m), dst, want.V, elementTolerance)
		dst = s.put(device.F32, old)
		s.b.Average(dst, dx, rate, absent)
		s.same(fmt.Sprint("without flag, ", m), dst, want.V, elementTolerance)
	}
}

func testTrack(s *suite) {
	for _, c := range []int{1, 3, 2048} {
		old, x := s.master(2, c), s.master(2, c)
		want := filled(func(i int) float64 {
			v := x.V[i]
			if i >= c {
				v *= 1.5
			}
			return old.V[i] + 0.25*(v-old.V[i])
		}, 2, c)
		running, rate, found := s.put(device.F32, old), s.put(device.F32, flag(0.25)), s.put(device.I32, flag(2))
		track := func(x *array) { s.b.Track(running, s.put(device.F32, x), rate, found, 1.5) }
		track(x)
		s.equal(fmt.Sprint("while the flag is set, ", c), running, old.V)
		s.b.Fill(found, 0)
		sound := x.V[2*c-1]
		x.V[2*c-1] = math.Inf(1)
		track(x)
		s.equal(fmt.Sprint("of a value that is not finite, ", c), running, old.V)
		s.equal(fmt.Sprint("found, ", c), found, []float64{1})
		s.b.Fill(found, 0)
		x.V[2*c-1] = sound
		track(x)
		s.same(fmt.Sprint(c), running, want.V, elementTolerance)
		s.equal(fmt.Sprint("found none, ", c), found, []float64{0})
	}
}

// testGuard expects exact results, since the operation counts.
func testGuard(s *suite) {
	for _, n := range append(sizes, 70000) {
		x := s.master(n)
		bad := 0.0
		for i := range x.V {
			switch s.r.IntN(9) {
			case 0:
				x.V[i] = math.NaN()
				bad++
			case 1:
				x.V[i] = math.Inf(s.r.IntN(2)*2 - 1)
				bad++
			case 2:
				x.V[i] = math.MaxFloat32
			}
		}
		f := s.put(device.I32, flag(5))
		s.b.Guard(f, s.put(device.F32, x))
		s.equal(fmt.Sprint(n), f, []float64{5 + bad})
	}
}
