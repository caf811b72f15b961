package loss

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss/definition"
	"hgld/train/nn"
)

// NSM is the normalised softmax of Zhai & Wu, "Classification is a Strong Baseline for Deep
// Metric Learning", BMVC 2019: the cross-entropy of a classifier whose class weights, the proxies
// p, have unit length:
//
//	L = −1/Q Σ_q log softmax(⟨q, p_c/‖p_c‖⟩/Temperature)[class of q]
//
// In ROADMAP and HAPPIER it is L*_DG, the term that makes batches comparable. Query is [Q, D],
// rows of unit length; the loss does not normalise them. Proxies start uniform in ±1/√D.
//
// With NumCenters K > 1 each class has K proxies, rows K·c … K·c+K−1. The score of the class is
// the mean of its proxies' scores, weighted by their softmax at TemperatureCenters, as in
// SoftTriple (Qian et al., ICCV 2019). No published result that we reproduce uses it.
//
// A query without a label at Level contributes 0; the mean is over all Q queries.
type NSM struct {
	Temperature        float64 `yaml:"temperature"`              // of the softmax over classes
	Level              int     `yaml:"level"`                    // the level whose classes have proxies; 0 is the finest
	NumCenters         int     `yaml:"num_centers" range:"0 64"` // proxies per class; 0 means 1
	TemperatureCenters float64 `yaml:"temperature_centers"`      // of the softmax over the proxies of a class
}

var nsmEntry = Row{
	Name: "nsm", About: "normalised softmax (BMVC 2019): cross-entropy over class proxies",
	Source: "Zhai and Wu, Classification is a Strong Baseline for Deep Metric Learning, BMVC 2019; L*_DG of " +
		"Optimization of Rank Losses, Eq. 8",
	Value:    paperNSM,
	Rounding: Rounding{5.8e-7, 5.6e-7},
}

var paperNSM = NSM{Temperature: 0.05, NumCenters: 1, TemperatureCenters: 0.1}

// New makes the loss, with the proxies of each class.
func (l NSM) New(f Facts) (Loss, error) {
	return newNSM(f, nsm{level: l.Level, temperature: l.Temperature, centers: l.NumCenters,
		softness: l.TemperatureCenters})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l NSM) Define(*definition.Batch) definition.Definition {
	return definition.NSM{Temperature: l.Temperature, Level: l.Level, Centers: l.NumCenters,
		OverCenters: l.TemperatureCenters}
}

// ByRows is true: each query is compared only with the proxies.
func (NSM) ByRows() bool { return true }

// nsm is the cross-entropy of a classifier whose weight rows have unit length.
type nsm struct {
	level                 int
	temperature, softness float64
	centers               int
	normalise             bool // normalise the query too
	proxies               *Param
}

func newNSM(f Facts, l nsm) (Loss, error) {
	if err := checkLevel(l.level, f); err != nil {
		return nil, err
	}
	if err := checkPositive("temperature", l.temperature); err != nil {
		return nil, err
	}
	if l.centers < 0 {
		return nil, fmt.Errorf("num_centers is %d, want at least 1 proxy per class", l.centers)
	}
	l.centers = max(l.centers, 1)
	if l.centers > 1 {
		if err := checkPositive("temperature_centers", l.softness); err != nil {
			return nil, err
		}
	}
	l.proxies = newProxies(f, l.level, l.centers)
	return &l, nil
}

// Params returns the proxies [C·K,D].
func (l *nsm) Params() []*Param { return []*Param{l.proxies} }

// Forward records the mean over the queries.
func (l *nsm) Forward(t *grad.Tape, b *Batch) *grad.Var {
	query := b.Query
	if l.normalise {
		query = unit(t, query)
	}
	z := nn.Affine(t, query, unit(t, t.Leaf(l.proxies.Value, l.proxies.Grad)), nil, nil)
	if l.centers > 1 {
		z = overCenters(t, z, l.centers, float32(l.softness))
	}
	return classified(t, z, b.QueryLabels.ColRange(l.level, l.level+1),
		device.Softmax{Temperature: float32(l.temperature)}, 0)
}

// overCenters records the scores z [Q,C] of the classes from the scores s [Q,C·K] of their
// proxies:
//
//	z_c = Σ_i a_i s_ci,  a = softmax over i of s_ci/temperature
func overCenters(t *grad.Tape, s *grad.Var, centers int, temperature float32) *grad.Var {
	Q, n := s.Value.Dims[0], s.Value.Len()/centers
	share, z := t.New(device.F32, n, centers), t.New(device.F32, Q, n/Q)
	t.Do(func(d device.Backend) {
		of := t.Scratch(device.F32, n, centers)
		d.Axpby(of, 1/temperature, s.Value.Reshape(n, centers), 0, device.Array{})
		d.Softmax(share.Value, of, false)
		times(d, of, share.Value, s.Value)
		d.Sums(z.Value.Reshape(n), of, device.SumRows, 0)
	})
	t.Back(func(d device.Backend) {
		ds := t.Into(s)
		if ds.Absent() {
			return
		}
		ds = ds.Reshape(n, centers)
		dz := t.Grad(z).Reshape(n)
		dshare, through := t.Scratch(device.F32, n, centers), t.Scratch(device.F32, n, centers)
		d.Scale(dshare, s.Value.Reshape(n, centers), dz)
		d.SoftmaxGrad(through, dshare, share.Value, false)
		d.Scale(ds, share.Value, dz)
		d.Axpby(ds, 1, ds, 1/temperature, through)
	}, s, share)
	return z
}
