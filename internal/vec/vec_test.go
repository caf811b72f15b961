package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// lengths returns lengths around one, two and many vectors.
func lengths() []int {
	var n []int
	for i := range 68 {
		n = append(n, i)
	}
	return append(n, 1023, 1024, 1025)
}

// poison fills the memory around the memory that a kernel may write.
var poison = math.Float32frombits(0xdeadbeef)

const margin = 16

// guarded returns n elements at an offset of 0 to 3 elements in poisoned memory, with two
// vectors of poison on each side.
func guarded(r *rand.Rand, n int) (s, whole []float32) {
	from := margin + r.IntN(4)
	whole = make([]float32, from+n+margin)
	for i := range whole {
		whole[i] = poison
	}
	return whole[from : from+n : from+n], whole
}

// touched reports whether anything in whole but outside s has changed.
func touched(s, whole []float32) bool {
	from := cap(whole) - margin - len(s)
	for i, v := range whole {
		if (i < from || i >= from+len(s)) && math.Float32bits(v) != math.Float32bits(poison) {
			return true
		}
	}
	return false
}

// specials are mixed into the test data.
var specials = []float32{
	0, float32(math.Copysign(0, -1)), 1e-45, -1e-45, 1e-39, -3e-39, 1, -1, math.MaxFloat32, -math.MaxFloat32,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.Float32frombits(0xffc00001), 88.8,
	-104, 40, -40,
}

func fill(r *rand.Rand, x []float32, special bool) {
	for i := range x {
		x[i] = float32(r.NormFloat64() * math.Exp(2*r.NormFloat64()))
		if special && r.IntN(3) == 0 {
			x[i] = specials[r.IntN(len(specials))]
		}
	}
}

// same reports whether two numbers have equal bits. All NaNs are equal.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// elementwise is a function that treats all elements alike. It writes the first out slices and
// may read them first.
type elementwise struct {
	name    string
	in, out int
	run     func(s [][]float32)
	want    func(v []float64) []float64 // the definition: v holds the previous values, outputs first
	// tolerance in ulp of the result; if terms is set, of the sum of the terms' magnitudes
	within float64
	terms  func(v []float64) float64
}

var (
	adamStep = AdamStep{0.9, 0.1, 0.999, 0.001, 0.5, 0.01, 0.99, 0.1, 3, 1e-8}
	sgdStep  = SGDStep{0.5, 0.01, 0.9, 0.8, 1, 0.9, 0.1}
)

