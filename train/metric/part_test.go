package metric

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// atLevel is the value of a metric from the sum over a whole list.
func atLevel(m Binary, v *View) (float64, bool) { return m.AtLevel(m.AddLevel(0, v), v) }

// ofList is the same of all levels.
func ofList(m Graded, l *List) (float64, bool) {
	s, p := m.OfList(l), new(Part)
	p.begin(l)
	p.read(l.items, l.N)
	return s.Value(s.AddPart(0, p))
}

// longList is a ranking of many parts, with ties inside and across what would be their ends.
func longList(random *rand.Rand, n int) []byte {
	shared := make([]byte, n)
	for i := range shared {
		if shared[i] = byte(max(random.IntN(7)-3, 0)); i > 0 && random.IntN(20) == 0 {
			shared[i] |= Tied
		}
	}
	for i := 3*partItems - 5; i < 3*partItems+700; i++ { // more than a part of equal scores
		shared[i] |= Tied
	}
	return shared
}

// What is added part by part is what one part of the whole list gives, to the last bit: sums go
// on from one part to the next.
func TestPartsChangeNothing(t *testing.T) {
	shared := longList(rand.New(rand.NewPCG(15, 16)), 20*partItems+3)
	for _, ties := range []Ties{ScoreThenRow, AverageTies} {
		list := NewList(3, ties)
		list.Reset(shared)
		got := make([]float64, len(everything.Keys(3)))
		everything.Measure(got, list)
		parts := 0
		if list.walk(func(*Part) { parts++ }); parts < 8 {
			t.Fatalf("only %d parts", parts)
		}
		var want []float64
		for h := range 3 {
			for _, m := range everything {
				if b, ok := m.(Binary); ok {
					v, _ := atLevel(b, list.Level(h))
					want = append(want, v)
				}
			}
		}
		for _, m := range everything {
			if g, ok := m.(Graded); ok {
				v, _ := ofList(g, list)
				want = append(want, v)
			}
		}
		for i, key := range everything.Keys(3) {
			if got[i] != want[i] {
				t.Errorf("ties %d: %s is %v by parts, %v at once", ties, key, got[i], want[i])
			}
		}
	}
}

// The ends of a long list are the values of the lists with the finer, or the coarser, levels first
// in each group of ties.
func TestBoundsOfLongListsAreThoseOfTheirEnds(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 18))
	set := Set{Recall{1}, Precision{900}, TrueRecall{3}, AP{}, MAPAtR{}, MAPAt{100}, MRR{}, RPrecision{}, ASI{}, NDCG{},
		NDCG{K: 500}, HardAP{2}, HAP{Relevance: Power{2}}}
	keys := set.Keys(3)
	for range 5 {
		shared := longList(random, 9*partItems)
		list, plain := NewList(3, ScoreThenRow), NewList(3, ScoreThenRow)
		values, ends := make([]float64, len(keys)), [2][]float64{make([]float64, len(keys)), make([]float64, len(keys))}
		list.Reset(shared)
		set.Measure(values, list)
		if !NewBounds(3).Measure(ends[0], ends[1], list) {
			t.Fatal("no ties")
		}
		for i, end := range ends {
			arranged := slices.Clone(shared)
			for first := 0; first < len(shared); {
				last := first + 1
				for last < len(shared) && shared[last]&Tied != 0 {
					last++
				}
				group := arranged[first:last]
				for k := range group {
					group[k] &= levelMask
				}
				if slices.Sort(group); i == 1 {
					slices.Reverse(group)
				}
				first = last
			}
			plain.Reset(arranged)
			set.Measure(values, plain)
			for k, key := range keys {
				if !equal(end[k], values[k]) {
					t.Errorf("end %d of %s is %v, want %v", i, key, end[k], values[k])
				}
			}
		}
	}
}
