package train

import (
	"slices"
	"sync"
	"testing"

	"hgld/train/device"
	"hgld/train/input"
)

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
	for name, change := range map[string]func(*Config){
		"jitter":      func(c *Config) { c.Input.Jitter.Brightness = 0.4 },
		"randaugment": func(c *Config) { c.Input.RandAugment.Ops = 1 },
		"erase":       func(c *Config) { c.Input.Erase.Probability = 0.5 },
		"host":        func(c *Config) { c.Run.Resample = resampleHost },
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
