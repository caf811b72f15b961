package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// everything is the examples of the table, and metrics with relevances that have no name.
var everything = func() (s Set) {
	for _, e := range All {
		for _, name := range e.Value.Examples {
			m, err := Parse(name)
			if err != nil {
				panic(err)
			}
			s = append(s, m)
		}
	}
	odd := Table{0, 3, 1, 2} // not monotone
	return append(s, HAP{Relevance: odd, Label: "odd"}, HRecall{K: 2, Relevance: odd, Label: "odd"},
		HPrecision{K: 4, Relevance: odd, Label: "odd"},
		HPrecision{K: 2, Relevance: Table{0, 0, 1, 2}, Label: "of two levels"})
}()

// byDefinition is every metric of everything, by its formula for a ranking without ties.
func byDefinition(levels []int, top int) (values []float64) {
	for h := range top {
		r := make([]int, len(levels))
		for i, l := range levels {
			if l >= top-h {
				r[i] = 1
			}
		}
		for _, m := range everything {
			switch m, ok := m.(Binary); {
			case ok && !slices.Contains(r, 1):
				values = append(values, math.NaN())
			case ok:
				values = append(values, m.Define(r))
			}
		}
	}
	for _, m := range everything {
		if m, ok := m.(Graded); ok {
			values = append(values, m.DefineAll(levels, top))
		}
	}
	return values
}

func bytesOf(levels []int, tie []bool) []byte {
	b := make([]byte, len(levels))
	for i, l := range levels {
		b[i] = byte(l)
		if tie != nil && tie[i] {
			b[i] |= Tied
		}
	}
	return b
}

// equal compares values of two float64 computations of sums of a few terms.
func equal(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-12
}

func TestMetricsFollowTheirDefinitions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	list := NewList(3, ScoreThenRow)
	keys := everything.Keys(3)
	got := make([]float64, len(keys))
	for trial := range 500 {
		levels := make([]int, 1+random.IntN(40))
		for i := range levels {
			levels[i] = max(random.IntN(8)-4, 0)
		}
		list.Reset(bytesOf(levels, nil))
		everything.Measure(got, list)
		for i, want := range byDefinition(levels, 3) {
			if !equal(got[i], want) {
				t.Fatalf("trial %d, levels %v: %s = %v, want %v", trial, levels, keys[i], got[i], want)
			}
		}
	}
}

// permutations calls f with every order of the items inside groups of ties;
// end[i] is where the group of item i ends.
func permutations(levels, end []int, at int, f func([]int)) {
	if at == len(levels) {
		f(levels)
		return
	}
	for i := at; i < end[at]; i++ {
		levels[at], levels[i] = levels[i], levels[at]
		permutations(levels, end, at+1, f)
		levels[at], levels[i] = levels[i], levels[at]
	}
}

func TestAverageTiesIsTheMeanOverAllOrders(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	list := NewList(3, AverageTies)
	keys := everything.Keys(3)
	got := make([]float64, len(keys))
	for trial := range 60 {
		levels, tie := make([]int, 1+random.IntN(7)), make([]bool, 7)
		for i := range levels {
			levels[i] = random.IntN(4)
			tie[i] = i > 0 && random.IntN(3) > 0
		}
		list.Reset(append(bytesOf(levels, tie), beyond))
		everything.Measure(got, list)
		want, orders := make([]float64, len(keys)), 0.0
		end := make([]int, len(levels))
		for i := len(levels) - 1; i >= 0; i-- {
			end[i] = i + 1
			if i+1 < len(levels) && tie[i+1] {
				end[i] = end[i+1]
			}
		}
		permutations(slices.Clone(levels), end, 0, func(order []int) {
			orders++
			for i, v := range byDefinition(order, 3) {
				want[i] += v
			}
		})
		for i := range want {
			if !equal(got[i], want[i]/orders) {
				t.Fatalf("trial %d, levels %v, ties %v: %s = %v, want %v", trial, levels, tie[:len(levels)], keys[i], got[i],
					want[i]/orders)
			}
		}
	}
}

func TestTieRulesAgreeWithoutTies(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	row, average := NewList(3, ScoreThenRow), NewList(3, AverageTies)
	a, b := make([]float64, len(everything.Keys(3))), make([]float64, len(everything.Keys(3)))
	for range 100 {
		shared := make([]byte, 400)
		for range 30 {
			shared[random.IntN(len(shared))] = byte(random.IntN(4))
		}
		row.Reset(shared)
		average.Reset(shared)
		everything.Measure(a, row)
		everything.Measure(b, average)
		for i := range a {
			if !equal(a[i], b[i]) {
				t.Fatalf("metric %d: %v and %v", i, a[i], b[i])
			}
		}
	}
}

func TestPerfectRankingScoresOne(t *testing.T) {
	list := NewList(2, ScoreThenRow)
	list.Reset([]byte{2, 2, 2, 1, 1, 0, 0, 0})
	for _, m := range []Graded{HAP{}, ASI{}, NDCG{}, NDCG{K: 4}, HardAP{1}, HardAP{2}} {
		if v, ok := ofList(m, list); !ok || !equal(v, 1) {
			t.Errorf("%s = %v", m.Name(), v)
		}
	}
	for h := range 2 {
		for _, m := range []Binary{AP{}, MAPAtR{}, MAPAt{3}, ASI{}, Recall{1}, TrueRecall{2}} {
			if v, ok := atLevel(m, list.Level(h)); !ok || !equal(v, 1) {
				t.Errorf("%s at level %d = %v", m.Name(), h, v)
			}
		}
	}
}

