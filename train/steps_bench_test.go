package train

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/observe"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
	"hgld/train/step"
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

// published are the networks of papers. PyTorch compiles the first ones in its first turn, which takes longer than all
// else: what there is no time to compile is at the end.
var published = []peerNet{
	{Name: "resnet50", Peer: "resnet50", Norm: "frozen", Size: 224, Batch: 256},
	{Name: "resnet50", Peer: "resnet50", Norm: "trained", Size: 224, Batch: 256},
	{Name: "vit-base", Peer: "vit_base_patch16_224", Size: 224, Batch: 256},
	{Name: "resnet101", Peer: "resnet101", Norm: "frozen", Size: 224, Batch: 256},
	{Name: "deit-small", Peer: "deit_small_patch16_224", Size: 224, Batch: 256},
	{Name: "resnet101", Peer: "resnet101", Norm: "trained", Size: 224, Batch: 256},
}

// compiledFirst is the number of networks that are compiled in the first turn.
const compiledFirst = 3

// tried are for the emulator, where only the course of the measurement is tried: the convolutional
// ones are not the same network on both sides, since it takes minutes for a ResNet.
var tried = []peerNet{
	{Name: "vit-small", Peer: "vit_small_patch16_224", Size: 32, Batch: 8,
		settings: map[string]any{"depth": 1, "width": 64, "heads": 1, "input": 32},
		others:   `{"img_size": 32, "depth": 1, "embed_dim": 64, "num_heads": 1}`},
	{Name: "convnet", Peer: "resnet18", Norm: "frozen", Size: 32, Batch: 8},
}

// config is the published recipe of landmarks: GeM, length 1, a projection to 2,048 numbers, and
// Smooth-AP over batches of 256 with four images of a class. A transformer gives its class token.
func (n peerNet) config(batch int) config.Config {
	c := config.Default()
	c.Input.Size = n.Size
	c.Model.Backbone.Name, c.Model.Backbone.Settings = n.Name, n.settings
	c.Model.Standard, c.Model.Dim, c.Model.FreezeNorm = "l2", n.dim(), n.Norm == "frozen"
	c.Model.Precision = config.PrecisionBFloat16
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
	First  float64 `json:"first_step_s,omitempty"`
	Error  string  `json:"error,omitempty"`

	Choices device.Choices `json:"choices,omitzero"` // of algorithms
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

// stepsOn measures hgld's steps on a GPU: of so many, behind others, each with the upload of its
// images, as in a run that never waits for them.
func (n peerNet) stepsOn(tb testing.TB, batch, steps int) (s speed, err error) {
	b, err := cuda.Open(0)
	if err != nil {
		return s, err
	}
	b.Log = func(text string) { tb.Log(text) }
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
			var before *step.Ticket
			for range steps {
				t, err := r.step.Queue(images, 0)
				if err != nil {
					return err
				}
				if before != nil { // as a run waits
					if _, err := before.Outcome(); err != nil {
						return err
					}
				}
				before = t
			}
			_, err := before.Outcome()
			return err
		})
	}
	began := time.Now()
	if err := take(1); err != nil { // recorded
		return s, err
	}
	first := time.Since(began).Seconds()
	if err := take(min(steps, 4)); err != nil { // made a graph
		return s, err
	}
	began = time.Now()
	err = take(steps)
	seconds := time.Since(began).Seconds() / float64(steps)
	return speed{StepMs: 1e3 * seconds, Images: float64(batch) / seconds, Bytes: b.Used(), First: first,
		Choices: b.Choices()}, err
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

	Affine   *speed `json:"torch_affine,omitempty"`  // of PyTorch, with frozen BatchNorm as a scale and a shift
	Compiled *speed `json:"torch_compile,omitempty"` // of PyTorch behind torch.compile
}

// modes are what PyTorch measures of a network in a turn. Its BatchNorm in evaluation has a slow gradient, which the
// folded one has not.
func (r *stepsRow) modes(compiled bool) string {
	modes := "eager"
	if r.Norm == "frozen" {
		modes += ",affine"
	}
	if compiled {
		modes += ",compiled"
	}
	return modes
}

