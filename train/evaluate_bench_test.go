package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// BenchmarkEvaluateSOP ranks sets up to the size of Stanford Online Products: 60,502 vectors
// of 512 numbers, 11,316 products in 12 families of some 5,000 images, all metrics over the
// whole ranking. In turn with it, it computes the products alone: the machine may be busy, so
// that only times of one run compare.
func BenchmarkEvaluateSOP(b *testing.B) {
	for _, n := range []int{5_000, 20_000, 60_502} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkEvaluate(b, n) })
	}
}

func benchmarkEvaluate(b *testing.B, n int) {
	const d = 512
	r := rand.New(rand.NewPCG(1, 1))
	values := make([]float32, n*d)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	list := make([]labels.Path, n)
	self := make([]int32, n)
	for i := range list {
		product := int32(i % max(n*11_316/60_502, 1))
		list[i] = labels.Path{product, product % 12}
		self[i] = int32(i)
	}
	backend := cpu.New(0)
	vectors, err := Upload(backend, matrix{d, values}, true)
	if err != nil {
		b.Fatal(err)
	}
	side := Side{Vectors: vectors, Labels: list}
	e := &Evaluation{Query: side, Gallery: side, Self: self, Levels: []string{"product", "family"}, Metrics: allMetrics(b)}
	b.ReportAllocs()
	products := int64(0)
	for b.Loop() {
		b.StopTimer()
		products += bareProducts(backend, e).Nanoseconds()
		b.StartTimer()
		if _, err := Evaluate(context.Background(), backend, e); err != nil {
			b.Fatal(err)
		}
	}
	seconds := float64(products) / float64(b.N) / 1e9
	b.ReportMetric(seconds, "s-products")
	b.ReportMetric(2*float64(n)*float64(n)*d/seconds/1e9, "GFLOP/s")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/seconds, "times-products")
}

// bareProducts multiplies all queries with the gallery, in large blocks.
func bareProducts(b device.Backend, e *Evaluation) time.Duration {
	const block = 960
	queries := e.Query.Vectors.Dims[0]
	scores := device.New(b, device.F32, min(block, queries), e.Gallery.Vectors.Dims[0])
	defer b.Free(scores.Buf)
	start := time.Now()
	for lo := 0; lo < queries; lo += block {
		hi := min(lo+block, queries)
		b.Scores(scores.RowRange(0, hi-lo), e.Query.Vectors.RowRange(lo, hi), e.Gallery.Vectors)
	}
	return time.Since(start)
}
