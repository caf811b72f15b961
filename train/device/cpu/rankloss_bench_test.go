package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"hgld/train/device"
)

// BenchmarkRankLoss runs the fused operation on random scores: rows of 256, 4,096 and 60,000
// items, with as many positives as in a batch and with many.
func BenchmarkRankLoss(b *testing.B) {
	smooth := &device.Steps{Rank: same(testSigmoid), Plus: same(testSigmoid)}
	sup := &device.Steps{Rank: [3]device.Step{testH, testH, testJump}, Plus: same(testH)}
	for _, c := range []struct {
		name               string
		h                  *device.Steps
		q, g, fine, coarse int
	}{
		{"smooth-ap", smooth, 256, 256, 4, 0},
		{"sup-ap", sup, 256, 256, 4, 0},
		{"sup-h-ap", sup, 256, 256, 4, 21},
		{"smooth-ap", smooth, 256, 4096, 5, 0},
		{"smooth-ap", smooth, 256, 4096, 16, 0},
		{"sup-ap", sup, 256, 4096, 5, 0},
		{"sup-h-ap", sup, 256, 4096, 5, 341},
		{"smooth-ap", smooth, 32, 60000, 4, 0},
		{"smooth-ap", smooth, 32, 60000, 16, 0},
		{"smooth-ap", smooth, 32, 60000, 200, 0},
		{"sup-h-ap", sup, 32, 60000, 8, 5000},
	} {
		for _, threads := range []int{1, 2} {
			name := fmt.Sprintf("%s/%dx%d/positives=%d/threads=%d", c.name, c.q, c.g, c.fine+c.coarse, threads)
			b.Run(name, func(b *testing.B) { benchmarkRankLoss(b, c.h, c.q, c.g, c.fine, c.coarse, threads) })
		}
	}
}

func benchmarkRankLoss(b *testing.B, h *device.Steps, q, g, fine, coarse, threads int) {
	be := New(threads)
	levels := 1 + min(coarse, 1)
	f := func(d ...int) device.Array { return device.New(be, device.F32, d...) }
	s, ds, loss, weight, rel := f(q, g), f(q, g), f(q), f(q), f(q, levels+1)
	sh, cnt := device.New(be, device.U8, q, g), device.New(be, device.I32, q, levels+1)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range f32(s) {
		f32(s)[i] = float32(r.NormFloat64() * 0.1)
	}
	clear(u8(sh))
	for i := range q {
		for k, at := range r.Perm(g)[:fine+coarse] {
			row(u8(sh), sh, i)[at] = 1
			row(f32(s), s, i)[at] += 0.2
			if k < fine && levels > 1 {
				row(u8(sh), sh, i)[at] = 2
				row(f32(s), s, i)[at] += 0.3
			}
		}
	}
	be.Relevance(rel, cnt, weight, sh, device.RelKind{Mode: device.RelPop, Alpha: 1, Divisor: float32(levels)})
	b.ReportAllocs()
	for b.Loop() {
		be.RankLoss(loss, ds, s, sh, rel, cnt, h, &device.Score{})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*q), "µs/query")
}
