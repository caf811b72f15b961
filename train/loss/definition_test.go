package loss_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss"
)

// define computes a loss by its definition in float64: embeddings to scores to
// ranks by loops over pairs, and the gradient by the chain rule.
func define(t *testing.T, k loss.Kind, in *batch) result {
	t.Helper()
	r := result{query: like(in.query), proxies: like(in.proxies), bias: make([]float64, len(in.bias))}
	addDefinition(t, k, in, 1, &r)
	return r
}

func addDefinition(t *testing.T, k loss.Kind, in *batch, weight float64, r *result) {
	t.Helper()
	switch k := k.(type) {
	case loss.Sum:
		for _, term := range k.Terms {
			addDefinition(t, term.Loss, in, weight*term.Weight, r)
		}
	case loss.Composition:
		addDefinition(t, loss.Sum{Terms: k.Terms}, in, weight, r)
	case loss.SumTriplet:
		levels, weights := levelsOf(k.Levels, k.Weights, len(in.labels[0]))
		for i, level := range levels {
			addDefinition(t, loss.Triplet{Margin: k.Margin, Normalise: k.Normalise, Level: level,
				GalleryOptions: k.GalleryOptions}, in, weight*weights[i], r)
		}
	case loss.SumNSM:
		levels, weights := levelsOf(k.Levels, k.Weights, len(in.labels[0]))
		for i, level := range levels {
			addDefinition(t, loss.NSM{Temperature: k.Temperature, Level: level}, in, weight*weights[i], r)
		}
	case loss.SumNCAPP:
		levels, weights := levelsOf(k.Levels, k.Weights, len(in.labels[0]))
		for i, level := range levels {
			addDefinition(t, loss.NCAPP{Scale: k.Scale, Level: level}, in, weight*weights[i], r)
		}
	case loss.NSM:
		addNSM(k, in, weight, r)
	case loss.CrossEntropy:
		addCrossEntropy(k, in, weight, r)
	default:
		if d := scoredOf(k, in); d != nil {
			d.addWithMemory(in, weight, r)
			return
		}
		if addProxied(k, in, weight, r) {
			return
		}
		if r5, ok := k.(loss.RecallAtKOriginal); ok && r5.SiMix {
			addMixedRows(t, r5, in, weight, r)
			return
		}
		d := rankingOf(t, k, len(in.labels[0]), len(in.gallery))
		if in.memory == nil {
			d.add(in, weight, r)
			return
		}
		if d.combine == loss.Average {
			weight /= 2
		}
		d.add(in, weight, r)
		memory := *in
		memory.gallery, memory.against, memory.self = in.memory.gallery, in.memory.against, in.memory.self
		d.add(&memory, weight, r)
	}
}

// levelsOf is all levels, and equal weights, where none are given.
func levelsOf(levels []int, weights []float64, n int) ([]int, []float64) {
	if levels == nil {
		for l := range n {
			levels = append(levels, l)
		}
	}
	if weights == nil {
		for range levels {
			weights = append(weights, 1/float64(len(levels)))
		}
	}
	return levels, weights
}

// ranking says in float64 what a loss on ranks computes.
type ranking struct {
	steps    reference.Steps
	score    device.Score
	at       []float64 // of a recall, with its temperatures
	temp     loss.Temperatures
	from, to int
	self     func(level uint8) uint8 // of the query's own row
	rel      func(count []int32) []float64
	allQ     bool
	combine  loss.Combine
	mixing   bool // scores of pairs of positives
}

