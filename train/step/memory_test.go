package step

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/network"
)

// refusal is the error of a configuration, or of the step that it asks for.
func refusal(c config.Config) error {
	p, err := c.Resolve()
	if err != nil {
		return err
	}
	_, err = New(network.New(cpu.New(1), &c, &p, nil), &c, &p, []labels.Path{{0}}, []int{1}, 1)
	return err
}

// read brings numbers to the host.
func read(t *testing.T, s *Step, a device.Array) (values []float64) {
	t.Helper()
	data := make([]byte, 4*a.Len())
	s.n.Backend.Download(data, a)
	must.Do(t, s.n.Backend.Sync())
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
	cfg := c.config(t)
	cfg.Loss = config.Loss{Named: config.Named{Name: "xbm-contrastive"}, Preset: "paper"}
	cfg.Memory = config.CrossBatch{Size: 80, Start: 3} // 32, 64, then rows 48 to 80
	s, b := c.step(t, f, &cfg)
	ring := s.Objective.memory.ring.States()
	losses := map[int]float64{}
	for at := range 4 {
		o, err := wait(s.Queue(b, at))
		must.Do(t, err)
		losses[at] = o.Loss
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
	first := s.Objective.memory.ring.First(3)
	if got := read(t, s, ring[0].Value.RowRange(first, first+32)); !slices.Equal(got, read(t, s, s.embeddings.Value)) {
		t.Error("the last batch is not in its place")
	}
}

// With a place for each image the memory holds its last embedding, whatever the batch
// it came in: no image twice, and none that was not seen.
func TestMemoryHasOnePlaceForEachImage(t *testing.T) {
	f, c := openTrace(t)
	cfg := c.config(t)
	cfg.Loss = config.Loss{Named: config.Named{Name: "xbm-contrastive"}, Preset: "paper"}
	cfg.Memory = config.CrossBatch{Unique: true}
	s, b := c.step(t, f, &cfg)
	for i := range b.Rows {
		b.Rows[i] = i
	}
	b.Rows[5] = 6 // of an image that comes twice the last embedding stays
	for range 2 {
		if _, err := wait(s.Queue(b, 0)); err != nil {
			t.Fatal(err)
		}
	}
	ring := s.Objective.memory.ring.States()
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
	if own := s.Objective.memory.ring; own.States()[0].Dims[0] != 32 {
		t.Errorf("the memory has %d places for 32 images", own.States()[0].Dims[0])
	}
}

// wait is the outcome of a step that was queued.
func wait(t *Ticket, err error) (Outcome, error) {
	if err != nil {
		return Outcome{}, err
	}
	return t.Outcome()
}

// A step with a value that is not finite leaves nothing in the memories: of the ring
// the rows of its batch, of the scores the newest place.
func TestMemoryForgetsAStepThatWasNotTaken(t *testing.T) {
	f, c := openTrace(t)
	cfg := c.config(t)
	cfg.Memory = config.CrossBatch{Size: 64}
	cfg.Loss = config.Loss{Named: config.Named{Name: "rambo-recall", Settings: map[string]any{"batch_memory": 2}},
		Preset: "paper"}
	s, b := c.step(t, f, &cfg)
	if _, err := wait(s.Queue(b, 0)); err != nil {
		t.Fatal(err)
	}
	g := s.n.Backend.(given)
	s.n.Backend.Fill(g.images.RowRange(3, 4), float32(math.NaN()))
	o, err := wait(s.Queue(b, 1))
	if err != nil || o.Finite {
		t.Fatalf("%+v, %v", o, err)
	}
	for _, state := range s.Objective.memory.ring.States() {
		rows := read(t, s, state.Value)
		if half := rows[len(rows)/2:]; slices.ContainsFunc(half, func(v float64) bool { return v != float64(state.Start) }) {
			t.Errorf("%s: the rows of the second batch are not empty", state.Name)
		}
	}
	if filled := read(t, s, s.Objective.memory.states["rambo.filled"].Value); !slices.Equal(filled, []float64{0, 1}) {
		t.Errorf("memory of scores: places %v are filled, want the older one", filled)
	}
	s.n.Backend.Fill(g.images.RowRange(3, 4), 0)
	if o, err := wait(s.Queue(b, 2)); err != nil || !o.Finite {
		t.Fatalf("the step after: %+v, %v", o, err)
	}
}

// Rows at 0°, 10°, 25° and 45° have the scores of their differences. With τ = 0.01, pairs of scores less than
// 0.099 apart count: of 0°, (0.985, 0.906); of 10°, (0.985, 0.966); of 25°, (0.906, 0.966), (0.906, 0.940) and
// (0.966, 0.940); of 45°, none (0.707, 0.819, 0.940). That is 5 of 12.
func TestOperatingShareCountsPairsOfScores(t *testing.T) {
	var data []byte
	for i, angle := range []float64{0, 10, 25, 45} {
		sin, cos := math.Sincos(angle * math.Pi / 180)
		for _, v := range []float64{cos, sin} {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v*float64(i+1)))) // of any length
		}
	}
	if got := operatingShare(data, 2, 0.0990339); got == nil || math.Abs(*got-5./12) > 1e-12 {
		t.Errorf("%v, want 5/12", got)
	}
	if got := operatingShare(data[:16], 2, 0.1); got != nil {
		t.Errorf("two rows have no pair of scores, got %v", *got)
	}
	binary.LittleEndian.PutUint32(data, math.Float32bits(float32(math.NaN())))
	if got := operatingShare(data, 2, 0.1); got != nil {
		t.Errorf("%v of a NaN", *got)
	}
}

// The rates of the published recipes, by their settings: SOP with its frozen epochs, of
// which no schedule knows, and the proxies' own cosine.
func TestSchedulesOfThePublishedRecipes(t *testing.T) {
	c := config.Default()
	c.Epochs, c.Schedule = 100, config.Schedule{Named: config.Named{Name: "cosine"}, Freeze: 5,
		Proxies: config.Named{Name: "cosine", Settings: map[string]any{"min": 0.1}}}
	p, err := c.Resolve()
	must.Do(t, err)
	u := &Update{freeze: FreezeOf(&c)}
	for epoch, want := range map[int][2]float64{1: {5e-5, 10}, 6: {5e-5, 10}, 7: {4.998766e-5, 9.997557},
		56: {2.5e-5, 5.05}, 100: {4.428187e-7, 0.187678}} {
		at := u.freeze.At(epoch)
		for i, got := range []float64{p.Schedule.Rate(5e-5, at), p.ProxyPlan.Rate(10, at)} {
			// as many digits as the numbers were given with
			if diff := got/want[i] - 1; diff > 1e-6 || diff < -1e-6 {
				t.Errorf("epoch %d: rate %v, want %v", epoch, got, want[i])
			}
		}
	}
}
