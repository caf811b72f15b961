package loss_test

import (
	"math"
	"testing"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss"
)

// Places of a memory that are not filled have label −1 in every column: they must
// not count.
func TestUnfilledRowsOfAGalleryDoNotExist(t *testing.T) {
	in := randomBatch(11, 6, 4, 8, 3)
	gallery := randomBatch(12, 6, 5, 8, 3)
	in.Gallery, in.Against, in.Self = gallery.Query, gallery.Labels, nil
	padded := *in
	for range 5 {
		padded.Gallery = append(padded.Gallery, in.Gallery[0])
		padded.Against = append(padded.Against, []int32{-1, -1, -1})
	}
	each(t, func(t *testing.T, k loss.Kind) {
		a, b := forward(t, backend(), k, in), forward(t, backend(), k, &padded)
		if a.Value == 0 {
			t.Fatal("no loss to compare")
		}
		if _, ok := k.(loss.RecallAtKOriginal); ok && len(in.Gallery) < 16 {
			return // its k are bounded by the gallery's rows, so more rows are another loss
		}
		if math.Abs(a.Value-b.Value) > 1e-7 || farthest(a.Query, b.Query) > 1e-6 {
			t.Errorf("value %v, with unfilled rows %v", a.Value, b.Value)
		}
	})
}

// A query without a positive changes nothing for the others.
func TestQueriesWithoutPositivesAreLeftOut(t *testing.T) {
	in := randomBatch(13, 5, 4, 8, 2)
	gallery := randomBatch(13, 5, 4, 8, 2)
	in.Gallery, in.Against, in.Self = gallery.Query, gallery.Labels, nil
	longer := *in
	longer.Query = append(longer.Query[:len(longer.Query):len(longer.Query)], in.Query[0], in.Query[1])
	longer.Labels = append(longer.Labels[:len(longer.Labels):len(longer.Labels)], []int32{99, 99}, []int32{-1, -1})
	for _, e := range loss.All {
		switch e.Value.(type) {
		case loss.NSM, loss.Composition, loss.RecallAtKOriginal, loss.SumNSM, loss.SumNCAPP, loss.NCAPP, loss.ProxyNCA,
			loss.ArcFace,
			loss.CSL, loss.CrossEntropy, loss.Calibration, loss.XBMContrastive, loss.MultiSimilarity:
			continue // means over all queries
		case loss.RamboDetection:
			continue // items without a class are negatives of all
		}
		a, b := forward(t, backend(), e.Value, in), forward(t, backend(), e.Value, &longer)
		if a.Value == 0 || math.Abs(a.Value-b.Value) > 1e-6 || farthest(b.Query[:len(a.Query)], a.Query) > 1e-5 {
			t.Errorf("%s: value %v, with two more queries %v", e.Name, a.Value, b.Value)
		}
		for _, row := range b.Query[len(a.Query):] {
			if norm(row) != 0 {
				t.Errorf("%s: a query without positives has a gradient", e.Name)
			}
		}
	}
}

// Sum is a convex combination against batch and memory, where both are given.
func TestMemoryIsASecondGallery(t *testing.T) {
	in := randomBatch(14, 6, 4, 8, 2)
	memory := randomBatch(15, 6, 5, 8, 2)
	alone := *in
	alone.Gallery, alone.Against, alone.Self = memory.Query, memory.Labels, nil
	both := *in
	both.Memory = &batch{Gallery: memory.Query, Against: memory.Labels}
	for _, c := range []struct {
		combine loss.Combine
		weight  float64
	}{{loss.Add, 1}, {loss.Average, 0.5}} {
		k := loss.SmoothAP{Tau: 0.01, GalleryOptions: loss.GalleryOptions{MemoryCombine: c.combine}}
		want := c.weight * (forward(t, backend(), k, in).Value + forward(t, backend(), k, &alone).Value)
		if got := forward(t, backend(), k, &both).Value; math.Abs(got-want) > 1e-6 {
			t.Errorf("combine %v: %v, want %v", c.combine, got, want)
		}
	}
}

// A recorded step replayed on other rows gives what recording it with those gives.
func TestReplayedLossReadsItsInputsAgain(t *testing.T) {
	first, second := randomBatch(16, 6, 4, 8, 2), randomBatch(17, 6, 4, 8, 2)
	second.Proxies, second.Bias = first.Proxies, first.Bias
	each(t, func(t *testing.T, k loss.Kind) { replayed(t, k, first, second) })
}

