package img

import (
	"cmp"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/usertime"
)

// photos returns w×h JPEGs of quality 88, made from real photographs, or the files of the folder that
// $HGLD_BENCH_PHOTOS names.
func photos(b *testing.B, w, h int) [][]byte {
	dir := goldens.Shared(b, "data", "jpeg", "commons")
	given := os.Getenv("HGLD_BENCH_PHOTOS")
	files, err := filepath.Glob(filepath.Join(cmp.Or(given, dir), "*.jpg"))
	if err != nil || len(files) == 0 {
		b.Fatal("no photographs", err)
	}
	var all [][]byte
	if given != "" {
		for _, file := range files {
			data := must.Get(os.ReadFile(file))(b)
			all = append(all, data)
		}
		return all
	}
	for _, file := range files[:8] {
		small := must.Get(EncodeJPEG(Resize(decodeFile(b, file), w, h, Bicubic), 88, nil))(b)
		all = append(all, small)
	}
	return all
}

// withBoth runs a benchmark with both JPEG decoders, on photographs and on the default images of
// shards.
func withBoth(b *testing.B, do func(b *testing.B, d *Decoder, all [][]byte)) {
	standard, fast := decoders(b)
	for _, size := range [][2]int{{1024, 768}, {683, 512}, {341, 256}} {
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
				began := usertime.CPU()
				do(b, c.d, all)
				b.ReportMetric(1000*(usertime.CPU()-began).Seconds()/float64(b.N), "cpu-ms/img")
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

// BenchmarkShortSide256 decodes all of an image before it is made smaller, or makes it smaller as it is decoded.
func BenchmarkShortSide256(b *testing.B) {
	const short = 256
	for name, do := range map[string]func(d *Decoder, data []byte) error{
		"whole": func(d *Decoder, data []byte) error {
			m, err := d.Decode(data)
			if err == nil {
				w, h := ShortSide(m.W, m.H, short)
				Resize(m, w, h, Bicubic)
			}
			return err
		},
		"scaled": func(d *Decoder, data []byte) error {
			_, err := d.Small(data, short, Bicubic)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			withBoth(b, func(b *testing.B, d *Decoder, all [][]byte) {
				for i := 0; b.Loop(); i++ {
					must.Do(b, do(d, all[i%len(all)]))
				}
			})
		})
	}
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
			began := usertime.CPU()
			for i := 0; b.Loop(); i++ {
				r.ResizeCrop(out, m, crops[i%len(crops)], 224, 224, f)
			}
			b.ReportMetric(1000*(usertime.CPU()-began).Seconds()/float64(b.N), "cpu-ms/img")
		})
	}
}

// BenchmarkDecodeCropFlipNormalize measures what is done to a training image, up to the numbers that a network
// reads.
func BenchmarkDecodeCropFlipNormalize(b *testing.B) {
	withBoth(b, func(b *testing.B, d *Decoder, all [][]byte) {
		rng := rand.New(rand.NewPCG(1, 2))
		var r Resampler
		var p Part
		var crop image.Rectangle
		wanted := func(w, h, _ int) image.Rectangle {
			crop = RandomCrop(w, h, [2]float64{0.08, 1}, [2]float64{0.75, 4.0 / 3}, rng.Float64)
			return crop
		}
		out, values := new(RGB), make([]float32, 3*224*224)
		for i := 0; b.Loop(); i++ {
			must.Do(b, d.DecodePart(&p, all[i%len(all)], wanted))
			r.ResizeCrop(out, &p.RGB, crop.Sub(p.At), 224, 224, Bilinear)
			for at, v := range out.Pix { // a device does it
				if i%2 == 0 {
					at = len(values) - 1 - at
				}
				values[at] = (float32(v)/255 - 0.449) / 0.226
			}
		}
	})
}
