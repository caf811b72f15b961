package shards

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"hgld/labels"
)

func BenchmarkWriter(b *testing.B) {
	image := make([]byte, 100_000)
	rng := rand.NewChaCha8([32]byte{})
	rng.Read(image)
	builder := labels.NewBuilder("fine", "coarse")
	if _, err := builder.Add(labels.Row{Names: []string{"a", "b"}}); err != nil {
		b.Fatal(err)
	}
	w, err := Create(filepath.Join(b.TempDir(), "train-00000-of-00001.parquet"), &Schema{Classes: builder.Hierarchy()})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	b.SetBytes(int64(len(image)))
	for i := 0; b.Loop(); i++ {
		if err := w.Write(&Row{ID: ImageID(i), Image: image, Path: "a.jpg", Split: labels.Train, Labels: labels.Path{0, 0}, W: 10, H: 10}); err != nil {
			b.Fatal(err)
		}
	}
}

// benchView is a split of the shards in $HGLD_BENCH_SHARDS or, without it, 200 MB
// of incompressible images.
func benchView(b *testing.B) *View {
	dir := os.Getenv("HGLD_BENCH_SHARDS")
	if dir == "" {
		src := newSource(b, 2000)
		rng := rand.NewChaCha8([32]byte{2})
		jpeg := photo(b, 32, 32, 1)
		for i := range src.items {
			data := append(make([]byte, 0, 100_000), jpeg...) // what follows the end of a JPEG is ignored
			data = data[:cap(data)]
			rng.Read(data[len(jpeg):])
			src.put(&src.items[i], data)
			src.items[i].Split = labels.Train
		}
		dir = b.TempDir()
		o := Options{Workers: 2}
		o.HeadersOnly = true
		mustBuild(b, src, dir, o)
	}
	set := mustOpen(b, dir)
	return mustSplit(b, set, set.Manifest().Splits()[0])
}

func BenchmarkRandomImage(b *testing.B) {
	v := benchView(b)
	b.Run("new memory", func(b *testing.B) {
		rng := rand.New(rand.NewPCG(1, 1))
		for b.Loop() {
			if _, err := v.Image(context.Background(), rng.IntN(v.Len())); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
	b.Run("reused memory", func(b *testing.B) {
		rng := rand.New(rand.NewPCG(1, 1))
		var buf []byte
		for b.Loop() {
			var err error
			if buf, err = v.AppendImage(context.Background(), buf[:0], rng.IntN(v.Len())); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
	})
}

func BenchmarkScan(b *testing.B) {
	v := benchView(b)
	total := int64(0)
	for _, sh := range v.shards {
		total += sh.file.Bytes
	}
	b.Run("images", func(b *testing.B) {
		b.SetBytes(total)
		for b.Loop() {
			for _, err := range v.Images(context.Background()) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	for name, images := range map[string]bool{"rows": true, "rows without images": false} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(total)
			for b.Loop() {
				for _, err := range v.Rows(context.Background(), images) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
