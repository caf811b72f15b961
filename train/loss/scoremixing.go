package loss

import (
	"errors"
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// ScoreMixing adds virtual positives to the gallery of each query. Their scores mix the scores of
// two positives, for every pair i < j by row:
//
//	s = a·s_i + (1−a)·s_j,  a uniform on [0, 1), drawn anew for each query and pair
//
// This is SupRank's form of the SiMix of Patel et al., "Recall@k Surrogate Loss", CVPR 2022. The
// number of mixed positives is the number of rows per class that the sampler gives, including the
// query if it is in its gallery. If a query has more positives, the first by row are mixed.
type ScoreMixing struct {
	UsePosMixup bool `yaml:"use_pos_mixup"` // mix the scores of two positives
}

// Draws reports whether scores are mixed.
func (m ScoreMixing) Draws() bool { return m.UsePosMixup }

// mixing returns nil if mixing is off.
func (m ScoreMixing) mixing(f Facts) (*mixing, error) {
	if !m.UsePosMixup {
		return nil, nil
	}
	if f.PerClass < 2 {
		return nil, errors.New("use_pos_mixup needs a fixed number of rows per class, and the sampler does not give one: " +
			"use an m-per-class sampler")
	}
	if n := f.Batch * max(f.Batch, f.Memory); n > maxMixed {
		return nil, fmt.Errorf("use_pos_mixup with %d scores of batch and memory, want at most %d", n, maxMixed)
	}
	return &mixing{positives: f.PerClass, pairs: f.PerClass * (f.PerClass - 1) / 2}, nil
}

// mixing extends scores [Q,G] by P·(P−1)/2 columns of mixtures, and folds their gradients back.
// It holds the arrays that all steps share.
type mixing struct {
	positives, pairs int
	left, right, of  device.Array // I32 [Q·pairs]: rows among the positives of all queries; I32 [Q·P]: the query
}

// maxMixed is how many scores can be addressed by a float32 index.
const maxMixed = 1 << 24

func (m *mixing) prepare(t *grad.Tape, Q int) {
	if m.left.Len() == Q*m.pairs && !m.left.Absent() {
		return
	}
	var left, right, query []int32
	for q := range Q {
		for i := range m.positives {
			query = append(query, int32(q))
			for j := i + 1; j < m.positives; j++ {
				left, right = append(left, int32(q*m.positives+i)), append(right, int32(q*m.positives+j))
			}
		}
	}
	m.left, m.right, m.of = constant(t, left), constant(t, right), constant(t, query)
}

// mixed holds the arrays of one recording.
type mixed struct {
	*mixing
	Q, G                                  int
	share                                 *grad.Var // a [Q·pairs]
	s, ds, sh                             *grad.Var // [Q,G+pairs]
	shared, order, at, index, item, level *grad.Var // of the Q·P positives
	l, r, levels                          *grad.Var // of the Q·pairs pairs
	all                                   *grad.Var // levels [Q,G] in F32
}

func (m *mixing) record(t *grad.Tape, b *Batch, g gallery) *mixed {
	Q, G := b.Query.Value.Dims[0], g.rows.Value.Dims[0]
	m.prepare(t, Q)
	stream := scoreMixStream
	if g.memory {
		stream = scoreMixMemoryStream
	}
	n, pairs := Q*m.positives, Q*m.pairs
	f := func(dims ...int) *grad.Var { return t.New(device.F32, dims...) }
	return &mixed{
		mixing: m, Q: Q, G: G, share: b.draw(t, g.drawn, stream, device.Dist{Kind: device.Uniform, B: 1}, pairs),
		s: f(Q, G+m.pairs), ds: f(Q, G+m.pairs), sh: t.New(device.U8, Q, G+m.pairs),
		shared: t.New(device.U8, Q, m.positives), order: t.New(device.I32, Q, m.positives),
		at: f(n, 1), index: t.New(device.I32, n), item: f(n, 1), level: f(n, 1),
		l: f(pairs, 1), r: f(pairs, 1), levels: f(pairs, 1), all: f(Q, G),
	}
}

// extend fills s and sh from the scores and levels. A pair is absent unless both its items are
// positives.
func (m *mixed) extend(d device.Backend, s, sh device.Array) {
	scores, levels := s.Reshape(m.Q*m.G, 1), m.all.Value.Reshape(m.Q*m.G, 1)
	d.Copy(m.all.Value, sh)
	m.find(d, sh)
	d.Fill(m.item.Value, 0)
	d.Gather(m.item.Value, scores, m.index.Value)
	d.Fill(m.level.Value, 0)
	d.Gather(m.level.Value, levels, m.index.Value)

	d.Gather(m.l.Value, m.level.Value, m.left)
	d.Gather(m.r.Value, m.level.Value, m.right)
	times(d, m.levels.Value, m.l.Value, m.r.Value) // 1 for two positives, else 0
	d.Fill(m.l.Value, device.AbsentLevel)
	d.Axpby(m.levels.Value, 1-device.AbsentLevel, m.levels.Value, 1, m.l.Value)

	d.Gather(m.l.Value, m.item.Value, m.left)
	d.Gather(m.r.Value, m.item.Value, m.right)
	d.Axpby(m.l.Value, 1, m.l.Value, -1, m.r.Value)
	times(d, m.l.Value, m.l.Value, m.share.Value)
	d.Axpby(m.l.Value, 1, m.l.Value, 1, m.r.Value)

	real, virtual := [2]int{0, m.G}, [2]int{m.G, m.G + m.pairs}
	d.Copy(m.s.Value.ColRange(real[0], real[1]), s)
	d.Copy(m.s.Value.ColRange(virtual[0], virtual[1]), m.l.Value.Reshape(m.Q, m.pairs))
	d.Copy(m.sh.Value.ColRange(real[0], real[1]), sh)
	d.Copy(m.sh.Value.ColRange(virtual[0], virtual[1]), m.levels.Value.Reshape(m.Q, m.pairs))
}

// find writes to index the positions of each query's first P positives in the scores of all
// queries, ordered by falling level, then row. Missing positives are −1.
func (m *mixed) find(d device.Backend, sh device.Array) {
	d.Ranked(m.shared.Value, m.order.Value, m.all.Value, sh)
	order, exists, row := m.at.Value, m.item.Value, m.level.Value
	d.Copy(order, m.order.Value.Reshape(order.Len(), 1))
	d.Fill(row, 1)
	d.Axpby(exists, 1, order, 1, row) // order + 1
	d.Act(row, order, device.ReLU)
	d.Axpby(row, 1, exists, -1, row) // 1, or 0 where order is −1
	d.Copy(order, m.of.Reshape(order.Len(), 1))
	d.Axpby(order, float32(m.G), order, 1, exists)
	times(d, order, order, row)
	d.Fill(row, 1)
	d.Axpby(order, 1, order, -1, row)
	d.Copy(m.index.Value.Reshape(order.Len(), 1), order)
}

// fold writes the gradient by the scores, given the gradient by the extended scores.
func (m *mixed) fold(d device.Backend, ds device.Array) {
	d.Copy(ds, m.ds.Value.ColRange(0, m.G))
	d.Copy(m.levels.Value.Reshape(m.Q, m.pairs), m.ds.Value.ColRange(m.G, m.G+m.pairs))
	times(d, m.l.Value, m.levels.Value, m.share.Value)
	d.Axpby(m.r.Value, 1, m.levels.Value, -1, m.l.Value)
	d.Fill(m.item.Value, 0)
	d.ScatterAdd(m.item.Value, m.l.Value, m.left, 1)
	d.ScatterAdd(m.item.Value, m.r.Value, m.right, 1)
	d.ScatterAdd(ds.Reshape(m.Q*m.G, 1), m.item.Value, m.index.Value, 1)
}

func (m *mixed) done(t *grad.Tape) {
	for _, v := range []*grad.Var{m.share, m.s, m.ds, m.sh, m.shared, m.order, m.at, m.index, m.item, m.level, m.l, m.r,
		m.levels, m.all} {
		t.Done(v)
	}
}
