package loss

import (
	"errors"
	"slices"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss/definition"
)

// RamboDetection is the loss of RaMBO for detection (Rolínek et al., "Optimizing Rank-based Metrics with
// Blackbox Differentiation", CVPR 2020, sections 4.6 and 5.2). Every class c of C ranks the N items of the
// batch by their scores y(c). With AP as in BlackBoxAP, and y the N·C scores of all classes as one list:
//
//	L     = MAP·L_mAP + APC·L_APC
//	L_mAP = mean over the classes with a positive of 1 − AP(y(c))
//	L_APC = 1 − AP(y)
//
// A score is the inner product of an item and the weights of a class, which are the proxies. Rows are used
// as they are. An item is a positive of its class alone; one of a class without proxies is a negative of
// all classes, as the background of a detector is. Ranks are divided by the length of their list before
// their gradient is interpolated, as in BlackBoxAP. Lambda does not depend on the two weights.
//
// With BatchMemory τ > 0, the scores of the last τ batches are in the lists, too, without a gradient
// (section 4.3). They are part of the loss's state.
//
// The defaults are those of the paper, but for its τ of 7 batches. hgld has no detectors, regions or
// boxes: in a training, the items are images.
type RamboDetection struct {
	Lambda      float64 `yaml:"lambda"`                      // how far scores move along their gradient
	Margin      float64 `yaml:"margin"`                      // amount by which the scores of positives are lowered
	MAP         float64 `yaml:"map"`                         // weight of L_mAP
	APC         float64 `yaml:"apc"`                         // weight of L_APC
	BatchMemory int     `yaml:"batch_memory" range:"0 1024"` // τ, in batches
	Level       int     `yaml:"level"`                       // whose classes have proxies; 0 is the finest
}

var ramboDetectionEntry = Row{
	Name:  "rambo-detection",
	About: "RaMBO for detection (CVPR 2020): AP of the items for each class, and of all classes in one list",
	Source: "Rolínek et al., Optimizing Rank-based Metrics with Blackbox Differentiation, CVPR 2020; Eq. 22 and 23, " +
		"section 5.2",
	Value:    RamboDetection{Lambda: 0.5, Margin: 0.15, MAP: 2, APC: 1},
	Rounding: Rounding{1.2e-7, 1.2e-7},
}

// New makes the loss, with weights for the classes of the level.
func (l RamboDetection) New(f Facts) (Loss, error) {
	if err := checkLevel(l.Level, f); err != nil {
		return nil, err
	}
	if err := errors.Join(checkPositive("lambda", l.Lambda), checkNotNegative("map", l.MAP),
		checkNotNegative("apc", l.APC), checkBatchMemory(l.BatchMemory, f)); err != nil {
		return nil, err
	}
	if l.MAP+l.APC == 0 {
		return nil, errors.New("map and apc are 0, want a positive weight")
	}
	r := &ramboDetection{RamboDetection: l, classes: f.Classes[l.Level], rows: f.Batch, proxies: newProxies(f, l.Level, 1)}
	if tau := l.BatchMemory; tau > 0 {
		r.past = past{tau, []*State{
			{Name: "rambo.scores", Type: device.F32, Dims: []int{tau * r.classes, f.Batch}},
			{Name: "rambo.positive", Type: device.U8, Dims: []int{tau * r.classes, f.Batch}, Start: device.AbsentLevel},
		}}
	}
	return r, nil
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l RamboDetection) Define(*definition.Batch) definition.Definition {
	past := new([]classScores)
	return definition.Func(func(in *definition.Batch, weight float64, r *definition.Result) {
		l.addDefined(in, weight, r, past)
	})
}

// classScores holds the scores of every class, and which of the items are its positives, for one batch.
type classScores struct {
	s  [][]float64 // [C,N]
	sh [][]uint8   // [C,N]: 1 for a positive
}

// addDefined adds the loss of one step and its batch to past, the memory, newest first.
func (l RamboDetection) addDefined(in *definition.Batch, weight float64, r *definition.Result, past *[]classScores) {
	C, N := len(in.Proxies), len(in.Query)
	now := classScores{s: definition.Zeros(C, N), sh: make([][]uint8, C)}
	for c, p := range in.Proxies {
		now.sh[c] = make([]uint8, N)
		for n, q := range in.Query {
			now.s[c][n] = definition.Dot(p, q)
			switch in.Labels[n][l.Level] {
			case int32(c):
				now.sh[c][n] = 1
			case -1:
				now.sh[c][n] = device.AbsentLevel
			}
		}
	}
	s, sh := make([][]float64, C), make([][]uint8, C)
	for _, batch := range append([]classScores{now}, *past...) {
		for c := range C {
			s[c], sh[c] = append(s[c], batch.s[c]...), append(sh[c], batch.sh[c]...)
		}
	}
	ds := definition.Zeros(C, N)
	lists := func(s [][]float64, sh [][]uint8, by float64, add func(list, item int, ds float64)) {
		value, grad := BlackBoxAP{Lambda: l.Lambda, Margin: l.Margin}.define()(in, s, sh)
		r.Value += weight * by * value
		for c, row := range grad {
			for i, v := range row {
				add(c, i, by*v)
			}
		}
	}
	M := len(s[0])
	lists(s, sh, l.MAP, func(c, i int, v float64) {
		if i < N {
			ds[c][i] += v
		}
	})
	lists([][]float64{slices.Concat(s...)}, [][]uint8{slices.Concat(sh...)}, l.APC, func(_, i int, v float64) {
		if i%M < N {
			ds[i/M][i%M] += v
		}
	})
	for c, row := range ds {
		for n, v := range row {
			for d := range in.Query[n] {
				r.Query[n][d] += weight * v * in.Proxies[c][d]
				r.Proxies[c][d] += weight * v * in.Query[n][d]
			}
		}
	}
	*past = append([]classScores{now}, *past...)
	*past = (*past)[:min(len(*past), l.BatchMemory)]
}

