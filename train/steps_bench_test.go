package train

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/observe"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
	"hgld/train/testing/places"
)

// Variables of BenchmarkSteps, which scripts/gpu_check sets.
const (
	// stepsVariable names the JSON file that is written, with a table beside it (.md).
	stepsVariable = "HGLD_GPU_CHECK_STEPS"

	// torchVariable is the path of gpu_steps.py, which pythonVariable's Python runs. Empty: PyTorch
	// is not measured.
	torchVariable  = "HGLD_GPU_CHECK_TORCH"
	pythonVariable = "PYTHON"

	// secondsVariable is how long PyTorch may be measured, from the start.
	secondsVariable = "HGLD_GPU_CHECK_SECONDS"

	// smallVariable selects networks that are small enough for the emulator.
	smallVariable = "HGLD_GPU_CHECK_SMALL"
)

// peerNet is a row of the table: a network as hgld and as timm know it.
type peerNet struct {
	Name     string         `json:"network"`
	Peer     string         `json:"timm"`
	Norm     string         `json:"batch_norm,omitempty"` // frozen, trained, or none at all
	Size     int            `json:"size"`                 // pixels of a side
	Batch    int            `json:"batch"`                // at most
	settings map[string]any // of the backbone
	others   string         // timm's settings of the same, JSON
}

// published are the networks of papers, those that most runs use first: what there is no time to
// compile is at the end.
var published = []peerNet{
	{Name: "resnet50", Peer: "resnet50", Norm: "frozen", Size: 224, Batch: 256},
	{Name: "resnet101", Peer: "resnet101", Norm: "frozen", Size: 224, Batch: 256},
	{Name: "deit-small", Peer: "deit_small_patch16_224", Size: 224, Batch: 256},
	{Name: "vit-base", Peer: "vit_base_patch16_224", Size: 224, Batch: 256},
	{Name: "resnet50", Peer: "resnet50", Norm: "trained", Size: 224, Batch: 256},
	{Name: "resnet101", Peer: "resnet101", Norm: "trained", Size: 224, Batch: 256},
}

// tried are for the emulator, where only the course of the measurement is tried: the convolutional
// ones are not the same network on both sides.
var tried = []peerNet{
	{Name: "vit-small", Peer: "vit_small_patch16_224", Size: 32, Batch: 8,
		settings: map[string]any{"depth": 1, "width": 64, "heads": 1, "input": 32},
		others:   `{"img_size": 32, "depth": 1, "embed_dim": 64, "num_heads": 1}`},
	{Name: "convnet", Peer: "resnet18", Norm: "frozen", Size: 32, Batch: 8},
}

// config is the published recipe of landmarks: GeM, length 1, a projection to 2,048 numbers, and
// Smooth-AP over batches of 256 with four images of a class. A transformer gives its class token.
func (n peerNet) config(batch int) Config {
	c := Default()
	c.Input.Size = n.Size
	c.Model.Backbone.Name, c.Model.Backbone.Settings = n.Name, n.settings
	c.Model.Standard, c.Model.Dim, c.Model.FreezeNorm = "l2", n.dim(), n.Norm == "frozen"
	c.Model.Precision = precisionBFloat16
	if n.Norm == "" {
		c.Model.Pooling = "none"
	}
	c.Sampler.Batch, c.Sampler.M = batch, 4
	c.Optim.Rate, c.Steps, c.Epochs = 1e-5, 1, 0
	return c
}

// dim is the length of the embedding.
func (n peerNet) dim() int { return min(8*n.Size, 2048) }

// data has twice as many images as a batch, as small drawings.
func (n peerNet) data(batch int) Data {
	return Data{Train: &places.Set{Forms: 8, PerForm: (batch + 15) / 16, Views: 4, Size: 8}}
}

// speed is what was measured of a network on one side.
type speed struct {
	Batch  int     `json:"batch"`
	StepMs float64 `json:"step_ms"`
	Images float64 `json:"images_per_second"`
	Bytes  int     `json:"bytes"` // that were asked of the driver
	Error  string  `json:"error,omitempty"`
}

// better returns the faster of two measurements, of which old may be nil.
func better(old *speed, now speed) *speed {
	if old == nil || old.Images < now.Images {
		return &now
	}
	return old
}

// halving measures with half the batch as long as the device's memory is short.
func halving(batch int, measure func(batch int) (speed, error)) speed {
	for {
		s, err := measure(batch)
		var short *device.OutOfMemory
		if err == nil || !errors.As(err, &short) || batch/2 < 8 {
			s.Batch = batch
			if err != nil {
				s.Error = err.Error()
			}
			return s
		}
		batch /= 2
	}
}

