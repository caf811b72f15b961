package loss

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// ramboMemory is RamboRecall with a mean that also runs over the positives of earlier batches. Of
// their scores it keeps only the counts of negatives ahead of each positive.
type ramboMemory struct {
	*ramboRecall
	batches, rows        int
	ahead, level, filled *State // counts and levels [τ·B,B], newest first; 1 for each batch that is filled [τ]
}

func newRamboMemory(l *ramboRecall, batches, rows int) *ramboMemory {
	return &ramboMemory{
		ramboRecall: l, batches: batches, rows: rows,
		ahead:  &State{Name: "rambo.ahead", Type: device.F32, Dims: []int{batches * rows, rows}},
		level:  &State{Name: "rambo.level", Type: device.U8, Dims: []int{batches * rows, rows}, Start: device.AbsentLevel},
		filled: &State{Name: "rambo.filled", Type: device.F32, Dims: []int{batches}},
	}
}

// States returns the counts of the last batches.
func (l *ramboMemory) States() []*State { return []*State{l.ahead, l.level, l.filled} }

// Forget empties the newest batch.
func (l *ramboMemory) Forget(t *grad.Tape, flag device.Array) {
	t.Do(func(d device.Backend) {
		first := t.Scratch(device.I32, l.rows)
		d.Fill(first, 0)
		gone := onlyIf(t, d, flag, first)
		none, not := t.Scratch(device.U8, 1, l.rows), t.Scratch(device.F32, 1, 1)
		d.Fill(none, l.level.Start)
		d.Fill(not, l.filled.Start)
		d.Gather(l.level.Value.RowRange(0, l.rows), none, gone)
		d.Gather(l.filled.Value.RowRange(0, 1).Reshape(1, 1), not, gone.RowRange(0, 1))
	})
}

// Forward records the loss against the batch with its memory of scores and, if there is one,
// against the memory of embeddings.
func (l *ramboMemory) Forward(t *grad.Tape, b *Batch) *grad.Var {
	return withMemory(t, b, l.combine, func(g gallery) *grad.Var {
		if g.memory {
			return l.ramboRecall.against(t, b, g)
		}
		return l.remembered(t, b, g)
	})
}

func (l *ramboMemory) remembered(t *grad.Tape, b *Batch, g gallery) *grad.Var {
	Q, G := b.Query.Value.Dims[0], g.rows.Value.Dims[0]
	if Q != l.rows || G != l.rows {
		panic("loss: a memory of scores needs batches of constant size that are their own gallery")
	}
	all := (l.batches + 1) * Q
	r, mean, level, scale := l.ranks(t, b, g), newPooled(t, all, G), t.New(device.U8, all, G), t.New(device.F32, 1)
	ahead, none := t.New(device.F32, all, G), t.New(device.F32, all, G)
	loss := overScores(t, b, g, l.shared, nil, func(d device.Backend, loss, ds, s, sh device.Array) {
		r.rank(d, s, sh)
		current := ahead.Value.RowRange(0, Q)
		d.Axpby(current, 1, r.all.Value, -1, r.plus.Value)
		d.Copy(ahead.Value.RowRange(Q, all), l.ahead.Value)
		d.Copy(level.Value.RowRange(0, Q), sh)
		d.Copy(level.Value.RowRange(Q, all), l.level.Value)
		l.scale(d, scale.Value, Q)
		l.push(d, current, sh)
		d.Fill(none.Value, 0)
		mean.score(d, loss, ahead.Value, none.Value, level.Value, scale.Value, &l.score)
		d.RanksGrad(ds, mean.drank.Value.RowRange(0, Q), r.s.Value, sh, l.lambda)
	})
	r.done(t, level, scale, ahead, none)
	mean.done(t)
	return loss
}

// scale writes the factor of the counts: 1, or as in the released code the number of rows of
// scores, including those in the memory, divided by their Q − 1 columns.
func (l *ramboMemory) scale(d device.Backend, scale device.Array, Q int) {
	d.Fill(scale, l.rowScale(Q))
	if l.scaleByRows {
		d.Sums(scale, l.filled.Value, device.SumAll, 1/l.rowScale(Q))
		d.Axpby(scale, l.rowScale(Q), scale, 0, device.Array{})
	}
}

// push moves every batch one place back and puts the current one in front.
func (l *ramboMemory) push(d device.Backend, ahead, sh device.Array) {
	for i := l.batches - 1; i > 0; i-- {
		for _, s := range []*State{l.ahead, l.level} {
			d.Copy(s.Value.RowRange(i*l.rows, (i+1)*l.rows), s.Value.RowRange((i-1)*l.rows, i*l.rows))
		}
		d.Copy(l.filled.Value.RowRange(i, i+1), l.filled.Value.RowRange(i-1, i))
	}
	d.Copy(l.ahead.Value.RowRange(0, l.rows), ahead)
	d.Copy(l.level.Value.RowRange(0, l.rows), sh)
	d.Fill(l.filled.Value.RowRange(0, 1), 1)
}
