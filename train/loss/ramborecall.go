package loss

import (
	"errors"
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// RamboRecall is the recall loss of RaMBO (Rolínek et al., "Optimizing Rank-based Metrics with
// Blackbox Differentiation", CVPR 2020, section 4.5). With r the number of other items ahead of a
// positive:
//
//	L = mean over the queries of the mean over their positives of f(r)
//	f(r) = log(1 + r)              ("log")
//	       log(1 + log(1 + r))     ("loglog")
//	       Σ_{K≤r} Weights[K−1]    (Weights)
//
// Mean selects whose mean it is. The paper computes the loss of every query and averages those
// (section 5.1); the released code takes one mean over all positives of all queries ("positives"),
// which is the same if all queries have equally many.
//
// Weights are w_1, w_2, … of Eq. 19, L = Σ_K w_K L@K, with zeros after the last, and replace
// Weight. The slope of f at r is w_{r+1}. With w_K = 1/K, f is the harmonic number of r, whose slope is
// that of "log".
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
	Weights        []float64    `yaml:"weights"`                     // w_1, w_2, … instead; empty: Weight
	Mean           RecallMean   `yaml:"mean"`                        // over queries or positives
	ScaleByRows    bool         `yaml:"scale_by_rows"`               // multiply r by Q/(Q − 1)
	BatchMemory    int          `yaml:"batch_memory" range:"0 1024"` // τ, in batches
	Level          int          `yaml:"level"`                       // 0 is the finest
	GalleryOptions `yaml:",inline"`
}

var ramboRecallEntry = Row{
	Name: "rambo-recall", About: "recall of RaMBO (CVPR 2020) by interpolated gradients of the ranks",
	Source: "Rolínek et al., Optimizing Rank-based Metrics with Blackbox Differentiation, CVPR 2020; " +
		"sections 4.3 and 4.5",
	Value:    RamboRecall{Lambda: 4, Margin: 0.02, Mean: OverQueries},
	Rounding: Rounding{1.2e-7, 2.1e-7},
}

// RecallWeight selects how a rank counts in RamboRecall.
type RecallWeight = choice[recallWeights]

// Log ("log") and LogLog ("loglog").
const (
	Log RecallWeight = iota
	LogLog
)

type recallWeights struct{}

func (recallWeights) words() (string, []string) { return "weight", []string{"log", "loglog"} }

// RecallMean selects whose mean RamboRecall is.
type RecallMean = choice[recallMeans]

// OverPositives ("positives") gives every positive the same weight. OverQueries ("queries") gives every
// query with a positive the same weight.
const (
	OverPositives RecallMean = iota
	OverQueries
)

type recallMeans struct{}

func (recallMeans) words() (string, []string) { return "mean", []string{"positives", "queries"} }

// mostRecallWeights bounds Weights: each takes a pass over the scores.
const mostRecallWeights = 1024

// checkWeights returns an error unless the weights can be used.
func (l RamboRecall) checkWeights() error {
	sum := 0.0
	for i, w := range l.Weights {
		if err := checkNotNegative(fmt.Sprintf("weights[%d]", i), w); err != nil {
			return err
		}
		sum += w
	}
	switch {
	case len(l.Weights) == 0:
		return nil
	case len(l.Weights) > mostRecallWeights:
		return fmt.Errorf("weights are %d numbers, want at most %d", len(l.Weights), mostRecallWeights)
	case sum == 0:
		return errors.New("weights are all 0, want a positive one")
	case l.ScaleByRows:
		return errors.New("scale_by_rows makes r a fraction, but weights need whole numbers: set scale_by_rows to false")
	}
	return nil
}

// New makes the loss.
func (l RamboRecall) New(f Facts) (Loss, error) {
	if err := checkLevel(l.Level, f); err != nil {
		return nil, err
	}
	if err := checkPositive("lambda", l.Lambda); err != nil {
		return nil, err
	}
	if err := l.checkWeights(); err != nil {
		return nil, err
	}
	r := &ramboRecall{
		moved:       moved{lambda: float32(l.Lambda), margin: float32(l.Margin), shared: oneLevel(l.Level, l.GalleryOptions)},
		score:       device.Score{Kind: device.ScoreLog},
		scaleByRows: l.ScaleByRows, combine: l.MemoryCombine, weights: narrow(l.Weights), mean: l.Mean,
	}
	if l.Weight == LogLog {
		r.score.Kind = device.ScoreLogLog
	}
	if err := checkBatchMemory(l.BatchMemory, f); err != nil {
		return nil, err
	}
	if l.BatchMemory == 0 {
		return r, nil
	}
	return newRamboMemory(r, l.BatchMemory, f.Batch), nil
}

// Released scales by rows and takes the mean over positives. The query stays out of its own gallery.
func (l RamboRecall) Released() Kind {
	l.ScaleByRows, l.Mean, l.MemoryCombine = true, OverPositives, Average
	return l
}

type ramboRecall struct {
	moved
	score       device.Score
	scaleByRows bool
	combine     Combine
	weights     []float32
	mean        RecallMean
}

// Forward records the loss against the gallery and, if there is one, the memory.
func (l *ramboRecall) Forward(t *grad.Tape, b *Batch) *grad.Var {
	return withMemory(t, b, l.combine, func(g gallery) *grad.Var { return l.against(t, b, g) })
}

