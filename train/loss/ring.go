package loss

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// Ring is the memory of "Cross-Batch Memory for Embedding Learning" (Wang et al., CVPR 2020): a
// gallery of constant size that holds the embeddings and labels of the last batches. Unfilled
// rows have label −1 and are ignored.
//
// With AtItems instead of At, every item of the data has its own row with its last embedding.
// That is the memory of the first release of ROADMAP (NeurIPS 2021).
//
// Batches are written one after another from row 0. A batch that no longer fits overwrites the
// last rows of the ring, and the next batch starts at row 0 again. If the batch size divides the
// ring size, the first batch after a full turn therefore replaces the newest batch and not the
// oldest. The place of a batch depends only on the number of batches before it, so it is not
// saved.
type Ring struct {
	size, batch, dim, levels int
	rows, labels             *State // F32 [size,D] and [size,L]

	index, own, classes device.Array // I32 [B]: rows to write (−1: none), rows afterwards; [size,L]
}

// mostRows is the greatest count that a float32 holds exactly.
const mostRows = 1 << 24

// NewRing makes a ring for batches of one size. The caller fills its States as for a Stateful
// loss, and calls At before each step.
func NewRing(size, batch, dim, levels int) (*Ring, error) {
	if size < batch {
		return nil, fmt.Errorf("a memory of %d rows is smaller than a batch of %d, want at least one batch", size, batch)
	}
	if size > mostRows {
		return nil, fmt.Errorf("a memory of %d rows, want at most %d", size, mostRows)
	}
	return &Ring{
		size: size, batch: batch, dim: dim, levels: levels,
		rows:   &State{Name: "rows", Type: device.F32, Dims: []int{size, dim}},
		labels: &State{Name: "labels", Type: device.F32, Dims: []int{size, levels}, Start: -1},
	}, nil
}

// States returns embeddings and labels. Labels are stored as F32, exact up to 2^24.
func (r *Ring) States() []*State { return []*State{r.rows, r.labels} }

// First returns the first row of batch n, counted from 0.
func (r *Ring) First(n int) int { return RingFirst(r.size, r.batch, n) }

// RingFirst returns the first row that batch n, counted from 0, takes in a ring of size rows.
func RingFirst(size, batch, n int) int {
	whole := size / batch
	if n %= whole + 1; n < whole {
		return n * batch
	}
	return size - batch
}

// At prepares the step of batch n.
func (r *Ring) At(b device.Backend, n int) {
	own := make([]int32, r.batch)
	for i := range own {
		own[i] = int32(r.First(n) + i)
	}
	r.setRows(b, own, own)
}

// AtItems prepares a step with the given items. The row of an item is its number. If an item
// occurs twice, its last embedding is kept. Rows beyond the items of a short batch are dropped.
func (r *Ring) AtItems(b device.Backend, items []int) {
	own, index, last := make([]int32, r.batch), make([]int32, r.batch), map[int32]int{}
	for i := range own {
		own[i], index[i] = -1, -1
		if i < len(items) {
			own[i] = int32(items[i])
			last[own[i]] = i
		}
	}
	for item, i := range last {
		index[i] = item
	}
	r.setRows(b, index, own)
}

func (r *Ring) setRows(b device.Backend, index, own []int32) {
	if r.index.Absent() {
		r.index, r.own = device.New(b, device.I32, r.batch), device.New(b, device.I32, r.batch)
		r.classes = device.New(b, device.I32, r.size, r.levels)
	}
	b.Upload(r.index, int32s(index))
	b.Upload(r.own, int32s(own))
}

// Push records the copy of the embeddings e and their labels I32 [B,L] into the ring. No gradient
// flows through it.
func (r *Ring) Push(t *grad.Tape, e *grad.Var, labels device.Array) {
	t.Do(func(d device.Backend) {
		of := t.Scratch(device.F32, r.batch, r.levels)
		d.Copy(of, labels)
		d.ScatterAdd(r.rows.Value, e.Value, r.index, 0)
		d.ScatterAdd(r.labels.Value, of, r.index, 0)
	})
}

// Gallery records the current ring as a second gallery. The ring must not change before the
// backward pass has run. pushed says that the ring already holds the batch of queries.
func (r *Ring) Gallery(t *grad.Tape, pushed bool) *Memory {
	t.Do(func(d device.Backend) { d.Copy(r.classes, r.labels.Value) })
	m := &Memory{Rows: t.Leaf(r.rows.Value, device.Array{}), Labels: r.classes}
	if pushed {
		m.Self = r.own
	}
	return m
}

// Forget records a rollback: if flag, I32 [1], is set because embeddings are not finite, the rows
// of this step's batch become empty. Their earlier content is lost.
func (r *Ring) Forget(t *grad.Tape, flag device.Array) {
	t.Do(func(d device.Backend) {
		gone := onlyIf(t, d, flag, r.index)
		for _, s := range r.States() {
			empty := t.Scratch(s.Type, r.batch, s.Dims[1])
			d.Fill(empty, s.Start)
			d.ScatterAdd(s.Value, empty, gone, 0)
		}
	})
}

// onlyIf returns index, I32 [n], where flag is set, and −1 otherwise. Indices must be below
// mostRows, because they pass through float32.
func onlyIf(t *grad.Tape, d device.Backend, flag, index device.Array) device.Array {
	n := index.Len()
	rows, gone := t.Scratch(device.F32, n), t.Scratch(device.I32, n)
	nowhere, whole := t.Scratch(device.F32, n), t.Scratch(device.F32, 1)
	d.Copy(rows, index)
	d.Fill(nowhere, -1)
	d.Fill(whole, 1)
	d.Average(rows, nowhere, whole, flag)
	d.Copy(gone, rows)
	return gone
}
