package definition

import (
	"fmt"
	"math"
	"slices"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss"
)

// Ranking holds in float64 what a loss on ranks computes.
type Ranking struct {
	steps    reference.Steps
	score    device.Score
	at       []float64 // of a recall, with its temperatures
	temp     loss.Temperatures
	from, to int
	self     func(level uint8) uint8 // level of the query's own row
	rel      func(count []int32) []float64
	allQ     bool
	combine  loss.Combine
	mixing   bool // scores of pairs of positives
}

// Exact replaces the upper bound by the exact rank.
func (d *Ranking) Exact() { d.steps.Rank[device.Lower] = d.steps.Rank[device.Higher] }

// OfRanks returns the definition of a loss on ranks, for data with the given number of levels and
// gallery rows.
func OfRanks(k loss.Kind, levels, gallery int) (*Ranking, error) {
	switch k := k.(type) {
	case loss.SmoothAP:
		return oneLevel(smooth(k.Tau), device.ScoreAP, k.Level, k.GalleryOptions, k.ScoreMixing), nil
	case loss.SupAP:
		return oneLevel(bound(k.HMinus), device.ScoreAP, k.Level, k.GalleryOptions, k.ScoreMixing), nil
	case loss.SmoothRecall:
		d := oneLevel(smooth(k.Tau), device.ScoreRecall, k.Level, k.GalleryOptions, k.ScoreMixing)
		d.at, d.temp = k.AtK, k.Temp
		return d, nil
	case loss.SupRecall:
		d := oneLevel(bound(k.HMinus), device.ScoreRecall, k.Level, k.GalleryOptions, k.ScoreMixing)
		d.at, d.temp = k.AtK, k.Temp
		return d, nil
	case loss.RecallAtKOriginal:
		d := oneLevel(smooth(k.Tau), device.ScoreRecall, k.Level, loss.GalleryOptions{}, loss.ScoreMixing{})
		d.self, d.allQ, d.score.Clip, d.temp = func(uint8) uint8 { return 0 }, true, true, k.Temp
		for _, at := range k.AtK {
			d.at = append(d.at, min(at, float64(gallery)))
		}
		return d, nil
	case loss.SmoothNDCG:
		return allLevels(smooth(k.Tau), device.ScoreNDCG, levels, k.GalleryOptions), nil
	case loss.SupNDCG:
		return allLevels(bound(k.HMinus), device.ScoreNDCG, levels, k.GalleryOptions), nil
	case loss.SmoothHAP:
		d := allLevels(smooth(k.Tau), device.ScoreAP, levels, k.GalleryOptions)
		d.rel = relevances(k.Relevance, levels, k.GalleryOptions)
		return d, nil
	case loss.SupHAP:
		d := allLevels(bound(k.HMinus), device.ScoreAP, levels, k.GalleryOptions)
		if k.WithHRank {
			d.steps.Plus[device.Higher] = reference.Step{Kind: device.Leak, LeakSlope: k.Leak, Beta: k.Beta, Gamma: k.Gamma}
		}
		d.rel = relevances(k.Relevance, levels, k.GalleryOptions)
		return d, nil
	}
	return nil, fmt.Errorf("there is no definition of %T", k)
}

func oneLevel(s reference.Steps, o device.ScoreKind, level int, a loss.GalleryOptions, m loss.ScoreMixing) *Ranking {
	return &Ranking{steps: s, score: device.Score{Kind: o}, from: level, to: level + 1, self: selfOf(a), rel: always,
		combine: a.MemoryCombine, mixing: m.UsePosMixup}
}

func allLevels(s reference.Steps, o device.ScoreKind, levels int, a loss.GalleryOptions) *Ranking {
	return &Ranking{steps: s, score: device.Score{Kind: o}, to: levels, self: selfOf(a), rel: always,
		combine: a.MemoryCombine}
}

// bound returns the steps of the Sup losses.
func bound(h loss.HMinus) reference.Steps {
	s := reference.Step{Kind: device.Upper, Tau: h.Tau, Rho: h.Rho, Delta: h.Delta, Start: h.Start, Zero: h.Zero}
	if h.Offset != nil {
		s.Offset = *h.Offset
	} else {
		s.Offset = h.Start + 1/(1+math.Exp(-h.Delta/h.Tau))
	}
	if h.Rho == -1 {
		s = reference.Step{Kind: device.Sigmoid, Tau: h.Tau}
	}
	exact := reference.Step{Kind: device.Heaviside}
	return reference.Steps{Rank: [3]reference.Step{exact, exact, s}, Plus: [3]reference.Step{exact, exact, exact}}
}

