package metric

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Truth is the ground truth of a query of Revisited Oxford or Paris (Radenović et al., CVPR
// 2018), as rows of the gallery.
type Truth struct {
	// Easy are the rows that show the landmark clearly.
	Easy []int32 `json:"easy"`

	// Hard are the rows that show it from an unusual side or poorly.
	Hard []int32 `json:"hard"`

	// Junk are the rows that cannot be judged. They count neither way.
	Junk []int32 `json:"junk"`
}

// ParseTruths reads a JSON list of truths, or an object with that list as "gnd", for the given
// number of queries and gallery rows. It fails if the number of truths differs, or if a row is
// not in the gallery or is listed twice.
func ParseTruths(data []byte, queries, gallery int) ([]Truth, error) {
	var list []Truth
	if err := json.Unmarshal(data, &list); err != nil {
		var file struct {
			GND []Truth `json:"gnd"`
		}
		if err := json.Unmarshal(data, &file); err != nil || file.GND == nil {
			return nil, fmt.Errorf(`want [{"easy": [3], "hard": [], "junk": [5]}, …], or that as "gnd" (%v)`, err)
		}
		list = file.GND
	}
	if len(list) != queries {
		return nil, fmt.Errorf("it has the truth of %d queries, want %d, one for each vector", len(list), queries)
	}
	for q, t := range list {
		if err := t.check(gallery); err != nil {
			return nil, fmt.Errorf("query %d %w", q, err)
		}
	}
	return list, nil
}

// check returns an error for a row that is not in the gallery or is listed twice.
func (t *Truth) check(gallery int) error {
	kind := map[int32]string{}
	for _, rows := range []struct {
		name string
		list []int32
	}{{"easy", t.Easy}, {"hard", t.Hard}, {"junk", t.Junk}} {
		for _, r := range rows.list {
			if r < 0 || int(r) >= gallery {
				return fmt.Errorf("has %s row %d; want 0 to %d", rows.name, r, gallery-1)
			}
			if kind[r] != "" {
				return fmt.Errorf("has row %d as %s and as %s", r, kind[r], rows.name)
			}
			kind[r] = rows.name
		}
	}
	return nil
}

// Protocol selects which rows of a Truth are positive and which are removed from the ranking.
type Protocol uint8

// EasyOnly takes the easy rows as positives and removes hard and junk. Medium takes easy and hard
// and removes junk. HardOnly takes hard and removes easy and junk.
const (
	EasyOnly Protocol = iota
	Medium
	HardOnly
)

// String returns "easy", "medium" or "hard".
func (p Protocol) String() string { return [...]string{"easy", "medium", "hard"}[p] }

// Rows returns the rows that are positive and those that are removed from the ranking.
func (p Protocol) Rows(t Truth) (positive, removed []int32) {
	switch p {
	case EasyOnly:
		return slices.Clone(t.Easy), slices.Concat(t.Junk, t.Hard)
	case Medium:
		return slices.Concat(t.Easy, t.Hard), slices.Clone(t.Junk)
	}
	return slices.Clone(t.Hard), slices.Concat(t.Junk, t.Easy)
}

// Positions returns the places, from 0, of the positives in a ranked list of gallery rows after
// removing the ignored rows.
func (p Protocol) Positions(order []int32, t Truth) []int {
	positive, ignored := p.Rows(t)
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

// TrapezoidAP is average precision by the trapezoidal rule:
//
//	1/R Σ_j ½ [j/p_j + (j+1)/(p_j+1)]
//
// The sum is over the positions p_0 < p_1 < … of the R positives. j/p_j is 1 at p_j = 0. It is
// undefined without positives.
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

// PrecisionWithin is mP@k of the revisited protocol: the share of positives among the first k'
// places. k' is the lesser of k and the place of the last positive. It is undefined without
// positives.
func PrecisionWithin(positions []int, k int) (float64, bool) {
	if len(positions) == 0 {
		return 0, false
	}
	k = min(k, positions[len(positions)-1]+1)
	hits, _ := slices.BinarySearch(positions, k)
	return float64(hits) / float64(k), true
}

// revisitedCuts are the values of k in mP@k that the benchmark reports.
var revisitedCuts = [3]int{1, 5, 10}

// Revisited collects the rankings of an evaluation on Revisited Oxford or Paris. It is not safe
// for concurrent use.
type Revisited struct {
	truth  []Truth
	values [HardOnly + 1][]RevisitedValues
}

// RevisitedValues holds what one query has in a protocol.
type RevisitedValues struct {
	// Query is the number of the query.
	Query int

	// AP is TrapezoidAP, in [0, 1].
	AP float64

	// Precision holds PrecisionWithin 1, 5 and 10, in [0, 1].
	Precision [3]float64
}

// NewRevisited starts an evaluation of queries with these truths.
func NewRevisited(truth []Truth) *Revisited { return &Revisited{truth: truth} }

// Add adds the ranking of a query: all gallery rows, best first.
func (r *Revisited) Add(query int, order []int32) {
	for p := range r.values {
		at := Protocol(p).Positions(order, r.truth[query])
		ap, ok := TrapezoidAP(at)
		if !ok {
			continue
		}
		values := RevisitedValues{Query: query, AP: ap}
		for i, k := range revisitedCuts {
			values.Precision[i], _ = PrecisionWithin(at, k) // defined, because there is a positive
		}
		r.values[p] = append(r.values[p], values)
	}
}

// RevisitedMeans holds the means of a protocol, NaN if no query counts.
type RevisitedMeans struct {
	// Protocol is the protocol of these means.
	Protocol Protocol

	// AP is the mean of TrapezoidAP, in [0, 1].
	AP float64

	// Precision holds mP@1, mP@5 and mP@10, in [0, 1].
	Precision [3]float64

	// Skipped is the number of queries without a positive.
	Skipped int

	// Queries are the values of the others, in the order in which they were added.
	Queries []RevisitedValues
}

// Means returns the means of the three protocols over the rankings added so far.
func (r *Revisited) Means() []RevisitedMeans {
	var list []RevisitedMeans
	for p, values := range r.values {
		var columns [1 + len(revisitedCuts)][]float64
		for _, v := range values {
			columns[0] = append(columns[0], v.AP)
			for i, share := range v.Precision {
				columns[i+1] = append(columns[i+1], share)
			}
		}
		m := RevisitedMeans{Protocol: Protocol(p), Skipped: len(r.truth) - len(values), Queries: values}
		m.AP, _ = Mean(columns[0])
		for i := range m.Precision {
			m.Precision[i], _ = Mean(columns[i+1])
		}
		list = append(list, m)
	}
	return list
}
