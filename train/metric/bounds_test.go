package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// groupEnds says for each item where its group of equal scores ends.
func groupEnds(tie []bool) []int {
	end := make([]int, len(tie))
	for i := len(tie) - 1; i >= 0; i-- {
		end[i] = i + 1
		if i+1 < len(tie) && tie[i+1] {
			end[i] = end[i+1]
		}
	}
	return end
}

func TestBoundsAreThoseOfAllOrders(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	keys := everything.Keys(3)
	bounds := NewBounds(3)
	least, greatest := make([]float64, len(keys)), make([]float64, len(keys))
	plain, values := NewList(3, ScoreThenRow), make([]float64, len(keys))
	changed := 0
	for trial := range 150 {
		n := 1 + random.IntN(7)
		levels, tie := make([]int, n), make([]bool, n)
		for i := range levels {
			levels[i], tie[i] = random.IntN(4), i > 0 && random.IntN(3) > 0
		}
		shared := append(bytesOf(levels, tie), beyond)
		if measureBytes(bounds, least, greatest, 3, []Ties{ScoreThenRow, AverageTies}[trial%2], shared) {
			changed++
		} else {
			plain.Reset(shared)
			everything.Measure(values, plain)
			copy(least, values)
			copy(greatest, values)
		}
		low, high := slices.Repeat([]float64{math.Inf(1)}, len(keys)), slices.Repeat([]float64{math.Inf(-1)}, len(keys))
		permutations(slices.Clone(levels), groupEnds(tie), 0, func(order []int) {
			for i, v := range byDefinition(order, 3) {
				low[i], high[i] = min(low[i], v), max(high[i], v) // NaN stays
			}
		})
		for i := range keys {
			if !equal(least[i], low[i]) || !equal(greatest[i], high[i]) {
				t.Fatalf("trial %d, levels %v, ties %v: %s from %v to %v, want %v to %v", trial, levels, tie, keys[i],
					least[i], greatest[i], low[i], high[i])
			}
		}
	}
	if changed < 50 {
		t.Errorf("only %d trials had ties that matter", changed)
	}
}

// Equal scores of items of one level leave nothing open.
func TestBoundsPassTiesThatDoNotMatter(t *testing.T) {
	if measureBytes(NewBounds(1), nil, nil, 1, ScoreThenRow, []byte{1, 1 | Tied, 0, Tied, Tied, beyond, beyond}) {
		t.Error("ties inside levels change something")
	}
}

// Rows longer than the eight bytes that are passed together, with one tie at every place.
func TestBoundsFindATieAnywhere(t *testing.T) {
	for n := 2; n < 30; n++ {
		for at := 1; at < n; at++ {
			shared := make([]byte, n)
			shared[at] = Tied
			if mixedBytes(shared) || mixedBytes(append(shared, beyond, beyond)) {
				t.Errorf("a tie of two negatives at %d of %d changes something", at, n)
			}
			shared[at] |= 1
			if !mixedBytes(shared) || !mixedBytes(append(shared, beyond)) {
				t.Errorf("the tie at %d of %d is not found", at, n)
			}
		}
	}
}

func TestNamesOfOtherToolsAreKnown(t *testing.T) {
	for name, want := range map[string]string{
		"mrr": "MRR", "recip_rank": "MRR", "R-precision": "Rprec", "r_prec": "Rprec",
		"precision_at_1": "P@1", "recall_at_10": "R@10", "map_at_r": "mAP@R",
		"hit_rate_at_5": "R@5", "hit_rate": "R@1", "ndcg_at_10": "NDCG@10", "mean_average_precision_at_r": "mAP@R",
		"average_precision": "AP", "precision_score": "P@1",
	} {
		if got := elsewhere(name); got != want {
			t.Errorf("%s is taken for %q, want %s", name, got, want)
		}
	}
	for _, name := range []string{"MRR@10", "Rprec#1"} {
		if _, err := Parse(name); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// measureBytes measures ranked bytes.
func measureBytes(b *Bounds, least, greatest []float64, levels int, ties Ties, shared []byte) bool {
	list := NewList(levels, ties)
	list.Reset(shared)
	everything.Measure(make([]float64, len(everything.Keys(levels))), list)
	return b.Measure(least, greatest, list)
}

func mixedBytes(shared []byte) bool {
	items, _ := Items(nil, shared)
	return mixed(items)
}
