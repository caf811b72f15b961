package input

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/goldens"
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
		if err != nil {
			b.Fatal(err)
		}
		m, err := new(img.Decoder).Decode(data)
		if err != nil {
			b.Fatal(err)
		}
		var file bytes.Buffer
		if err := img.EncodeJPEG(&file, img.Resize(m, w, h, img.Bicubic), 88); err != nil {
			b.Fatal(err)
		}
		d.files = append(d.files, file.Bytes())
	}
	return d
}

// BenchmarkWorker is what a worker does for a training image at 224²: it decodes it and resamples
// it, or packs it for a device that does. "none" decodes alone.
func BenchmarkWorker(b *testing.B) {
	library, err := img.DefaultJPEG()
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range [][2]int{{1024, 768}, {341, 256}} {
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
				for i := 0; b.Loop(); i++ {
					if i%l.Size == 0 {
						l.pad(batch)
						batch.Index++
					}
					if where == "none" {
						if failed := l.decode(b.Context(), w, i%l.Size); failed != nil {
							b.Fatal(failed)
						}
					} else if err := l.load(b.Context(), w, slot{batch, i % l.Size}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "img/s")
			})
		}
	}
}

// A worker has its own memory: once it is large enough, neither images that the host resamples nor those
// that a device does cost an allocation.
func TestWorkersAllocateNothingInTheLongRun(t *testing.T) {
	library, err := img.DefaultJPEG()
	if err != nil {
		t.Fatal(err)
	}
	if library == nil {
		t.Log(img.WhichJPEG())
		return
	}
	d := newPhotos(t, 400, 300)
	for _, packs := range []bool{false, true} {
		l := &Loader{Data: d, Size: d.Len(), In: Default(), Decoder: &img.Decoder{JPEG: library}, Training: true,
			Packs: packs}
		if l.Labels, err = Paths(d); err != nil {
			t.Fatal(err)
		}
		w, batch := newWorker(newFramer(l.In, img.Bilinear)), l.NewBatch()
		batch.Rows = make([]int, l.Size)
		for i := range batch.Rows {
			batch.Rows[i] = i
		}
		load := func() {
			l.pad(batch)
			batch.Index++
			for i := range l.Size {
				if err := l.load(t.Context(), w, slot{batch, i}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 20 { // the largest crops
			load()
		}
		if n := testing.AllocsPerRun(20, load); n != 0 {
			t.Errorf("packs %v: %v allocations a batch of %d, want none", packs, n, l.Size)
		}
	}
}
