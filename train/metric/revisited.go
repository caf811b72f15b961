package metric

import "slices"

// Truth is the ground truth of a query of Revisited Oxford and Paris
// (Radenović et al., CVPR 2018): gallery rows that are easy, hard, or junk.
type Truth struct {
	Easy []int32 `json:"easy"` // rows of the gallery
	Hard []int32 `json:"hard"` // rows of the gallery
	Junk []int32 `json:"junk"` // rows that no protocol counts
}

// Protocol says which rows of a Truth are positive and which are taken out of
// the ranking.
type Protocol uint8

// The protocols: EasyOnly has the easy rows as positives and ignores hard and
// junk; Medium has easy and hard and ignores junk; HardOnly has hard and ignores
// easy and junk.
const (
	EasyOnly Protocol = iota
	Medium
	HardOnly
)

// Positions returns the places, from 0, of the positives in a ranked list of
// gallery rows from which the ignored rows have been taken out.
func (p Protocol) Positions(order []int32, t Truth) []int {
	positive, ignored := slices.Clone(t.Easy), slices.Clone(t.Junk)
	switch p {
	case EasyOnly:
		ignored = append(ignored, t.Hard...)
	case Medium:
		positive = append(positive, t.Hard...)
	case HardOnly:
		positive = slices.Clone(t.Hard)
		ignored = append(ignored, t.Easy...)
	}
	slices.Sort(positive)
	slices.Sort(ignored)
	var at []int
	place := 0
	for _, row := range order {
		if _, skip := slices.BinarySearch(ignored, row); skip {
			continue
		}
		if _, hit := slices.BinarySearch(positive, row); hit {
			at = append(at, place)
		}
		place++
	}
	return at
}

// TrapezoidAP is average precision by trapezoids,
//
//	1/R Σ_j ½ [j/p_j + (j+1)/(p_j+1)]
//
// over the positions p_0 < p_1 < … of the R positives, j/p_j being 1 at p_j = 0.
// Undefined without positives.
func TrapezoidAP(positions []int) (float64, bool) {
	sum := 0.0
	for j, p := range positions {
		before := 1.0
		if p > 0 {
			before = float64(j) / float64(p)
		}
		sum += (before + float64(j+1)/float64(p+1)) / 2
	}
	return sum / float64(max(len(positions), 1)), len(positions) > 0
}

// PrecisionWithin is mP@k of the revisited protocol: the share of positives among
// the first k' places, k' being k or the place of the last positive, whichever is
// less. Undefined without positives.
func PrecisionWithin(positions []int, k int) (float64, bool) {
	if len(positions) == 0 {
		return 0, false
	}
	k = min(k, positions[len(positions)-1]+1)
	hits, _ := slices.BinarySearch(positions, k)
	return float64(hits) / float64(k), true
}
