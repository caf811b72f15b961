package train

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/internal/img"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// shapes is a data set of noise in images of many shapes, of one class.
type shapes struct {
	sizes [][2]int     // width and height of each
	not   map[int]bool // items that are no image
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
	r := rand.New(rand.NewPCG(7, uint64(i)))
	m := image.NewRGBA(image.Rect(0, 0, d.sizes[i][0], d.sizes[i][1]))
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			m.Set(x, y, color.RGBA{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32()), 255})
		}
	}
	var file bytes.Buffer
	err := png.Encode(&file, m)
	return file.Bytes(), err
}

// Sides are below, at and above those of the input; some images leave no room for others.
var manyShapes = &shapes{not: map[int]bool{5: true}, sizes: [][2]int{
	{1, 1}, {1, 40}, {40, 1}, {16, 16}, {20, 20}, {9, 9}, {20, 33}, {140, 90}, {16, 90}, {300, 17}, {19, 16}, {64, 64},
	{150, 150}, {31, 30}, {400, 3}, {24, 18}, {18, 24}, {17, 15}, {90, 100}, {33, 20},
}}

// inputsOf returns what the network would see: pixels and crops of all batches of a data set, and
// how many images were resampled by the device and by the host.
func inputsOf(t *testing.T, l *loader, plan int) (pixels [][]byte, crops [][]int32, onDevice, onHost int) {
	t.Helper()
	b := cpu.New(2)
	n := &network{b: b, in: l.in}
	in := n.newInputs(l.size, 1, l.packs)
	l.send = in.sender(b)
	for from, err := range l.batches(t.Context(), repeated(plan, l)) {
		if err != nil {
			t.Fatal(err)
		}
		in.upload(b, from)
		data := make([]byte, in.pixels.Len())
		if err := b.Wait(b.Download(data, in.pixels)); err != nil {
			t.Fatal(err)
		}
		pixels, crops = append(pixels, data), append(crops, slices.Clone(from.crop))
		for i := 0; l.packs && i < len(from.packed.images); i += device.ImageCols {
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
func repeated(times int, l *loader) iter.Seq2[work, error] {
	return func(yield func(work, error) bool) {
		for epoch := range times {
			for w, err := range inOrder(l.data.Len(), l.size) {
				if w.epoch = epoch; !yield(w, err) {
					return
				}
			}
		}
	}
}

// The bytes that the network sees do not depend on where images are resampled, for every crop and
// filter. Some images of the data do not fit in the memory of a batch.
func TestDeviceResamplesAsTheHost(t *testing.T) {
	views := map[string]func(*Input){
		"resized":        func(in *Input) { in.Crop = "resized" },
		"small parts":    func(in *Input) { in.Crop, in.Scale = "resized", [2]float64{0.01, 0.2} },
		"padded":         func(in *Input) { in.Crop, in.Pad = "padded", 15 },
		"padded whole":   func(in *Input) { in.Crop, in.Pad, in.Resize = "padded", 5, 0 },
		"centre":         func(in *Input) { in.Crop = "centre" },
		"squashed":       func(in *Input) { in.Crop, in.Squash = "centre", true },
		"without margin": func(in *Input) { in.Crop, in.Resize = "centre", 16 },
		"whole":          func(in *Input) { in.Crop = "whole" },
	}
	for name, view := range views {
		for filter, of := range []img.Filter{img.Bilinear, img.Bicubic, img.Lanczos} {
			for _, training := range []bool{true, false} {
				in := Default().Input
				in.Size, in.Resize = 16, 20
				view(&in)
				list, err := paths(manyShapes)
				if err != nil {
					t.Fatal(err)
				}
				l := &loader{data: manyShapes, labels: list, size: 6, in: in, filter: of, decoder: new(img.Decoder),
					training: training, seed: 3, workers: 3, prefetch: 2, skip: func(int, *ImageError) bool { return true }}
				const passes = 3
				want, wantCrops, _, _ := inputsOf(t, l, passes)
				l.packs = true
				got, gotCrops, onDevice, onHost := inputsOf(t, l, passes)
				what := fmt.Sprintf("%s, %s, training %v", name, filters[filter].Name, training)
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

// The result of a training is the same wherever images are resampled, also for a run that
// goes on elsewhere.
func TestTrainingDoesNotDependOnWhereImagesAreResampled(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"whole batches": func(*Config) {},
		"chunks":        func(c *Config) { c.Model.FreezeNorm, c.Passes.Chunk = true, 6 },
		"distorted":     func(c *Config) { c.Input.Jitter.Brightness, c.Input.RandAugment.Ops = 0.2, 1 },
		"projection":    func(c *Config) { c.Model.Projection, c.Model.Dim = "pca", 8 },
	} {
		c, d := tiny(6)
		change(&c)
		data := Data{Train: d, Query: d}
		host, there, both := t.TempDir(), t.TempDir(), t.TempDir()
		c.Run.Resample = resampleHost
		want := mustTrain(t, c, data, Options{Dir: host})
		c.Run.Resample = resampleDevice
		got := mustTrain(t, c, data, Options{Dir: there})
		sameWeights(t, name, host, there)
		if a, b := want[len(want)-2], got[len(got)-2]; a.Kind != Evaluated || fmt.Sprint(a.Result.Overall) !=
			fmt.Sprint(b.Result.Overall) {
			t.Errorf("%s: %s %v, and on the device %v", name, a.Kind, a.Result.Overall, b.Result.Overall)
		}
		mustTrain(t, c, data, Options{Dir: both, Limit: 3})
		c.Run.Resample = resampleHost
		mustTrain(t, c, data, Options{Dir: both})
		sameWeights(t, name+", resumed", host, both)
	}
}

// On a card auto is the device, whose kernel is part of the recorded step.
func TestCardResamplesAsTheHost(t *testing.T) {
	b := emulatedCard(t)
	c, d := tiny(4)
	host, there := t.TempDir(), t.TempDir()
	for dir, where := range map[string]string{host: resampleHost, there: resampleAuto} {
		c.Run.Resample = where
		mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Backend: b})
	}
	sameWeights(t, "card", host, there)
}

func TestAutoResamplesWhereTheMemoryIs(t *testing.T) {
	for _, c := range []struct {
		b           device.Backend
		given, want string
	}{
		{cpu.New(1), resampleAuto, resampleHost}, {cpu.New(1), "", resampleHost},
		{newRecorder(), resampleAuto, resampleDevice}, {newRecorder(), "", resampleDevice},
		{cpu.New(1), resampleDevice, resampleDevice}, {newRecorder(), resampleHost, resampleHost},
	} {
		u := Upkeep{Resample: c.given}
		if u.Settle(c.b); u.Resample != c.want {
			t.Errorf("%q is %s on %T, want %s", c.given, u.Resample, c.b, c.want)
		}
	}
}

// The plan counts the arrays of the device and the batches of the host.
func TestPlanSeesPackedImages(t *testing.T) {
	c, d := tiny(3)
	plan := func(where string) *Estimate {
		c.Run.Resample = where
		e, err := Plan(c, Data{Train: d})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	host, there := plan(resampleHost), plan(resampleDevice)
	const finished = 16 * 16 * 3
	most := int64(16 * finished * packedTimes * deviceSlots) // no more than the average of decoded images
	if more := there.Kept - host.Kept; more < most || more > 2*most {
		t.Errorf("the device needs %d bytes more for images of %d", more, most)
	}
	if more := there.Host - host.Host; more < int64(c.Run.Prefetch+1)*(most/deviceSlots-16*finished) {
		t.Errorf("the host needs %d bytes more for %d batches of %d", more, c.Run.Prefetch+1, most)
	}
	c.Input.Jitter.Hue = 0.1
	if e := plan(resampleDevice); e.Kept != host.Kept {
		t.Errorf("distorted images take %d bytes of the device, want %d", e.Kept, host.Kept)
	}
}

func TestTooManyPackedBatchesAreRefused(t *testing.T) {
	c, d := tiny(1)
	c.Input.Size, c.Input.Resize, c.Sampler.Batch, c.Run.Prefetch = 512, 512, 16, 1000
	c.Run.Resample = resampleDevice
	_, err := Plan(c, Data{Train: d})
	if want := "run.prefetch is 1000: the decoded images that the device resamples"; err == nil ||
		!bytes.Contains([]byte(err.Error()), []byte(want)) {
		t.Errorf("error %v, want %q", err, want)
	}
	c.Run.Resample = resampleHost
	if _, err := Plan(c, Data{Train: d}); err != nil {
		t.Error(err)
	}
}
