// Package optim holds the optimizers, the schedules of their rates, gradient clipping and the
// moving average of weights. Backends compute the steps. Values that change from step to step
// (rates, bias corrections, the clipping factor) are in device memory, so that a recorded step
// can be replayed.
package optim

import (
	"encoding/binary"
	"fmt"
	"math"

	"hgld/internal/registry"
	"hgld/train/device"
)

// Kind is an update rule: Adam or SGD with their constants.
type Kind interface {
	// moments names the arrays, each of the size of the weights, that a group keeps.
	moments() []string
	// pace returns the constants that depend on the number of steps.
	pace() device.PaceKind
	step(b device.Backend, p part, flag device.Array)
}

// All lists the optimizers with torch's defaults.
var All = registry.Table[Kind]{
	{Name: "adam", About: "Adam with weight decay added to the gradient",
		Value: Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}},
	{Name: "adamw", About: "Adam with decoupled weight decay, which shrinks the weights directly",
		Value: AdamW{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}},
	{Name: "sgd", About: "SGD with Nesterov momentum 0.9", Value: SGD{Momentum: 0.9, Nesterov: true}},
}

// Group is a set of weights with the same settings: one flat array, its gradient and the state of
// the optimizer.
type Group struct {
	Name           string       // name of the parameter group
	Weights, Grads device.Array // F32 [n]

	Rate  float64 // initial rate of the schedule
	Decay float64 // weight decay

	// Spans are the runs of elements, in ascending order, that have their own settings.
	Spans []Span

	Eta float64 // rate of the next step; Begin sends it to the device

	// A frozen group is not stepped: its weights, moments and step count stay the same. Frozen is
	// a constant of a recorded step, which must be re-recorded when it changes.
	Frozen bool

	Steps   device.Array   // I32 [1]: steps so far; part of a checkpoint
	Moments []device.Array // F32 [n]; part of a checkpoint
	Hyper   device.Array   // F32 [device.HyperLen]

	parts   []part
	own     []ownHyper // of Spans
	staging [4 * sent]byte
}

// sent is how many of a group's constants the host uploads in every step: rate, decay and scale.
// The device computes the others from its count of steps.
const sent = device.HyperBias1

// Span is the elements [Lo, Hi) of a group's arrays. They are stepped by a share of the group's
// rate, and with or without its decay.
type Span struct {
	Lo, Hi  int     // elements of the group's arrays
	NoDecay bool    // without weight decay
	Factor  float64 // factor of the rate; 0 means 1
}

// ownHyper is the Hyper of the spans with the same settings.
type ownHyper struct {
	of    Span // without Lo and Hi
	hyper device.Array
}

// part is a run of a group's elements that are stepped with the same constants.
type part struct {
	weights, grads, hyper device.Array
	moments               []device.Array
}

// hyperOf returns the constants of a span, which may be those of its group.
func (g *Group) hyperOf(b device.Backend, s Span) device.Array {
	if s.Lo, s.Hi = 0, 0; s.Factor == 0 {
		s.Factor = 1
	}
	if s == (Span{Factor: 1}) {
		return g.Hyper
	}
	for _, o := range g.own {
		if o.of == s {
			return o.hyper
		}
	}
	o := ownHyper{s, device.New(b, device.F32, device.HyperLen)}
	g.own = append(g.own, o)
	return o.hyper
}

// split lays out the parts of a group: the spans and the elements between them.
func (g *Group) split(b device.Backend) {
	at := 0
	add := func(hi int, hyper device.Array) {
		if hi == at {
			return
		}
		p := part{weights: g.Weights.RowRange(at, hi), grads: g.Grads.RowRange(at, hi), hyper: hyper}
		for _, m := range g.Moments {
			p.moments = append(p.moments, m.RowRange(at, hi))
		}
		g.parts = append(g.parts, p)
		at = hi
	}
	for _, s := range g.Spans {
		if s.Lo < at || s.Hi < s.Lo || s.Hi > g.Weights.Len() {
			panic(fmt.Sprintf("optim: spans are %v, want ascending spans within %d elements", g.Spans, g.Weights.Len()))
		}
		add(s.Lo, g.Hyper)
		add(s.Hi, g.hyperOf(b, s))
	}
	add(g.Weights.Len(), g.Hyper)
}

// Optimizer steps a list of groups by one rule.
type Optimizer struct {
	Kind   Kind     // the rule
	Groups []*Group // stepped in this order
}

// New allocates the state of the groups on b: zero moments, the constants, and a step count of 0.
// The rate of the first step is Rate.
func New(b device.Backend, k Kind, groups ...*Group) *Optimizer {
	for _, g := range groups {
		g.Eta = g.Rate
		g.Hyper = device.New(b, device.F32, device.HyperLen)
		b.Fill(g.Hyper, 0)
		g.Steps = device.New(b, device.I32, 1)
		b.Fill(g.Steps, 0)
		for range k.moments() {
			m := device.New(b, device.F32, g.Weights.Len())
			b.Fill(m, 0)
			g.Moments = append(g.Moments, m)
		}
		g.split(b)
	}
	return &Optimizer{Kind: k, Groups: groups}
}

// MomentNames names the moments of every group, in the order of Group.Moments.
func (o *Optimizer) MomentNames() []string { return o.Kind.moments() }