// BenchmarkSteps measures training steps of published networks in bfloat16 on a GPU, beside
// PyTorch's where it is installed. Both take turns, because a GPU's clock drifts.
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
	first := compiledFirst
	if t.Steps == 1 {
		first = 1 // of the small ones, one is compiled
	}
	for i, n := range rows {
		row := &stepsRow{peerNet: n}
		t.Rows = append(t.Rows, row)
		t.own(b, row)
		p.measure(row, row.modes(i < first), left())
		t.write(b)
	}
	for i, row := range t.Rows {
		if t.Steps == 1 {
			break
		}
		if p.measure(row, row.modes(i >= first), left()) || len(p.command) == 0 {
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

// begin measures the GPU, and finds out which of NVIDIA's libraries hgld uses and how.
func (t *stepsTable) begin(tb testing.TB) {
	card, err := cuda.Open(0)
	must.Do(tb, err)
	t.Card = card.Name()
	rates, err := observe.MeasureRates(card, device.BF16)
	if err = errors.Join(err, card.Close()); err != nil {
		tb.Fatal(err)
	}
	t.Copied = rates.Copy
	report, err := cuda.Probe()
	must.Do(tb, err)
	t.Libraries = map[string]string{"driver": fmt.Sprintf("CUDA %d.%d", report.Version/1000, report.Version%1000/10)}
	for _, l := range cuda.ProbeVendor(report.Version) {
		if l.Err == nil {
			t.Libraries[l.Name] = l.Version
		}
	}
	if v := os.Getenv(cuda.VendorVariable); v != "" {
		t.Libraries["$"+cuda.VendorVariable] = v
	}
}

// own measures a turn of hgld's steps.
func (t *stepsTable) own(tb testing.TB, row *stepsRow) {
	s := halving(row.Batch, func(batch int) (speed, error) { return row.stepsOn(tb, batch, t.Steps) })
	row.Own = better(row.Own, s)
	e, err := Plan(row.config(row.Own.Batch), row.data(row.Own.Batch))
	must.Do(tb, err)
	row.Moved = e.Bytes
	if row.Own.StepMs > 0 {
		row.Floor = 1e3 * e.Bytes / t.Copied / row.Own.StepMs
	}
}

// peer measures the steps of PyTorch with scripts/gpu_steps.py.
type peer struct {
	tb      testing.TB
	command []string // none: there is no PyTorch
	table   *stepsTable
}

func newPeer(tb testing.TB, t *stepsTable) peer {
	if script := os.Getenv(torchVariable); script != "" {
		return peer{tb, []string{cmp.Or(os.Getenv(pythonVariable), "python3"), script}, t}
	}
	return peer{tb, nil, t}
}

// leastTurn is the least time in which PyTorch begins and takes some steps.
const leastTurn = 10 * time.Second

// measure measures a turn of each mode, of eager and compiled, in a process of its own, so that the
// memory is free afterwards. What it has printed within the limit counts. It reports whether there was
// a turn.
func (p peer) measure(row *stepsRow, modes string, limit time.Duration) bool {
	if len(p.command) == 0 || limit < leastTurn {
		return false
	}
	ctx, cancel := context.WithTimeout(p.tb.Context(), limit)
	defer cancel()
	args := append(slices.Clone(p.command[1:]), "--network", row.Peer, "--size", fmt.Sprint(row.Size), "--batch",
		fmt.Sprint(row.Batch), "--dim", fmt.Sprint(row.dim()), "--steps", fmt.Sprint(p.table.Steps), "--modes", modes)
	if row.Norm == "frozen" {
		args = append(args, "--frozen")
	}
	if row.others != "" {
		args = append(args, "--settings", row.others)
	}
	var out, problems bytes.Buffer
	c := exec.CommandContext(ctx, p.command[0], args...)
	c.Stdout, c.Stderr = &out, &problems
	c.WaitDelay = time.Second // torch.compile has processes of its own
	if err := c.Run(); err != nil {
		p.tb.Logf("PyTorch's %s, %s: %v\n%s", row.Peer, modes, err, &problems)
	}
	if err := p.read(row, &out); err != nil {
		p.tb.Errorf("PyTorch's %s, %s: %v", row.Peer, modes, err)
	}
	return true
}

// read takes the lines that gpu_steps.py has printed.
func (p peer) read(row *stepsRow, out *bytes.Buffer) error {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line struct {
			speed
			Mode  string `json:"mode"`
			Torch string `json:"torch"`
			Timm  string `json:"timm"`
			CUDA  string `json:"cuda"`
			CuDNN int    `json:"cudnn"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		switch line.Mode {
		case "eager":
			row.Eager = better(row.Eager, line.speed)
		case "affine":
			row.Affine = better(row.Affine, line.speed)
		case "compiled":
			row.Compiled = better(row.Compiled, line.speed)
		default:
			return fmt.Errorf("the mode %q", line.Mode)
		}
		maps.Copy(p.table.Libraries, map[string]string{"PyTorch": line.Torch, "timm": line.Timm,
			"PyTorch's CUDA": line.CUDA, "PyTorch's cuDNN": fmt.Sprint(line.CuDNN)})
	}
	return nil
}

// write writes the table as it is, so that a measurement that is cut off leaves what it has.
func (t *stepsTable) write(tb testing.TB) {
	writeTable(tb, os.Getenv(stepsVariable), t, t.markdown())
}

// writeTable writes a JSON file, and a table beside it with the extension .md; none without a path.
func writeTable(tb testing.TB, path string, v any, table string) {
	tb.Helper()
	if path == "" {
		return
	}
	data, err := json.MarshalIndent(v, "", " ")
	must.Do(tb, err)
	for name, text := range map[string]string{path: string(data), strings.TrimSuffix(path, ".json") + ".md": table} {
		err := os.WriteFile(name+".new", []byte(text), 0o644) // the part may be killed while it writes
		if err = errors.Join(err, os.Rename(name+".new", name)); err != nil {
			tb.Fatal(err)
		}
	}
}

// markdown formats the table. Columns of PyTorch are there if it was measured.
func (t *stepsTable) markdown() string {
	torch := slices.ContainsFunc(t.Rows, func(r *stepsRow) bool { return r.Eager != nil })
	affine := slices.ContainsFunc(t.Rows, func(r *stepsRow) bool { return r.Affine != nil })
	compiled := slices.ContainsFunc(t.Rows, func(r *stepsRow) bool { return r.Compiled != nil })
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(t.Libraries)) {
		versions = append(versions, name+" "+t.Libraries[name])
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s: copies %.0f GB/s. %s. The best of turns of %d steps, bfloat16, Adam, Smooth-AP.\n\n",
		t.Card, t.Copied/1e9, strings.Join(versions, ", "), t.Steps)
	row := func(first, second string, then ...string) {
		text.WriteString("| " + first + " | " + second)
		for _, cell := range then {
			text.WriteString(" | " + cell)
		}
		text.WriteString(" |\n")
	}
	head, line := []string{"hgld images/s", "of the memory floor", "GiB"}, []string{"---:", "---:", "---:"}
	for _, mode := range []struct {
		name string
		used bool
	}{{"PyTorch", torch}, {"PyTorch, folded", affine}, {"torch.compile", compiled}} {
		if mode.used {
			head = append(head, mode.name+" images/s", "hgld is times as fast", "GiB")
			line = append(line, "---:", "---:", "---:")
		}
	}
	row("network", "BatchNorm", head...)
	row("---", "---", line...)
	for _, r := range t.Rows {
		cells := append([]string{r.Own.images(r.Batch), fmt.Sprintf("%.0f %%", 100*r.Floor)}, r.Own.gib())
		for _, side := range []struct {
			s    *speed
			used bool
		}{{r.Eager, torch}, {r.Affine, affine}, {r.Compiled, compiled}} {
			if side.used {
				cells = append(cells, side.s.images(r.Batch), r.Own.over(side.s), side.s.gib())
			}
		}
		row(fmt.Sprintf("%s, %d²", r.Name, r.Size), r.Norm, cells...)
	}
	return text.String()
}

// images formats images a second, with the batch if it is another than was wanted.
func (s *speed) images(batch int) string {
	switch {
	case s == nil:
		return "no time"
	case s.Error != "":
		return "failed"
	case s.Batch != batch:
		return fmt.Sprintf("%.0f (batch %d)", s.Images, s.Batch)
	}
	return fmt.Sprintf("%.0f", s.Images)
}

// gib formats the memory.
func (s *speed) gib() string {
	if s == nil || s.Bytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", float64(s.Bytes)/(1<<30))
}

// over formats how many times as fast as other s is.
func (s *speed) over(other *speed) string {
	if s == nil || other == nil || other.Images == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", s.Images/other.Images)
}

// Half the batch is taken as long as memory is short, and the table says so. Any other failure ends
// the measurement, and stands in the table.
func TestStepsHalveTheBatchWhereMemoryIsShort(t *testing.T) {
	row := stepsRow{peerNet: peerNet{Name: "net", Size: 224, Batch: 256}, Floor: 0.5, Moved: 1}
	var batches []int
	own := halving(256, func(batch int) (speed, error) {
		batches = append(batches, batch)
		if batch > 64 {
			return speed{}, fmt.Errorf("MatMul: %w", &device.OutOfMemory{What: "an array"})
		}
		return speed{StepMs: 10, Images: 6400, Bytes: 3 << 30}, nil
	})
	failed := halving(8, func(int) (speed, error) { return speed{}, errors.New("no GPU") })
	if !slices.Equal(batches, []int{256, 128, 64}) || own.Batch != 64 || failed.Error != "no GPU" {
		t.Errorf("batches of %v, then %+v and %+v", batches, own, failed)
	}
	row.Own, row.Eager, row.Compiled = &own, &speed{Batch: 256, Images: 3200, Bytes: 8 << 30}, &failed
	want := "| net, 224² |  | 6400 (batch 64) | 50 % | 3.0 | 3200 | 2.00 | 8.0 | failed |  |  |\n"
	if got := (&stepsTable{Rows: []*stepsRow{&row}}).markdown(); !strings.HasSuffix(got, want) {
		t.Errorf("the table is\n%s\nwant at its end\n%s", got, want)
	}
}
