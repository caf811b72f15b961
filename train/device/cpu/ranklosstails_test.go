package cpu

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/internal/ranksort"
)

func TestTailPolynomialsApproximateTheSigmoid(t *testing.T) {
	var one [terms]float64
	for n := range one {
		one[n] = 1
	}
	worst, worstSlope := 0.0, 0.0
	for i := range 100001 {
		y := float64(i) / 100000
		v, d := polynomials(&one, y)
		worst = max(worst, math.Abs(v-y/(1+y)))
		worstSlope = max(worstSlope, math.Abs(d-y/(1+y)/(1+y)))
	}
	if worst > 7e-10 || worstSlope > 6e-9 {
		t.Errorf("errors %.2g of σ and %.2g of its slope", worst, worstSlope)
	}
}

func TestExpNegsIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{1, 3, 4, 7, 1000} {
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Exp(r.NormFloat64() * 3)
		}
		x[0] = 0
		for _, plain := range []bool{false, true} {
			got := slices.Clone(x)
			(&sums{plain: plain}).expNegs(got)
			for i, v := range x {
				want := math.Exp(-v)
				if v < 690 && math.Abs(got[i]-want) > 3e-12*want || v >= 690 && got[i] > 1e-299 {
					t.Errorf("e^-%v = %v, want %v", v, got[i], want)
				}
			}
		}
	}
	for _, plain := range []bool{false, true} {
		odd := []float64{math.Inf(1), math.NaN(), math.Inf(1), math.NaN(), math.NaN(), math.Inf(1)}
		(&sums{plain: plain}).expNegs(odd)
		if odd[0] > 1e-299 || odd[5] > 1e-299 || odd[1] == odd[1] || odd[4] == odd[4] {
			t.Errorf("e^-∞ and e^-NaN are %v", odd)
		}
	}
}

func TestSortKeysSortsStablyByFallingScore(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, n := range []int{0, 1, 2, 100, ranksort.ShortRow - 1, ranksort.ShortRow, 5000} {
		s := make([]float32, n)
		keys := make([]uint64, n)
		for i := range s {
			switch r.IntN(6) {
			case 0:
				s[i] = float32(math.Copysign(0, float64(r.IntN(2))-0.5))
			case 1:
				s[i] = float32(math.Inf(r.IntN(2)*2 - 1))
			case 2:
				s[i] = float32(r.IntN(5)) / 4
			default:
				s[i] = float32(r.NormFloat64())
			}
			keys[i] = ranksort.Key(s[i], uint32(i))
			if ranksort.Score(keys[i]) != s[i] {
				t.Fatalf("%v comes back as %v", s[i], ranksort.Score(keys[i]))
			}
		}
		want := make([]int, n)
		for i := range want {
			want[i] = i
		}
		slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(s[b], s[a]) })
		for i, k := range ranksort.Sort(keys, make([]uint64, n)) {
			if int(uint32(k)) != want[i] {
				t.Fatalf("%d keys: place %d has row %d, want %d", n, i, uint32(k), want[i])
			}
		}
	}
}
