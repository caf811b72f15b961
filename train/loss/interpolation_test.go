package loss_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"hgld/train/loss"
)

// rankings calls each with every ranking of n items: the ranks from 1, by item.
func rankings(n int, each func(rank []float64)) {
	rank := make([]float64, n)
	var place func(at int)
	place = func(at int) {
		if at > n {
			each(rank)
			return
		}
		for i := range rank {
			if rank[i] == 0 {
				rank[i] = float64(at)
				place(at + 1)
				rank[i] = 0
			}
		}
	}
	place(1)
}

// The interpolation is the least value over all rankings, as Vlastelica et al. define it, of rank times score plus the
// loss of the ranking: every ranking of the six others of each query is tried.
func TestInterpolationIsTheLeastOverAllRankings(t *testing.T) {
	all := uneven(5)
	in := (&batch{Query: all.Query[:7], Labels: all.Labels[:7]}).Own()
	kinds := map[string]struct {
		kind loss.Kind
		of   func(ahead, ahead1 []float64) float64 // of a query, by the others and the positives ahead of each positive
	}{
		"blackbox-ap": {loss.BlackBoxAP{Lambda: 4, Margin: 0.1, Epsilon: 0.5}, func(others, positives []float64) float64 {
			sum := 0.0
			for i := range others {
				sum += (positives[i] + 1) / (positives[i] + others[i] + 1)
			}
			return 1 - sum/(float64(len(others))+0.5)
		}},
		"rambo-recall": {loss.RamboRecall{Lambda: 4, Margin: 0.1, Mean: loss.OverQueries}, func(others, _ []float64) float64 {
			sum := 0.0
			for _, r := range others {
				sum += math.Log(1 + r)
			}
			return sum / float64(len(others))
		}},
	}
	for name, c := range kinds {
		multiples := []float64{1e-6, 1, 5, 50}
		lambda, got := loss.Interpolations(c.kind, in, multiples)
		if lambda != 4 {
			t.Errorf("%s: λ is %v, want 4", name, lambda)
		}
		queries := 0.0
		for q := range in.Query {
			for i := range in.Query {
				if i != q && in.Labels[i][0] == in.Labels[q][0] {
					queries++
					break
				}
			}
		}
		want := make([]float64, len(multiples))
		for q, v := range in.Query {
			var s []float64
			var positive []bool
			for i, x := range in.Query {
				if i == q {
					continue
				}
				same := in.Labels[i][0] == in.Labels[q][0]
				by := 0.05
				if same {
					by = -0.05
				}
				s, positive = append(s, dot(v, x)+by), append(positive, same)
			}
			if !slices.Contains(positive, true) {
				continue
			}
			first, least := math.Inf(1), slices.Repeat([]float64{math.Inf(1)}, len(multiples))
			rankings(len(s), func(rank []float64) {
				cost := dot(s, rank) / float64(len(s))
				var others, positives []float64
				for i := range rank {
					if !positive[i] {
						continue
					}
					ahead := [2]float64{}
					for o := range rank {
						if rank[o] < rank[i] && positive[o] {
							ahead[1]++
						} else if rank[o] < rank[i] {
							ahead[0]++
						}
					}
					others, positives = append(others, ahead[0]), append(positives, ahead[1])
				}
				first = min(first, cost)
				for m, by := range multiples {
					least[m] = min(least[m], cost+4*by*c.of(others, positives)/queries)
				}
			})
			for m, by := range multiples {
				want[m] += (least[m] - first) / (4 * by)
			}
		}
		for m := range multiples {
			if math.Abs(got[m]-want[m]) > 1e-9 { // float64, divided by λ = 4e-6
				t.Errorf("%s, %v λ: %v, want %v", name, multiples[m], got[m], want[m])
			}
		}
		value, err := loss.ByDefinition(c.kind, in)
		if err != nil || math.Abs(got[0]-value.Value) > 1e-9 {
			t.Errorf("%s: %v for a small λ, want the loss, %v, %v", name, got[0], value.Value, err)
		}
		if !slices.IsSortedFunc(got, func(a, b float64) int { return cmp.Compare(b, a) }) {
			t.Errorf("%s: %v, want values that fall with λ", name, got)
		}
	}
	for _, kind := range []loss.Kind{loss.SmoothAP{}, loss.BlackBoxAP{Lambda: 4, MarginKind: loss.HalfNormal}} {
		if _, got := loss.Interpolations(kind, in, []float64{1}); got != nil {
			t.Errorf("%T has the interpolation %v", kind, got)
		}
	}
}
