package loss

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// blackBoxMemory is BlackBoxAP with a mean that also runs over the queries of earlier batches, of which
// it keeps the losses.
type blackBoxMemory struct {
	*blackBoxAP
	past
	rows         int
	losses, have *State // losses [τ·B,1] and shared levels [τ·B,B], newest first
}

func newBlackBoxMemory(l *blackBoxAP, batches, rows int) *blackBoxMemory {
	m := &blackBoxMemory{
		blackBoxAP: l, rows: rows,
		losses: &State{Name: "blackbox.loss", Type: device.F32, Dims: []int{batches * rows, 1}},
		have:   &State{Name: "blackbox.level", Type: device.U8, Dims: []int{batches * rows, rows}, Start: device.AbsentLevel},
	}
	m.past = past{batches, []*State{m.losses, m.have}}
	return m
}

// Forward records the loss against the batch with its memory of scores and, if there is one, against
// the memory of embeddings.
func (l *blackBoxMemory) Forward(t *grad.Tape, b *Batch) *grad.Var {
	return withMemory(t, b, l.combine, func(g gallery) *grad.Var {
		if g.memory {
			return l.against(t, b, g, nil)
		}
		if b.Query.Value.Dims[0] != l.rows || g.rows.Value.Dims[0] != l.rows {
			panic("loss: a memory of scores needs batches of constant size that are their own gallery")
		}
		return l.against(t, b, g, l)
	})
}

// join appends the losses of earlier batches to those of the current one, weighs all rows equally, and
// puts the current batch in front.
func (l *blackBoxMemory) join(t *grad.Tape, d device.Backend, each, weight, sh device.Array) {
	Q, rows := l.rows, each.Dims[0]
	all, rel, count := t.Scratch(device.U8, rows, Q), t.Scratch(device.F32, rows, 2), t.Scratch(device.I32, rows, 2)
	d.Copy(all.RowRange(0, Q), sh)
	d.Copy(all.RowRange(Q, rows), l.have.Value)
	d.Relevance(rel, count, weight, all, device.RelKind{})
	d.Copy(each.RowRange(Q, rows), l.losses.Value)
	l.push(d, each.RowRange(0, Q), sh)
}
