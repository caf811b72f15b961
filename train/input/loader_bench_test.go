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

func newPhotos(b *testing.B, w, h int) *photos {
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
				f, batch := newFramer(in, img.Bilinear), l.NewBatch()
				c := l.newCutter(f)
				batch.Rows = make([]int, l.Size)
				for i := range batch.Rows {
					batch.Rows[i] = i
				}
				for i := 0; b.Loop(); i++ {
					if i%l.Size == 0 {
						l.pad(batch)
						batch.Index++
					}
					if where == "none" {
						if _, failed := l.decode(b.Context(), i%l.Size); failed != nil {
							b.Fatal(failed)
						}
					} else if err := l.load(b.Context(), f, c, slot{batch, i % l.Size}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "img/s")
			})
		}
	}
}
