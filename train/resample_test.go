package train

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/input"
)

// The result of a training is the same wherever images are resampled, also for a run that
// goes on elsewhere.
func TestTrainingDoesNotDependOnWhereImagesAreResampled(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"whole batches": func(*config.Config) {},
		"chunks":        func(c *config.Config) { c.Model.FreezeNorm, c.Passes.Chunk = true, 6 },
		"distorted":     func(c *config.Config) { c.Input.Jitter.Brightness, c.Input.RandAugment.Ops = 0.2, 1 },
		"projection":    func(c *config.Config) { c.Model.Projection, c.Model.Dim = "pca", 8 },
	} {
		c, d := tiny(6)
		change(&c)
		data := Data{Train: d, Query: d}
		host, there, both := t.TempDir(), t.TempDir(), t.TempDir()
		c.Run.Resample = config.ResampleHost
		want := mustTrain(t, c, data, Options{Dir: host})
		c.Run.Resample = config.ResampleDevice
		got := mustTrain(t, c, data, Options{Dir: there})
		sameWeights(t, name, host, there)
		if a, b := want[len(want)-2], got[len(got)-2]; a.Kind != Evaluated || fmt.Sprint(a.Result.Overall) !=
			fmt.Sprint(b.Result.Overall) {
			t.Errorf("%s: %s %v, and on the device %v", name, a.Kind, a.Result.Overall, b.Result.Overall)
		}
		mustTrain(t, c, data, Options{Dir: both, Limit: 3})
		c.Run.Resample = config.ResampleHost
		mustTrain(t, c, data, Options{Dir: both})
		sameWeights(t, name+", resumed", host, both)
	}
}

