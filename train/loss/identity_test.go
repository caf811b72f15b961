package loss_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/loss"
	"hgld/train/loss/definition"
)

// randomScores is a query with 40 random scores, of items of two levels.
func randomScores(seed uint64) *batch {
	r := rand.New(rand.NewPCG(seed, 3))
	scores, levels := make([]float64, 40), make([]int, 40)
	for i := range scores {
		scores[i], levels[i] = float64(float32(r.Float64()*1.6-0.8)), r.IntN(3)
	}
	levels[0], levels[1], levels[2] = 2, 2, 0
	return onScores(scores, byLevel(2, levels...), true)
}

// A loss of differences of scores does not change when all of them do.
func TestGradientsByScoresSumToZero(t *testing.T) {
	each(t, func(t *testing.T, k loss.Kind) {
		switch k.(type) {
		case loss.SmoothAP, loss.SupAP, loss.SmoothRecall, loss.SupRecall, loss.RecallAtKOriginal, loss.SmoothNDCG,
			loss.SupNDCG,
			loss.SmoothHAP, loss.SupHAP, loss.BlackBoxAP, loss.RamboRecall, loss.Triplet:
		default:
			return // margins, bins or proxies: fixed scores
		}
		if tr, ok := k.(loss.Triplet); ok && tr.Normalise {
			return // of the rows divided by their length
		}
		for seed := range uint64(5) {
			g := forward(t, backend(), k, randomScores(seed)).Query[0]
			sum, size := 0.0, 0.0
			for _, v := range g {
				sum, size = sum+v, size+math.Abs(v)
			}
			if size == 0 || math.Abs(sum) > 1e-5*size {
				t.Errorf("seed %d: gradients by the scores sum to %v of %v", seed, sum, size)
			}
		}
	})
}

// H-AP = Σ_k (H-R@k − H-R@(k−1)) · H-P@k, with H-R and H-P the share of relevance
// among the first k, and what it is of that of the k-th item at most.
func TestHierarchicalAPIsTheAreaUnderPrecisionAndRecall(t *testing.T) {
	for seed := range uint64(10) {
		in := randomScores(seed)
		k := loss.SupHAP{HMinus: autoStep, Relevance: loss.Relevance{Alpha: 1}}
		d := rankingOf(k, in)
		d.Exact() // the exact rank
		exact := result{Query: definition.ZerosLike(in.Query)}
		d.Add(in, 1, &exact)

		sh := d.Shared(in)[0]
		rel := d.Relevance(sh)
		var order []int
		for i, l := range sh {
			if l != device.AbsentLevel {
				order = append(order, i)
			}
		}
		slices.SortFunc(order, func(a, b int) int {
			if in.Query[0][a] > in.Query[0][b] {
				return -1
			}
			return 1
		})
		total, area := 0.0, 0.0
		for _, i := range order {
			total += rel[sh[i]]
		}
		for at, i := range order {
			r := rel[sh[i]]
			if r == 0 {
				continue
			}
			sum := 0.0
			for _, j := range order[:at+1] {
				sum += min(rel[sh[j]], r)
			}
			area += r / total * sum / (float64(at+1) * r)
		}
		if math.Abs(1-exact.Value-area) > 1e-12 {
			t.Errorf("seed %d: H-AP %v, area %v", seed, 1-exact.Value, area)
		}
	}
}

// The Sup losses bound theirs from above; with the constants that the released code
// has for iNaturalist they need not.
func TestSupLossesBoundTheExactOnes(t *testing.T) {
	below := 0
	for seed := range uint64(20) {
		in := randomScores(seed)
		exact := func(k loss.Kind) float64 {
			d := rankingOf(k, in)
			d.Exact()
			r := result{Query: definition.ZerosLike(in.Query)}
			d.Add(in, 1, &r)
			if farthest(r.Query, definition.ZerosLike(in.Query)) != 0 {
				t.Error("the exact rank has a gradient")
			}
			return r.Value
		}
		for _, name := range []string{"sup-ap", "sup-h-ap", "sup-ndcg"} {
			k, err := loss.All.Get("loss", name)
			must.Do(t, err)
			if sup := forward(t, backend(), k, in).Value; sup < exact(k)-1e-6 {
				t.Errorf("seed %d: %s is %v, and exactly %v", seed, name, sup, exact(k))
			}
		}
		near := onScores([]float64{1, 0.8, 0.8 + 0.002*float64(seed+1)}, byLevel(1, 1, 1, 0), true)
		k := loss.SupAP{HMinus: inatStep}
		d := rankingOf(k, near)
		d.Exact()
		r := result{Query: definition.ZerosLike(near.Query)}
		d.Add(near, 1, &r)
		if forward(t, backend(), k, near).Value < r.Value-1e-3 {
			below++
		}
	}
	if below == 0 {
		t.Error("start 0 bounds the exact loss on every batch, and is said not to")
	}
}

