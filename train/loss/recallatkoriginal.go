package loss

import (
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss/definition"
)

// RecallAtKOriginal is the loss of Patel et al., "Recall@k Surrogate Loss", CVPR 2022, as their
// code computes it. It differs from SmoothRecall in four points. The query counts in all ranks
// without being a positive, so the best rank is 2. The sum for κ is at most κ. No κ exceeds the
// size of the gallery. The mean is over all queries, and a query without positives contributes 0.
//
//	L = 1/Q Σ_q (1 − 1/|K| Σ_{κ∈K} min(κ, Σ_{k∈P_q} σ((κ − rank(q,k))/Temp_κ)) / min(κ, |P_q|))
//	rank(q,k) = 1 + Σ_{i≠k} σ((s_i − s_k)/Tau)
//
// Query is [Q, D] and Gallery [G, D], rows of unit length. SiMix adds mixtures of the rows of
// each class as further queries and gallery items. Gallery must then be Query, and no κ exceeds
// the number of real items.
type RecallAtKOriginal struct {
	Tau           float64      `yaml:"tau"`            // temperature of the sigmoid in the rank
	AtK           []float64    `yaml:"at_k"`           // the values of k
	Temp          Temperatures `yaml:"temp"`           // temperature of the test that a rank is at most k
	Level         int          `yaml:"level"`          // 0 is the finest
	SiMix         bool         `yaml:"simix"`          // add mixtures of two rows of a class as queries and items
	MemoryCombine Combine      `yaml:"memory_combine"` // joins the losses against batch and memory
}

var recallAtKOriginalEntry = Row{
	Name: "recall-at-k-original", About: "R@k (CVPR 2022) as its authors compute it: the query counts in the ranks",
	Source:   "Patel et al., Recall@k Surrogate Loss, CVPR 2022; its code, with SiMix as a setting",
	Value:    RecallAtKOriginal{Tau: 0.01, AtK: recallAt, Temp: Temperatures{All: 1}},
	Rounding: Rounding{1.4e-7, 3.6e-6},
}

// New makes the loss.
func (l RecallAtKOriginal) New(f Facts) (Loss, error) {
	score := recall(l.AtK, l.Temp)
	score.Clip = true
	r, err := newRanking(f, ranking{
		steps: rankOnly(smoothSteps(l.Tau)), score: score, rel: device.RelKind{AllQ: true},
		shared: device.SharedKind{From: l.Level, To: l.Level + 1, Self: device.SelfZero}, combine: l.MemoryCombine,
	})
	if err != nil {
		return nil, err
	}
	o := recallAtKOriginal{ranking: r.(ranking)}
	if l.SiMix {
		if o.rows, err = newRowMixing(f); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l RecallAtKOriginal) Define(in *definition.Batch) definition.Definition {
	d := &definition.Ranking{Steps: definition.Sigmoids(l.Tau), Score: device.ScoreRecall, Clip: true, AllQ: true,
		Temp: l.Temp.of(l.AtK), Compared: GalleryOptions{MemoryCombine: l.MemoryCombine}.at(l.Level)}
	d.Self = device.SelfZero
	for _, at := range l.AtK {
		d.At = append(d.At, min(at, float64(len(in.Gallery))))
	}
	if l.SiMix {
		return definition.MixedRows{Ranking: d}
	}
	return d
}

// Draws reports whether rows are mixed.
func (l RecallAtKOriginal) Draws() bool { return l.SiMix }

// Released averages the losses against batch and memory, as SupRank does.
func (l RecallAtKOriginal) Released() Kind {
	l.MemoryCombine = Average
	return l
}

type recallAtKOriginal struct {
	ranking
	rows *rowMixing // nil: SiMix is off
}

// Forward limits every κ to the number of items, then records the loss.
func (r recallAtKOriginal) Forward(t *grad.Tape, b *Batch) *grad.Var {
	at := make([]float32, len(r.score.At))
	for i, k := range r.score.At {
		at[i] = min(k, float32(b.Gallery.Value.Dims[0]))
	}
	bounded := r.ranking
	bounded.score.At = at
	if r.rows != nil {
		b = r.rows.extend(t, b, r.shared.From)
	}
	return bounded.Forward(t, b)
}