func elementwises() []elementwise {
	one := func(f func(x float64) float64) func(v []float64) []float64 {
		return func(v []float64) []float64 { return []float64{f(v[1])} }
	}
	gateOf := func(a, b float64) func(x float64) float64 {
		return func(x float64) float64 { return 1 / (1 + math.Exp(-x*(a+b*x*x))) }
	}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	wave := gateOf(1.5957691216057308, 0.07135481282553)
	return []elementwise{
		{name: "Exp", in: 1, out: 1, run: func(s [][]float32) { Exp(s[0], s[1]) }, want: one(math.Exp), within: 1},
		{name: "Axpby", in: 2, out: 1, run: func(s [][]float32) { Axpby(s[0], 2.5, s[1], -0.3, s[2]) },
			want:   func(v []float64) []float64 { return []float64{2.5*v[1] + float64(float32(-0.3))*v[2]} },
			within: 2, terms: func(v []float64) float64 { return 2.5*math.Abs(v[1]) + math.Abs(v[2]) }},
		{name: "Scale", in: 1, out: 1, run: func(s [][]float32) { Scale(s[0], 2.5, s[1]) },
			want: one(func(x float64) float64 { return 2.5 * x }), within: 0.5},
		{name: "ScaleWide", in: 1, out: 1, run: func(s [][]float32) { ScaleWide(s[0], 2.1, s[1]) },
			want: one(func(x float64) float64 { return 2.1 * x }), within: 0.5},
		{name: "ReLU", in: 1, out: 1, run: func(s [][]float32) { ReLU(s[0], s[1]) },
			want: one(func(x float64) float64 { return max(x, 0) })},
		{name: "Mask", in: 2, out: 1, run: func(s [][]float32) { Mask(s[0], s[1], s[2]) },
			want: func(v []float64) []float64 {
				if v[2] > 0 {
					return v[1:2]
				}
				return []float64{0}
			}},
		{name: "Maximum", in: 1, out: 1, run: func(s [][]float32) { Maximum(s[0], s[1]) },
			want: func(v []float64) []float64 { return []float64{max(v[0], v[1])} }},
		{name: "Route", in: 2, out: 2, run: func(s [][]float32) { Route(s[0], s[1], s[2], s[3]) },
			want: func(v []float64) []float64 {
				if v[2] == v[3] {
					return []float64{v[0] + v[1], 0}
				}
				return v[:2]
			}, within: 0.5},
		{name: "GELU", in: 1, out: 1, run: func(s [][]float32) { GELU(s[0], s[1]) },
			want: one(func(x float64) float64 { return x * phi(x) }), within: 9},
		{name: "GELUGrad", in: 2, out: 1, run: func(s [][]float32) { GELUGrad(s[0], s[1], s[2]) },
			want: func(v []float64) []float64 {
				x := v[2]
				return []float64{v[1] * (phi(x) + x*math.Exp(-x*x/2)*invRoot2Pi)}
			}, within: 4.5, terms: func(v []float64) float64 { return math.Abs(v[1]) }},
		{name: "Gate", in: 1, out: 1, run: func(s [][]float32) { Gate(s[0], s[1], 1.702, 0) },
			want: one(func(x float64) float64 { return x * gateOf(1.702, 0)(x) }), within: 0.52},
		{name: "GateGrad", in: 2, out: 1, run: func(s [][]float32) {
			GateGrad(s[0], s[1], s[2], 1.5957691216057308,
				0.07135481282553)
		},
			want: func(v []float64) []float64 {
				x, s := v[2], wave(v[2])
				return []float64{v[1] * (s + x*s*(1-s)*(1.5957691216057308+3*0.07135481282553*x*x))}
			}, within: 0.51, terms: func(v []float64) float64 { return math.Abs(v[1]) }},
		{name: "Approach", in: 1, out: 1, run: func(s [][]float32) { Approach(s[0], s[1], 0.1) },
			want: func(v []float64) []float64 { return []float64{v[0] + 0.1*(v[1]-v[0])} }, within: 0.51},
		{name: "SGD", in: 1, out: 2, run: func(s [][]float32) { SGD(s[0], s[1], s[2], &sgdStep) },
			want: func(v []float64) []float64 {
				g := 0.5*v[2] + 0.01*v[0]
				m := 0.9*v[1] + 0.8*g
				return []float64{v[0] - 0.1*(g+0.9*m), m}
			}, within: 0.51},
		{name: "Adam", in: 1, out: 3, run: func(s [][]float32) {
			for i, v := range s[2] { // second moments are not negative
				s[2][i] = max(v, -v)
			}
			Adam(s[0], s[1], s[2], s[3], &adamStep)
		}, want: func(v []float64) []float64 {
			g := 0.5*v[3] + 0.01*v[0]
			m, s := 0.9*v[1]+0.1*g, 0.999*math.Abs(v[2])+0.001*g*g
			return []float64{0.99*v[0] - 0.1*m/(math.Sqrt(s)*3+1e-8), m, s}
		}, within: 0.51},
		{name: "LayerRow", in: 3, out: 1, run: func(s [][]float32) { LayerRow(s[0], s[1], s[2], s[3], 0.25, 1.75) },
			want: func(v []float64) []float64 { return []float64{(v[1]-0.25)*1.75*v[2] + v[3]} }, within: 0.51},
		{name: "LayerBack", in: 3, out: 1, run: func(s [][]float32) {
			LayerBack(s[0], s[1], s[2], s[3], 0.25, 1.75,
				0.5, 0.125)
		},
			want: func(v []float64) []float64 {
				return []float64{1.75 * (v[1]*v[3] - 0.5 - (v[2]-0.25)*1.75*0.125)}
			}, within: 0.51},
	}
}

