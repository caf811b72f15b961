package shards

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/internal/testing/usertime"
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
	w, err := createShard(disk(b.TempDir()), "train-00000-of-00001.parquet", "", &Schema{Classes: builder.Hierarchy()})
	must.Do(b, err)
	defer w.Close()
	b.SetBytes(int64(len(image)))
	for i := 0; b.Loop(); i++ {
		if err := w.Write(&Row{ID: ImageID(i), Image: image, Path: "a.jpg", Split: labels.Train, Labels: labels.Path{0, 0},
			W: 10, H: 10}); err != nil {
			b.Fatal(err)
		}
	}
}

// benchView returns a split of the shards in $HGLD_BENCH_SHARDS, by default of 200 MB of
// incompressible images.
func benchView(b *testing.B) *View {
	dir := os.Getenv("HGLD_BENCH_SHARDS")
	if dir == "" {
		src := newSource(b, 2000)
		rng := rand.NewChaCha8([32]byte{2})
		jpeg := photo(b, 32, 32, 1)
		for i := range src.items {
			data := append(make([]byte, 0, 100_000), jpeg...) // decoders ignore bytes after the end of a JPEG
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
		start := usertime.CPU()
		for b.Loop() {
			var err error
			if buf, err = v.AppendImage(context.Background(), buf[:0], rng.IntN(v.Len())); err != nil {
				b.Fatal(err)
			}
		}
		reportRate(b, start, 1, "images")
	})
}

// reportRate reports work done in each iteration by the second and by the processor second since start.
func reportRate(b *testing.B, start time.Duration, work float64, unit string) {
	b.ReportMetric(work*float64(b.N)/b.Elapsed().Seconds(), unit+"/s")
	b.ReportMetric(work*float64(b.N)/(usertime.CPU()-start).Seconds(), unit+"/cpu-s")
}

func BenchmarkScan(b *testing.B) {
	v := benchView(b)
	total := int64(0)
	for _, sh := range v.shards {
		total += sh.file.Bytes
	}
	b.Run("images", func(b *testing.B) {
		start := usertime.CPU()
		for b.Loop() {
			for _, err := range v.Images(context.Background()) {
				must.Do(b, err)
			}
		}
		reportRate(b, start, float64(total)/1e6, "MB")
	})
	for name, images := range map[string]bool{"rows": true, "rows without images": false} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(total)
			for b.Loop() {
				for _, err := range v.Rows(context.Background(), images) {
					must.Do(b, err)
				}
			}
		})
	}
}

// BenchmarkDescribe writes ATTRIBUTION.parquet and STATS.json of a landmark data set: one shard of
// 8,192 rows, or as many shards as $HGLD_BENCH_ROWS needs.
func BenchmarkDescribe(b *testing.B) {
	const rows, landmarks = 8192, 500
	tree := labels.NewBuilder(labels.LandmarkLevel, labels.SupercategoryLevel, labels.KindLevel)
	var paths []labels.Path
	for i := range landmarks {
		p, err := tree.Add(labels.Row{Names: []string{fmt.Sprintf("train/%d", i), fmt.Sprintf("group %d", i%78),
			fmt.Sprintf("kind %d", i%78%2)}})
		must.Do(b, err)
		paths = append(paths, p)
	}
	schema := &Schema{Classes: tree.Hierarchy(), Landmarks: true}
	dir := b.TempDir()
	path := filepath.Join(dir, "train-00000-of-00001.parquet")
	w := must.Get(createShard(disk(filepath.Dir(path)), filepath.Base(path), "", schema))(b)
	defer w.Close()
	for i := range rows {
		at := i * landmarks / rows
		err := w.Write(&Row{ID: ImageID(uint64(i) * 0x9e3779b97f4a7c15), Image: make([]byte, 1000),
			Path: fmt.Sprintf("train/0/1/2/%016x.jpg", i), Split: labels.Train,
			Labels: paths[at], Landmark: labels.LandmarkID(at), W: 256 + i%100, H: 256 + i%77, Attributes: Attributes{
				Author: fmt.Sprintf("Author number %d", i/3), License: "Creative Commons Attribution-Share Alike 3.0",
				Title: fmt.Sprintf("File:Photograph of a place %d.jpg", i),
				SourceURL: fmt.Sprintf("https://upload.wikimedia.org/wikipedia/commons/%x/%x/Photograph_of_a_place_%d.jpg",
					i%16, i%256, i),
				Modifications: fmt.Sprintf("resized from %d×%d, bicubic, JPEG quality 95", 1024+i%500, 768+i%300)}})
		must.Do(b, err)
	}
	file := must.Get(w.Finish("{}"))(b)
	file.Name, file.Split = filepath.Base(path), labels.Train
	set := &Set{dir: disk(dir), classes: schema.Classes, manifest: &Manifest{Landmarks: true, Levels: make([]Level, 3)}}
	for range max(times(b, "HGLD_BENCH_ROWS", rows)/rows, 1) {
		set.manifest.Files = append(set.manifest.Files, file)
		set.shards = append(set.shards, &shard{file: file, dir: disk(dir), name: file.Name, index: w.index, sound: true})
	}
	b.ReportAllocs()
	for b.Loop() {
		to := &companionWriter{dir: disk(dir)}
		if _, err := set.describe(b.Context(), to, nil); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(to.file(AttributionFile).size), "file-bytes")
		must.Do(b, to.close())
	}
	b.ReportMetric(float64(rows*len(set.shards)*b.N)/b.Elapsed().Seconds(), "rows/s")
}
