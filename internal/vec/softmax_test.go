package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ExpScaled equals math.Exp within half an ulp of float32 and 2e-12, its sum that of the
// wide results, and it writes nothing beyond dst.
func TestExpScaled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range lengths() {
		for _, scale := range []float64{1, 20, 0.5} {
			x, _ := guarded(r, n)
			dst, whole := guarded(r, n)
			fill(r, x, false)
			top := 0.0
			for _, v := range x {
				top = max(top, float64(v))
			}
			got, sum := ExpScaled(dst, x, top, scale), 0.0
			for i, v := range x {
				want := math.Exp((float64(v) - top) * scale)
				sum += want
				// Half an ulp of a normal number is 2^−24 of it at most, and of a denormal one 2^−150.
				if d := math.Abs(float64(dst[i]) - want); d > want*(0x1p-24+3e-12)+0x1p-150 {
					t.Fatalf("%d of %d: e^((%v − %v)·%v) is %v, want %v", i, n, v, top, scale, dst[i], want)
				}
			}
			if math.Abs(got-sum) > 4e-12*sum || touched(dst, whole) {
				t.Fatalf("n = %d: sum %v, want %v; touched %v", n, got, sum, touched(dst, whole))
			}
		}
	}
}

// The loops for all machines and those of this one give the same bytes.
func TestExpScaledIsTheSameEverywhere(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x, y := make([]float32, 1003), make([]float32, 1003)
	fill(r, x, true)
	sum := ExpScaled(y, x, 1.5, 3)
	var s [8]float64
	for i, v := range x {
		e := expWide((float64(v) - 1.5) * 3)
		s[i&7] += e
		if math.Float32bits(float32(e)) != math.Float32bits(y[i]) && e == e {
			t.Fatalf("e^((%v − 1.5)·3) is %v, want %v", v, y[i], float32(e))
		}
		if e != e && y[i] == y[i] {
			t.Fatalf("%v gives %v, want NaN", v, y[i])
		}
	}
	if want := join8(&s); sum != want && (sum == sum || want == want) {
		t.Errorf("sum %v, want %v", sum, want)
	}
}
