package retrieval

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

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

// BenchmarkEvaluateLarge ranks 762,000 items for 192 queries, at three levels of which the coarsest
// has two classes, with all metrics. The vectors have 64 numbers, so that what is beside the products
// is seen: ns/item is the time beyond them by item and thread. times-products adds to this what the
// products of 2,048 numbers take, of a 32nd of the gallery in turn with it.
func BenchmarkEvaluateLarge(b *testing.B) {
	const queries, n, d, wide = 192, 762_000, 64, 2048
	r := rand.New(rand.NewPCG(1, 1))
	values := make([]float32, n*d)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	list := make([]labels.Path, n)
	for i := range list {
		class := int32(r.IntN(n / 8))
		list[i] = labels.Path{class, class % 80, class % 2}
	}
	backend := cpu.New(0)
	side := func(list []labels.Path, width int) Side {
		v, err := Upload(backend, &Matrix{width, values[:len(list)*width]}, true)
		must.Do(b, err)
		return Side{Vectors: v, Labels: list}
	}
	e := &Evaluation{Query: side(list[:queries], d), Gallery: side(list, d), Levels: []string{"a", "b", "c"},
		Metrics: allMetrics(b)}
	narrow, part := *e, *e
	part.Query, part.Gallery = side(list[:queries], wide), side(list[:n/(wide/d)], wide)
	beyond, products := 0.0, 0.0
	for b.Loop() {
		start := time.Now()
		if _, err := Evaluate(context.Background(), backend, e); err != nil {
			b.Fatal(err)
		}
		beyond += time.Since(start).Seconds() - bareProducts(backend, &narrow).Seconds()
		products += bareProducts(backend, &part).Seconds() * (wide / d)
	}
	b.ReportMetric(beyond/float64(b.N)*1e9/(queries*n)*float64(runtime.GOMAXPROCS(0)), "ns/item")
	b.ReportMetric(1+beyond/products, "times-products")
}
