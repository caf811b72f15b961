package step

import (
	"fmt"

	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/input"
	"hgld/train/network"
)

// checkNorm returns an error if each chunk would be normalised by its own statistics. batch is the number of rows of
// this process.
func checkNorm(p config.Passes, n *network.Network, c *config.Config, batch int) error {
	if p.Chunk > 0 && p.Chunk < batch && !c.Model.FreezeNorm && len(n.Store.Running()) > 0 {
		return &config.Error{Err: fmt.Errorf("passes.chunk is %d of %d rows, but %s normalises by the statistics of what "+
			"goes through together, so that chunks give another gradient than the batch: set model.freeze_norm, as the "+
			"recipes with pretrained weights do", p.Chunk, batch, c.Model.Backbone.Name)}
	}
	return nil
}

// chunks splits n rows into chunks.
func chunks(p config.Passes, n int) (list [][2]int) {
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
func (s *Step) twoPass(t *grad.Tape, chunks [][2]int) *grad.Var {
	of := map[device.Array]*input.Arrays{}
	var pixels []device.Array
	for _, c := range chunks {
		in := s.In.Rows(c[0], c[1])
		of[in.Pixels] = in
		pixels = append(pixels, in.Pixels)
	}
	embed := func(t *grad.Tape, x *grad.Var) *grad.Var { return s.n.Forward(t, of[x.Value]) }
	return grad.TwoPass(t, pixels, embed, func(t *grad.Tape, e *grad.Var) *grad.Var { return s.lossOf(t, e) })
}

// accumulate records the loss of each chunk and its backward pass, one after the other, and
// returns their mean weighted by rows.
func (s *Step) accumulate(t *grad.Tape, chunks [][2]int) *grad.Var {
	all := s.In.Labels.Dims[0]
	total := t.Keep(t.New(device.F32, 1))
	t.Do(func(b device.Backend) { b.Fill(total.Value, 0) })
	for _, c := range chunks {
		in, share := s.In.Rows(c[0], c[1]), t.Keep(t.New(device.F32, 1))
		labels := s.In.Labels.RowRange(s.first+c[0], s.first+c[1])
		part := s.Objective.record(t, s.n.Forward(t, in), labels, s.self.RowRange(0, c[1]-c[0]), nil)
		t.Do(func(b device.Backend) {
			b.Fill(share.Value, float32(c[1]-c[0])/float32(all))
			b.Axpby(total.Value, 1, total.Value, float32(c[1]-c[0])/float32(all), part.Value)
		})
		t.Backward(part, share.Value)
	}
	return total
}