// With positives alone precision is 1 in every bin, if each score belongs to bins
// with weights of sum 1, beyond the ends too.
func TestBinsArePartitionsOfUnity(t *testing.T) {
	in := onScores([]float64{1.3, 1, 0.77, 0.31, 0.3, 0, -0.2, -0.999, -1, -1.2},
		byLevel(1, slices.Repeat([]int{1}, 10)...), false)
	for _, k := range []loss.Kind{loss.SoftBinAP{NQ: 20, Min: -1, Max: 1}, loss.SoftBinAP{NQ: 25, Max: 1},
		loss.SoftBinAP{NQ: 2, Min: -1, Max: 1}} {
		if r := forward(t, backend(), k, in); math.Abs(r.Value) > 1e-6 || norm(r.Query...) > 1e-5 {
			t.Errorf("%+v: loss %v with positives alone", k, r.Value)
		}
	}
}

func TestRanksAreAPermutation(t *testing.T) {
	b, r := backend(), rand.New(rand.NewPCG(1, 1))
	const n = 300
	scores := definition.Zeros(1, n)
	for i := range scores[0] {
		scores[0][i] = float64(r.IntN(50)) / 50 // with ties
	}
	sh, ranks := device.New(b, device.U8, 1, n), device.New(b, device.F32, 1, n)
	b.Fill(sh, 0)
	b.Ranks(ranks, floats(b, scores), sh, 0)
	seen := make([]bool, n)
	for i, v := range download(t, b, ranks)[0] {
		if place := int(v) - 1; seen[place] {
			t.Fatalf("rank %v comes twice, of item %d too", v, i)
		} else {
			seen[place] = true
		}
	}
}

// With a large alpha nearly all relevance is on the finest level, and H-AP is AP of that level: the
// coarser of three levels has (2/3)^60 = 3e-11 of it, beside float64's 1e-9 for the sums of a batch and
// float32's 1e-5. With alpha 1 the two differ.
func TestHierarchicalAPWithALargeAlphaIsAP(t *testing.T) {
	gap := func(a, b result) float64 { return max(math.Abs(a.Value-b.Value), farthest(b.Query, a.Query)) }
	rel := func(alpha float64) loss.Relevance { return loss.Relevance{Type: loss.Population, Alpha: alpha} }
	for _, c := range []struct {
		ap loss.Kind
		of func(alpha float64) loss.Kind
	}{
		{loss.SupAP{HMinus: autoStep}, func(a float64) loss.Kind { return loss.SupHAP{HMinus: autoStep, Relevance: rel(a)} }},
		{loss.SmoothAP{Tau: 0.01}, func(a float64) loss.Kind { return loss.SmoothHAP{Tau: 0.01, Relevance: rel(a)} }},
	} {
		for seed := range uint64(4) {
			for _, levels := range []int{2, 3} {
				in := randomBatch(seed, 12, 4, 6, levels)
				want, got := define(t, c.ap, in), forward(t, backend(), c.ap, in)
				if d := gap(want, define(t, c.of(60), in)); !(d < 1e-9) {
					t.Errorf("%T, seed %d, %d levels: the definitions are %v apart", c.ap, seed, levels, d)
				}
				if d := gap(got, forward(t, backend(), c.of(60), in)); !(d < 1e-5) {
					t.Errorf("%T, seed %d, %d levels: the losses are %v apart", c.ap, seed, levels, d)
				}
				if d := gap(want, define(t, c.of(1), in)); d < 1e-2 {
					t.Errorf("%T, seed %d, %d levels: alpha 1 is %v apart: the batch shows nothing", c.ap, seed, levels, d)
				}
			}
		}
	}
}
