package loss

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// binned is one minus the average precision of a histogram of the scores, averaged over the
// queries that have a positive.
type binned struct {
	bins      device.Bins
	shared    device.SharedKind
	combine   Combine
	normalise bool
}

func newBinned(f Facts, l binned) (Loss, error) {
	if err := checkLevel(l.shared.From, f); err != nil {
		return nil, err
	}
	if err := l.bins.Check(); err != nil {
		return nil, err
	}
	return &l, nil
}

// Forward records the loss against the gallery and, if there is one, the memory.
func (l *binned) Forward(t *grad.Tape, b *Batch) *grad.Var {
	if l.normalise {
		b = b.normalised(t)
	}
	return withMemory(t, b, l.combine, func(g gallery) *grad.Var { return l.against(t, b, g) })
}

func (l *binned) against(t *grad.Tape, b *Batch, g gallery) *grad.Var {
	Q := b.Query.Value.Dims[0]
	rel, count := t.New(device.F32, Q, 2), t.New(device.I32, Q, 2)
	each, weight := t.New(device.F32, Q, 1), t.New(device.F32, Q)
	loss := overScores(t, b, g, l.shared, weight, func(d device.Backend, loss, ds, s, sh device.Array) {
		d.Relevance(rel.Value, count.Value, weight.Value, sh, device.RelKind{})
		d.BinLoss(each.Value.Reshape(Q), ds, s, sh, &l.bins)
		d.Scale(each.Value, each.Value, weight.Value)
		d.Sums(loss, each.Value, device.SumAll, 0)
	})
	for _, v := range []*grad.Var{rel, count, each} {
		t.Done(v)
	}
	return loss
}
