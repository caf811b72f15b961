package train

import (
	"context"
	"math/rand/v2"
	"testing"

	"hgld/labels"
	"hgld/train/device/cpu"
)

// BenchmarkEvaluateSOP ranks a set of the size of Stanford Online Products: 60,502
// vectors of 512 numbers, 11,316 products in 12 families of some 5,000 images, all
// metrics over the whole ranking.
func BenchmarkEvaluateSOP(b *testing.B) {
	const n, d = 60_502, 512
	r := rand.New(rand.NewPCG(1, 1))
	values := make([]float32, n*d)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	list := make([]labels.Path, n)
	self := make([]int32, n)
	for i := range list {
		product := int32(i % 11_316)
		list[i] = labels.Path{product, product % 12}
		self[i] = int32(i)
	}
	backend := cpu.New(0)
	vectors, err := Upload(backend, matrix{d, values}, true)
	if err != nil {
		b.Fatal(err)
	}
	side := Side{Vectors: vectors, Labels: list}
	set := allMetrics(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Evaluate(context.Background(), backend, &Evaluation{
			Query: side, Gallery: side, Self: self, Levels: []string{"product", "family"}, Metrics: set,
		}); err != nil {
			b.Fatal(err)
		}
	}
}
