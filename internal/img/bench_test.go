package img

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"hgld/internal/testing/goldens"
)

// photos returns w×h JPEGs of quality 88, made from real photographs.
func photos(b *testing.B, w, h int) [][]byte {
	dir := goldens.Shared(b, "data", "jpeg", "commons")
	files, err := filepath.Glob(filepath.Join(dir, "*.jpg"))
	if err != nil {
		b.Fatal(err)
	}
	var all [][]byte
	for _, file := range files[:8] {
		var buf bytes.Buffer
		if err := EncodeJPEG(&buf, Resize(decodeFile(b, file), w, h, Bicubic), 88); err != nil {
			b.Fatal(err)
		}
		all = append(all, buf.Bytes())
	}
	return all
}

// withBoth runs a benchmark with both JPEG decoders, on photographs and on the default images of
// shards.
func withBoth(b *testing.B, do func(b *testing.B, d *Decoder, all [][]byte)) {
	standard, fast := decoders(b)
	for _, size := range [][2]int{{1024, 768}, {341, 256}} {
		all := photos(b, size[0], size[1])
		for _, c := range []struct {
			name string
			d    *Decoder
		}{{"image-jpeg", standard}, {"libjpeg-turbo", fast}} {
			if c.d == nil {
				continue
			}
			b.Run(fmt.Sprintf("%d×%d/%s", size[0], size[1], c.name), func(b *testing.B) {
				b.ReportAllocs()
				do(b, c.d, all)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "img/s")
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	withBoth(b, func(b *testing.B, d *Decoder, all [][]byte) {
		for i := 0; b.Loop(); i++ {
			if _, err := d.Decode(all[i%len(all)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRandomResizedCrop224(b *testing.B) {
	m := Resize(decodeFile(b, goldens.Shared(b, "data", "jpeg", "commons", "Moraine_Lake.jpg")), 1024, 768, Bicubic)
	for _, f := range []Filter{Bilinear, Bicubic} {
		b.Run([]string{"bilinear", "bicubic"}[f], func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			var crops []image.Rectangle
			for range 400 {
				crops = append(crops, RandomCrop(m.W, m.H, [2]float64{0.08, 1}, [2]float64{0.75, 4.0 / 3}, rng.Float64))
			}
			var r Resampler
			out := new(RGB)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.ResizeCrop(out, m, crops[i%len(crops)], 224, 224, f)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "img/s")
		})
	}
}

// BenchmarkDecodeCropFlipNormalize measures what the loader does to an image.
func BenchmarkDecodeCropFlipNormalize(b *testing.B) {
	withBoth(b, func(b *testing.B, d *Decoder, all [][]byte) {
		rng := rand.New(rand.NewPCG(1, 2))
		var r Resampler
		out, norm, chw := new(RGB), ImageNet(), make([]float32, 3*224*224)
		for i := 0; b.Loop(); i++ {
			m, err := d.Decode(all[i%len(all)])
			if err != nil {
				b.Fatal(err)
			}
			crop := RandomCrop(m.W, m.H, [2]float64{0.08, 1}, [2]float64{0.75, 4.0 / 3}, rng.Float64)
			r.ResizeCrop(out, m, crop, 224, 224, Bilinear)
			norm.CHW(chw, out, i%2 == 0)
		}
	})
}
