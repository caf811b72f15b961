package loss

import (
	"fmt"
	"math"

	"hgld/internal/registry"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// CrossEntropy is the loss of Boudiaf et al., "A Unifying Mutual Information View
// of Metric Learning", ECCV 2020: a linear classifier W, b on the embeddings as
// they are, with 1 − Epsilon of the target on the class and the rest spread evenly
// over the C − 1 others:
//
//	L = 1/Q Σ_q KL(target ‖ softmax(W·q + b))
//
// that is the cross-entropy less the target's entropy, so that the least value is
// 0. Query is [Q, D]. W and b start from 0.
//
// A query without a label of the given Level counts −entropy; the mean is over all
// Q.
type CrossEntropy struct {
	Epsilon float64 `yaml:"epsilon"` // smoothing of the target, from 0 to below 1
	Level   int     `yaml:"level"`   // 0 is the finest
}

var crossEntropyEntry = registry.Entry[Kind]{
	Name: "cross-entropy", About: "cross-entropy of a linear classifier (ECCV 2020), its target smoothed",
	Source: "Boudiaf et al., A Unifying Mutual Information View of Metric Learning, ECCV 2020; its code",
	Value:  CrossEntropy{Epsilon: 0.1},
}

// New makes the loss, with a classifier of the level's classes.
func (l CrossEntropy) New(f Facts) (Loss, error) {
	if err := checkLevel(l.Level, f); err != nil {
		return nil, err
	}
	C := f.Classes[l.Level]
	if !(l.Epsilon >= 0 && l.Epsilon < 1) || C < 2 {
		return nil, fmt.Errorf("epsilon is %v with %d classes, want a number from 0 to 1 and two classes", l.Epsilon, C)
	}
	ce := &crossEntropy{
		level: l.Level, weight: &Param{Name: "weight", Dims: []int{C, f.Dim}},
		bias: &Param{Name: "bias", Dims: []int{C}},
	}
	// The device spreads its smoothing over all C classes.
	ce.softmax = device.Softmax{Temperature: 1, Smoothing: float32(l.Epsilon * float64(C) / float64(C-1))}
	if l.Epsilon > 0 {
		ce.entropy = float32(-(1-l.Epsilon)*math.Log(1-l.Epsilon) - l.Epsilon*math.Log(l.Epsilon/float64(C-1)))
	}
	return ce, nil
}

// ByRows is true: each query is compared with the proxies alone.
func (CrossEntropy) ByRows() bool { return true }

type crossEntropy struct {
	level        int
	softmax      device.Softmax
	entropy      float32
	weight, bias *Param
}

// Params returns W [C,D] and b [C].
func (l *crossEntropy) Params() []*Param { return []*Param{l.weight, l.bias} }

// Forward records the mean over the queries.
func (l *crossEntropy) Forward(t *grad.Tape, b *Batch) *grad.Var {
	z := nn.Affine(t, b.Query, t.Leaf(l.weight.Value, l.weight.Grad), t.Leaf(l.bias.Value, l.bias.Grad), nil)
	return classified(t, z, b.QueryLabels.ColRange(l.level, l.level+1), l.softmax, l.entropy)
}