// arguments returns slices of n elements, each with its surrounding memory.
func (e *elementwise) arguments(r *rand.Rand, n int, special bool) (s, whole [][]float32) {
	for range e.in + e.out {
		a, w := guarded(r, n)
		fill(r, a, special)
		s, whole = append(s, a), append(whole, w)
	}
	if e.name == "Route" {
		for i := range n {
			if i%3 == 0 {
				s[3][i] = s[2][i]
			}
		}
	}
	return s, whole
}

// Processing one element at a time uses the Go loop, since a vector holds four or eight.
func TestVectorsGiveTheBytesOfTheLoopAndWriteNothingElse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, e := range elementwises() {
		for _, n := range lengths() {
			s, whole := e.arguments(r, n, true)
			alone := make([][]float32, len(s))
			for k := range s {
				alone[k] = append([]float32(nil), s[k]...)
			}
			e.run(s)
			for i := range n {
				var single [][]float32
				for k := range alone {
					single = append(single, alone[k][i:i+1])
				}
				e.run(single)
			}
			for k := range s {
				if touched(s[k], whole[k]) {
					t.Fatalf("%s: length %d: memory beside argument %d is changed", e.name, n, k)
				}
				for i, v := range s[k] {
					if !same(v, alone[k][i]) {
						t.Fatalf("%s: length %d, argument %d, element %d: %v, alone %v", e.name, n, k, i, v, alone[k][i])
					}
				}
			}
		}
	}
}

func ulp(want float64) float64 {
	_, e := math.Frexp(want)
	return math.Ldexp(1, max(e-24, -149))
}

func TestElementsFollowTheirDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, e := range elementwises() {
		s, _ := e.arguments(r, 20000, false)
		before := make([][]float64, len(s[0]))
		for i := range before {
			for k := range s {
				before[i] = append(before[i], float64(s[k][i]))
			}
		}
		e.run(s)
		for i, v := range before {
			for k, want := range e.want(v) {
				size := want
				if e.terms != nil {
					size = max(math.Abs(want), e.terms(v))
				}
				got := float64(s[k][i])
				if math.Abs(want) > math.MaxFloat32 && math.IsInf(got, 0) && got*want > 0 {
					continue
				}
				if err := math.Abs(got-want) / ulp(size); !(err <= e.within) {
					t.Fatalf("%s: result %d of %v: %v, want %v: %.3g ulp, allowed %v", e.name, k, v, got, want, err, e.within)
				}
			}
		}
	}
}

// overAllSizes returns the largest error of f in ulp of want, over float32 of all magnitudes.
// Both must agree on infinities.
func overAllSizes(t *testing.T, f func(y, x []float32), want func(x float64) float64) float64 {
	const step = 1009 // a prime, so that all low bits occur
	var x, y [4096]float32
	worst := 0.0
	for b := uint64(0); b < 1<<32; b += step * uint64(len(x)) {
		for i := range x {
			x[i] = math.Float32frombits(uint32(b + uint64(i)*step))
		}
		f(y[:], x[:])
		for i, v := range x {
			switch want := want(float64(v)); {
			case want != want:
				if y[i] == y[i] {
					t.Fatalf("f(%v) is %v, want NaN", v, y[i])
				}
			case want > math.MaxFloat32:
				if !math.IsInf(float64(y[i]), 1) {
					t.Fatalf("f(%v) is %v", v, y[i])
				}
			default:
				worst = max(worst, math.Abs(float64(y[i])-want)/ulp(want))
			}
		}
	}
	return worst
}

func TestExpOverAllSizes(t *testing.T) {
	if worst := overAllSizes(t, Exp, math.Exp); worst > 0.99 {
		t.Errorf("%.4f ulp", worst)
	}
}

func TestGELUOverAllSizes(t *testing.T) {
	worst := overAllSizes(t, GELU, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 })
	if worst > 9 {
		t.Errorf("%.4f ulp", worst)
	}
}

