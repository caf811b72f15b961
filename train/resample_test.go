package train

import (
	"bytes"
	"fmt"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/input"
)

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
	most := int64(16 * finished * input.MeanPixels * input.DeviceSlots) // no more than the average of decoded images
	if more := there.Kept - host.Kept; more < most || more > 2*most {
		t.Errorf("the device needs %d bytes more for images of %d", more, most)
	}
	if more := there.Host - host.Host; more < int64(c.Run.Prefetch+1)*(most/input.DeviceSlots-16*finished) {
		t.Errorf("the host needs %d bytes more for %d batches of %d", more, c.Run.Prefetch+1, most)
	}
	c.Input.Jitter.Hue = 0.1
	want := host.Kept + input.DeviceSlots*16*finished // the next batch is there as well
	if e := plan(resampleDevice); e.Kept != want {
		t.Errorf("distorted images take %d bytes of the device, want %d", e.Kept, want)
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
