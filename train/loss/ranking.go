package loss

import (
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss/definition"
)

// GalleryOptions selects what a query is ranked against.
type GalleryOptions struct {
	// SelfInGallery keeps the query in its own gallery as a positive of full relevance, as the
	// released code does. The papers sum over the other items only. In both cases a query without
	// another positive is left out of the mean.
	SelfInGallery bool `yaml:"self_in_gallery"`
	// MemoryCombine joins the losses against batch and memory.
	MemoryCombine Combine `yaml:"memory_combine"`
}

// released returns the choices of the released code.
func (a GalleryOptions) released() GalleryOptions {
	return GalleryOptions{SelfInGallery: true, MemoryCombine: Average}
}

// ranking is a loss that scores ranks:
//
//	L = Σ_q weight_q L_q,  L_q the device.Score of the ranks that device.Steps give
//
// The scores are s = ⟨query, gallery⟩. Rows are used as they are and should have unit length. The
// weight is 1/(queries with a positive), so that a query without one contributes nothing.
type ranking struct {
	steps   device.Steps
	score   device.Score
	shared  device.SharedKind
	rel     device.RelKind
	combine Combine
	mixing  *mixing // nil: none
}

// newRanking checks r against the data.
func newRanking(f Facts, r ranking) (Loss, error) {
	if err := checkLevel(r.shared.From, f); err != nil {
		return nil, err
	}
	levels := len(f.Classes)
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

// smoothSteps returns sigmoids for all steps.
func smoothSteps(tau float64) device.Steps {
	s := device.Step{Kind: device.Sigmoid, Tau: float32(tau)}
	return device.Steps{Rank: [3]device.Step{s, s, s}, Plus: [3]device.Step{s, s, s}}
}

// oneLevel compares the labels of one level.
func oneLevel(level int, a GalleryOptions) device.SharedKind {
	return device.SharedKind{From: level, To: level + 1, Self: a.self()}
}

// allLevels counts the levels that two items share.
func allLevels(a GalleryOptions) device.SharedKind { return device.SharedKind{Self: a.self()} }

func (a GalleryOptions) self() device.SelfKind {
	if a.SelfInGallery {
		return device.SelfLevel
	}
	return device.SelfAbsent
}

// at returns how a definition compares the labels of one level.
func (a GalleryOptions) at(level int) definition.Compared {
	return definition.Compared{SharedKind: oneLevel(level, a), Average: a.MemoryCombine == Average}
}

// all returns how a definition compares the labels of all levels.
func (a GalleryOptions) all(in *definition.Batch) definition.Compared {
	c := a.at(0)
	c.To = len(in.Labels[0])
	return c
}

// Forward records the loss against the gallery and, if there is one, the memory.
func (r ranking) Forward(t *grad.Tape, b *Batch) *grad.Var {
	return withMemory(t, b, r.combine, func(g gallery) *grad.Var { return r.against(t, b, g) })
}

func (r ranking) against(t *grad.Tape, b *Batch, g gallery) *grad.Var {
	Q, levels := b.Query.Value.Dims[0], b.levels(r.shared)
	rel, count := t.New(device.F32, Q, levels+1), t.New(device.I32, Q, levels+1)
	each, weight := t.New(device.F32, Q, 1), t.New(device.F32, Q)
	score := func(d device.Backend, loss, ds, s, sh device.Array) {
		d.Relevance(rel.Value, count.Value, weight.Value, sh, r.rel)
		d.RankLoss(each.Value.Reshape(Q), ds, s, sh, rel.Value, count.Value, &r.steps, &r.score)
		d.Scale(each.Value, each.Value, weight.Value)
		d.Sums(loss, each.Value, device.SumAll, 0)
	}
	if r.mixing != nil {
		m, plain := r.mixing.record(t, b, g), score
		defer m.done(t)
		score = func(d device.Backend, loss, ds, s, sh device.Array) {
			m.extend(d, s, sh)
			plain(d, loss, m.ds.Value, m.s.Value, m.sh.Value)
			m.fold(d, ds)
		}
	}
	loss := overScores(t, b, g, r.shared, weight, score)
	for _, v := range []*grad.Var{rel, count, each} {
		t.Done(v)
	}
	return loss
}
