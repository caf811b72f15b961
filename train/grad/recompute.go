package grad

import "hgld/train/device"

// Detached runs f without recording a backward pass, as for an evaluation or the first of two
// passes. Only the result of f outlives it.
func (t *Tape) Detached(f func() *Var) *Var {
	mark := len(t.live)
	t.detached++
	y := f()
	t.detached--
	made := t.live[mark:]
	t.live = t.live[:mark]
	for _, v := range made {
		if v == y.root {
			t.live = append(t.live, v)
		} else {
			t.Done(v)
		}
	}
	return y
}

// Repeats reports whether operations are being recorded for the second time in a step. Running
// statistics have then already been updated.
func (t *Tape) Repeats() bool { return t.repeats > 0 }

// Recompute records f(t, x) and trades a second forward pass for memory: only the result is held
// until the backward pass, which runs f again.
func (t *Tape) Recompute(f func(*Tape, *Var) *Var, x *Var) *Var {
	forward := func() *Var { return f(t, x) }
	x.root.holds++ // f may be done with x, but the second pass is not
	y := t.Detached(forward)
	t.push(entry{reads: []*Var{x}, record: func() { t.rerecord(forward, t.complete(y)) }})
	t.release(x.root)
	return y
}

// TwoPass records the loss of a batch whose activations do not fit in memory at once, with the
// gradient of a single pass. First the chunks go forward one by one, detached, into the
// embeddings [B,D] of the whole batch, from which the loss is computed. In the backward pass each
// chunk goes forward again, recorded, and backward from its rows of the embeddings' gradient.
// Both passes read the same chunks; only the first updates running statistics.
//
// This is the multistage back-propagation of Revaud et al., "Learning with Average Precision",
// ICCV 2019, Fig. 3. Adding up the gradients of the chunks' own losses is not the same, because a
// ranking loss of a batch is not a sum over its parts.
func TwoPass(t *Tape, chunks []device.Array, embed, loss func(*Tape, *Var) *Var) *Var {
	forward := func(i int) func() *Var {
		return func() *Var { return embed(t, t.Leaf(chunks[i], device.Array{})) }
	}
	if len(chunks) == 0 {
		panic("grad: two passes need at least one chunk")
	}
	rows := 0
	for _, c := range chunks {
		rows += c.Dims[0]
	}
	var all *Var
	first := make([]int, len(chunks)+1)
	for i := range chunks {
		y := t.Detached(forward(i))
		if all == nil {
			all = t.New(y.Value.Type, rows, y.Value.Cols())
		}
		first[i+1] = first[i] + y.Value.Rows()
		part := all.Value.RowRange(first[i], first[i+1])
		t.Do(func(b device.Backend) { b.Copy(part, y.Value) })
		t.Done(y)
	}
	t.push(entry{record: func() {
		dall := t.complete(all)
		for i := range chunks {
			t.rerecord(forward(i), dall.RowRange(first[i], first[i+1]))
		}
	}})
	return loss(t, all)
}

// complete returns the gradient of v, a result, outside an operation.
func (t *Tape) complete(v *Var) device.Array {
	t.Do(func(device.Backend) { t.Grad(v) }) // fills one that nothing wrote
	return over(v, v.root.Grad)
}

// rerecord records f a second time, and its backward pass from the given gradient.
func (t *Tape) rerecord(f func() *Var, seed device.Array) {
	mark, keep := len(t.back), len(t.live)
	t.repeats++
	y := f()
	t.repeats--
	t.seed(y, seed)
	t.unwind(mark, keep)
}
