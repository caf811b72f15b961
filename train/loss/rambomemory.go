package loss

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// past holds what a loss keeps of the scores of earlier batches: states with the same number of rows
// for each of the batches, the newest first.
type past struct {
	batches int
	states  []*State
}

// of returns the rows of a state for the i-th batch.
func (p *past) of(s *State, i int) device.Array {
	n := s.Dims[0] / p.batches
	return s.Value.RowRange(i*n, (i+1)*n)
}

// push moves every batch one place back and puts the current one in front. now has its rows for
// each state; absent ones are filled with 1.
func (p *past) push(d device.Backend, now ...device.Array) {
	for k, s := range p.states {
		for i := p.batches - 1; i > 0; i-- {
			d.Copy(p.of(s, i), p.of(s, i-1))
		}
		if now[k].Absent() {
			d.Fill(p.of(s, 0), 1)
		} else {
			d.Copy(p.of(s, 0), now[k])
		}
	}
}

// States returns what the last batches left.
func (p *past) States() []*State { return p.states }

// Forget empties the newest batch.
func (p *past) Forget(t *grad.Tape, flag device.Array) {
	t.Do(func(d device.Backend) {
		for _, s := range p.states {
			newest := p.of(s, 0)
			newest = newest.Reshape(newest.Rows(), newest.Len()/newest.Rows())
			first := t.Scratch(device.I32, newest.Rows())
			d.Fill(first, 0)
			none := t.Scratch(s.Type, 1, newest.Cols())
			d.Fill(none, s.Start)
			d.Gather(newest, none, onlyIf(t, d, flag, first))
		}
	})
}

// ramboMemory is RamboRecall with a mean that also runs over the queries of earlier batches. Of
// their scores it keeps only the counts of negatives ahead of each positive.
type ramboMemory struct {
	*ramboRecall
	past
	rows                 int
	ahead, level, filled *State // counts and levels [τ·B,B], newest first; 1 for each batch that is filled [τ]
}

func newRamboMemory(l *ramboRecall, batches, rows int) *ramboMemory {
	m := &ramboMemory{
		ramboRecall: l, rows: rows,
		ahead:  &State{Name: "rambo.ahead", Type: device.F32, Dims: []int{batches * rows, rows}},
		level:  &State{Name: "rambo.level", Type: device.U8, Dims: []int{batches * rows, rows}, Start: device.AbsentLevel},
		filled: &State{Name: "rambo.filled", Type: device.F32, Dims: []int{batches}},
	}
	m.past = past{batches, []*State{m.ahead, m.level, m.filled}}
	return m
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
	r, mean, level, scale := l.ranks(t, b, g), l.pooled(t, all, G), t.New(device.U8, all, G), t.New(device.F32, 1)
	ahead, none := t.New(device.F32, all, G), t.New(device.F32, all, G)
	loss := overScores(t, b, g, l.shared, nil, func(d device.Backend, loss, ds, s, sh device.Array) {
		r.rank(d, s, sh)
		current := ahead.Value.RowRange(0, Q)
		d.Axpby(current, 1, r.all.Value, -1, r.plus.Value)
		d.Copy(ahead.Value.RowRange(Q, all), l.ahead.Value)
		d.Copy(level.Value.RowRange(0, Q), sh)
		d.Copy(level.Value.RowRange(Q, all), l.level.Value)
		l.scale(d, scale.Value, Q)
		l.push(d, current, sh, device.Array{})
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
