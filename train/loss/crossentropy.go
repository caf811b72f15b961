package loss

import (
	"fmt"
	"math"

	"hgld/train/device"
	"hgld/train/grad"
)

// CrossEntropy is the loss of Boudiaf et al., "A Unifying Mutual Information View
// of Metric Learning", ECCV 2020: a linear classifier W, b on the embeddings as
// they are, with 1 − Epsilon of the target on the class and the rest spread evenly
// over the C − 1 others:
//
//	L = 1/Q Σ_q KL(target ‖ softmax(W·q + b))
//
// that is the cross-entropy less the target's entropy, so that the least value is
// 0. Query is [Q, D]. W starts uniform within ±1/√D as every parameter here, where
// the authors start from 0; b likewise.
//
// A query without a label of the given Level counts −entropy; the mean is over all
// Q.
type CrossEntropy struct {
	Epsilon float64 `yaml:"epsilon"`
	Level   int     `yaml:"level"` // 0 is the finest
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
		level: l.Level, weight: &Param{Name: "weight", Dims: []int{C, f.Dim}, FanIn: f.Dim},
		bias: &Param{Name: "bias", Dims: []int{C}, FanIn: f.Dim},
	}
	// The device spreads its smoothing over all C classes.
	ce.softmax = device.Softmax{Temperature: 1, Smoothing: float32(l.Epsilon * float64(C) / float64(C-1))}
	if l.Epsilon > 0 {
		ce.entropy = float32(-(1-l.Epsilon)*math.Log(1-l.Epsilon) - l.Epsilon*math.Log(l.Epsilon/float64(C-1)))
	}
	return ce, nil
}

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
	query, w, bias := b.Query, t.Leaf(l.weight.Value, l.weight.Grad), t.Leaf(l.bias.Value, l.bias.Grad)
	Q, C := query.Value.Dims[0], w.Value.Dims[0]
	z, dz := t.New(device.F32, Q, C), t.New(device.F32, Q, C)
	class, each, loss := t.New(device.I32, Q, 1), t.New(device.F32, Q), t.New(device.F32, 1)
	least := t.New(device.F32, 1)
	t.Do(func(d device.Backend) {
		d.MatMul(z.Value, query.Value, w.Value, device.Mul{TransB: true, Alpha: 1, Bias: bias.Value})
		d.Copy(class.Value, b.QueryLabels.ColRange(l.level, l.level+1))
		d.SoftmaxLoss(each.Value, dz.Value, z.Value, class.Value.Reshape(Q), l.softmax)
		d.Sums(loss.Value, each.Value, device.SumAll, 0)
		d.Fill(least.Value, l.entropy)
		d.Axpby(loss.Value, 1/float32(Q), loss.Value, -1, least.Value)
	})
	for _, v := range []*grad.Var{z, class, each, least} {
		t.Done(v)
	}
	t.Back(func(d device.Backend) {
		d.Scale(dz.Value, dz.Value, t.Grad(loss))
		d.Axpby(dz.Value, 1/float32(Q), dz.Value, 0, device.Array{})
		if dq, acc := t.Onto(query); !dq.Absent() {
			d.MatMul(dq, dz.Value, w.Value, device.Mul{Alpha: 1, Beta: acc})
		}
		if dw, acc := t.Onto(w); !dw.Absent() {
			d.MatMul(dw, dz.Value, query.Value, device.Mul{TransA: true, Alpha: 1, Beta: acc})
		}
		if db, acc := t.Onto(bias); !db.Absent() {
			d.Sums(db, dz.Value, device.SumCols, acc)
		}
	}, query, w, dz)
	return loss
}
