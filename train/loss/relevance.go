package loss

import (
	"errors"
	"math"

	"hgld/train/device"
)

// Relevance weighs an item by the levels that it shares with the query. With n_l items of level
// l, out of L levels:
//
//	pop  r(l) = (l/Divisor)^Alpha / n_l     ("Optimization of Rank Losses", Eq. 20)
//	map  r(l) = Σ_{p≤l} Weights[p−1] / #(items of level ≥ p)
//
// A greater Alpha favours the finest level. Divisor cancels out in H-AP.
type Relevance struct {
	Type    RelevanceType `yaml:"type"`    // the rule
	Alpha   float64       `yaml:"alpha"`   // pop: the power
	Weights []float64     `yaml:"weights"` // map: weight of each level, coarsest first
	Divisor float64       `yaml:"divisor"` // if 0 or negative, it is added to L: 0 is L (paper), −1 is L−1 (released)
	// CountsQuery counts the query itself among the items of level L. It must be set if the query
	// is in its own gallery.
	CountsQuery bool `yaml:"counts_query"`
}

// RelevanceType is a rule of Relevance.
type RelevanceType = choice[relevances]

// Population ("pop") gives every level the same weight. Mapped ("map") makes H-AP the weighted sum of the levels' AP.
const (
	Population RelevanceType = iota
	Mapped
)

type relevances struct{}

func (relevances) words() (string, []string) { return "relevance", []string{"pop", "map"} }

var paperRelevance = Relevance{Type: Population, Alpha: 1}

func (r Relevance) released() Relevance {
	r.Divisor, r.CountsQuery = -1, true
	return r
}

// kind returns the device's rule for data with the given number of levels.
func (r Relevance) kind(levels int, a GalleryOptions) (device.RelKind, error) {
	if a.SelfInGallery && !r.CountsQuery {
		return device.RelKind{}, errors.New("relevance.counts_query is false, want true: self_in_gallery " +
			"counts the query among the items")
	}
	if r.Type == Population && len(r.Weights) > 0 {
		return device.RelKind{}, errors.New("relevance.weights need relevance.type map, and it is pop")
	}
	for name, list := range map[string][]float64{"alpha": {r.Alpha}, "weights": r.Weights} {
		for _, x := range list {
			if err := checkNotNegative("relevance."+name, x); err != nil {
				return device.RelKind{}, err
			}
		}
	}
	o := device.RelKind{Mode: device.RelPop, Alpha: float32(r.Alpha), Divisor: float32(r.Divisor),
		CountSelf: !a.SelfInGallery && r.CountsQuery}
	if r.Divisor <= 0 {
		o.Divisor = float32(float64(levels) + r.Divisor)
	}
	if r.Type == Mapped {
		o.Mode, o.Weights = device.RelMap, narrow(r.Weights)
	}
	return o, nil
}

// define returns the relevance of each number of shared levels, given the items that share so many.
func (r Relevance) define(a GalleryOptions) func(count []int32) []float64 {
	return func(count []int32) []float64 {
		levels := len(count) - 1
		divisor := r.Divisor
		if divisor <= 0 {
			divisor += float64(levels)
		}
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
			case r.Type == Mapped && atLeast > 0:
				rel[l] = rel[l-1] + r.Weights[l-1]/atLeast
			case r.Type == Mapped:
				rel[l] = rel[l-1]
			case n[l] > 0:
				rel[l] = math.Pow(float64(l)/divisor, r.Alpha) / n[l]
			}
		}
		return rel
	}
}
