package loss

import (
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/grad"
	"hgld/train/loss/definition"
)

// pairwise is a mean over pairs of a query and an item, or over triplets: one kind of
// device.Pairs over the scores.
type pairwise struct {
	pairs     device.Pairs
	shared    device.SharedKind
	combine   Combine
	normalise bool // divide rows by their length inside the loss; the gradient includes it
}

// newPairwise checks p against the data. The positives of p are those of one level.
func newPairwise(f Facts, p pairwise) (Loss, error) {
	if err := checkLevel(p.shared.From, f); err != nil {
		return nil, err
	}
	if err := p.pairs.Check(); err != nil {
		return nil, err
	}
	return &p, nil
}

// Forward records the loss against the gallery and, if there is one, the memory.
func (p *pairwise) Forward(t *grad.Tape, b *Batch) *grad.Var {
	if p.normalise {
		b = b.normalised(t)
	}
	return withMemory(t, b, p.combine, func(g gallery) *grad.Var { return p.against(t, b, g) })
}

func (p *pairwise) against(t *grad.Tape, b *Batch, g gallery) *grad.Var {
	Q := b.Query.Value.Dims[0]
	each, count := t.New(device.F32, Q), t.New(device.I32, Q, 2)
	loss := overScores(t, b, g, p.shared, nil, func(d device.Backend, loss, ds, s, sh device.Array) {
		d.PairLoss(each.Value, count.Value, ds, s, sh, &p.pairs)
		d.Sums(loss, each.Value, device.SumAll, 0)
	})
	t.Done(each)
	t.Done(count)
	return loss
}

// ceiling returns the score from which a positive is taken for a copy of the query.
func ceiling(epsilon float64) float32 {
	if epsilon == 0 {
		return float32(math.Inf(1))
	}
	return float32(1 - epsilon)
}

// pairsOf returns the definition of a loss over pairs or triplets.
func pairsOf(p reference.Pairs, level int, a GalleryOptions, normalise bool) definition.Definition {
	return &definition.Scored{Compared: a.at(level), Normalise: normalise, Of: definition.Pairs(p)}
}