// Mixtures, several proxies of a class, temperatures and smoothed angles too: what is
// beside the defaults of the table.
func TestReplayedMixturesReadTheirInputsAgain(t *testing.T) {
	shares := func(rows int) (drawn [][]float64) {
		for i := range rows {
			drawn = append(drawn, []float64{0.1, 0.5, 0.25, 0.75, float64(i) / 32, 0.875})
		}
		return drawn
	}
	with := loss.GalleryOptions{SelfInGallery: true}
	for name, c := range map[string]struct {
		k      loss.Kind
		change func(*batch)
	}{
		"scores mixed": {loss.SupAP{HMinus: sopStep, GalleryOptions: with, ScoreMixing: loss.ScoreMixing{UsePosMixup: true}},
			func(b *batch) { b.Drawn, b.PerClass = shares(24), 4 }},
		"scores mixed, of others alone": {loss.SmoothRecall{Tau: 0.01, AtK: []float64{1, 4}, Temp: loss.Temperatures{All: 1},
			ScoreMixing: loss.ScoreMixing{UsePosMixup: true}},
			func(b *batch) { b.Drawn, b.PerClass = shares(24), 4 }},
		"rows mixed": {loss.RecallAtKOriginal{Tau: 0.01, AtK: []float64{1, 4}, Temp: loss.Temperatures{All: 1},
			SiMix: true}, func(b *batch) { b.Drawn, b.PerClass = shares(6), 4 }},
		"a temperature for each k": {loss.SupRecall{HMinus: sopStep, AtK: []float64{1, 4, 2},
			Temp: loss.Temperatures{Each: []float64{0.5, 3, 1}}, GalleryOptions: with}, func(*batch) {}},
		"angles smoothed": {loss.ArcFace{S: 30, M: 0.5, Smoothing: 0.2},
			func(b *batch) { b.Proxies = randomBatch(1, 6, 1, 8, 1).Query }},
		"three centres": {loss.NSM{Temperature: 0.05, NumCenters: 3, TemperatureCenters: 0.1},
			func(b *batch) { b.Centers, b.Proxies = 3, randomBatch(1, 18, 1, 8, 1).Query }},
	} {
		first, second := randomBatch(16, 6, 4, 8, 2), randomBatch(17, 6, 4, 8, 2)
		c.change(first)
		c.change(second)
		t.Run(name, func(t *testing.T) {
			replayed(t, c.k, first, second)
			got, want := forward(t, backend(), c.k, second), define(t, c.k, second)
			if math.Abs(got.Value-want.Value) > 4e-6*want.Value || farthest(got.Query, want.Query) > 4e-5 {
				t.Errorf("value %v, by the definition %v; gradients %.2g apart", got.Value, want.Value,
					farthest(got.Query, want.Query))
			}
		})
	}
}

// replayed records a loss with one batch, in memory that is used again, and replays
// it with another.
func replayed(t *testing.T, k loss.Kind, first, second *batch) {
	t.Helper()
	want := forward(t, backend(), k, second)
	b := backend()
	m := newMade(t, b, k, first)
	tape := grad.NewTape(b, device.NewArena(b))
	query := tape.Leaf(floats(b, first.Query), device.New(b, device.F32, len(first.Query), 8))
	labels := ints(b, first.Labels)
	out := m.Forward(tape, &loss.Batch{
		Query: query, QueryLabels: labels, Gallery: query, GalleryLabels: labels, Self: vector(b, first.Self),
		Drawn: floats(b, first.Draws()),
	})
	tape.Backward(out, device.Array{})
	b.Copy(query.Value, floats(b, second.Query))
	tape.Replay()
	if v := download(t, b, out.Value)[0][0]; v != want.Value {
		t.Errorf("value %v, want %v", v, want.Value)
	}
	if d := farthest(download(t, b, query.Grad), want.Query); d != 0 {
		t.Errorf("gradient off by %.2g", d)
	}
}

// Without numbers of its own a loss draws them from the key: half-normal ones for a
// margin, others in every step.
func TestDrawnNumbersComeFromTheKey(t *testing.T) {
	in := randomBatch(20, 6, 4, 8, 1)
	k := loss.BlackBoxAP{Lambda: 4, Margin: 0.5, MarginKind: loss.HalfNormal}
	b := backend()
	values := map[float64]bool{}
	for step := range int32(6) {
		tape := grad.NewTape(b, b)
		query, labels := tape.Leaf(floats(b, in.Query), device.Array{}), ints(b, in.Labels)
		out := newMade(t, b, k, in).Forward(tape, &loss.Batch{
			Query: query, QueryLabels: labels, Gallery: query, GalleryLabels: labels, Self: vector(b, in.Self),
			Key: vector(b, []int32{7, step / 2}),
		})
		values[download(t, b, out.Value)[0][0]] = true
	}
	if len(values) != 3 {
		t.Errorf("%d values of three keys", len(values))
	}
}

// The upstream of the loss scales every gradient.
func TestUpstreamScalesTheGradient(t *testing.T) {
	in := randomBatch(18, 6, 4, 8, 2)
	each(t, func(t *testing.T, k loss.Kind) {
		one := forward(t, backend(), k, in)
		three := forward(t, backend(), loss.Sum{Terms: []loss.Term{{Weight: 3, Loss: k}}}, in)
		for i := range one.Query {
			for j := range one.Query[i] {
				one.Query[i][j] *= 3
			}
		}
		if math.Abs(three.Value-3*one.Value) > 1e-6*max(1, three.Value) || farthest(three.Query, one.Query) > 1e-6 {
			t.Errorf("three times the loss is %v of %v", three.Value, one.Value)
		}
	})
}
