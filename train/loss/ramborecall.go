package loss

import (
	"fmt"

	"hgld/internal/registry"
	"hgld/train/device"
	"hgld/train/grad"
)

// RamboRecall is the recall loss of RaMBO (Rolínek et al., "Optimizing Rank-based Metrics with
// Blackbox Differentiation", CVPR 2020, section 4.5). With r the number of other items ahead of a
// positive:
//
//	L = mean over all positives of all queries of log(1 + r)            ("log")
//	                                     or of log(1 + log(1 + r))      ("loglog")
//
// The gradient of the ranks is interpolated and scores are moved by Margin, as in BlackBoxAP.
// Query is [Q, D] and Gallery [G, D], rows of unit length.
//
// ScaleByRows multiplies r by Q/(Q − 1), as the released code does: it divides ranks by the
// columns of a score matrix without its diagonal and multiplies them by its rows. Lambda and
// Margin default to those of BlackBoxAP. The paper's own values are in its supplement, which we
// have not seen.
//
// With BatchMemory τ > 0, the scores of the last τ batches against their own items count as
// further queries without a gradient (section 4.3). They enlarge the mean over positives and are
// part of the loss's state.
type RamboRecall struct {
	Lambda         float64      `yaml:"lambda"`                      // how far scores move along their gradient
	Margin         float64      `yaml:"margin"`                      // amount by which the scores of positives are lowered
	Weight         RecallWeight `yaml:"weight"`                      // log or loglog
	ScaleByRows    bool         `yaml:"scale_by_rows"`               // multiply r by Q/(Q − 1)
	BatchMemory    int          `yaml:"batch_memory" range:"0 1024"` // τ, in batches
	Level          int          `yaml:"level"`                       // 0 is the finest
	GalleryOptions `yaml:",inline"`
}

var ramboRecallEntry = registry.Entry[Kind]{
	Name: "rambo-recall", About: "recall of RaMBO (CVPR 2020) by interpolated gradients of the ranks",
	Source: "Rolínek et al., Optimizing Rank-based Metrics with Blackbox Differentiation, CVPR 2020; sections 4.3 and 4.5",
	Value:  RamboRecall{Lambda: 4, Margin: 0.02},
}

// RecallWeight selects how a rank counts in RamboRecall.
type RecallWeight uint8

// Log ("log") and LogLog ("loglog").
const (
	Log RecallWeight = iota
	LogLog
)

var recallWeights = []string{"log", "loglog"}

// MarshalText returns "log" or "loglog".
func (w RecallWeight) MarshalText() ([]byte, error) { return marshalName(recallWeights, int(w)) }

// UnmarshalText accepts what MarshalText returns.
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
	if err := checkPositive("lambda", l.Lambda); err != nil {
		return nil, err
	}
	r := &ramboRecall{
		moved:       moved{lambda: float32(l.Lambda), margin: float32(l.Margin), shared: oneLevel(l.Level, l.GalleryOptions)},
		score:       device.Score{Kind: device.ScoreLog},
		scaleByRows: l.ScaleByRows, combine: l.MemoryCombine,
	}
	if l.Weight == LogLog {
		r.score.Kind = device.ScoreLogLog
	}
	if l.BatchMemory == 0 {
		return r, nil
	}
	if l.BatchMemory < 0 || f.Batch == 0 {
		return nil, fmt.Errorf("batch_memory is %d with batches of %d rows, want both positive, or batch_memory 0",
			l.BatchMemory, f.Batch)
	}
	return newRamboMemory(r, l.BatchMemory, f.Batch), nil
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

// Forward records the loss against the gallery and, if there is one, the memory.
func (l *ramboRecall) Forward(t *grad.Tape, b *Batch) *grad.Var {
	return withMemory(t, b, l.combine, func(g gallery) *grad.Var { return l.against(t, b, g) })
}

// against takes the mean over the positives of all queries. It needs scratch for the ranks of one
// query only.
func (l *ramboRecall) against(t *grad.Tape, b *Batch, g gallery) *grad.Var {
	Q := b.Query.Value.Dims[0]
	r, mean, scale := l.ranks(t, b, g), newPooled(t, Q, g.rows.Value.Dims[0]), t.New(device.F32, 1)
	loss := overScores(t, b, g, l.shared, nil, func(d device.Backend, loss, ds, s, sh device.Array) {
		r.rank(d, s, sh)
		d.Fill(scale.Value, l.rowScale(Q))
		mean.score(d, loss, r.all.Value, r.plus.Value, sh, scale.Value, &l.score)
		d.RanksGrad(ds, mean.drank.Value, r.s.Value, sh, l.lambda)
	})
	r.done(t, scale)
	mean.done(t)
	return loss
}

// rowScale returns the released code's factor for a count among the Q − 1 other items, for Q rows
// of scores.
func (l *ramboRecall) rowScale(Q int) float32 {
	if l.scaleByRows && Q > 1 {
		return float32(Q) / float32(Q-1)
	}
	return 1
}

// pooled is a mean over the positives of all rows of scores.
type pooled struct {
	drank                                              *grad.Var // [rows,G]
	rel, count, weight, all, allCount, allWeight, each *grad.Var
}

func newPooled(t *grad.Tape, rows, G int) *pooled {
	return &pooled{
		drank: t.New(device.F32, rows, G), rel: t.New(device.F32, rows, 2), count: t.New(device.I32, rows, 2),
		weight: t.New(device.F32, rows, 1),
		all:    t.New(device.F32, 1, 2), allCount: t.New(device.I32, 1, 2), allWeight: t.New(device.F32, 1),
		each: t.New(device.F32, rows, 1),
	}
}

// score writes the loss [1], and its derivatives by rank to drank. rank − plus is the number of
// items in front of each positive; both are first multiplied by scale [1].
func (p *pooled) score(d device.Backend, loss, rank, plus, sh, scale device.Array, o *device.Score) {
	rows := sh.Dims[0]
	d.Scale(rank, rank, scale)
	d.Scale(plus, plus, scale)
	// The share of a row in the mean is its number of positives divided by that of all rows. A
	// relevance of 1/n over all rows gives the divisor.
	d.Relevance(p.all.Value, p.allCount.Value, p.allWeight.Value, sh.Reshape(1, sh.Len()),
		device.RelKind{Mode: device.RelPop, Divisor: 1})
	d.Relevance(p.rel.Value, p.count.Value, p.weight.Value.Reshape(rows), sh, device.RelKind{})
	d.Copy(p.weight.Value, p.count.Value.ColRange(1, 2))
	d.Scale(p.weight.Value, p.weight.Value, p.all.Value.ColRange(1, 2))
	d.RankScore(p.each.Value.Reshape(rows), p.drank.Value, device.Array{}, rank, plus, sh, p.rel.Value, p.count.Value, o)
	times(d, p.each.Value, p.each.Value, p.weight.Value)
	d.Sums(loss, p.each.Value, device.SumAll, 0)
	d.Scale(p.drank.Value, p.drank.Value, p.weight.Value.Reshape(rows))
	d.Scale(p.drank.Value, p.drank.Value, scale)
}

func (p *pooled) done(t *grad.Tape) {
	for _, v := range []*grad.Var{p.drank, p.rel, p.count, p.weight, p.all, p.allCount, p.allWeight, p.each} {
		t.Done(v)
	}
}