// smooth returns sigmoids for all steps.
func smooth(tau float64) reference.Steps {
	s := reference.Step{Kind: device.Sigmoid, Tau: tau}
	return reference.Steps{Rank: [3]reference.Step{s, s, s}, Plus: [3]reference.Step{s, s, s}}
}

func selfOf(a loss.GalleryOptions) func(uint8) uint8 {
	if a.SelfInGallery {
		return func(l uint8) uint8 { return l }
	}
	return func(uint8) uint8 { return device.AbsentLevel }
}

func always(count []int32) []float64 {
	rel := make([]float64, len(count))
	for l := 1; l < len(rel); l++ {
		rel[l] = 1
	}
	return rel
}

func relevances(r loss.Relevance, levels int, a loss.GalleryOptions) func([]int32) []float64 {
	divisor := r.Divisor
	if divisor <= 0 {
		divisor += float64(levels)
	}
	return func(count []int32) []float64 {
		rel, n := make([]float64, levels+1), make([]float64, levels+2)
		for l := levels; l >= 1; l-- {
			n[l] = float64(count[l])
			if l == levels && r.CountsQuery && !a.SelfInGallery {
				n[l]++
			}
		}
		for l := 1; l <= levels; l++ {
			atLeast := 0.0
			for _, m := range n[l:] {
				atLeast += m
			}
			switch {
			case r.Type == loss.Mapped && atLeast > 0:
				rel[l] = rel[l-1] + r.Weights[l-1]/atLeast
			case r.Type == loss.Mapped:
				rel[l] = rel[l-1]
			case n[l] > 0:
				rel[l] = math.Pow(float64(l)/divisor, r.Alpha) / n[l]
			}
		}
		return rel
	}
}

// Add adds weight times the loss and its gradient.
func (d Ranking) Add(in *Batch, weight float64, r *Result) {
	levels, scores := d.Shared(in), Zeros(len(in.Query), len(in.Gallery))
	counted := 0
	for q, row := range levels {
		for g := range row {
			scores[q][g] = dot(in.Query[q], in.Gallery[g])
		}
		if d.allQ || positives(d.count(row)) > 0 {
			counted++
		}
	}
	for q, sh := range levels {
		if positives(d.count(sh)) == 0 {
			continue
		}
		row, fold := scores[q], func([]float64) {}
		if d.mixing {
			row, sh, fold = mixedScores(row, sh, in.PerClass, in.Drawn[q])
		}
		n, count := len(sh), d.count(sh)
		rel := d.rel(count)
		rank, plus, u, v, ds := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n),
			make([]float64, n)
		reference.PairRank(rank, plus, row, sh, rel, &d.steps)
		w := weight / float64(counted)
		r.Value += w * d.ofRanks(u, v, rank, plus, sh, rel, count)
		reference.PairRankGrad(ds, u, v, row, sh, rel, &d.steps)
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
func (d Ranking) ofRanks(u, v, rank, plus []float64, sh []uint8, rel []float64, count []int32) float64 {
	if d.score.Kind != device.ScoreRecall {
		return reference.RankScore(u, v, rank, plus, sh, rel, count, &d.score)
	}
	clear(u)
	clear(v)
	loss, share := 1.0, 1/float64(len(d.at))
	for i, at := range d.at {
		temp := d.temp.All
		if d.temp.Each != nil {
			temp = d.temp.Each[i]
		}
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
		if d.score.Clip && sum > at {
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
func (d Ranking) Shared(in *Batch) [][]uint8 {
	out := make([][]uint8, len(in.Query))
	for q, ql := range in.Labels {
		out[q] = make([]uint8, len(in.Gallery))
		for g, gl := range in.Against {
			n, known := labels.Path(ql).Related(gl, d.from, d.to)
			switch out[q][g] = uint8(n); {
			case slices.Max(gl) < 0, !known:
				out[q][g] = device.AbsentLevel
			case in.Self != nil && int(in.Self[q]) == g:
				out[q][g] = d.self(out[q][g])
			}
		}
	}
	return out
}

func (d Ranking) count(sh []uint8) []int32 {
	n := make([]int32, d.to-d.from+1)
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

// Relevance returns the relevance of each number of shared levels, for a row of Shared.
func (d *Ranking) Relevance(sh []uint8) []float64 { return d.rel(d.count(sh)) }
