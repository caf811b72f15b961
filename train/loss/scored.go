package loss

import (
	"fmt"
	"math"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// gallery is what a batch is scored against: its own items or a memory.
type gallery struct {
	rows         *grad.Var
	labels, self device.Array
	drawn        device.Array
	memory       bool
}

// overScores records a loss of the scores s = ⟨query, gallery⟩ [Q,G] and the shared levels.
// compute fills loss [1] and ds, its gradient by s. Rows of ds are then multiplied by weight [Q],
// unless that is nil.
//
// The backward pass is dQuery = ds·Gallery and, if the gallery takes gradient, dGallery =
// dsᵀ·Query. Where the queries are the gallery, a Symmetric device makes one product of the two. It
// needs O(Q·G) memory.
func overScores(t *grad.Tape, b *Batch, g gallery, o device.SharedKind, weight *grad.Var,
	compute func(d device.Backend, loss, ds, s, sh device.Array)) *grad.Var {
	query, rows := b.Query, g.rows
	Q, G := query.Value.Dims[0], rows.Value.Dims[0]
	s, ds, shared := t.New(device.F32, Q, G), t.New(device.F32, Q, G), t.New(device.U8, Q, G)
	loss := t.New(device.F32, 1)
	t.Do(func(d device.Backend) {
		d.Scores(s.Value, query.Value, rows.Value)
		b.share(t, d, shared.Value, g, o)
		compute(d, loss.Value, ds.Value, s.Value, shared.Value)
	})
	t.Done(s)
	t.Done(shared)
	reads := []*grad.Var{query, rows, ds}
	if weight != nil {
		reads = append(reads, weight)
	}
	t.Back(func(d device.Backend) {
		w := t.Grad(loss)
		if weight != nil {
			w = t.Scratch(device.F32, Q)
			d.Scale(w, weight.Value, t.Grad(loss))
		}
		if symmetric, able := d.(device.Symmetric); able && query == rows && symmetric.Symmetrize(ds.Value, w) {
			if dq, acc := t.Onto(query); !dq.Absent() {
				d.MatMul(dq, ds.Value, rows.Value, device.Mul{Alpha: 1, Beta: acc})
			}
			return
		}
		d.Scale(ds.Value, ds.Value, w)
		if dq, acc := t.Onto(query); !dq.Absent() {
			d.MatMul(dq, ds.Value, rows.Value, device.Mul{Alpha: 1, Beta: acc})
		}
		if dg, acc := t.Onto(rows); !dg.Absent() {
			d.MatMul(dg, ds.Value, query.Value, device.Mul{TransA: true, Alpha: 1, Beta: acc})
		}
	}, reads...)
	return loss
}

// withMemory records a loss against the gallery and, if there is one, the memory.
func withMemory(t *grad.Tape, b *Batch, c Combine, against func(gallery) *grad.Var) *grad.Var {
	batch := against(gallery{rows: b.Gallery, labels: b.GalleryLabels, self: b.Self, drawn: b.Drawn})
	m := b.Memory
	if m == nil {
		return batch
	}
	memory := against(gallery{rows: m.Rows, labels: m.Labels, self: m.Self, drawn: m.Drawn, memory: true})
	return weighted(t, memoryWeights(c, m.Weight), []*grad.Var{batch, memory})
}

// share writes the levels [Q,G] that queries share with a gallery: with several paths, the most that two of
// them share. The maximum of a and b is a + [b − a]₊.
func (b *Batch) share(t *grad.Tape, d device.Backend, shared device.Array, g gallery, o device.SharedKind) {
	paths := max(b.Paths, 1)
	levels := b.QueryLabels.Cols() / paths
	of := func(a device.Array, path int) device.Array { return a.ColRange(path*levels, (path+1)*levels) }
	d.Shared(shared, of(b.QueryLabels, 0), of(g.labels, 0), g.self, o)
	if paths == 1 {
		return
	}
	rows, cols := shared.Dims[0], shared.Dims[1]
	most, more := t.Scratch(device.F32, rows, cols), t.Scratch(device.F32, rows, cols)
	d.Copy(most, shared)
	for pair := 1; pair < paths*paths; pair++ {
		d.Shared(shared, of(b.QueryLabels, pair/paths), of(g.labels, pair%paths), g.self, o)
		d.Copy(more, shared)
		d.Axpby(more, 1, more, -1, most)
		d.Act(more, more, device.ReLU)
		d.Axpby(most, 1, most, 1, more)
	}
	d.Copy(shared, most)
}

// levels returns the number of levels that are compared under o.
func (b *Batch) levels(o device.SharedKind) int {
	if o.To > 0 {
		return o.To - o.From
	}
	return b.QueryLabels.Cols() / max(b.Paths, 1)
}

// normalised returns b with rows of unit length. If the gallery is the batch, it stays the same
// Var.
func (b *Batch) normalised(t *grad.Tape) *Batch {
	n := *b
	n.Query = unit(t, b.Query)
	if n.Gallery = n.Query; b.Gallery != b.Query {
		n.Gallery = unit(t, b.Gallery)
	}
	if b.Memory != nil {
		m := *b.Memory
		m.Rows = unit(t, m.Rows)
		n.Memory = &m
	}
	return &n
}

// unit records rows divided by their length.
func unit(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Normalize(t, x, normEps) }

// checkPositive returns an error unless the setting is a positive, finite number.
func checkPositive(name string, x float64) error {
	if !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%s is %v, want a positive number", name, x)
	}
	return nil
}

// checkNotNegative returns an error if the setting is negative or not finite.
func checkNotNegative(name string, x float64) error {
	if !(x >= 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%s is %v, want a number from 0 up", name, x)
	}
	return nil
}

// checkLevel returns an error if the data do not have the level.
func checkLevel(level int, f Facts) error {
	if level < 0 || level >= len(f.Classes) {
		return fmt.Errorf("level is %d, want less than %d, the number of levels of the data", level, len(f.Classes))
	}
	return nil
}
