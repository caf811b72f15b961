package loss

import (
	"fmt"

	"hgld/train/loss/definition"
)

// SumTriplet is Triplet at several levels, ΣTL of "Optimization of Rank Losses":
//
//	L = Σ_i Weights[i]·Triplet at Levels[i]
//
// Without Levels it uses all levels of the data, without Weights their mean, as in the released
// configurations.
type SumTriplet struct {
	Weights        []float64 `yaml:"weights"`   // one for each level; empty: their mean
	Levels         []int     `yaml:"levels"`    // 0 is the finest; empty: all
	Margin         float64   `yaml:"margin"`    // as in Triplet
	Normalise      bool      `yaml:"normalise"` // normalise the rows first
	GalleryOptions `yaml:",inline"`
}

var sumTripletEntry = Row{
	Name: "sum-triplet", About: "ΣTL: triplets at every level",
	Source:   "Ramzi et al., Optimization of Rank Losses; the row ΣTL",
	Value:    SumTriplet{Margin: 0.05},
	Rounding: Rounding{1.2e-7, 1.7e-7},
}

// New makes the loss.
func (l SumTriplet) New(f Facts) (Loss, error) {
	return overLevels(f, l.Levels, l.Weights, func(level int) Kind {
		return Triplet{Margin: l.Margin, Normalise: l.Normalise, Level: level, GalleryOptions: l.GalleryOptions}
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SumTriplet) Define(in *definition.Batch) definition.Definition {
	return definition.OverLevels(in, l.Levels, l.Weights, func(level int) definition.Definition {
		return Triplet{Margin: l.Margin, Normalise: l.Normalise, Level: level, GalleryOptions: l.GalleryOptions}.Define(in)
	})
}

// Released keeps the query in its own gallery and normalises the rows.
func (l SumTriplet) Released() Kind {
	l.Normalise, l.GalleryOptions = true, l.GalleryOptions.released()
	return l
}

// overLevels sums a loss over levels.
func overLevels(f Facts, levels []int, weights []float64, at func(level int) Kind) (Loss, error) {
	if levels == nil {
		for level := range f.Classes {
			levels = append(levels, level)
		}
	}
	if weights != nil && len(weights) != len(levels) {
		return nil, fmt.Errorf("%d weights for %d levels, want one for each level", len(weights), len(levels))
	}
	if err := checkWeights(weights); err != nil {
		return nil, err
	}
	var s Sum
	for i, level := range levels {
		w := 1 / float64(len(levels))
		if weights != nil {
			w = weights[i]
		}
		s.Terms = append(s.Terms, Term{Name: fmt.Sprintf("level%d", level), Weight: w, Loss: at(level)})
	}
	return s.New(f)
}