// Begin sends the constants of every group that is not frozen to the device. Call it once, before
// the recorded part of a step.
func (o *Optimizer) Begin(b device.Backend) {
	for _, g := range o.Groups {
		if g.Frozen {
			continue
		}
		g.send(b, g.Hyper, g.Eta, g.Decay)
		for _, o := range g.own {
			decay := g.Decay
			if o.of.NoDecay {
				decay = 0
			}
			g.send(b, o.hyper, g.Eta*o.of.Factor, decay)
		}
	}
}

func (g *Group) send(b device.Backend, to device.Array, rate, decay float64) {
	for i, v := range [sent]float32{device.HyperRate: float32(rate), device.HyperDecay: float32(decay),
		device.HyperScale: 1} {
		binary.LittleEndian.PutUint32(g.staging[4*i:], math.Float32bits(v))
	}
	b.Upload(to.RowRange(0, sent), g.staging[:])
}

// Step counts a step of every group that is not frozen and updates its weights, unless flag, the
// count of non-finite values, is set. It is the recorded part of a step.
func (o *Optimizer) Step(b device.Backend, flag device.Array) {
	for _, g := range o.Groups {
		if g.Frozen {
			continue
		}
		b.Pace(g.Hyper.RowRange(device.HyperBias1, device.HyperFirstStep+1), g.Steps, flag, o.Kind.pace())
		for _, o := range g.own { // clipping and Pace have written only to Hyper
			changed := func(a device.Array) device.Array { return a.RowRange(device.HyperScale, device.HyperFirstStep+1) }
			b.Copy(changed(o.hyper), changed(g.Hyper))
		}
		for _, p := range g.parts {
			o.Kind.step(b, p, flag)
		}
	}
}

// Adam is the rule of Kingma and Ba ("Adam", ICLR 2015), as in torch:
//
//	g ← g + decay·w    m ← β1·m + (1−β1)·g    v ← β2·v + (1−β2)·g²
//	w ← w − rate/(1−β1^t) · m / (√v/√(1−β2^t) + ε)
type Adam struct{ Beta1, Beta2, Eps float64 }

// AdamW is Adam with decoupled decay (Loshchilov and Hutter, ICLR 2019). It first sets w ← w·(1 −
// rate·decay), and the decay does not enter the moments.
type AdamW struct{ Beta1, Beta2, Eps float64 }

// Check returns an error for constants that are not shares.
func (a Adam) Check() error {
	if !(a.Beta1 >= 0 && a.Beta1 < 1 && a.Beta2 >= 0 && a.Beta2 < 1 && a.Eps > 0) {
		return fmt.Errorf("beta1 is %v, beta2 %v and eps %v; want 0 ≤ beta1, beta2 < 1 and a small positive eps",
			a.Beta1, a.Beta2, a.Eps)
	}
	return nil
}

// Check is that of Adam.
func (a AdamW) Check() error { return Adam(a).Check() }

func (Adam) moments() []string { return []string{"m", "v"} }

// pace corrects for β as rounded to float32 on the device. There 1 − 0.999 is off by 1.3e-5 both
// in v and in the correction, so the error cancels.
func (a Adam) pace() device.PaceKind {
	return device.PaceKind{Beta1: float32(a.Beta1), Beta2: float32(a.Beta2)}
}

func (a Adam) step(b device.Backend, p part, flag device.Array) { a.apply(b, p, flag, false) }

func (a Adam) apply(b device.Backend, p part, flag device.Array, decoupled bool) {
	b.Adam(p.weights, p.moments[0], p.moments[1], p.grads, device.Array{}, p.hyper, flag, device.AdamKind{
		Beta1: float32(a.Beta1), Beta2: float32(a.Beta2), Eps: float32(a.Eps), Decoupled: decoupled,
	})
}

func (AdamW) moments() []string { return Adam{}.moments() }

func (a AdamW) pace() device.PaceKind { return Adam(a).pace() }

func (a AdamW) step(b device.Backend, p part, flag device.Array) { Adam(a).apply(b, p, flag, true) }

// SGD is gradient descent with momentum, as in torch. With g ← g + decay·w:
//
//	u ← momentum·u + (1−dampening)·g    (u = g in the first step)
//	w ← w − rate·u, or w − rate·(g + momentum·u) with Nesterov
type SGD struct {
	Momentum, Dampening float64 // from 0 to below 1; from 0 to 1
	Nesterov            bool    // Nesterov momentum
}

// Check returns an error for constants outside their ranges.
func (s SGD) Check() error {
	if !(s.Momentum >= 0 && s.Momentum < 1 && s.Dampening >= 0 && s.Dampening <= 1) {
		return fmt.Errorf("momentum is %v and dampening %v; want 0 ≤ momentum < 1 and 0 ≤ dampening ≤ 1", s.Momentum,
			s.Dampening)
	}
	return nil
}

func (SGD) moments() []string { return []string{"momentum"} }

func (SGD) pace() device.PaceKind { return device.PaceKind{} }

func (s SGD) step(b device.Backend, p part, flag device.Array) {
	b.SGD(p.weights, p.moments[0], p.grads, device.Array{}, p.hyper, flag, device.SGDKind{
		Momentum: float32(s.Momentum), Dampening: float32(s.Dampening), Nesterov: s.Nesterov,
	})
}
