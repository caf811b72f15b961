package input

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/usertime"
)

// photos is a data set of photographs, all of one size.
type photos struct {
	*shapes
	files [][]byte
}

func (d *photos) Image(_ context.Context, i int) ([]byte, error) { return d.files[i], nil }

func (d *photos) AppendImage(_ context.Context, dst []byte, i int) ([]byte, error) {
	return append(dst, d.files[i]...), nil
}

func newPhotos(b testing.TB, w, h int) *photos {
	list, err := filepath.Glob(filepath.Join(goldens.Shared(b, "data", "jpeg", "commons"), "*.jpg"))
	if err != nil || len(list) < 8 {
		b.Fatalf("%d photographs, %v", len(list), err)
	}
	d := &photos{shapes: &shapes{sizes: make([][2]int, 8)}}
	for _, name := range list[:8] {
		data, err := os.ReadFile(name)
		must.Do(b, err)
		m, err := new(img.Decoder).Decode(data)
		must.Do(b, err)
		file, err := img.EncodeJPEG(img.Resize(m, w, h, img.Bicubic), 88, nil)
		must.Do(b, err)
		d.files = append(d.files, file)
	}
	return d
}

// BenchmarkWorker is what a worker does for a training image at 224²: it decodes it and resamples
// it, or packs it for a device that does. "none" decodes alone.
func BenchmarkWorker(b *testing.B) {
	library, err := img.DefaultJPEG()
	must.Do(b, err)
	for _, size := range [][2]int{{1024, 768}, {683, 512}, {341, 256}} {
		d := newPhotos(b, size[0], size[1])
		for _, where := range []string{"host", "device", "none"} {
			b.Run(fmt.Sprintf("%d×%d/%s", size[0], size[1], where), func(b *testing.B) {
				in := Default()
				l := &Loader{Data: d, Size: d.Len(), In: in, Decoder: &img.Decoder{JPEG: library}, Training: true,
					Packs: where == "device"}
				if l.Labels, err = Paths(d); err != nil {
					b.Fatal(err)
				}
				w, batch := newWorker(newFramer(in, img.Bilinear)), l.NewBatch()
				batch.Rows = make([]int, l.Size)
				for i := range batch.Rows {
					batch.Rows[i] = i
				}
				b.ReportAllocs()
				began := usertime.CPU()
				for i := 0; b.Loop(); i++ {
					if i%l.Size == 0 {
						l.pad(batch)
						batch.Index++
					}
					if where == "none" {
						if failed := l.decode(w, d.files[i%l.Size], i%l.Size); failed != nil {
							b.Fatal(failed)
						}
					} else if err := l.put(b.Context(), w, encoded{slot: slot{batch, i % l.Size}, file: d.files[i%l.Size]},
						new(times)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(1000*(usertime.CPU()-began).Seconds()/float64(b.N), "cpu-ms/img")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "img/s")
			})
		}
	}
}

// folder is a data set of the files of a folder.
type folder struct {
	*shapes
	names []string
}

func (d *folder) Image(ctx context.Context, i int) ([]byte, error) { return d.AppendImage(ctx, nil, i) }

func (d *folder) AppendImage(_ context.Context, dst []byte, i int) ([]byte, error) {
	f, err := os.Open(d.names[i])
	if err != nil {
		return dst, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return dst, err
	}
	n := int(info.Size())
	dst = slices.Grow(dst, n)
	_, err = io.ReadFull(f, dst[len(dst):len(dst)+n])
	return dst[:len(dst)+n], err
}

// BenchmarkLoader is what a training reads on a machine without a GPU: batches of 64 of the files of the
// folder that $HGLD_BENCH_PHOTOS names, normalised, by as many workers as processors.
func BenchmarkLoader(b *testing.B) {
	names, err := filepath.Glob(filepath.Join(os.Getenv("HGLD_BENCH_PHOTOS"), "*.jpg"))
	if err != nil || len(names) == 0 {
		b.Skip("HGLD_BENCH_PHOTOS names no folder of photographs")
	}
	library, err := img.DefaultJPEG()
	must.Do(b, err)
	d := &folder{&shapes{sizes: make([][2]int, len(names))}, names}
	in := Default()
	in.Scale = [2]float64{0.08, 1}
	workers := runtime.GOMAXPROCS(0)
	l := &Loader{Data: d, Size: 64, In: in, Decoder: &img.Decoder{JPEG: library}, Training: true, Workers: workers,
		Prefetch: 4}
	if l.Labels, err = Paths(d); err != nil {
		b.Fatal(err)
	}
	plan := func(yield func(Work, error) bool) {
		for i := 0; ; i++ {
			rows := make([]int, l.Size)
			for k := range rows {
				rows[k] = (i*l.Size + k) % len(names)
			}
			if !yield(Work{Index: i, Rows: rows}, nil) {
				return
			}
		}
	}
	next, stop := iter.Pull2(l.Batches(b.Context(), plan))
	defer stop()
	images, began := 0, usertime.CPU()
	for b.Loop() {
		batch, err, _ := next()
		must.Do(b, err)
		images += len(batch.Rows)
	}
	b.ReportMetric(float64(images)/b.Elapsed().Seconds(), "img/s")
	b.ReportMetric(1000*(usertime.CPU()-began).Seconds()/float64(images), "cpu-ms/img")
}

// Workers and readers have their own memory: once it is large enough, neither images that the host resamples
// nor those that a device does cost an allocation.
func TestBatchesAllocateNothingInTheLongRun(t *testing.T) {
	library, err := img.DefaultJPEG()
	must.Do(t, err)
	if library == nil {
		t.Log(img.WhichJPEG())
		return
	}
	d := newPhotos(t, 400, 300)
	for _, packs := range []bool{false, true} {
		l := &Loader{Data: d, Size: d.Len(), In: Default(), Decoder: &img.Decoder{JPEG: library}, Training: true,
			Packs: packs, Reads: 3, Workers: 2, Prefetch: 2}
		if l.Labels, err = Paths(d); err != nil {
			t.Fatal(err)
		}
		next, stop := iter.Pull2(l.Batches(t.Context(), func(yield func(Work, error) bool) {
			rows := make([]int, l.Size)
			for i := range rows {
				rows[i] = i
			}
			for i := 0; yield(Work{Index: i, Rows: rows}, nil); i++ {
			}
		}))
		load := func() {
			if _, err, more := next(); err != nil || !more {
				t.Fatal(err, more)
			}
		}
		for range 100 { // the largest crops, for each worker
			load()
		}
		if n := testing.AllocsPerRun(20, load); n != 0 {
			t.Errorf("packs %v: %v allocations a batch of %d, want none", packs, n, l.Size)
		}
		stop()
	}
}
