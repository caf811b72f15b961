package cluster

import (
	"context"
	"fmt"
	"os"
	"testing"

	"hgld/internal/blas"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
)

// rowsVariable names an .npy file of rows [N,D] for the benchmarks, as in scripts/bench_cluster.
// The default rows have the size of the tags of H-GLDv2, 5,700 × 512.
const rowsVariable = "HGLD_BENCH_ROWS"

func benchmarkInput(b *testing.B) (Matrix, blas.Library) {
	lib := must.Get(blas.Default())(b)
	path := os.Getenv(rowsVariable)
	if path == "" {
		return spectral(5700, 512), lib
	}
	f := must.Get(tensorfile.OpenNPY(path))(b)
	defer f.Close()
	rows, cols := f.Rows()
	x := NewMatrix(rows, cols)
	must.Do(b, f.ReadRows(x.Data, 0))
	return x, lib
}

func BenchmarkKMeans(b *testing.B) {
	x, lib := benchmarkInput(b)
	for _, c := range []struct {
		k, starts int
		algorithm string
		most      int // 0: until nothing changes; 25: as faiss
	}{{200, 1, "lloyd", 0}, {200, 10, "lloyd", 0}, {200, 1, "elkan", 0}, {200, 10, "elkan", 0}, {500, 1, "lloyd", 0},
		{500, 1, "elkan", 0}, {500, 1, "elkan", 25}} {
		name := fmt.Sprintf("%dx%d/k=%d/starts=%d/%s", x.Rows, x.Cols, c.k, c.starts, c.algorithm)
		if c.most > 0 {
			name += fmt.Sprintf("-%d", c.most)
		}
		b.Run(name, func(b *testing.B) {
			method := must.Get(Methods.Get("algorithm", c.algorithm))(b)
			for b.Loop() {
				r, err := method(context.Background(), KMeans{K: c.k, NInit: c.starts, MaxIter: c.most, BLAS: lib}, x, 1)
				must.Do(b, err)
				b.ReportMetric(r.Inertia, "inertia")
				b.ReportMetric(float64(r.Iterations), "iterations")
			}
		})
	}
}

func BenchmarkAgglomerate(b *testing.B) {
	x, lib := benchmarkInput(b)
	for _, l := range []Linkage{Ward, Average} {
		b.Run(l.String(), func(b *testing.B) {
			for b.Loop() {
				tree := must.Get(Agglomerate(context.Background(), x, l, lib))(b)
				r := must.Get(tree.Partition(x, 200))(b)
				b.ReportMetric(r.Inertia, "inertia")
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
