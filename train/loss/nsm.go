package loss

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// NSM is the normalised softmax of Zhai & Wu, "Classification is a Strong Baseline
// for Deep Metric Learning", BMVC 2019: the cross-entropy of a classifier whose
// class weights, the proxies p, have unit length:
//
//	L = −1/Q Σ_q log softmax(⟨q, p_c/‖p_c‖⟩/Temperature)[class of q]
//
// In ROADMAP and HAPPIER it is L*_DG, the term that makes batches comparable. Query
// is [Q, D], rows of unit length: they are not normalised here. Proxies start
// uniform within ±1/√D.
//
// A query without a label of the given Level counts 0; the mean is over all Q.
type NSM struct {
	Temperature float64 `yaml:"temperature"`
	Level       int     `yaml:"level"` // whose classes have proxies; 0 is the finest
}

// New makes the loss, with a proxy for each class.
func (l NSM) New(f Facts) (Loss, error) {
	if err := checkLevel(l.Level, f); err != nil {
		return nil, err
	}
	if !(l.Temperature > 0) {
		return nil, fmt.Errorf("temperature is %v, want a positive number", l.Temperature)
	}
	return &nsm{level: l.Level, softmax: device.Softmax{Temperature: float32(l.Temperature)}, proxies: newProxies(f, l.Level)}, nil
}

type nsm struct {
	level     int
	softmax   device.Softmax
	normalise bool // the query too
	proxies   *Param
}

// newProxies declares a row for each class of a level.
func newProxies(f Facts, level int) *Param {
	return &Param{Name: "proxies", Dims: []int{f.Classes[level], f.Dim}, FanIn: f.Dim}
}

// normEps is the least norm by which a proxy is divided, torch's default.
const normEps = 1e-12

// Params returns the proxies [C,D].
func (l *nsm) Params() []*Param { return []*Param{l.proxies} }

// Forward records the mean over the queries.
func (l *nsm) Forward(t *grad.Tape, b *Batch) *grad.Var {
	query, p := b.Query, t.Leaf(l.proxies.Value, l.proxies.Grad)
	if l.normalise {
		query = unit(t, query)
	}
	Q, C, D := query.Value.Dims[0], p.Value.Dims[0], p.Value.Dims[1]
	unit, norm := t.New(device.F32, C, D), t.New(device.F32, C)
	z, dz := t.New(device.F32, Q, C), t.New(device.F32, Q, C)
	class, each, loss := t.New(device.I32, Q, 1), t.New(device.F32, Q), t.New(device.F32, 1)
	t.Do(func(d device.Backend) {
		d.Normalize(unit.Value, norm.Value, p.Value, normEps)
		d.MatMul(z.Value, query.Value, unit.Value, device.Mul{TransB: true, Alpha: 1})
		d.Copy(class.Value, b.QueryLabels.ColRange(l.level, l.level+1))
		d.SoftmaxLoss(each.Value, dz.Value, z.Value, class.Value.Reshape(Q), l.softmax)
		d.Sums(loss.Value, each.Value, device.SumAll, 0)
		d.Axpby(loss.Value, 1/float32(Q), loss.Value, 0, loss.Value)
	})
	for _, v := range []*grad.Var{z, class, each} {
		t.Done(v)
	}
	t.Back(func(d device.Backend) {
		d.Scale(dz.Value, dz.Value, t.Grad(loss))
		if dq, acc := t.Onto(query); !dq.Absent() {
			d.MatMul(dq, dz.Value, unit.Value, device.Mul{Alpha: 1 / float32(Q), Beta: acc})
		}
		if dp := t.Into(p); !dp.Absent() {
			du := t.Scratch(device.F32, C, D)
			d.MatMul(du, dz.Value, query.Value, device.Mul{TransA: true, Alpha: 1 / float32(Q)})
			d.NormalizeGrad(dp, du, unit.Value, norm.Value)
		}
	}, query, p, unit, norm, dz)
	return loss
}
