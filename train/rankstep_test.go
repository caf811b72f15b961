package train

import (
	"math"
	"reflect"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/grad"
)

func TestBucketsAreCompleteWithTheLastOfTheirWeights(t *testing.T) {
	b := cpu.New(1)
	grads, other := device.New(b, device.F32, 100), device.New(b, device.F32, 100)
	ready := []grad.Ready{ // by offset
		{Grad: grads.RowRange(0, 10), At: 9},
		{Grad: other.RowRange(10, 20), At: 99},
		{Grad: grads.RowRange(16, 40), At: 7},
		{Grad: grads.RowRange(48, 50), At: 3},
		{Grad: grads.RowRange(64, 90), At: 5},
	}
	type part struct{ lo, hi, at int }
	for least, want := range map[int][]part{
		1:   {{0, 16, 9}, {16, 48, 7}, {48, 64, 3}, {64, 100, 5}},
		40:  {{0, 48, 9}, {48, 100, 5}},
		100: {{0, 100, 9}},
	} {
		var got []part
		for _, p := range buckets(grads, ready, least) {
			lo := p.grads.Off - grads.Off
			got = append(got, part{lo, lo + p.grads.Len(), p.at})
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("buckets of %d: %v, want %v", least, got, want)
		}
	}
}

// Gradients that are added during the backward pass have the bytes of those that are added after it.
func TestOverlapChangesNoByte(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"trained norm": func(c *Config) { c.Loss.Name, c.Optim.NoDecay = "roadmap", []string{"1d"} },
		"two passes":   func(c *Config) { c.Passes.Chunk, c.Model.FreezeNorm = 3, true },
		"accumulated": func(c *Config) {
			c.Loss.Name, c.Passes, c.Model.FreezeNorm = "nsm", Passes{Chunk: 3, Accumulate: true}, true
		},
		"frozen at first": func(c *Config) { c.Schedule.Freeze = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, data := shared(6)
			change(&c)
			var runs [2][]trained
			for i, on := range []bool{false, true} {
				runs[i] = onRanks(t, 2, c, data, func(_ int, _ *Config, _ *Data, o *Options) {
					o.Backend.(*cpu.Joined).Overlap(on)
				}, nil)
			}
			for rank, m := range runs[1] {
				if m.err != nil || runs[0][rank].err != nil {
					t.Fatal(m.err, runs[0][rank].err)
				}
				for name, v := range runs[0][rank].weights {
					for i := range v {
						if math.Float64bits(v[i]) != math.Float64bits(m.weights[name][i]) {
							t.Fatalf("rank %d: element %d of %s differs", rank, i, name)
						}
					}
				}
			}
		})
	}
}
