package loss

import (
	"fmt"
	"slices"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss/definition"
)

// BlackBoxAP is one minus average precision, with the interpolated gradient of the ranks (Rolínek
// et al., "Optimizing Rank-based Metrics with Blackbox Differentiation", CVPR 2020; see RanksGrad
// of device.Rank). Before ranking, the scores of positives are lowered by Margin relative to the
// others:
//
//	L = 1 − 1/Q Σ_q Σ_{k∈P_q} rank⁺(q,k) / rank(q,k) / (|P_q| + Epsilon)
//
// No gradient flows through rank⁺. Lambda is the step of the interpolation: the gradient compares
// the ranks with those after the scores have moved Lambda along their gradient. The weight of the
// loss in a sum does not change that step. Query is [Q, D] and Gallery [G, D], rows of unit
// length. Of equal scores, the lower row ranks first.
//
// The margin kind "half-normal", used by the released code, multiplies the margin of each score
// by |N(0,1)|, drawn anew in every step. Lambda and Margin default to the values that the
// Smooth-AP paper uses for its largest data set.
//
// With BatchMemory τ > 0, the scores of the last τ batches against their own items count as further
// queries without a gradient (section 4.3 of the paper). They enlarge the mean over queries and are
// part of the loss's state.
//
// A query without positives contributes nothing to the mean.
type BlackBoxAP struct {
	Lambda         float64    `yaml:"lambda"`                      // how far scores move along their gradient
	Margin         float64    `yaml:"margin"`                      // amount by which the scores of positives are lowered
	MarginKind     MarginKind `yaml:"margin_kind"`                 // fixed or drawn at random
	Epsilon        float64    `yaml:"epsilon"`                     // added to the number of positives
	BatchMemory    int        `yaml:"batch_memory" range:"0 1024"` // τ, in batches
	Level          int        `yaml:"level"`                       // 0 is the finest
	GalleryOptions `yaml:",inline"`
}

var blackBoxAPEntry = Row{
	Name: "blackbox-ap", About: "BlackBox-AP (CVPR 2020): average precision by interpolated gradients of the ranks",
	Source:   "Rolínek et al., Optimizing Rank-based Metrics with Blackbox Differentiation, CVPR 2020; Eq. 14, 21 and 22",
	Value:    BlackBoxAP{Lambda: 4, Margin: 0.02},
	Rounding: Rounding{6.8e-6, 4.1e-7},
}

// MarginKind selects a fixed or a random margin.
type MarginKind = choice[marginKinds]

// Constant ("deterministic") moves scores by half the margin, up for others and down for
// positives. HalfNormal ("half-normal") multiplies that by |N(0,1)|.
const (
	Constant MarginKind = iota
	HalfNormal
)

type marginKinds struct{}

func (marginKinds) words() (string, []string) {
	return "margin_kind", []string{"deterministic", "half-normal"}
}

// New makes the loss.
func (l BlackBoxAP) New(f Facts) (Loss, error) {
	if err := checkLevel(l.Level, f); err != nil {
		return nil, err
	}
	if err := checkPositive("lambda", l.Lambda); err != nil {
		return nil, err
	}
	if err := checkNotNegative("epsilon", l.Epsilon); err != nil {
		return nil, err
	}
	if err := checkBatchMemory(l.BatchMemory, f); err != nil {
		return nil, err
	}
	b := &blackBoxAP{
		moved: moved{
			lambda: float32(l.Lambda), margin: float32(l.Margin), drawn: l.MarginKind == HalfNormal,
			shared: oneLevel(l.Level, l.GalleryOptions),
		},
		epsilon: float32(l.Epsilon), combine: l.MemoryCombine,
	}
	if l.BatchMemory == 0 {
		return b, nil
	}
	return newBlackBoxMemory(b, l.BatchMemory, f.Batch), nil
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l BlackBoxAP) Define(*definition.Batch) definition.Definition {
	return &definition.Scored{Compared: l.GalleryOptions.at(l.Level), Of: l.define()}
}

// Draws reports whether the margin is random.
func (l BlackBoxAP) Draws() bool { return l.MarginKind == HalfNormal }

// define returns the mean over the queries with a positive. It remembers the batches that it has seen.
func (l BlackBoxAP) define() func(*definition.Batch, [][]float64, [][]uint8) (float64, [][]float64) {
	past := new([][]float64) // the losses of each batch in the memory
	return func(in *definition.Batch, s [][]float64, sh [][]uint8) (value float64, ds [][]float64) {
		ds = definition.ZerosLike(s)
		before := slices.Concat(*past...)
		counted := float64(len(before))
		for q := range s {
			if definition.HasPositive(sh[q]) {
				counted++
			}
		}
		for _, v := range before {
			value += v / counted
		}
		now := []float64{}
		for q := range s {
			if !definition.HasPositive(sh[q]) {
				continue
			}
			var amplitude []float64
			if l.MarginKind == HalfNormal {
				amplitude = in.Draws()[q]
			}
			moved := definition.Behind(s[q], sh[q], l.Margin, amplitude)
			all, plus, d := definition.Places(moved, sh[q], 0), definition.Places(moved, sh[q], 1), make([]float64, len(s[q]))
			z, own := slices.Max(plus)+l.Epsilon, 1.0
			for i, p := range plus {
				if p > 0 {
					own -= p / all[i] / z
					d[i] = p / (z * all[i] * all[i]) / counted
				}
			}
			value += own / counted
			now = append(now, own)
			ds[q] = definition.Interpolated(moved, d, sh[q], l.Lambda)
		}
		*past = append([][]float64{now}, *past...)
		*past = (*past)[:min(len(*past), l.BatchMemory)]
		return value, ds
	}
}

