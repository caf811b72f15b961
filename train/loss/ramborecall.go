package loss

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// RamboRecall is the recall loss of RaMBO (Rolínek et al., "Optimizing Rank-based
// Metrics with Blackbox Differentiation", CVPR 2020, section 4.5): with r the number
// of other items ahead of a positive,
//
//	L = mean over all positives of all queries of log(1 + r)            ("log")
//	                                     or of log(1 + log(1 + r))      ("loglog")
//
// with the interpolated gradient of the ranks and scores moved by Margin, as in
// BlackBoxAP. Query is [Q, D] and Gallery [G, D], rows of unit length.
//
// The released code multiplies r by Q/(Q − 1), because it divides ranks by the
// columns of a score matrix without its diagonal and multiplies them by its rows:
// ScaleByRows. The memory of earlier score matrices, which enlarges the mean by
// rows without a gradient, is left out. Lambda and Margin are those of BlackBoxAP.
type RamboRecall struct {
	Lambda      float64      `yaml:"lambda"`
	Margin      float64      `yaml:"margin"`
	Weight      RecallWeight `yaml:"weight"`
	ScaleByRows bool         `yaml:"scale_by_rows"`
	Level       int          `yaml:"level"` // 0 is the finest
	Against     `yaml:",inline"`
}

// RecallWeight is how a rank counts in RamboRecall.
type RecallWeight uint8

// Log ("log") and LogLog ("loglog").
const (
	Log RecallWeight = iota
	LogLog
)

var recallWeights = []string{"log", "loglog"}

// MarshalText returns "log" or "loglog".
func (w RecallWeight) MarshalText() ([]byte, error) { return marshalName(recallWeights, int(w)) }

// UnmarshalText takes what MarshalText returns.
func (w *RecallWeight) UnmarshalText(text []byte) error {
	i, err := unmarshalName("weight", recallWeights, text)
	*w = RecallWeight(i)
	return err
}

// New makes the loss.
func (l RamboRecall) New(f Facts) (Loss, error) {
	if err := checkLevel(l.Level, f); err != nil {
		return nil, err
	}
	if err := checkLambda(l.Lambda); err != nil {
		return nil, err
	}
	r := &ramboRecall{
		moved:       moved{lambda: float32(l.Lambda), margin: float32(l.Margin), shared: oneLevel(l.Level, l.Against)},
		score:       device.Score{Kind: device.ScoreLog},
		scaleByRows: l.ScaleByRows, combine: l.MemoryCombine,
	}
	if l.Weight == LogLog {
		r.score.Kind = device.ScoreLogLog
	}
	return r, nil
}

// Released scales by rows. The query stays out of its own gallery.
func (l RamboRecall) Released() Kind {
	l.ScaleByRows, l.MemoryCombine = true, Average
	return l
}

type ramboRecall struct {
	moved
	score       device.Score
	scaleByRows bool
	combine     Combine
}

// Forward records the loss against the gallery, and against the memory if there
// is one.
func (l *ramboRecall) Forward(t *grad.Tape, b *Batch) *grad.Var {
	return withMemory(t, b, l.combine, func(g gallery) *grad.Var { return l.against(t, b, g) })
}

// against lays all queries end to end as one: then the mean over its positives is
// that over the positives of all.
func (l *ramboRecall) against(t *grad.Tape, b *Batch, g gallery) *grad.Var {
	Q, G := b.Query.Value.Dims[0], g.rows.Value.Dims[0]
	r := l.ranks(t, Q, G)
	rel, count, weight := t.New(device.F32, 1, 2), t.New(device.I32, 1, 2), t.New(device.F32, 1)
	flat := func(a device.Array) device.Array { return a.Reshape(1, Q*G) }
	scale := float32(1)
	if l.scaleByRows && Q > 1 {
		scale = float32(Q) / float32(Q-1)
	}
	loss := overScores(t, b, g, l.shared, nil, func(d device.Backend, loss, ds, s, sh device.Array) {
		d.Relevance(rel.Value, count.Value, weight.Value, flat(sh), device.RelKind{})
		r.rank(d, s, sh)
		d.Axpby(r.all.Value, scale, r.all.Value, 0, device.Array{})
		d.Axpby(r.plus.Value, scale, r.plus.Value, 0, device.Array{})
		d.RankScore(loss, flat(r.drank.Value), flat(r.dplus.Value), flat(r.all.Value), flat(r.plus.Value), flat(sh), rel.Value, count.Value, &l.score)
		d.Axpby(r.drank.Value, scale, r.drank.Value, 0, device.Array{})
		d.RanksGrad(ds, r.drank.Value, r.s.Value, sh, l.lambda)
	})
	r.done(t, rel, count, weight)
	return loss
}
