package train

import (
	"encoding/binary"
	"math"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/optim"
)

// step is one step of the training: recorded when it is first taken, replayed
// from then on. It is recorded anew when the groups that rest change.
type step struct {
	n         *network
	in        *inputs
	self      device.Array // I32 [B]: query i of a batch is row i of its gallery
	objective *objective

	net, proxies *optim.Optimizer // proxies is nil if the loss has none
	schedule     optim.Schedule
	warmUp       optim.Warmup
	clip         *optim.NormClip // nil: none

	tape  *grad.Tape
	value *grad.Var // loss, F32 [1]
	bytes [8]byte   // loss and flag, on the host
}

// outcome is what the host learns of a step.
type outcome struct {
	loss, rate float64
	finite     bool
}

// proxyGroup is the group of the store that holds what the loss trains.
const proxyGroup = "proxies"

// newStep declares the loss, builds the store and makes the optimizers. counts is
// the number of classes of each level.
func newStep(n *network, c *Config, p *parts, counts []int) (*step, error) {
	o, err := newObjective(n, c, p.loss, counts)
	if err != nil {
		return nil, err
	}
	n.store.Build(n.b, c.Seed)
	o.attach()
	s := &step{
		n: n, objective: o, schedule: p.schedule,
		warmUp: optim.Warmup{Epochs: c.Schedule.WarmUp, Idle: c.Schedule.Idle},
	}
	size := p.sampler.Size()
	s.in = newInputs(n.b, size, c.Input.Size, len(counts))
	s.self = device.New(n.b, device.I32, size)
	self := make([]byte, 0, 4*size)
	for i := range size {
		self = binary.LittleEndian.AppendUint32(self, uint32(i))
	}
	n.b.Upload(s.self, self)
	s.optimizers(c, p.rule)
	if c.Optim.Clip > 0 {
		s.clip = optim.NewNormClip(n.b, c.Optim.Clip)
	}
	return s, n.b.Sync()
}

// optimizers makes the optimizer of the network and, with the rule of the
// published recipes, that of the proxies, and adds their state to what a
// checkpoint holds.
func (s *step) optimizers(c *Config, rule optim.Kind) {
	var net, proxies []*optim.Group
	for _, g := range s.n.store.Groups {
		group := &optim.Group{Name: g.Name, Weights: g.Values, Grads: g.Grads, Rate: c.Optim.Rate, Decay: c.Optim.Decay}
		switch g.Name {
		case proxyGroup:
			group.Rate, group.Decay = c.Optim.ProxyRate, 0
			proxies = append(proxies, group)
			continue
		case "head":
			group.Rate *= c.Optim.HeadFactor
		}
		net = append(net, group)
	}
	s.net = optim.New(s.n.b, rule, net...)
	if len(proxies) > 0 {
		s.proxies = optim.New(s.n.b, optim.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}, proxies...)
	}
	for _, o := range s.all() {
		for _, g := range o.Groups {
			for i, name := range o.MomentNames() {
				s.n.store.Register(optimizerPrefix+g.Name+"."+name, g.Moments[i])
			}
		}
	}
}

// all returns the optimizers that there are.
func (s *step) all() []*optim.Optimizer {
	if s.proxies == nil {
		return []*optim.Optimizer{s.net}
	}
	return []*optim.Optimizer{s.net, s.proxies}
}

// groups returns the groups of all optimizers.
func (s *step) groups() []*optim.Group {
	if s.proxies == nil {
		return s.net.Groups
	}
	return append(s.net.Groups[:len(s.net.Groups):len(s.net.Groups)], s.proxies.Groups...)
}

// take makes a step with a batch; at is how far the schedules have come, in steps
// or epochs from 0. It runs on the lane.
func (s *step) take(from *batch, at int) (outcome, error) {
	b := s.n.b
	s.in.upload(b, from)
	if s.adjust(at) || s.tape == nil {
		s.begin()
		s.record()
	} else {
		s.begin()
		s.tape.Replay()
	}
	b.Download(s.bytes[:4], s.value.Value)
	b.Download(s.bytes[4:], s.n.store.Guard)
	if err := b.Sync(); err != nil {
		return outcome{}, err
	}
	o := outcome{
		loss:   float64(math.Float32frombits(binary.LittleEndian.Uint32(s.bytes[:4]))),
		rate:   s.net.Groups[0].Eta,
		finite: binary.LittleEndian.Uint32(s.bytes[4:]) == 0,
	}
	if !o.finite {
		s.takeBack()
	}
	return o, nil
}

// adjust sets the rates for a step and reports whether another set of groups
// rests than in the step before.
func (s *step) adjust(at int) (changed bool) {
	for _, o := range s.all() {
		for _, g := range o.Groups {
			g.Eta = s.schedule.Rate(g.Rate, s.warmUp.At(at+1))
			idle := !s.warmUp.Stepped(at+1, g.Name)
			changed = changed || idle != g.Idle
			g.Idle = idle
		}
	}
	return changed
}

func (s *step) begin() {
	s.net.Begin(s.n.b)
	if s.proxies != nil {
		s.proxies.Begin(s.n.b)
	}
}

// takeBack uncounts a step that the guard kept from happening, so that the bias
// corrections of the next one are right.
func (s *step) takeBack() {
	for _, g := range s.groups() {
		if !g.Idle {
			g.Steps--
		}
	}
}

// record takes the step while recording it.
func (s *step) record() {
	if s.tape != nil {
		s.tape.Free()
	}
	guard := s.n.store.Guard
	s.tape = grad.NewTape(s.n.b, s.n.arena)
	s.tape.Do(func(b device.Backend) { b.Fill(guard, 0) })
	embeddings := s.n.forward(s.tape, s.in)
	s.value = s.objective.record(s.tape, embeddings, s.in.labels, s.self)
	s.tape.Backward(s.value, device.Array{})
	s.tape.Do(func(b device.Backend) {
		b.Guard(guard, s.value.Value)
		for _, g := range s.groups() {
			b.Guard(guard, g.Grads)
		}
	})
	if s.clip != nil {
		s.tape.Do(func(b device.Backend) { s.clip.Apply(b, guard, s.net.Groups...) })
	}
	for _, o := range s.all() {
		s.tape.Do(func(b device.Backend) { o.Step(b, guard) })
	}
}