// against computes the loss against one gallery. It needs scratch for the ranks of one
// query only.
func (l *ramboRecall) against(t *grad.Tape, b *Batch, g gallery) *grad.Var {
	Q := b.Query.Value.Dims[0]
	r, mean, scale := l.ranks(t, b, g), l.pooled(t, Q, g.rows.Value.Dims[0]), t.New(device.F32, 1)
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

// pooled is a mean over the positives, or over the queries, of all rows of scores.
type pooled struct {
	mean                                               RecallMean
	weights                                            []float32
	drank                                              *grad.Var // [rows,G]
	rel, count, weight, all, allCount, allWeight, each *grad.Var
	share, held                                        *grad.Var // [rows,G] for weights: 1/P at a positive; see byWeights
}

func (l *ramboRecall) pooled(t *grad.Tape, rows, G int) *pooled {
	p := &pooled{
		mean: l.mean, weights: l.weights,
		drank: t.New(device.F32, rows, G), rel: t.New(device.F32, rows, 2), count: t.New(device.I32, rows, 2),
		weight: t.New(device.F32, rows, 1),
		all:    t.New(device.F32, 1, 2), allCount: t.New(device.I32, 1, 2), allWeight: t.New(device.F32, 1),
		each: t.New(device.F32, rows, 1),
	}
	if len(l.weights) > 0 {
		p.share, p.held = t.New(device.F32, rows, G), t.New(device.F32, 5*rows, G)
	}
	return p
}

// score writes the loss [1], and its derivatives by rank to drank. rank − plus is the number of
// items in front of each positive; both are first multiplied by scale [1].
func (p *pooled) score(d device.Backend, loss, rank, plus, sh, scale device.Array, o *device.Score) {
	rows := sh.Dims[0]
	d.Scale(rank, rank, scale)
	d.Scale(plus, plus, scale)
	// The weight of each row is 1/(queries with a positive).
	d.Relevance(p.rel.Value, p.count.Value, p.weight.Value.Reshape(rows), sh, device.RelKind{})
	if p.mean == OverPositives {
		// The share of a row in the mean is its number of positives divided by that of all rows. A
		// relevance of 1/n over all rows gives the divisor.
		d.Relevance(p.all.Value, p.allCount.Value, p.allWeight.Value, sh.Reshape(1, sh.Len()),
			device.RelKind{Mode: device.RelPop, Divisor: 1})
		d.Copy(p.weight.Value, p.count.Value.ColRange(1, 2))
		d.Scale(p.weight.Value, p.weight.Value, p.all.Value.ColRange(1, 2))
	}
	if p.share == nil {
		d.RankScore(p.each.Value.Reshape(rows), p.drank.Value, device.Array{}, rank, plus, sh, p.rel.Value, p.count.Value, o)
	} else {
		p.byWeights(d, rank, plus, sh)
	}
	times(d, p.each.Value, p.each.Value, p.weight.Value)
	d.Sums(loss, p.each.Value, device.SumAll, 0)
	d.Scale(p.drank.Value, p.drank.Value, p.weight.Value.Reshape(rows))
	d.Scale(p.drank.Value, p.drank.Value, scale)
}

// byWeights writes each and drank with f(r) = Σ_K w_K·[r ≥ K]. For a whole number r, [r ≥ K] is
// [r − K + 1]₊ − [r − K]₊, and the slope w_{r+1} is Σ_K w_K·([r ≥ K−1] − [r ≥ K]).
func (p *pooled) byWeights(d device.Backend, rank, plus, sh device.Array) {
	rows := sh.Dims[0]
	part := func(i int) device.Array { return p.held.Value.RowRange(i*rows, (i+1)*rows) }
	left, above, value, is, was := part(0), part(1), part(2), part(3), part(4)
	// Without any item ahead, the score's derivative is 1/P at each positive.
	d.Fill(left, 0)
	d.RankScore(p.each.Value.Reshape(rows), p.share.Value, device.Array{}, left, left, sh, p.rel.Value, p.count.Value,
		&device.Score{Kind: device.ScoreLog})
	d.Axpby(left, 1, rank, -1, plus) // r − K + 1, falling
	d.Act(above, left, device.ReLU)
	d.Fill(value, 0)
	d.Fill(p.drank.Value, 0)
	d.Fill(was, 1)
	for _, w := range p.weights {
		d.Fill(is, 1)
		d.Axpby(left, 1, left, -1, is)
		d.Copy(is, above)
		d.Act(above, left, device.ReLU)
		d.Axpby(is, 1, is, -1, above)
		d.Axpby(value, 1, value, w, is)
		d.Axpby(p.drank.Value, 1, p.drank.Value, w, was)
		d.Axpby(p.drank.Value, 1, p.drank.Value, -w, is)
		was, is = is, was
	}
	times(d, p.drank.Value, p.drank.Value, p.share.Value)
	times(d, value, value, p.share.Value)
	d.Sums(p.each.Value.Reshape(rows), value, device.SumRows, 0)
}

func (p *pooled) done(t *grad.Tape) {
	vars := []*grad.Var{p.drank, p.rel, p.count, p.weight, p.all, p.allCount, p.allWeight, p.each}
	if p.share != nil {
		vars = append(vars, p.share, p.held)
	}
	for _, v := range vars {
		t.Done(v)
	}
}