// On a GPU auto is the device, whose kernel is part of the recorded step.
func TestCardResamplesAsTheHost(t *testing.T) {
	b := emulatedCard(t)
	c, d := tiny(4)
	host, there := t.TempDir(), t.TempDir()
	for dir, where := range map[string]string{host: config.ResampleHost, there: config.ResampleAuto} {
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
		{cpu.New(1), config.ResampleAuto, config.ResampleHost}, {cpu.New(1), "", config.ResampleHost},
		{newRecorder(), config.ResampleAuto, config.ResampleDevice}, {newRecorder(), "", config.ResampleDevice},
		{cpu.New(1), config.ResampleDevice, config.ResampleDevice}, {newRecorder(), config.ResampleHost, config.ResampleHost},
	} {
		u := config.RunOptions{Resample: c.given}
		if u.ResolveResample(c.b); u.Resample != c.want {
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
		must.Do(t, err)
		return e
	}
	host, there := plan(config.ResampleHost), plan(config.ResampleDevice)
	const finished = 16 * 16 * 3
	most := int64(16 * finished * input.MeanPixels * input.DeviceSlots) // no more than the average of decoded images
	if more := there.Kept - host.Kept; more < most || more > 2*most {
		t.Errorf("the device needs %d bytes more for images of %d", more, most)
	}
	if more := there.Host - host.Host; more < int64(c.Run.Prefetch+1)*(most/input.DeviceSlots-16*finished) {
		t.Errorf("the host needs %d bytes more for %d batches of %d", more, c.Run.Prefetch+1, most)
	}
	c.Input.Jitter.Hue = 0.1
	want := host.Kept + input.DeviceSlots*16*finished // the next batch is there as well
	if e := plan(config.ResampleDevice); e.Kept != want {
		t.Errorf("distorted images take %d bytes of the device, want %d", e.Kept, want)
	}
}

func TestTooManyPackedBatchesAreRefused(t *testing.T) {
	c, d := tiny(1)
	c.Input.Size, c.Input.Resize, c.Sampler.Batch, c.Run.Prefetch = 512, 512, 16, 1000
	c.Run.Resample = config.ResampleDevice
	_, err := Plan(c, Data{Train: d})
	if want := "run.prefetch is 1000: the decoded images that the device resamples"; err == nil ||
		!bytes.Contains([]byte(err.Error()), []byte(want)) {
		t.Errorf("error %v, want %q", err, want)
	}
	c.Run.Resample = config.ResampleHost
	if _, err := Plan(c, Data{Train: d}); err != nil {
		t.Error(err)
	}
}

// Distortions depend on the seed, the epoch and the place in the batch alone: not on the number
// of workers, nor on where a run was interrupted.
func TestDistortedRunsAreRepeatable(t *testing.T) {
	c, d := tiny(6)
	c.Input.Jitter = input.Jitter{Brightness: 0.4, Contrast: 0.4, Saturation: 0.4, Hue: 0.1}
	c.Input.RandAugment = input.RandAugment{Ops: 2, Magnitude: 9}
	c.Input.Erase = input.Erase{Probability: 0.5, Scale: [2]float64{0.1, 0.3}, Ratio: [2]float64{0.5, 2}}
	losses := func(workers int, dirs ...Options) (list []float64) {
		c := c
		c.Run.Workers = workers
		for _, o := range dirs {
			for _, e := range mustTrain(t, c, Data{Train: d}, o) {
				if e.Kind == Stepped {
					list = append(list, *e.Loss)
				}
			}
		}
		return list
	}
	dir := t.TempDir()
	want := losses(1, Options{})
	if got := losses(3, Options{}); !slices.Equal(got, want) {
		t.Errorf("3 workers: %v, want %v", got, want)
	}
	if got := losses(2, Options{Dir: dir, Limit: 2}, Options{Dir: dir}); !slices.Equal(got, want) {
		t.Errorf("interrupted: %v, want %v", got, want)
	}
	c.Input.Jitter, c.Input.RandAugment, c.Input.Erase = input.Jitter{}, input.RandAugment{}, input.Erase{}
	if got := losses(1, Options{}); slices.Equal(got, want) {
		t.Error("the distortions change nothing")
	}
}

// uploading is a device with memory of its own that notes which goroutines upload so many bytes, and which one asks
// for results.
type uploading struct {
	*recorder
	bytes    int
	mu       sync.Mutex
	uploads  map[string]int
	computes map[string]bool
}

func (u *uploading) Upload(dst device.Array, src []byte) {
	if len(src) == u.bytes {
		u.mu.Lock()
		u.uploads[goroutine()]++
		u.mu.Unlock()
	}
	u.recorder.Upload(dst, src)
}

func (u *uploading) Download(dst []byte, src device.Array) device.Ticket {
	u.mu.Lock()
	u.computes[goroutine()] = true
	u.mu.Unlock()
	return u.recorder.Download(dst, src)
}

// Images that the host finishes are on the device before the step that reads them begins, and so are vectors.
func TestImagesOfTheHostAreUploadedAheadOfTheirStep(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"jitter":      func(c *config.Config) { c.Input.Jitter.Brightness = 0.4 },
		"randaugment": func(c *config.Config) { c.Input.RandAugment.Ops = 1 },
		"erase":       func(c *config.Config) { c.Input.Erase.Probability = 0.5 },
		"host":        func(c *config.Config) { c.Run.Resample = config.ResampleHost },
	} {
		t.Run(name, func(t *testing.T) {
			c, d := tiny(5)
			change(&c)
			u := &uploading{recorder: newRecorder(), bytes: 16 * 16 * 16 * 3, uploads: map[string]int{},
				computes: map[string]bool{}}
			got := losses(mustTrain(t, c, Data{Train: d}, Options{Backend: u}))
			if want := losses(mustTrain(t, c, Data{Train: d}, Options{})); !slices.Equal(got, want) {
				t.Errorf("losses %v, and without uploads ahead %v", got, want)
			}
			n := 0
			for by, times := range u.uploads {
				n += times
				if u.computes[by] {
					t.Errorf("%d batches of images were uploaded by the goroutine that queues steps", times)
				}
			}
			if n < c.Steps {
				t.Errorf("%d batches were uploaded for %d steps", n, c.Steps)
			}
		})
	}
}
