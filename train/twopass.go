package train

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/input"
)

// Passes says how a batch goes through the network if its activations do not fit in memory.
type Passes struct {
	// Chunk is the number of rows that go through at a time; 0 means all. Each chunk goes forward
	// twice: first for the embeddings of the whole batch, from which the loss is computed, then
	// for the gradient. The gradient is exactly that of the whole batch (grad.TwoPass).
	Chunk int `yaml:"chunk" json:"chunk,omitempty" range:"0 65536" usage:"rows that go through the network at a time, in two passes; 0: all rows, in one pass"`
	// Accumulate adds up the gradients of each chunk's own loss in one pass. The result is the
	// same only if the loss is a mean over rows.
	Accumulate bool `yaml:"accumulate" json:"accumulate,omitempty" usage:"add up the gradients of the chunks in one pass; only for a loss that is a mean over rows"`
}

// checkNorm returns an error if each chunk would be normalised by its own statistics. batch is the number of rows of
// this process.
func (p Passes) checkNorm(n *network, c *Config, batch int) error {
	if p.Chunk > 0 && p.Chunk < batch && !c.Model.FreezeNorm && len(n.store.Running()) > 0 {
		return &ConfigError{fmt.Errorf("passes.chunk is %d of %d rows, but %s normalises by the statistics of what goes "+
			"through together, so that chunks give another gradient "+
			"than the batch: set model.freeze_norm, as the recipes with pretrained weights do", p.Chunk, batch,
			c.Model.Backbone.Name)}
	}
	return nil
}

// chunks splits n rows into chunks.
func (p Passes) chunks(n int) (list [][2]int) {
	size := p.Chunk
	if size == 0 {
		size = n
	}
	for lo := 0; lo < n; lo += size {
		list = append(list, [2]int{lo, min(lo+size, n)})
	}
	return list
}

// twoPass records the embeddings of a batch chunk by chunk, and one loss over all of them.
func (s *step) twoPass(t *grad.Tape, chunks [][2]int) *grad.Var {
	of := map[device.Array]*input.Arrays{}
	var pixels []device.Array
	for _, c := range chunks {
		in := s.in.Rows(c[0], c[1])
		of[in.Pixels] = in
		pixels = append(pixels, in.Pixels)
	}
	embed := func(t *grad.Tape, x *grad.Var) *grad.Var { return s.n.forward(t, of[x.Value]) }
	return grad.TwoPass(t, pixels, embed, func(t *grad.Tape, e *grad.Var) *grad.Var { return s.lossOf(t, e) })
}

// accumulate records the loss of each chunk and its backward pass, one after the other, and
// returns their mean weighted by rows.
func (s *step) accumulate(t *grad.Tape, chunks [][2]int) *grad.Var {
	all := s.in.Labels.Dims[0]
	total := t.Keep(t.New(device.F32, 1))
	t.Do(func(b device.Backend) { b.Fill(total.Value, 0) })
	for _, c := range chunks {
		in, share := s.in.Rows(c[0], c[1]), t.Keep(t.New(device.F32, 1))
		labels := s.in.Labels.RowRange(s.first+c[0], s.first+c[1])
		part := s.objective.record(t, s.n.forward(t, in), labels, s.self.RowRange(0, c[1]-c[0]), nil)
		t.Do(func(b device.Backend) {
			b.Fill(share.Value, float32(c[1]-c[0])/float32(all))
			b.Axpby(total.Value, 1, total.Value, float32(c[1]-c[0])/float32(all), part.Value)
		})
		t.Backward(part, share.Value)
	}
	return total
}