func rankingOf(t *testing.T, k loss.Kind, levels, gallery int) ranking {
	t.Helper()
	sup := func(h loss.HMinus) reference.Steps {
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
	smooth := func(tau float64) reference.Steps {
		s := reference.Step{Kind: device.Sigmoid, Tau: tau}
		return reference.Steps{Rank: [3]reference.Step{s, s, s}, Plus: [3]reference.Step{s, s, s}}
	}
	ap, ndcg, recall := device.Score{}, device.Score{Kind: device.ScoreNDCG}, device.Score{Kind: device.ScoreRecall}
	one := func(s reference.Steps, o device.Score, level int, a loss.GalleryOptions, m loss.ScoreMixing) ranking {
		return ranking{steps: s, score: o, from: level, to: level + 1, self: selfOf(a), rel: always, combine: a.MemoryCombine,
			mixing: m.UsePosMixup}
	}
	all := func(s reference.Steps, o device.Score, a loss.GalleryOptions) ranking {
		return ranking{steps: s, score: o, to: levels, self: selfOf(a), rel: always, combine: a.MemoryCombine}
	}
	counting := func(d ranking, at []float64, temp loss.Temperatures) ranking {
		d.at, d.temp = at, temp
		return d
	}
	switch k := k.(type) {
	case loss.SmoothAP:
		return one(smooth(k.Tau), ap, k.Level, k.GalleryOptions, k.ScoreMixing)
	case loss.SupAP:
		return one(sup(k.HMinus), ap, k.Level, k.GalleryOptions, k.ScoreMixing)
	case loss.SmoothRecall:
		return counting(one(smooth(k.Tau), recall, k.Level, k.GalleryOptions, k.ScoreMixing), k.AtK, k.Temp)
	case loss.SupRecall:
		return counting(one(sup(k.HMinus), recall, k.Level, k.GalleryOptions, k.ScoreMixing), k.AtK, k.Temp)
	case loss.RecallAtKOriginal:
		d := counting(one(smooth(k.Tau), recall, k.Level, loss.GalleryOptions{}, loss.ScoreMixing{}), nil, k.Temp)
		d.self, d.allQ, d.score.Clip = func(uint8) uint8 { return 0 }, true, true
		for _, at := range k.AtK {
			d.at = append(d.at, min(at, float64(gallery)))
		}
		return d
	case loss.SmoothNDCG:
		return all(smooth(k.Tau), ndcg, k.GalleryOptions)
	case loss.SupNDCG:
		return all(sup(k.HMinus), ndcg, k.GalleryOptions)
	case loss.SmoothHAP:
		d := all(smooth(k.Tau), ap, k.GalleryOptions)
		d.rel = relevances(k.Relevance, levels, k.GalleryOptions)
		return d
	case loss.SupHAP:
		d := all(sup(k.HMinus), ap, k.GalleryOptions)
		if k.WithHRank {
			d.steps.Plus[device.Higher] = reference.Step{Kind: device.Leak, LeakSlope: k.Leak, Beta: k.Beta, Gamma: k.Gamma}
		}
		d.rel = relevances(k.Relevance, levels, k.GalleryOptions)
		return d
	}
	t.Fatalf("no definition of %T", k)
	return ranking{}
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

// add adds weight times the loss and its gradient.
func (d ranking) add(in *batch, weight float64, r *result) {
	levels, scores := d.shared(in), like2(len(in.query), len(in.gallery))
	counted := 0
	for q, row := range levels {
		for g := range row {
			scores[q][g] = dot(in.query[q], in.gallery[g])
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
			row, sh, fold = mixedScores(row, sh, in.perClass, in.drawn[q])
		}
		n, count := len(sh), d.count(sh)
		rel := d.rel(count)
		rank, plus, u, v, ds := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n),
			make([]float64, n)
		reference.PairRank(rank, plus, row, sh, rel, &d.steps)
		w := weight / float64(counted)
		r.value += w * d.ofRanks(u, v, rank, plus, sh, rel, count)
		reference.PairRankGrad(ds, u, v, row, sh, rel, &d.steps)
		fold(ds)
		own := &in.gallery[0] == &in.query[0]
		for g, s := range ds[:len(in.gallery)] {
			for i := range in.query[q] {
				r.query[q][i] += w * s * in.gallery[g][i]
				if own {
					r.query[g][i] += w * s * in.query[q][i]
				}
			}
		}
	}
}

// ofRanks is the loss of one query and its derivatives by rank and plus. A recall's
// constants are those of the settings, which device.Score rounds to float32.
func (d ranking) ofRanks(u, v, rank, plus []float64, sh []uint8, rel []float64, count []int32) float64 {
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

// shared counts the levels in common.
func (d ranking) shared(in *batch) [][]uint8 {
	out := make([][]uint8, len(in.query))
	for q, ql := range in.labels {
		out[q] = make([]uint8, len(in.gallery))
		for g, gl := range in.against {
			for l := d.from; l < d.to; l++ {
				if ql[l] == gl[l] && ql[l] >= 0 {
					out[q][g]++
				}
			}
			if in.self != nil && int(in.self[q]) == g {
				out[q][g] = d.self(out[q][g])
			}
		}
	}
	return out
}

func (d ranking) count(sh []uint8) []int32 {
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

func addNSM(k loss.NSM, in *batch, weight float64, r *result) {
	unit, n := units(in.proxies), max(k.NumCenters, 1)
	du := like(in.proxies)
	w := weight / float64(len(in.query))
	for q, x := range in.query {
		class := in.labels[q][k.Level]
		z := make([]float64, len(unit)/n)
		slope := make([]float64, len(unit)) // of a class' score by that of a centre
		for c := range z {
			z[c] = ofCenters(slope[c*n:][:n], x, unit[c*n:][:n], k.TemperatureCenters) / k.Temperature
		}
		top, sum := slices.Max(z), 0.0
		for _, v := range z {
			sum += math.Exp(v - top)
		}
		r.value += w * (top + math.Log(sum) - z[class])
		for i, p := range unit {
			d := math.Exp(z[i/n]-top) / sum
			if i/n == int(class) {
				d--
			}
			d *= w / k.Temperature * slope[i]
			for j := range x {
				r.query[q][j] += d * p[j]
				du[i][j] += d * x[j]
			}
		}
	}
	addTo(r.proxies, throughUnits(du, in.proxies))
}

// ofCenters is the mean of the scores of centres weighted by softmax over them, and
// its slopes by these.
func ofCenters(slope []float64, x []float64, centers [][]float64, temperature float64) (z float64) {
	if len(centers) == 1 {
		slope[0] = 1
		return dot(x, centers[0])
	}
	sum, share := 0.0, make([]float64, len(centers))
	for i, c := range centers {
		share[i] = math.Exp(dot(x, c) / temperature)
		sum += share[i]
	}
	for i, c := range centers {
		share[i] /= sum
		z += share[i] * dot(x, c)
	}
	for i, c := range centers {
		slope[i] = share[i] * (1 + (dot(x, c)-z)/temperature)
	}
	return z
}

func dot(a, b []float64) (s float64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func like(x [][]float64) [][]float64 {
	if len(x) == 0 {
		return nil
	}
	return like2(len(x), len(x[0]))
}

func like2(rows, cols int) [][]float64 {
	out := make([][]float64, rows)
	for i := range out {
		out[i] = make([]float64, cols)
	}
	return out
}

// farthest returns max|a−b| / max|b|.
func farthest(a, b [][]float64) float64 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("%d rows against %d", len(a), len(b)))
	}
	d, m := 0.0, 0.0
	for i := range a {
		for j := range a[i] {
			if diff := math.Abs(a[i][j] - b[i][j]); !(diff <= d) {
				d = diff
			}
			m = max(m, math.Abs(b[i][j]))
		}
	}
	if m == 0 {
		return d
	}
	return d / m
}
