package input

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// shapes is a data set of noise in images of many shapes, of one class.
type shapes struct {
	sizes [][2]int     // width and height of each
	not   map[int]bool // items that are no image

	files sync.Map // item -> its image, once drawn
}

func (d *shapes) Len() int               { return len(d.sizes) }
func (d *shapes) Levels() []string       { return []string{"class"} }
func (d *shapes) Classes(int) []string   { return []string{"a"} }
func (d *shapes) Labels(int) labels.Path { return labels.Path{0} }
func (d *shapes) ID(i int) string        { return fmt.Sprint(i) }

func (d *shapes) Image(_ context.Context, i int) ([]byte, error) {
	if d.not[i] {
		return []byte("none"), nil
	}
	if file, drawn := d.files.Load(i); drawn {
		return file.([]byte), nil
	}
	r := rand.New(rand.NewPCG(7, uint64(i)))
	m := image.NewRGBA(image.Rect(0, 0, d.sizes[i][0], d.sizes[i][1]))
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			m.Set(x, y, color.RGBA{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32()), 255})
		}
	}
	var file bytes.Buffer
	err := png.Encode(&file, m)
	d.files.Store(i, file.Bytes())
	return file.Bytes(), err
}

// Sides are below, at and above those of the input; some images leave no room for others.
var manyShapes = &shapes{not: map[int]bool{5: true}, sizes: [][2]int{
	{1, 1}, {1, 40}, {40, 1}, {16, 16}, {20, 20}, {9, 9}, {20, 33}, {140, 90}, {16, 90}, {300, 17}, {19, 16}, {64, 64},
	{150, 150}, {31, 30}, {400, 3}, {24, 18}, {18, 24}, {17, 15}, {90, 100}, {33, 20},
}}

// inputsOf returns what the network would see: pixels and crops of all batches of a data set, and
// how many images were resampled by the device and by the host.
func inputsOf(t *testing.T, l *Loader, plan int) (pixels [][]byte, crops [][]int32, onDevice, onHost int) {
	t.Helper()
	b := cpu.New(2)
	in := NewArrays(b, l.Size, 1, 0, l.In.Size, l.Packs)
	l.Send = in.Sender(b)
	for from, err := range l.Batches(t.Context(), repeated(plan, l)) {
		must.Do(t, err)
		in.Upload(b, from)
		data := make([]byte, in.Pixels.Len())
		must.Do(t, b.Wait(b.Download(data, in.Pixels)))
		pixels, crops = append(pixels, data), append(crops, slices.Clone(from.Crop))
		for i := 0; l.Packs && i < len(from.packed.images); i += device.ImageCols {
			switch row := from.packed.images[i:][:device.ImageCols]; {
			case row[device.ImageHeight] > 0 && row[device.DownAt] > 0:
				onDevice++
			case row[device.ImageHeight] > 0:
				onHost++
			}
		}
	}
	return pixels, crops, onDevice, onHost
}

// repeated is the plan of so many evaluations.
func repeated(times int, l *Loader) iter.Seq2[Work, error] {
	return func(yield func(Work, error) bool) {
		for epoch := range times {
			for w, err := range InOrder(l.Data.Len(), l.Size) {
				if w.Epoch = epoch; !yield(w, err) {
					return
				}
			}
		}
	}
}

// The bytes that the network sees do not depend on where images are resampled, for every crop and
// filter. Some images of the data do not fit in the memory of a batch.
func TestDeviceResamplesAsTheHost(t *testing.T) {
	views := map[string]func(*Settings){
		"resized":        func(in *Settings) { in.Crop = "resized" },
		"small parts":    func(in *Settings) { in.Crop, in.Scale = "resized", [2]float64{0.01, 0.2} },
		"padded":         func(in *Settings) { in.Crop, in.Pad = "padded", 15 },
		"padded whole":   func(in *Settings) { in.Crop, in.Pad, in.Resize = "padded", 5, 0 },
		"centre":         func(in *Settings) { in.Crop = "centre" },
		"squashed":       func(in *Settings) { in.Crop, in.Squash = "centre", true },
		"without margin": func(in *Settings) { in.Crop, in.Resize = "centre", 16 },
		"whole":          func(in *Settings) { in.Crop = "whole" },
	}
	for i, name := range slices.Sorted(maps.Keys(views)) {
		view := views[name]
		for filter, of := range []img.Filter{img.Bilinear, img.Bicubic, img.Lanczos} {
			if i%3 != filter && !effort.Exhaustive() {
				continue
			}
			for _, training := range []bool{true, false} {
				in := Default()
				in.Size, in.Resize = 16, 20
				view(&in)
				list, err := Paths(manyShapes)
				must.Do(t, err)
				l := &Loader{Data: manyShapes, Labels: list, Size: 6, In: in, Filter: of, Decoder: new(img.Decoder),
					Training: training, Seed: 3, Workers: 3, Prefetch: 2, Skip: func(int, *ImageError) bool { return true }}
				const passes = 3
				want, wantCrops, _, _ := inputsOf(t, l, passes)
				l.Packs = true
				got, gotCrops, onDevice, onHost := inputsOf(t, l, passes)
				what := fmt.Sprintf("%s, %s, training %v", name, Filters[filter].Name, training)
				if len(got) != passes*4 || onDevice < passes*10 {
					t.Errorf("%s: %d batches, %d images on the device, %d on the host", what, len(got), onDevice, onHost)
				}
				if name == "whole" && onHost == 0 {
					t.Errorf("%s: every image fits", what)
				}
				for i := range want {
					if !bytes.Equal(got[i], want[i]) || !slices.Equal(gotCrops[i], wantCrops[i]) {
						t.Errorf("%s: batch %d differs", what, i)
					}
				}
			}
		}
	}
}
