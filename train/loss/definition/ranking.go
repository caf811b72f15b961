package definition

import (
	"math"
	"slices"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// Ranking is a loss of ranks: a score of the ranks that steps give, over the scores of a query.
type Ranking struct {
	Compared
	Steps reference.Steps               // of the ranks
	Score device.ScoreKind              // of the ranks
	Clip  bool                          // as in device.Score
	At    []float64                     // of a recall: the values of k
	Temp  []float64                     // of a recall: the temperature of each k
	Rel   func(count []int32) []float64 // relevance of each number of shared levels; nil: 1 from the first on
	AllQ  bool                          // the mean is over all queries, not over those with a positive
	Mixes bool                          // scores of pairs of positives are further positives
}

// Exact replaces the upper bound by the exact rank.
func (d *Ranking) Exact() { d.Steps.Rank[device.Lower] = d.Steps.Rank[device.Higher] }

// Sigmoids returns sigmoids for all steps.
func Sigmoids(tau float64) reference.Steps {
	s := reference.Step{Kind: device.Sigmoid, Tau: tau}
	return reference.Steps{Rank: [3]reference.Step{s, s, s}, Plus: [3]reference.Step{s, s, s}}
}

// Relevance returns the relevance of each number of shared levels, for a row of Shared.
func (d *Ranking) Relevance(sh []uint8) []float64 {
	count := d.count(sh)
	if d.Rel != nil {
		return d.Rel(count)
	}
	rel := make([]float64, len(count))
	for l := 1; l < len(rel); l++ {
		rel[l] = 1
	}
	return rel
}

// Add adds weight times the loss against the gallery and the memory.
func (d *Ranking) Add(in *Batch, weight float64, r *Result) {
	d.withMemory(in, weight, func(in *Batch, weight float64) { d.add(in, weight, r) })
}

func (d *Ranking) add(in *Batch, weight float64, r *Result) {
	levels, scores := d.Shared(in), Zeros(len(in.Query), len(in.Gallery))
	counted := 0
	for q, row := range levels {
		for g := range row {
			scores[q][g] = Dot(in.Query[q], in.Gallery[g])
		}
		if d.AllQ || positives(d.count(row)) > 0 {
			counted++
		}
	}
	for q, sh := range levels {
		if positives(d.count(sh)) == 0 {
			continue
		}
		row, fold := scores[q], func([]float64) {}
		if d.Mixes {
			row, sh, fold = mixedScores(row, sh, in.PerClass, in.Drawn[q])
		}
		n, count := len(sh), d.count(sh)
		rel := d.Relevance(sh)
		rank, plus, u, v, ds := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n),
			make([]float64, n)
		reference.PairRank(rank, plus, row, sh, rel, &d.Steps)
		w := weight / float64(counted)
		r.Value += w * d.ofRanks(u, v, rank, plus, sh, rel, count)
		reference.PairRankGrad(ds, u, v, row, sh, rel, &d.Steps)
		fold(ds)
		to := in.galleryGradient(r)
		for g, s := range ds[:len(in.Gallery)] {
			for i := range in.Query[q] {
				r.Query[q][i] += w * s * in.Gallery[g][i]
				if to != nil {
					to[g][i] += w * s * in.Query[q][i]
				}
			}
		}
	}
}

// ofRanks returns the loss of one query and writes its derivatives by rank and plus. The
// constants of a recall are those of the settings, which device.Score rounds to float32.
func (d *Ranking) ofRanks(u, v, rank, plus []float64, sh []uint8, rel []float64, count []int32) float64 {
	if d.Score != device.ScoreRecall {
		return reference.RankScore(u, v, rank, plus, sh, rel, count, &device.Score{Kind: d.Score})
	}
	clear(u)
	clear(v)
	loss, share := 1.0, 1/float64(len(d.At))
	for i, at := range d.At {
		temp := d.Temp[i]
		norm, sum, slopes := share/min(at, float64(positives(count))), 0.0, make([]float64, len(sh))
		for k, l := range sh {
			if l == 1 {
				x := min(max((rank[k]-at)/temp, -50), 50)
				y := 1 / (1 + math.Exp(x))
				sum += y
				if math.Abs(x) < 50 {
					slopes[k] = y * (1 - y) / temp
				}
			}
		}
		if d.Clip && sum > at {
			loss -= norm * at
			continue
		}
		loss -= norm * sum
		for k, slope := range slopes {
			u[k] += norm * slope
		}
	}
	return loss
}

// Shared counts the levels that every query and gallery item share. An item is absent if it has no
// label, or if the labels do not say how many levels it shares.
func (d Compared) Shared(in *Batch) [][]uint8 {
	out := make([][]uint8, len(in.Query))
	for q, ql := range in.Labels {
		out[q] = make([]uint8, len(in.Gallery))
		for g, gl := range in.Against {
			n, known := labels.Path(ql).Related(gl, d.From, d.To)
			switch out[q][g] = uint8(n); {
			case slices.Max(gl) < 0, !known:
				out[q][g] = device.AbsentLevel
			case in.Self == nil || int(in.Self[q]) != g:
			case d.Self == device.SelfAbsent:
				out[q][g] = device.AbsentLevel
			case d.Self == device.SelfZero:
				out[q][g] = 0
			}
		}
	}
	return out
}

func (d *Ranking) count(sh []uint8) []int32 {
	n := make([]int32, d.To-d.From+1)
	for _, l := range sh {
		if l != device.AbsentLevel {
			n[l]++
		}
	}
	return n
}

func positives(count []int32) (n int32) {
	for _, c := range count[1:] {
		n += c
	}
	return n
}
