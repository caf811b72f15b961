package loss

import (
	"fmt"
	"math"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss/definition"
	"hgld/train/nn"
)

// CrossEntropy is the loss of Boudiaf et al., "A Unifying Mutual Information View of Metric
// Learning", ECCV 2020: the smoothed cross-entropy of a linear classifier W, b on the embeddings.
// The target puts 1 − Epsilon on the class and spreads Epsilon evenly over the other C − 1:
//
//	L = 1/Q Σ_q KL(target ‖ softmax(W·q + b))
//
// The divergence is the cross-entropy minus the entropy of the target, so its minimum is 0. Query
// is [Q, D] and is not normalised. W and b start at 0.
//
// A query without a label at Level contributes 0; the mean is over all Q queries.
type CrossEntropy struct {
	Epsilon float64 `yaml:"epsilon"` // smoothing of the target, in [0, 1)
	Level   int     `yaml:"level"`   // 0 is the finest
}

var crossEntropyEntry = Row{
	Name: "cross-entropy", About: "cross-entropy of a linear classifier with label smoothing (ECCV 2020)",
	Source:   "Boudiaf et al., A Unifying Mutual Information View of Metric Learning, ECCV 2020; its code",
	Value:    CrossEntropy{Epsilon: 0.1},
	Rounding: Rounding{3.2e-7, 4.2e-7},
}

// New makes the loss, with a classifier for the classes of the level.
func (l CrossEntropy) New(f Facts) (Loss, error) {
	if err := checkLevel(l.Level, f); err != nil {
		return nil, err
	}
	C := f.Classes[l.Level]
	if !(l.Epsilon >= 0 && l.Epsilon < 1) || C < 2 {
		return nil, fmt.Errorf("epsilon is %v with %d classes, want 0 ≤ epsilon < 1 and at least two classes", l.Epsilon, C)
	}
	ce := &crossEntropy{
		level: l.Level, weight: &Param{Name: "weight", Dims: []int{C, f.Dim}},
		bias: &Param{Name: "bias", Dims: []int{C}},
	}
	// The device spreads its smoothing over all C classes, including the target.
	ce.softmax = device.Softmax{Temperature: 1, Smoothing: float32(l.Epsilon * float64(C) / float64(C-1))}
	if l.Epsilon > 0 {
		ce.entropy = float32(-(1-l.Epsilon)*math.Log(1-l.Epsilon) - l.Epsilon*math.Log(l.Epsilon/float64(C-1)))
	}
	return ce, nil
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l CrossEntropy) Define(*definition.Batch) definition.Definition {
	return definition.Func(l.addDefined)
}

// addDefined adds the divergence between the smoothed target and the classifier.
func (l CrossEntropy) addDefined(in *definition.Batch, weight float64, r *definition.Result) {
	classes, w := float64(len(in.Proxies)), weight/float64(len(in.Query))
	for q, x := range in.Query {
		if in.Labels[q][l.Level] < 0 {
			continue
		}
		z := make([]float64, len(in.Proxies))
		sum := 0.0
		for c, row := range in.Proxies {
			z[c] = definition.Dot(row, x) + in.Bias[c]
			sum += math.Exp(z[c])
		}
		for c, row := range in.Proxies {
			target := l.Epsilon / (classes - 1)
			if in.Labels[q][l.Level] == int32(c) {
				target = 1 - l.Epsilon
			}
			log := z[c] - math.Log(sum)
			if target > 0 {
				r.Value += w * target * (math.Log(target) - log)
			}
			d := w * (math.Exp(log) - target)
			r.Bias[c] += d
			for i := range x {
				r.Query[q][i] += d * row[i]
				r.Proxies[c][i] += d * x[i]
			}
		}
	}
}

// ByRows is true: each query is compared only with the class weights.
func (CrossEntropy) ByRows() bool { return true }

type crossEntropy struct {
	level        int
	softmax      device.Softmax
	entropy      float32
	weight, bias *Param
}

// Params returns W [C,D] and b [C].
func (l *crossEntropy) Params() []*Param { return []*Param{l.weight, l.bias} }

func (l *crossEntropy) oneClass() []int { return []int{l.level} }

// Forward records the mean over the queries.
func (l *crossEntropy) Forward(t *grad.Tape, b *Batch) *grad.Var {
	z := nn.Affine(t, b.Query, t.Leaf(l.weight.Value, l.weight.Grad), t.Leaf(l.bias.Value, l.bias.Grad), nil)
	return classified(t, z, b.QueryLabels.ColRange(l.level, l.level+1), l.softmax, l.entropy)
}