// If every positive is of the query's class and comes before the negatives, a metric of all places is 1 without a
// rounding error, in any number, with or without equal scores among the positives.
func TestARankingOfOneClassIsExactlyOne(t *testing.T) {
	set, err := ParseSet([]string{"R@1", "P@1", "TR@5", "AP", "mAP@R", "MRR", "Rprec", "H-AP", "H-AP:power^2",
		"H-AP:map^2", "H-R@200", "H-P@1", "ASI", "NDCG", "NDCG@4", "NDCG:linear"})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(21, 22))
	for levels := 1; levels <= few+1; levels++ {
		list, keys := NewList(levels, AverageTies), set.Keys(levels)
		values := make([]float64, len(keys))
		for n := 1; n <= 200; n++ {
			shared, tie := make([]int, n+n%3), make([]bool, n+n%3)
			for i := range n {
				shared[i] = levels
				tie[i] = i > 0 && (n%4 == 1 || n%4 == 2 && random.IntN(2) == 0)
			}
			list.Reset(append(bytesOf(shared, tie), beyond))
			set.Measure(values, list)
			for i, v := range values {
				if v != 1 {
					t.Fatalf("%d levels, %d positives of %d, equal scores %v: %s is %v", levels, n, len(shared), tie, keys[i], v)
				}
			}
		}
	}
}

// Two levels of equal relevance: an evaluator that tells items apart by relevance
// counts them twice and gives 2 (losses.md 7 K, from the released code).
func TestHAPCountsEqualRelevancesOnce(t *testing.T) {
	list := NewList(2, ScoreThenRow)
	list.Reset([]byte{2, 2, 1, 2, 2, 1})
	if v, _ := ofList((HAP{}), list); !equal(v, 1) {
		t.Errorf("H-AP = %v, want 1", v)
	}
}

func TestHAPIsAPAtOneLevelAndKnowsNoScale(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	one, two := NewList(1, ScoreThenRow), NewList(2, ScoreThenRow)
	for range 50 {
		shared := make([]byte, 30)
		for i := range shared {
			shared[i] = byte(random.IntN(2))
		}
		shared[3] = 1
		one.Reset(shared)
		hap, _ := ofList(HAP{}, one)
		ap, _ := atLevel(AP{}, one.Level(0))
		if !equal(hap, ap) {
			t.Fatalf("H-AP %v, AP %v", hap, ap)
		}
		shared[7] = 2
		two.Reset(shared)
		a, _ := ofList(HAP{Relevance: Table{0, 0.2, 0.5}}, two)
		b, _ := ofList(HAP{Relevance: Table{0, 20, 50}}, two)
		if !equal(a, b) {
			t.Fatalf("H-AP %v and %v", a, b)
		}
	}
}

// Few levels are added up in another way than many.
func TestHAPFollowsItsDefinitionAtAnyNumberOfLevels(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	for levels := 1; levels <= few+3; levels++ {
		list, shared := NewList(levels, ScoreThenRow), make([]int, 60)
		for i := range shared {
			shared[i] = random.IntN(levels + 1)
		}
		list.Reset(bytesOf(shared, nil))
		for _, relevance := range []Relevance{Pop{Alpha: 1}, Power{Alpha: 3}} {
			m := HAP{Relevance: relevance}
			if got, _ := ofList(m, list); !equal(got, m.DefineAll(shared, levels)) {
				t.Errorf("%d levels: H-AP %v, want %v", levels, got, m.DefineAll(shared, levels))
			}
		}
	}
}

// The table of discounts grows as longer lists ask for it, from several goroutines.
func TestDiscountsAreThoseOfTheirPlaces(t *testing.T) {
	var group sync.WaitGroup
	for _, n := range []int{700, 3, 701, 5000, 1, 2000} {
		group.Go(func() {
			d, sum := discountsOf(n), 0.0
			for i := range n {
				want := 1 / math.Log2(float64(i+2))
				if sum += want; !equal(d.places[i], want) || math.Abs(d.ideal[i]-sum) > 1e-9 { // of 600
					t.Errorf("place %d: %v, sum %v, want %v and %v", i, d.places[i], d.ideal[i], want, sum)
					return
				}
			}
		})
	}
	group.Wait()
}

// expectedMin against the hypergeometric distribution by logarithms of factorials.
func TestExpectedMinFollowsTheHypergeometricLaw(t *testing.T) {
	choose := func(n, k int) float64 {
		if k < 0 || k > n {
			return math.Inf(-1)
		}
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	random := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		size := 2 + random.IntN(300)
		p, drawn, c := random.IntN(size+1), 1+random.IntN(size), random.IntN(20)
		limit := c + random.IntN(size)
		want := 0.0
		for x := range size + 1 {
			if w := choose(p, x) + choose(size-p, drawn-x) - choose(size, drawn); !math.IsInf(w, -1) {
				want += math.Exp(w) * float64(min(c+x, limit))
			}
		}
		// Lgamma of a few hundred has an absolute error of some 1e-13.
		if got := expectedMin(c, p, size, drawn, limit); math.Abs(got-want) > 1e-10*want+1e-12 {
			t.Fatalf("expectedMin(%d, %d, %d, %d, %d) = %v, want %v", c, p, size, drawn, limit, got, want)
		}
	}
}

// Table gives the value of every level. Table[0], for level 0, is unused.
type Table []float64

// Fill copies.
func (t Table) Fill(rel []float64, _ []int) {
	copy(rel, t)
	rel[0] = 0
}