// RanksItems marks the loss as ByClass.
func (RamboDetection) RanksItems() {}

type ramboDetection struct {
	RamboDetection
	past
	classes, rows int
	proxies       *Param
	labels        device.Array // I32 [C,1]: the classes
}

// Params returns the weights of the classes [C,D].
func (l *ramboDetection) Params() []*Param { return []*Param{l.proxies} }

func (l *ramboDetection) oneClass() []int { return []int{l.Level} }

// Forward records the loss. The classes are the queries, and the items their gallery.
func (l *ramboDetection) Forward(t *grad.Tape, b *Batch) *grad.Var {
	N, C := b.Query.Value.Dims[0], l.classes
	if l.BatchMemory > 0 && N != l.rows {
		panic("loss: a memory of scores needs batches of constant size")
	}
	if l.labels.Absent() {
		classes := make([]int32, C)
		for c := range classes {
			classes[c] = int32(c)
		}
		l.labels = constant(t, classes).Reshape(C, 1)
	}
	M := N * (1 + l.BatchMemory)
	all, positive := t.New(device.F32, C, M), t.New(device.U8, C, M)
	each, one := newRankedAP(t, C, M, l), newRankedAP(t, 1, C*M, l)
	in := &Batch{Query: t.Leaf(l.proxies.Value, l.proxies.Grad), QueryLabels: l.labels}
	items := gallery{rows: b.Query, labels: b.QueryLabels.ColRange(l.Level, l.Level+1)}
	loss := overScores(t, in, items, device.SharedKind{To: 1}, nil, func(d device.Backend, loss, ds, s, sh device.Array) {
		l.extend(d, all.Value, s, positive.Value, sh)
		each.score(d, all.Value, positive.Value)
		one.score(d, all.Value.Reshape(1, C*M), positive.Value.Reshape(1, C*M))
		d.Axpby(loss, float32(l.MAP), each.loss.Value, float32(l.APC), one.loss.Value)
		d.Axpby(ds, float32(l.MAP), each.ds.Value.ColRange(0, N), float32(l.APC),
			one.ds.Value.Reshape(C, M).ColRange(0, N))
	})
	each.done(t)
	one.done(t)
	t.Done(all)
	t.Done(positive)
	return loss
}

// extend writes the scores [C,M] and positives of the batch, followed by those of the last batches, and
// remembers those of this one.
func (l *ramboDetection) extend(d device.Backend, all, s, positive, sh device.Array) {
	N := s.Cols()
	d.Copy(all.ColRange(0, N), s)
	d.Copy(positive.ColRange(0, N), sh)
	for i := range l.BatchMemory {
		lo, hi := N*(1+i), N*(2+i)
		d.Copy(all.ColRange(lo, hi), l.of(l.states[0], i))
		d.Copy(positive.ColRange(lo, hi), l.of(l.states[1], i))
	}
	if l.BatchMemory > 0 {
		l.push(d, s, sh)
	}
}

// rankedAP is 1 − AP of lists of scores, averaged over the lists with a positive.
type rankedAP struct {
	lambda                     float32
	placed                     *placed
	loss, ds                   *grad.Var // [1], [rows,G]
	drank, dplus               *grad.Var // [rows,G]
	rel, count, weight, values *grad.Var
}

func newRankedAP(t *grad.Tape, rows, G int, l *ramboDetection) *rankedAP {
	matrix := func() *grad.Var { return t.New(device.F32, rows, G) }
	return &rankedAP{lambda: float32(l.Lambda),
		placed: &placed{margin: float32(l.Margin), s: matrix(), all: matrix(), plus: matrix()},
		loss:   t.New(device.F32, 1), ds: matrix(), drank: matrix(), dplus: matrix(),
		rel: t.New(device.F32, rows, 2), count: t.New(device.I32, rows, 2), weight: t.New(device.F32, rows),
		values: t.New(device.F32, rows, 1)}
}

// score writes loss and ds.
func (r *rankedAP) score(d device.Backend, s, sh device.Array) {
	d.Relevance(r.rel.Value, r.count.Value, r.weight.Value, sh, device.RelKind{})
	r.placed.rank(d, s, sh)
	d.RankScore(r.values.Value.Reshape(sh.Rows()), r.drank.Value, r.dplus.Value, r.placed.all.Value, r.placed.plus.Value,
		sh, r.rel.Value, r.count.Value, &device.Score{Kind: device.ScoreAP})
	d.Scale(r.drank.Value, r.drank.Value, r.weight.Value) // before RanksGrad, whose step depends on it
	d.RanksGrad(r.ds.Value, r.drank.Value, r.placed.s.Value, sh, r.lambda)
	d.Scale(r.values.Value, r.values.Value, r.weight.Value)
	d.Sums(r.loss.Value, r.values.Value, device.SumAll, 0)
}

func (r *rankedAP) done(t *grad.Tape) {
	r.placed.done(t, r.loss, r.ds, r.drank, r.dplus, r.rel, r.count, r.weight, r.values)
}
