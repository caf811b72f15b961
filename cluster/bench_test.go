package cluster

import (
	"context"
	"testing"

	"hgld/internal/blas"
)

// Benchmarks have the size of the tags of H-GLDv2, 5,700 × 512.
func benchmarkInput(b *testing.B) (Matrix, blas.Library) {
	lib, err := blas.Default()
	if err != nil {
		b.Fatal(err)
	}
	return spectral(5700, 512), lib
}

func BenchmarkAgglomerate(b *testing.B) {
	x, lib := benchmarkInput(b)
	for _, l := range []Linkage{Ward, Average} {
		b.Run(l.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := Agglomerate(context.Background(), x, l, lib); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMeasure(b *testing.B) {
	x, lib := benchmarkInput(b)
	labels := make([]int32, x.Rows)
	for i := range labels {
		labels[i] = int32(i % 200)
	}
	for b.Loop() {
		if _, err := Measure(x, labels, lib); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTSNE(b *testing.B) {
	x, lib := benchmarkInput(b)
	for b.Loop() {
		if _, err := (TSNE{BLAS: lib, MaxIter: 50}).Run(context.Background(), x); err != nil {
			b.Fatal(err)
		}
	}
}