// stepsOn measures hgld's steps on a card: of so many, behind others, each with the upload of its
// images, as in a run that never waits for them.
func (n peerNet) stepsOn(tb testing.TB, batch, steps int) (s speed, err error) {
	b, err := cuda.Open(0)
	if err != nil {
		return s, err
	}
	b.Say = func(text string) { tb.Log(text) }
	defer func() {
		if closed := b.Close(); err == nil {
			err = closed
		}
	}()
	r, err := New(n.config(batch), n.data(batch), Options{Backend: b})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	images := batchesOf(tb, r, 1)[0]
	take := func(steps int) error {
		return r.thread.Do(func() error {
			var before *ticket
			for range steps {
				t, err := r.step.queue(images, 0)
				if err != nil {
					return err
				}
				if before != nil { // as a run waits
					if _, err := before.outcome(); err != nil {
						return err
					}
				}
				before = t
			}
			_, err := before.outcome()
			return err
		})
	}
	if err := take(min(steps, 4) + 1); err != nil { // recorded, then made a graph
		return s, err
	}
	began := time.Now()
	err = take(steps)
	seconds := time.Since(began).Seconds() / float64(steps)
	return speed{StepMs: 1e3 * seconds, Images: float64(batch) / seconds, Bytes: b.Used()}, err
}

// stepsTable is what BenchmarkSteps measures.
type stepsTable struct {
	Card      string            `json:"card"`
	Copied    float64           `json:"copied_bytes_per_second"`
	Steps     int               `json:"steps_a_turn"` // the best turn counts
	Libraries map[string]string `json:"libraries"`    // versions, and the settings that were not the default
	Rows      []*stepsRow       `json:"rows"`
}

// stepsRow is a network with the measurements of both sides. A nil one was not made.
type stepsRow struct {
	peerNet
	Moved float64 `json:"bytes_moved"`     // of a step, by the plan
	Floor float64 `json:"memory_floor"`    // share: the time of these bytes over that of hgld's step
	Own   *speed  `json:"hgld"`            // steps of hgld
	Eager *speed  `json:"torch,omitempty"` // of PyTorch

	Compiled *speed `json:"torch_compile,omitempty"` // of PyTorch behind torch.compile
}

// BenchmarkSteps measures training steps of published networks in bfloat16 on a card, beside
// PyTorch's where it is installed. Both take turns, because a card's clock drifts.
func BenchmarkSteps(b *testing.B) {
	began := time.Now()
	t := &stepsTable{Steps: 20}
	rows := published
	if os.Getenv(smallVariable) != "" || !conformance.OnCard() {
		t.Steps, rows = 1, tried
	}
	if !conformance.OnCard() {
		b.Setenv(cuda.LibrariesVariable, emu.Build(b))
	}
	t.begin(b)
	p := newPeer(b, t)
	left := func() time.Duration { return secondsOf(b) - time.Since(began) }
	for _, n := range rows {
		row := &stepsRow{peerNet: n}
		t.Rows = append(t.Rows, row)
		t.own(b, row)
		p.measure(row, "eager", left())
		t.write(b)
	}
	for i, row := range t.Rows {
		if i > 0 && t.Steps == 1 {
			break // of the small ones, one is compiled
		}
		if p.measure(row, "eager,compiled", left()) || len(p.command) == 0 {
			t.own(b, row)
		}
		t.write(b)
	}
	b.Log("\n" + t.markdown())
	for _, row := range t.Rows {
		if row.Own.Error != "" {
			b.Errorf("%s, BatchNorm %q: %s", row.Name, row.Norm, row.Own.Error)
		}
	}
}

// secondsOf reads secondsVariable. Without it there is a day.
func secondsOf(tb testing.TB) time.Duration {
	text := os.Getenv(secondsVariable)
	if text == "" {
		return 24 * time.Hour
	}
	seconds, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatalf("$%s: %v", secondsVariable, err)
	}
	return time.Duration(seconds) * time.Second
}

// begin measures the card, and finds out which of NVIDIA's libraries hgld uses and how.
func (t *stepsTable) begin(tb testing.TB) {
	card, err := cuda.Open(0)
	if err != nil {
		tb.Fatal(err)
	}
	t.Card = card.Name()
	rates, err := observe.MeasureRates(card, device.BF16)
	if err = errors.Join(err, card.Close()); err != nil {
		tb.Fatal(err)
	}
	t.Copied = rates.Copy
	report, err := cuda.Probe()
	if err != nil {
		tb.Fatal(err)
	}
	t.Libraries = map[string]string{"driver": fmt.Sprintf("CUDA %d.%d", report.Version/1000, report.Version%1000/10)}
	for _, l := range cuda.ProbeVendor(report.Version) {
		if l.Err == nil {
			t.Libraries[l.Name] = l.Version
		}
	}
	for _, name := range []string{cuda.VendorVariable, cuda.TuneVariable} {
		if v := os.Getenv(name); v != "" {
			t.Libraries["$"+name] = v
		}
	}
}

// own measures a turn of hgld's steps.
func (t *stepsTable) own(tb testing.TB, row *stepsRow) {
	s := halving(row.Batch, func(batch int) (speed, error) { return row.stepsOn(tb, batch, t.Steps) })
	row.Own = better(row.Own, s)
	e, err := Plan(row.config(row.Own.Batch), row.data(row.Own.Batch))
	if err != nil {
		tb.Fatal(err)
	}
	row.Moved = e.Bytes
	if row.Own.StepMs > 0 {
		row.Floor = 1e3 * e.Bytes / t.Copied / row.Own.StepMs
	}
}
