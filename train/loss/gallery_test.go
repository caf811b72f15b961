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
	in.gallery, in.against, in.self = gallery.query, gallery.labels, nil
	padded := *in
	for range 5 {
		padded.gallery = append(padded.gallery, in.gallery[0])
		padded.against = append(padded.against, []int32{-1, -1, -1})
	}
	each(t, func(t *testing.T, k loss.Kind) {
		a, b := forward(t, backend(), k, in), forward(t, backend(), k, &padded)
		if a.value == 0 {
			t.Fatal("no loss to compare")
		}
		if _, ok := k.(loss.RecallAtKOriginal); ok && len(in.gallery) < 16 {
			return // its k are bounded by the gallery's rows, so more rows are another loss
		}
		if math.Abs(a.value-b.value) > 1e-7 || farthest(a.query, b.query) > 1e-6 {
			t.Errorf("value %v, with unfilled rows %v", a.value, b.value)
		}
	})
}

// A query without a positive changes nothing for the others.
func TestQueriesWithoutPositivesAreLeftOut(t *testing.T) {
	in := randomBatch(13, 5, 4, 8, 2)
	gallery := randomBatch(13, 5, 4, 8, 2)
	in.gallery, in.against, in.self = gallery.query, gallery.labels, nil
	longer := *in
	longer.query = append(longer.query[:len(longer.query):len(longer.query)], in.query[0], in.query[1])
	longer.labels = append(longer.labels[:len(longer.labels):len(longer.labels)], []int32{99, 99}, []int32{-1, -1})
	for _, e := range loss.All {
		switch e.Value.(type) {
		case loss.NSM, loss.Roadmap, loss.Happier, loss.RodNDCG, loss.RecallAtKOriginal,
			loss.SumNSM, loss.NCAPP, loss.ProxyNCA, loss.ArcFace, loss.CrossEntropy, loss.RoadmapArcFace,
			loss.Calibration, loss.RoadmapCalibration, loss.RodRecall, loss.XBMContrastive, loss.MultiSimilarity:
			continue // means over all queries
		}
		a, b := forward(t, backend(), e.Value, in), forward(t, backend(), e.Value, &longer)
		if a.value == 0 || math.Abs(a.value-b.value) > 1e-6 || farthest(b.query[:len(a.query)], a.query) > 1e-5 {
			t.Errorf("%s: value %v, with two more queries %v", e.Name, a.value, b.value)
		}
		for _, row := range b.query[len(a.query):] {
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
	alone.gallery, alone.against, alone.self = memory.query, memory.labels, nil
	both := *in
	both.memory = &batch{gallery: memory.query, against: memory.labels}
	for _, c := range []struct {
		combine loss.Combine
		weight  float64
	}{{loss.Add, 1}, {loss.Average, 0.5}} {
		k := loss.SmoothAP{Tau: 0.01, Against: loss.Against{MemoryCombine: c.combine}}
		want := c.weight * (forward(t, backend(), k, in).value + forward(t, backend(), k, &alone).value)
		if got := forward(t, backend(), k, &both).value; math.Abs(got-want) > 1e-6 {
			t.Errorf("combine %v: %v, want %v", c.combine, got, want)
		}
	}
}

// A recorded step replayed on other rows gives what recording it with those gives.
func TestReplayedLossReadsItsInputsAgain(t *testing.T) {
	first, second := randomBatch(16, 6, 4, 8, 2), randomBatch(17, 6, 4, 8, 2)
	second.proxies, second.bias = first.proxies, first.bias
	each(t, func(t *testing.T, k loss.Kind) {
		want := forward(t, backend(), k, second)
		b := backend()
		l, err := k.New(facts(first))
		if err != nil {
			t.Fatal(err)
		}
		attach(b, l, first)
		tape := grad.NewTape(b, device.NewArena(b))
		query := tape.Leaf(floats(b, first.query), device.New(b, device.F32, len(first.query), 8))
		labels := ints(b, first.labels)
		out := l.Forward(tape, &loss.Batch{Query: query, QueryLabels: labels, Gallery: query, GalleryLabels: labels, Self: vector(b, first.self)})
		tape.Backward(out, device.Array{})
		b.Copy(query.Value, floats(b, second.query))
		tape.Replay()
		if v := download(t, b, out.Value)[0][0]; v != want.value {
			t.Errorf("value %v, want %v", v, want.value)
		}
		if d := farthest(download(t, b, query.Grad), want.query); d != 0 {
			t.Errorf("gradient off by %.2g", d)
		}
	})
}

// The upstream of the loss scales every gradient.
func TestUpstreamScalesTheGradient(t *testing.T) {
	in := randomBatch(18, 6, 4, 8, 2)
	each(t, func(t *testing.T, k loss.Kind) {
		one := forward(t, backend(), k, in)
		three := forward(t, backend(), loss.Sum{Terms: []loss.Term{{Weight: 3, Loss: k}}}, in)
		for i := range one.query {
			for j := range one.query[i] {
				one.query[i][j] *= 3
			}
		}
		if math.Abs(three.value-3*one.value) > 1e-6*max(1, three.value) || farthest(three.query, one.query) > 1e-6 {
			t.Errorf("three times the loss is %v of %v", three.value, one.value)
		}
	})
}
