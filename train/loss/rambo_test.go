package loss_test

import (
	"math"
	"testing"

	"hgld/train/loss"
	"hgld/train/loss/definition"
)

// uneven is a batch of classes with 5, 3, 2 and 1 items.
func uneven(seed uint64) *batch {
	all := randomBatch(seed, 4, 5, 6, 1)
	in := &batch{Proxies: all.Proxies, Bias: all.Bias}
	for i := range all.Query {
		if c := int(all.Labels[i][0]); i%5 < []int{5, 3, 2, 1}[c] {
			in.Query, in.Labels = append(in.Query, all.Query[i]), append(in.Labels, all.Labels[i])
		}
	}
	return in.Own()
}

// aheadOf counts the other items ahead of each positive of each query, with the margin.
func aheadOf(in *batch, margin float64) (ahead [][]float64) {
	for q, v := range in.Query {
		var counts []float64
		for p := range in.Query {
			if p == q || in.Labels[p][0] != in.Labels[q][0] {
				continue
			}
			n := 0.0
			for o := range in.Query {
				if in.Labels[o][0] != in.Labels[q][0] && dot(v, in.Query[o])+margin/2 > dot(v, in.Query[p])-margin/2 {
					n++
				}
			}
			counts = append(counts, n)
		}
		ahead = append(ahead, counts)
	}
	return ahead
}

// Section 5.1: the loss of each query is a mean over its positives, and the loss of the batch the mean of
// these. Over all positives at once, as the released code takes it, large classes count more.
func TestRamboRecallIsAMeanOverQueries(t *testing.T) {
	in := uneven(3)
	var byQuery, byPositive, queries, positives float64
	for _, counts := range aheadOf(in, 0.02) {
		own := 0.0
		for _, n := range counts {
			own += math.Log1p(n)
		}
		if len(counts) > 0 {
			byQuery += own / float64(len(counts))
			queries++
		}
		byPositive += own
		positives += float64(len(counts))
	}
	byQuery, byPositive = byQuery/queries, byPositive/positives
	if queries != 10 || math.Abs(byQuery-byPositive) < 0.01 {
		t.Fatalf("%v queries: %v and %v do not tell the means apart", queries, byQuery, byPositive)
	}
	if k, err := loss.All.Get("loss", "rambo-recall"); err != nil || k.(loss.RamboRecall).Mean != loss.OverQueries {
		t.Errorf("the preset paper is %+v, want the mean over queries; %v", k, err)
	}
	for mean, want := range map[loss.RecallMean]float64{loss.OverQueries: byQuery, loss.OverPositives: byPositive} {
		k := loss.RamboRecall{Lambda: 4, Margin: 0.02, Mean: mean}
		got, defined := forward(t, backend(), k, in), define(t, k, in)
		if math.Abs(got.Value-want) > 1e-6 || math.Abs(defined.Value-want) > 1e-12 {
			t.Errorf("mean over %v: %v, by definition %v, want %v", mean, got.Value, defined.Value, want)
		}
		if d := farthest(got.Query, defined.Query); d > 4e-5 {
			t.Errorf("mean over %v: gradient off by %.2g", mean, d)
		}
	}
}

// Eq. 19: L = Σ_K w_K·(1 − share of the positives with fewer than K negatives ahead).
func TestRamboRecallTakesAnyWeights(t *testing.T) {
	in := uneven(5)
	weights := []float64{1, 0, 0.5, 0.25, 0.125}
	want, queries := 0.0, 0.0
	for _, counts := range aheadOf(in, 0.02) {
		if len(counts) == 0 {
			continue
		}
		queries++
		for i, w := range weights {
			within := 0.0
			for _, n := range counts {
				if n < float64(i+1) {
					within++
				}
			}
			want += w * (1 - within/float64(len(counts)))
		}
	}
	want /= queries
	k := loss.RamboRecall{Lambda: 0.5, Margin: 0.02, Mean: loss.OverQueries, Weights: weights}
	got, defined := forward(t, backend(), k, in), define(t, k, in)
	if math.Abs(got.Value-want) > 1e-6*want || math.Abs(defined.Value-want) > 1e-12 {
		t.Errorf("%v, by definition %v, want %v", got.Value, defined.Value, want)
	}
	if d := farthest(got.Query, defined.Query); d > 4e-5 {
		t.Errorf("gradient off by %.2g", d)
	}

	// With w_K = 1/K the slope at r is 1/(r+1), that of log(1 + r), and so is the gradient.
	var harmonic []float64
	for K := 1; K <= 12; K++ {
		harmonic = append(harmonic, 1/float64(K))
	}
	a := define(t, loss.RamboRecall{Lambda: 4, Margin: 0.02, Mean: loss.OverQueries, Weights: harmonic}, in)
	b := define(t, loss.RamboRecall{Lambda: 4, Margin: 0.02, Mean: loss.OverQueries}, in)
	if d := farthest(a.Query, b.Query); d > 1e-12 {
		t.Errorf("gradients with w_K = 1/K and with log are %.2g apart", d)
	}

	// Six scores by hand: one negative ahead of the first positive and three of the second.
	scores := onScores([]float64{1, 0.80, 0.82, 0.50, 0.30, 0.305}, byLevel(1, 1, 1, 0, 0, 1, 0), true)
	checkByHand(t, "weights", loss.RamboRecall{Lambda: 4, Margin: 0.02, Weights: []float64{1, 0.5, 0.25}}, scores,
		(1+1.75)/2, 1, nil)
}

// The losses of the last two batches stay in the mean over queries, which is what the definition computes,
// and take no gradient.
func TestBlackBoxAPRemembersScores(t *testing.T) {
	k := loss.BlackBoxAP{Lambda: 4, Margin: 0.02, BatchMemory: 2}
	alone := k
	alone.BatchMemory = 0
	first := newMade(t, backend(), k, randomBatch(0, 4, 3, 6, 1))
	d := k.Define(randomBatch(0, 4, 3, 6, 1))
	var losses []float64
	for step := range uint64(5) {
		in := randomBatch(step, 4, 3, 6, 1)
		own := define(t, alone, in).Value
		losses = append(losses, own)
		want, n := 0.0, min(len(losses), 3)
		for _, v := range losses[len(losses)-n:] {
			want += v / float64(n) // each batch has as many queries
		}
		got, defined := first.forward(t, in), definition.Of(d, in)
		if math.Abs(got.Value-want) > 1e-6 || math.Abs(defined.Value-want) > 1e-12 {
			t.Errorf("step %d: %v, by definition %v, want %v", step, got.Value, defined.Value, want)
		}
		if off := farthest(got.Query, defined.Query); off > 4e-5 {
			t.Errorf("step %d: gradient off by %.2g", step, off)
		}
	}
}