func TestExpSubSumsInLanes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range lengths() {
		x, _ := guarded(r, n)
		fill(r, x, false)
		dst, whole := guarded(r, n)
		top := float32(math.Inf(-1))
		for _, v := range x {
			top = max(top, v)
		}
		got := ExpSub(dst, x, top)
		var s [8]float64
		for i, v := range dst {
			s[i%8] += float64(v)
			if want := exp(x[i] - top); v != want {
				t.Fatalf("length %d: element %d is %v, want %v", n, i, v, want)
			}
		}
		if want := float32(join8(&s)); got != want || touched(dst, whole) {
			t.Fatalf("length %d: sum %v, want %v", n, got, want)
		}
	}
	row := []float32{1, float32(math.Inf(-1)), 0, 2, 1, 1, 1, 1, float32(math.Inf(-1))}
	ExpSub(row, row, 2)
	if row[1] != 0 || row[8] != 0 || row[3] != 1 {
		t.Errorf("softmax with −Inf: %v", row)
	}
}

func TestNonFiniteCountsInfinitiesAndNaNs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range lengths() {
		x, _ := guarded(r, n)
		fill(r, x, true)
		want := 0
		for _, v := range x {
			if math.IsInf(float64(v), 0) || v != v {
				want++
			}
		}
		if got := NonFinite(x); got != want {
			t.Fatalf("length %d: %d, want %d", n, got, want)
		}
	}
}

// The lanes are part of the definition: element i is added to lane i modulo 16.
func TestRowSumsAreThoseOfSixteenLanes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range lengths() {
		x, _ := guarded(r, n)
		y, _ := guarded(r, n)
		fill(r, x, false)
		fill(r, y, false)
		const mean = 0.7
		var sum, dot, spread lanes
		for i := range n {
			sum[i%16] += float64(x[i])
			dot[i%16] += float64(x[i]) * float64(y[i])
			d := float64(x[i]) - mean
			spread[i%16] += float64(d * d)
		}
		for _, c := range []struct {
			name      string
			got, want float64
		}{{"Sum", Sum(x), sum.join()}, {"Dot", Dot(x, y), dot.join()}, {"Spread", Spread(x, mean), spread.join()}} {
			if c.got != c.want {
				t.Errorf("%s of %d: %v, want %v", c.name, n, c.got, c.want)
			}
		}
	}
}

func TestPowersAndTheirLogarithms(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, n := range lengths() {
		for _, p := range []float64{1, 3, 6.5} {
			const eps = 1e-6
			x, _ := guarded(r, n)
			fill(r, x, false)
			sum, along, k := make([]float64, n+1), make([]float64, n+1), make([]float64, n)
			for i := range k {
				k[i] = r.NormFloat64()
			}
			PowerSums(sum[:n], along[:n], x, p, eps)
			dst, whole := guarded(r, n)
			PowerScale(dst, x, k, p-1, eps)
			for i, v := range x {
				wide := max(float64(v), eps)
				w, d := math.Pow(wide, p), 0.0
				if float64(v) >= eps {
					d = k[i] * math.Pow(wide, p-1)
				}
				allowed := 1e-12 * (1 + math.Abs(p*math.Log(wide)))
				if math.Abs(sum[i]-w) > 4*allowed*w ||
					math.Abs(along[i]-w*math.Log(wide)) > 4*allowed*w*(1+math.Abs(math.Log(wide))) ||
					math.Abs(float64(dst[i])-d) > 0.51*ulp(d) {
					t.Fatalf("%v^%v: %v, %v; %v, want %v", v, p, sum[i], along[i], dst[i], d)
				}
				one, two, three := []float64{0}, []float64{0}, []float32{0}
				PowerSums(one, two, x[i:i+1], p, eps)
				PowerScale(three, x[i:i+1], k[i:], p-1, eps)
				if one[0] != sum[i] || two[0] != along[i] || three[0] != dst[i] {
					t.Fatalf("%v^%v: bytes differ from those of the loop", v, p)
				}
			}
			if sum[n] != 0 || along[n] != 0 || touched(dst, whole) {
				t.Fatalf("length %d: memory beside is changed", n)
			}
		}
	}
	var sum, along [4]float64
	PowerSums(sum[:], along[:], []float32{float32(math.NaN()), float32(math.Inf(1)), 0, 1}, 3, 0.5)
	if sum[0] == sum[0] || !math.IsInf(sum[1], 1) || math.Abs(sum[2]-0.125) > 1e-12 || sum[3] != 1 {
		t.Errorf("special values: %v", sum)
	}
}
