package train

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// refusal is the error of a configuration, or of the step that it asks for.
func refusal(c Config) error {
	p, err := c.resolve()
	if err != nil {
		return err
	}
	_, err = newStep(newNetwork(cpu.New(1), &c, &p, nil), &c, &p, []labels.Path{{0}}, []int{1}, 1)
	return err
}

// read brings numbers to the host.
func read(t *testing.T, s *step, a device.Array) (values []float64) {
	t.Helper()
	data := make([]byte, 4*a.Len())
	s.n.b.Download(data, a)
	if err := s.n.b.Sync(); err != nil {
		t.Fatal(err)
	}
	for ; len(data) > 0; data = data[4:] {
		values = append(values, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
	}
	return values
}

// distance is the relative L2 distance.
func distance(got, want []float64) float64 {
	diff, norm := 0.0, 0.0
	for i, w := range want {
		diff += (got[i] - w) * (got[i] - w)
		norm += w * w
	}
	return math.Sqrt(diff / max(norm, 1e-30))
}

// The batch is in the memory when the loss reads it, and the memory fills from the
// first step on, whenever it is read.
func TestMemoryFillsBeforeItIsRead(t *testing.T) {
	f, c := openTrace(t)
	config := c.config(t)
	config.Loss = Loss{Named: Named{Name: "xbm-contrastive"}, Preset: "paper"}
	config.Memory = CrossBatch{Size: 80, Start: 3} // 32, 64, then rows 48 to 80
	s, b := c.step(t, f, &config)
	ring := s.objective.memory.ring.States()
	losses := map[int]float64{}
	for at := range 4 {
		o, err := wait(s.queue(b, at))
		if err != nil {
			t.Fatal(err)
		}
		losses[at] = o.loss
		filled := 0
		for i, l := range read(t, s, ring[1].Value) {
			if i%3 == 0 && l >= 0 {
				filled++
			}
		}
		if want := min(80, 32*(at+1)); filled != want {
			t.Errorf("step %d: %d rows in the memory, want %d", at, filled, want)
		}
	}
	if losses[2] < 2*losses[1] || losses[0] == 0 {
		t.Errorf("losses %v: the third step does not read the memory, or an earlier one does", losses)
	}
	first := s.objective.memory.ring.First(3)
	if got := read(t, s, ring[0].Value.RowRange(first, first+32)); !slices.Equal(got, read(t, s, s.embeddings.Value)) {
		t.Error("the last batch is not in its place")
	}
}

// With a place for each image the memory holds its last embedding, whatever the batch
// it came in: no image twice, and none that was not seen.
func TestMemoryHasOnePlaceForEachImage(t *testing.T) {
	f, c := openTrace(t)
	config := c.config(t)
	config.Loss = Loss{Named: Named{Name: "xbm-contrastive"}, Preset: "paper"}
	config.Memory = CrossBatch{Unique: true}
	s, b := c.step(t, f, &config)
	for i := range b.Rows {
		b.Rows[i] = i
	}
	b.Rows[5] = 6 // of an image that comes twice the last embedding stays
	for range 2 {
		if _, err := wait(s.queue(b, 0)); err != nil {
			t.Fatal(err)
		}
	}
	ring := s.objective.memory.ring.States()
	rows, classes := read(t, s, ring[0].Value), read(t, s, ring[1].Value)
	embeddings := read(t, s, s.embeddings.Value)
	const dim, levels = 16, 3
	for i := range 32 {
		seen := i != 5
		if got := classes[i*levels] >= 0; got != seen {
			t.Errorf("image %d is there: %v", i, got)
		}
		if seen && !slices.Equal(rows[i*dim:][:dim], embeddings[i*dim:][:dim]) {
			t.Errorf("the place of image %d does not hold its last embedding", i)
		}
	}
	if own := s.objective.memory.ring; own.States()[0].Dims[0] != 32 {
		t.Errorf("the memory has %d places for 32 images", own.States()[0].Dims[0])
	}
}

// wait is the outcome of a step that was queued.
func wait(t *ticket, err error) (outcome, error) {
	if err != nil {
		return outcome{}, err
	}
	return t.outcome()
}

// A step with a value that is not finite leaves nothing in the memories: of the ring
// the rows of its batch, of the scores the newest place.
func TestMemoryForgetsAStepThatWasNotTaken(t *testing.T) {
	f, c := openTrace(t)
	config := c.config(t)
	config.Memory = CrossBatch{Size: 64}
	config.Loss = Loss{Named: Named{Name: "rambo-recall", Settings: map[string]any{"batch_memory": 2}}, Preset: "paper"}
	s, b := c.step(t, f, &config)
	if _, err := wait(s.queue(b, 0)); err != nil {
		t.Fatal(err)
	}
	g := s.n.b.(given)
	s.n.b.Fill(g.images.RowRange(3, 4), float32(math.NaN()))
	o, err := wait(s.queue(b, 1))
	if err != nil || o.finite {
		t.Fatalf("%+v, %v", o, err)
	}
	for _, state := range s.objective.memory.ring.States() {
		rows := read(t, s, state.Value)
		if half := rows[len(rows)/2:]; slices.ContainsFunc(half, func(v float64) bool { return v != float64(state.Start) }) {
			t.Errorf("%s: the rows of the second batch are not empty", state.Name)
		}
	}
	if filled := read(t, s, s.objective.memory.states["rambo.filled"].Value); !slices.Equal(filled, []float64{0, 1}) {
		t.Errorf("memory of scores: places %v are filled, want the older one", filled)
	}
	s.n.b.Fill(g.images.RowRange(3, 4), 0)
	if o, err := wait(s.queue(b, 2)); err != nil || !o.finite {
		t.Fatalf("the step after: %+v, %v", o, err)
	}
}

// What a run remembers of earlier batches, and the numbers that its loss draws, go
// on where they stopped.
func TestRunWithMemoriesResumesWithTheSameBytes(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"ring and drawn margin": func(c *Config) {
			c.Loss = Loss{Named: Named{Name: "blackbox-ap"}, Preset: "released"}
			c.Memory = CrossBatch{Size: 40, Start: 2}
		},
		"a place for each image": func(c *Config) { c.Memory = CrossBatch{Unique: true, Start: 2} },
		"ring read first":        func(c *Config) { c.Memory = CrossBatch{Size: 40, First: true, Weight: 0.5} },
		"memory of scores": func(c *Config) {
			c.Loss = Loss{Named: Named{Name: "rambo-recall", Settings: map[string]any{"batch_memory": 2}}, Preset: "released"}
		},
	} {
		c, d := tiny(9)
		change(&c)
		whole, stopped := t.TempDir(), t.TempDir()
		want := mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
		mustTrain(t, c, Data{Train: d}, Options{Dir: stopped, Limit: 5})
		got := mustTrain(t, c, Data{Train: d}, Options{Dir: stopped})
		if !slices.Equal(losses(want)[5:], losses(got)) {
			t.Errorf("%s: losses %v, and without a stop %v", name, losses(got), losses(want)[5:])
		}
		sameWeights(t, name+", stopped after 5 of 9 steps", whole, stopped)
	}
}
