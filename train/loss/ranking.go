package loss

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// Against says what a query is ranked against.
type Against struct {
	// SelfInGallery leaves the query in its own gallery, where it is a positive of
	// full relevance, as in the released code. The papers' sums run over the other
	// items; then a query without another positive is left out of the mean.
	SelfInGallery bool `yaml:"self_in_gallery"`
	// MemoryCombine joins the losses against batch and memory.
	MemoryCombine Combine `yaml:"memory_combine"`
}

// released is the code's choice in both.
func (a Against) released() Against { return Against{SelfInGallery: true, MemoryCombine: Average} }

// ranking is every loss that is a score of ranks:
//
//	L = Σ_q weight_q L_q,  L_q the device.Score of the ranks that device.Steps give
//
// with the scores s = ⟨query, gallery⟩ of rows as they are: they should have unit
// length. The weight is 1/(queries with a positive), so that a query without one
// contributes nothing.
//
// Backward is dQuery = ds·Gallery and dGallery = dsᵀ·Query, where dGallery is
// wanted: a batch, a memory and both are one operation. Memory is O(Q·G).
type ranking struct {
	steps   device.Steps
	score   device.Score
	shared  device.SharedKind
	rel     device.RelKind
	combine Combine
}

// newRanking checks r against the data.
func newRanking(f Facts, r ranking) (Loss, error) {
	levels := len(f.Classes)
	if r.shared.From < 0 || r.shared.From >= levels || r.shared.To > levels {
		return nil, fmt.Errorf("level is %d, and the data have %d levels, counted from 0", r.shared.From, levels)
	}
	if r.shared.To > 0 {
		levels = r.shared.To - r.shared.From
	}
	for _, err := range []error{r.steps.Check(), r.score.Check(), r.rel.Check(levels)} {
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// smoothSteps has sigmoids everywhere.
func smoothSteps(tau float64) device.Steps {
	s := device.Step{Kind: device.Sigmoid, Tau: float32(tau)}
	return device.Steps{Rank: [3]device.Step{s, s, s}, Plus: [3]device.Step{s, s, s}}
}

// oneLevel compares the labels of one level.
func oneLevel(level int, a Against) device.SharedKind {
	return device.SharedKind{From: level, To: level + 1, Self: a.self()}
}

// allLevels counts the levels in common.
func allLevels(a Against) device.SharedKind { return device.SharedKind{Self: a.self()} }

func (a Against) self() device.SelfKind {
	if a.SelfInGallery {
		return device.SelfLevel
	}
	return device.SelfAbsent
}

// Forward records the loss against the gallery, and against the memory if there
// is one.
func (r ranking) Forward(t *grad.Tape, b *Batch) *grad.Var {
	batch := r.against(t, b, b.Gallery, b.GalleryLabels, b.Self)
	if b.Memory == nil {
		return batch
	}
	memory := r.against(t, b, b.Memory.Rows, b.Memory.Labels, b.Memory.Self)
	w := r.combine.weight()
	return weighted(t, []float32{w, w}, []*grad.Var{batch, memory})
}

func (r ranking) against(t *grad.Tape, b *Batch, gallery *grad.Var, labels, self device.Array) *grad.Var {
	query := b.Query
	Q, G := query.Value.Dims[0], gallery.Value.Dims[0]
	levels := b.QueryLabels.Cols()
	if r.shared.To > 0 {
		levels = r.shared.To - r.shared.From
	}
	s, ds, shared := t.New(device.F32, Q, G), t.New(device.F32, Q, G), t.New(device.U8, Q, G)
	rel, count := t.New(device.F32, Q, levels+1), t.New(device.I32, Q, levels+1)
	each, weight, loss := t.New(device.F32, Q, 1), t.New(device.F32, Q), t.New(device.F32, 1)
	t.Do(func(d device.Backend) {
		d.Scores(s.Value, query.Value, gallery.Value)
		d.Shared(shared.Value, b.QueryLabels, labels, self, r.shared)
		d.Relevance(rel.Value, count.Value, weight.Value, shared.Value, r.rel)
		d.RankLoss(each.Value.Reshape(Q), ds.Value, s.Value, shared.Value, rel.Value, count.Value, &r.steps, &r.score)
		d.Scale(each.Value, each.Value, weight.Value)
		d.Sums(loss.Value, each.Value, device.SumAll, 0)
	})
	for _, v := range []*grad.Var{s, shared, rel, count, each} {
		t.Done(v)
	}
	t.Back(func(d device.Backend) {
		w := t.Scratch(device.F32, Q)
		d.Scale(w, weight.Value, t.Grad(loss))
		d.Scale(ds.Value, ds.Value, w)
		if dq, acc := t.Onto(query); !dq.Absent() {
			d.MatMul(dq, ds.Value, gallery.Value, device.Mul{Alpha: 1, Beta: acc})
		}
		if dg, acc := t.Onto(gallery); !dg.Absent() {
			d.MatMul(dg, ds.Value, query.Value, device.Mul{TransA: true, Alpha: 1, Beta: acc})
		}
	}, query, gallery, ds, weight)
	return loss
}