// checkBatchMemory returns an error for a memory of batches that cannot be kept.
func checkBatchMemory(batches int, f Facts) error {
	if batches != 0 && (batches < 0 || f.Batch == 0) {
		return fmt.Errorf("batch_memory is %d with batches of %d rows, want both positive, or batch_memory 0", batches,
			f.Batch)
	}
	return nil
}

// Released keeps the query in its own gallery and uses the margin and Epsilon of the authors'
// code.
func (l BlackBoxAP) Released() Kind {
	l.MarginKind, l.Epsilon, l.GalleryOptions = HalfNormal, 1e-5, l.GalleryOptions.released()
	return l
}

type blackBoxAP struct {
	moved
	epsilon float32
	combine Combine
}

// Forward records the loss against the gallery and, if there is one, the memory.
func (l *blackBoxAP) Forward(t *grad.Tape, b *Batch) *grad.Var {
	return withMemory(t, b, l.combine, func(g gallery) *grad.Var { return l.against(t, b, g, nil) })
}

// against computes the loss against one gallery. extend, if it is not nil, replaces the losses and the
// weights of the queries by those of more rows.
func (l *blackBoxAP) against(t *grad.Tape, b *Batch, g gallery, extend *blackBoxMemory) *grad.Var {
	Q := b.Query.Value.Dims[0]
	rows := Q
	if extend != nil {
		rows *= 1 + extend.batches
	}
	r := l.ranks(t, b, g)
	drank, dplus := t.New(device.F32, Q, g.rows.Value.Dims[0]), t.New(device.F32, Q, g.rows.Value.Dims[0])
	rel, share, count := t.New(device.F32, Q, 2), t.New(device.F32, Q, 2), t.New(device.I32, Q, 2)
	each, weight := t.New(device.F32, rows, 1), t.New(device.F32, rows)
	now, own := each.Value.RowRange(0, Q), weight.Value.RowRange(0, Q)
	score := &device.Score{Kind: device.ScoreAP}
	loss := overScores(t, b, g, l.shared, nil, func(d device.Backend, loss, ds, s, sh device.Array) {
		// With a relevance of 1 + Epsilon/|P|, the sum Z is |P| + Epsilon.
		d.Relevance(share.Value, count.Value, own, sh, device.RelKind{Mode: device.RelMap, Weights: []float32{1}})
		d.Relevance(rel.Value, count.Value, own, sh, device.RelKind{})
		d.Axpby(rel.Value, 1, rel.Value, l.epsilon, share.Value)
		r.rank(d, s, sh)
		d.RankScore(now.Reshape(Q), drank.Value, dplus.Value, r.all.Value, r.plus.Value, sh, rel.Value,
			count.Value, score)
		if extend != nil {
			extend.join(t, d, each.Value, weight.Value, sh)
		}
		d.Scale(drank.Value, drank.Value, own) // before RanksGrad, whose step depends on it
		d.RanksGrad(ds, drank.Value, r.s.Value, sh, l.lambda)
		d.Scale(each.Value, each.Value, weight.Value)
		d.Sums(loss, each.Value, device.SumAll, 0)
	})
	r.done(t, drank, dplus, rel, share, count, each, weight)
	return loss
}

// moved holds the settings shared by the losses that interpolate ranks.
type moved struct {
	lambda, margin float32
	drawn          bool // the margin is half-normal
	shared         device.SharedKind
}

// placed holds the scores moved by the margin and their ranks, all [Q,G].
type placed struct {
	margin       float32
	amplitude    *grad.Var // nil: 1
	s, all, plus *grad.Var
}

func (m moved) ranks(t *grad.Tape, b *Batch, g gallery) *placed {
	Q, G := b.Query.Value.Dims[0], g.rows.Value.Dims[0]
	p := &placed{margin: m.margin, s: t.New(device.F32, Q, G), all: t.New(device.F32, Q, G), plus: t.New(device.F32, Q, G)}
	if m.drawn {
		stream := marginStream
		if g.memory {
			stream = marginMemoryStream
		}
		p.amplitude = b.draw(t, g.drawn, stream, device.Dist{Kind: device.Normal, B: 1}, Q, G)
	}
	return p
}

// rank ranks the scores after lowering those of the positives by the margin relative to the
// others. It subtracts margin·level, with level 0 or 1; a constant offset would not change the
// ranks.
func (p *placed) rank(d device.Backend, s, sh device.Array) {
	d.Copy(p.s.Value, sh)
	if p.amplitude != nil {
		p.spread(d)
	}
	d.Axpby(p.s.Value, 1, s, -p.margin, p.s.Value)
	d.Ranks(p.all.Value, p.s.Value, sh, 0)
	d.Ranks(p.plus.Value, p.s.Value, sh, 1)
}

// spread replaces the levels y in p.s by |amplitude|·(y − ½).
func (p *placed) spread(d device.Backend) {
	a, room := p.amplitude.Value, p.all.Value
	d.Act(room, a, device.ReLU)
	d.Axpby(a, -1, a, 0, device.Array{})
	d.Act(a, a, device.ReLU)
	d.Axpby(a, 1, a, 1, room)
	times(d, p.s.Value, p.s.Value, a)
	d.Axpby(p.s.Value, 1, p.s.Value, -0.5, a)
}

func (p *placed) done(t *grad.Tape, more ...*grad.Var) {
	if p.amplitude != nil {
		more = append(more, p.amplitude)
	}
	for _, v := range append(more, p.s, p.all, p.plus) {
		t.Done(v)
	}
}
