package reference

import (
	"math"

	"hgld/train/device"
)

// RankScore defines the scores for one query. It returns the loss and writes its derivatives by
// rank and by plus, 0 where level is not positive. level, rank, plus, drank and dplus may cover
// the whole row or only the positives, in row order; rel and count [L+1] are those of the row.
// Without a positive, or if all relevances are 0, loss and derivatives are 0.
func RankScore(drank, dplus, rank, plus []float64, level []uint8, rel []float64, count []int32,
	o *device.Score) float64 {
	clear(drank)
	clear(dplus)
	positives := 0
	for _, n := range count[1:] {
		positives += int(n)
	}
	if positives == 0 {
		return 0
	}
	switch o.Kind {
	case device.ScoreRecall:
		return recallScore(drank, rank, level, len(rel), positives, o)
	case device.ScoreNDCG:
		return ndcgScore(drank, rank, level, count)
	case device.ScoreLog, device.ScoreLogLog:
		return logScore(drank, rank, plus, level, len(rel), positives, o.Kind == device.ScoreLogLog)
	}
	return apScore(drank, dplus, rank, plus, level, rel, count)
}

// apScore: L = 1 − Σ_k plus_k / rank_k / Z with Z = Σ_l n_l r_l.
func apScore(drank, dplus, rank, plus []float64, level []uint8, rel []float64, count []int32) float64 {
	z := 0.0
	for l, n := range count {
		z += float64(n) * rel[l]
	}
	if z == 0 {
		return 0
	}
	sum := 0.0
	for k, l := range level {
		if l < 1 || int(l) >= len(rel) {
			continue
		}
		sum += plus[k] / rank[k]
		drank[k] = plus[k] / (z * rank[k] * rank[k])
		dplus[k] = -1 / (z * rank[k])
	}
	return 1 - sum/z
}

// recallScore: L = 1 − mean over κ of Σ_k σ((κ − rank_k)/T_κ) / min(κ, P). Clip bounds the sum of
// a κ by κ, beyond which it has no gradient.
func recallScore(drank, rank []float64, level []uint8, levels, positives int, o *device.Score) float64 {
	loss, share := 1.0, 1/float64(len(o.At))
	for i, at := range o.At {
		cut, temp := float64(at), float64(o.Temp[i])
		norm := share / min(cut, float64(positives))
		sum := 0.0
		for k, l := range level {
			if l >= 1 && int(l) < levels {
				sum += Sigmoid((cut - rank[k]) / temp)
			}
		}
		if o.Clip && sum > cut {
			loss -= norm * cut
			continue
		}
		loss -= norm * sum
		for k, l := range level {
			if l >= 1 && int(l) < levels {
				drank[k] += norm * sigmoidSlope(cut-rank[k], temp)
			}
		}
	}
	return loss
}

// ndcgScore: L = 1 − Σ_k (2^l_k − 1)/log2(1 + rank_k) / iDCG. iDCG is the sum for the best order,
// level L first.
func ndcgScore(drank, rank []float64, level []uint8, count []int32) float64 {
	ideal, place := 0.0, 1.0
	for l := len(count) - 1; l >= 1; l-- {
		gain := math.Ldexp(1, l) - 1
		for range count[l] {
			place++
			ideal += gain / math.Log2(place)
		}
	}
	loss := 1.0
	for k, l := range level {
		if l < 1 || int(l) >= len(count) {
			continue
		}
		gain, log := math.Ldexp(1, int(l))-1, math.Log2(1+rank[k])
		loss -= gain / log / ideal
		drank[k] = gain / (ideal * math.Ln2 * (1 + rank[k]) * log * log)
	}
	return loss
}

// logScore: L = Σ_k ℓ(rank_k − plus_k) / P with ℓ(x) = log(1+x), or ℓ(ℓ(x)) if twice is set.
func logScore(drank, rank, plus []float64, level []uint8, levels, positives int, twice bool) float64 {
	loss, share := 0.0, 1/float64(positives)
	for k, l := range level {
		if l < 1 || int(l) >= levels {
			continue
		}
		ahead := rank[k] - plus[k]
		v, d := math.Log1p(ahead), 1/(1+ahead)
		if twice {
			v, d = math.Log1p(v), d/(1+v)
		}
		loss += share * v
		drank[k] = share * d
	}
	return loss
}
