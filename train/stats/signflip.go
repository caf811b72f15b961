package stats

import (
	"math"

	"hgld/train/sample"
)

// exactPairs is the greatest number of pairs for which all signs are tried. 2^20 take about a
// millisecond.
const exactPairs = 20

// SignFlip is the two-sided randomisation test of two models on the same queries (Smucker, Allan,
// Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval
// Evaluation", CIKM 2007). The table holds the differences. If the models are equal, the sign of
// each unit's difference is a coin toss. P is the share of all sign choices whose sum is at least
// as far from 0 as the observed sum.
//
// With at most 20 nonzero differences, all choices are counted. With more, draws choices are
// drawn by seed, and P is (1 + those as far) / (1 + draws), which keeps the level of the test for
// any number of draws. The result has a P for each figure, which is 1 for a figure without
// differences.
func SignFlip(t *Table, draws int, seed uint64, threads int) []float64 {
	p := make([]float64, t.figures)
	parallel(threads, t.figures, func(k int) {
		var list []float64
		for u := range t.units {
			if d := t.sums[u*t.figures+k]; d != 0 {
				list = append(list, d)
			}
		}
		if len(list) <= exactPairs {
			p[k] = allSigns(list)
		} else {
			p[k] = drawnSigns(list, draws, seed)
		}
	})
	return p
}

// threshold returns the least sum that counts as being as far from 0 as the observed one. It
// allows for rounding of an equal sum.
func threshold(differences []float64) float64 {
	sum, scale := 0.0, 0.0
	for _, d := range differences {
		sum += d
		scale += math.Abs(d)
	}
	// The error of a sum of n terms is at most n·2^-53 times the sum of their magnitudes.
	return math.Abs(sum) - 2*float64(len(differences))*0x1p-53*scale
}

// allSigns counts all choices. Each sum combines a choice for the first half of the differences
// with one for the second half.
func allSigns(differences []float64) float64 {
	least := threshold(differences)
	half := len(differences) / 2
	first, second := signedSums(differences[:half]), signedSums(differences[half:])
	far := 0
	for _, a := range first {
		for _, b := range second {
			if math.Abs(a+b) >= least {
				far++
			}
		}
	}
	return float64(far) / float64(len(first)*len(second))
}

// signedSums returns the sums of values under all 2^n choices of signs.
func signedSums(values []float64) []float64 {
	sums := []float64{0}
	for _, v := range values {
		next := make([]float64, 0, 2*len(sums))
		for _, s := range sums {
			next = append(next, s+v, s-v)
		}
		sums = next
	}
	return sums
}

// drawnSigns takes 64 signs from each random number. It keeps four sums, so that an addition need
// not wait for the previous one.
func drawnSigns(differences []float64, draws int, seed uint64) float64 {
	least := threshold(differences)
	far := 0
	for i := range draws {
		r := sample.NewRandom(seed, uint64(i))
		var sums [4]float64
		for lo := 0; lo < len(differences); lo += 64 {
			signs := r.Uint64()
			for i, d := range differences[lo:min(lo+64, len(differences))] {
				// The lowest bit becomes the sign of d.
				sums[i%4] += math.Float64frombits(math.Float64bits(d) ^ signs<<63)
				signs >>= 1
			}
		}
		if math.Abs(sums[0]+sums[1]+sums[2]+sums[3]) >= least {
			far++
		}
	}
	return float64(1+far) / float64(1+draws)
}
