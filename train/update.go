package train

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strings"

	"hgld/train/device"
	"hgld/train/loss"
	"hgld/train/nn"
	"hgld/train/optim"
)

// update is the second half of a step, from gradients to weights: clipping, the optimizers of
// network and proxies, and the moving average.
type update struct {
	store *nn.Store

	net, proxies *optim.Optimizer // proxies is nil if the loss has none
	schedule     *optim.Scaled
	proxyPlan    *optim.Scaled
	freeze       optim.Freeze

	value *optim.ValueClip // nil: none
	clip  *optim.NormClip  // nil: none
	norm  *optim.Norm      // norm of the gradient of backbone and head; clip's if set
	ema   *optim.EMA       // nil: none

	steps int // steps taken, including skipped ones; they seed the random numbers
	key   [4]byte
}

// newUpdate makes the optimizers of the network and of the proxies, and adds their state to the
// checkpoint. The store must be built. own is the result of arrange.
func newUpdate(n *network, c *Config, p *resolved, own ownSettings) *update {
	u := &update{
		store: n.store, schedule: &optim.Scaled{Schedule: p.schedule, Factor: 1},
		proxyPlan: &optim.Scaled{Schedule: p.proxyPlan, Factor: 1}, freeze: freezeOf(c),
	}
	var net, proxies []*optim.Group
	largest := 0
	for _, g := range n.store.Groups {
		group := &optim.Group{Name: g.Name, Weights: g.Values, Grads: g.Grads, Rate: c.Optim.Rate, Decay: c.Optim.Decay,
			Spans: own.spans(g)}
		switch g.Name {
		case proxyGroup:
			group.Rate, group.Decay = c.Optim.ProxyRate, c.Optim.ProxyDecay
			proxies = append(proxies, group)
			continue
		case headGroup:
			group.Rate *= c.Optim.HeadFactor
		}
		net = append(net, group)
		largest = max(largest, g.Values.Len())
	}
	u.net = optim.New(n.b, p.rule, net...)
	if len(proxies) > 0 {
		u.proxies = optim.New(n.b, p.proxyRule, proxies...)
	}
	for _, o := range u.all() {
		for _, g := range o.Groups {
			for i, name := range o.MomentNames() {
				n.store.RegisterMoment(optimizerPrefix+g.Name+"."+name, n.store.Find(g.Name), g.Moments[i])
			}
		}
	}
	if c.Optim.ClipValue > 0 {
		u.value = optim.NewValueClip(n.b, c.Optim.ClipValue, largest)
	}
	if c.Optim.Clip > 0 {
		u.clip = optim.NewNormClip(n.b, c.Optim.Clip)
		u.norm = u.clip.Norm
	} else {
		u.norm = optim.NewNorm(n.b)
	}
	if c.EMA.Decay > 0 {
		u.ema = optim.NewEMA(n.b, c.EMA.Decay, c.EMA.Rise, averaged(n.store)...)
	}
	return u
}

func freezeOf(c *Config) optim.Freeze {
	return optim.Freeze{Epochs: c.Schedule.Freeze, Groups: c.Schedule.Frozen, Advances: c.Schedule.Advances}
}

// The groups of the store: the backbone, everything after it, and the parameters of the
// loss.
const (
	backboneGroup = "backbone"
	headGroup     = "head"
	proxyGroup    = loss.ParamGroup
)

// averaged lists the arrays that the moving average follows: the network's weights and running
// statistics, as an evaluation reads them.
func averaged(s *nn.Store) (list []device.Array) {
	for _, g := range s.Groups {
		if g.Name != proxyGroup {
			list = append(list, g.Values)
		}
	}
	for _, r := range s.Running() {
		list = append(list, r.Value)
	}
	return list
}

// oneDimensional is the entry of optim.no_decay for every parameter of one dimension: biases, γ
// and β, the exponent of GeM.
const oneDimensional = "1d"

// paramsWithoutDecay finds the network parameters without weight decay. An entry that matches no
// parameter is an error.
func paramsWithoutDecay(s *nn.Store, rules []string) (map[*nn.Param]bool, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	noDecay, used := map[*nn.Param]bool{}, map[string]bool{}
	for _, g := range s.Groups {
		if g.Name == proxyGroup {
			continue // proxies have their own setting
		}
		for _, p := range g.Params {
			hit, err := matches(rules, p)
			if err != nil {
				return nil, &ConfigError{err}
			}
			if hit == "" {
				continue
			}
			used[hit], noDecay[p] = true, true
		}
	}
	for _, rule := range rules {
		if !used[rule] {
			return nil, &ConfigError{fmt.Errorf("optim.no_decay: %.80q matches no parameter that earlier entries do not match; "+
				"use the names in a checkpoint's %s, such as %s",
				rule, modelFile, s.Groups[0].Params[0].Name())}
		}
	}
	return noDecay, nil
}

// matches returns the first of the rules that matches a parameter, or "" if none does.
func matches(rules []string, p *nn.Param) (string, error) {
	for _, rule := range rules {
		if rule == oneDimensional {
			if len(p.Dims()) == 1 {
				return rule, nil
			}
			continue
		}
		fits, err := path.Match(rule, p.Name())
		if errors.Is(err, path.ErrBadPattern) {
			return "", fmt.Errorf("optim.no_decay: %.80q: want %.80q or a name in which * stands for anything", rule,
				oneDimensional)
		}
		if fits || strings.HasSuffix(p.Name(), "."+rule) {
			return rule, nil
		}
	}
	return "", nil
}

// all returns the optimizers, without the proxies' if there are none.
func (u *update) all() []*optim.Optimizer {
	if u.proxies == nil {
		return []*optim.Optimizer{u.net}
	}
	return []*optim.Optimizer{u.net, u.proxies}
}

// groups returns the groups of all optimizers.
func (u *update) groups() []*optim.Group {
	if u.proxies == nil {
		return u.net.Groups
	}
	return append(u.net.Groups[:len(u.net.Groups):len(u.net.Groups)], u.proxies.Groups...)
}

// rates holds the rates of the groups in a step; 0 for a group that is frozen or does not exist.
type rates struct{ backbone, head, proxies float64 }

// rates returns the rates of the next step.
func (u *update) rates() (r rates) {
	for _, o := range [...]*optim.Optimizer{u.net, u.proxies} {
		if o == nil {
			continue
		}
		for _, g := range o.Groups {
			switch {
			case g.Frozen:
			case g.Name == backboneGroup:
				r.backbone = g.Eta
			case g.Name == headGroup:
				r.head = g.Eta
			default:
				r.proxies = g.Eta
			}
		}
	}
	return r
}

// scale multiplies all rates by a factor, in addition to their schedules.
func (u *update) scale(factor float64) { u.schedule.Factor, u.proxyPlan.Factor = factor, factor }

// adjust sets the rates for a step. at is the time of the schedules, in steps or epochs from 0.
// It reports whether the set of frozen groups has changed; the step must then be re-recorded.
func (u *update) adjust(at int) (changed bool) {
	for _, o := range u.all() {
		plan := u.schedule
		if o == u.proxies {
			plan = u.proxyPlan
		}
		changed = o.Adjust(plan, u.freeze, at+1) || changed
	}
	return changed
}

// prepare counts a step and uploads its new values: constants of the optimizers and the key of
// the random numbers.
func (u *update) prepare(b device.Backend) {
	binary.LittleEndian.PutUint32(u.key[:], uint32(u.steps))
	b.Upload(u.store.Key.RowRange(1, 2), u.key[:])
	u.steps++
	u.net.Begin(b)
	if u.proxies != nil {
		u.proxies.Begin(b)
	}
}

// apply is the recorded part. It changes nothing while guard is set. Values are clipped before
// the norm is taken; proxies are not clipped.
func (u *update) apply(b device.Backend, guard device.Array) {
	if u.value != nil {
		u.value.Apply(b, u.net.Groups...)
	}
	if u.clip != nil {
		u.clip.Apply(b, guard, u.net.Groups...)
	} else {
		u.norm.Measure(b, u.net.Groups...)
	}
	for _, o := range u.all() {
		o.Step(b, guard)
	}
	if u.ema != nil {
		u.ema.Step(b, guard)
	}
}

// counts returns the steps that each group and the moving average have taken, by name. The device
// counts them, because only the device knows which steps were skipped.
func (u *update) counts() map[string]device.Array {
	list := map[string]device.Array{}
	for _, g := range u.groups() {
		list[g.Name] = g.Steps
	}
	if u.ema != nil {
		list[averageSteps] = u.ema.Steps
	}
	return list
}

// readCounts downloads the counts.
func (u *update) readCounts(b device.Backend) (map[string]int, error) {
	steps := map[string]int{}
	for name, at := range u.counts() {
		var number [4]byte
		if err := b.Wait(b.Download(number[:], at)); err != nil {
			return nil, err
		}
		steps[name] = int(binary.LittleEndian.Uint32(number[:]))
	}
	return steps, nil
}

// setCounts restores the counts of a checkpoint.
func (u *update) setCounts(b device.Backend, steps map[string]int) {
	for name, at := range u.counts() {
		b.Upload(at, binary.LittleEndian.AppendUint32(nil, uint32(steps[name])))
	}
}

// swap exchanges the weights with their average, if there is one. It is called before an
// evaluation and again after it.
func (u *update) swap(b device.Backend) {
	if u.ema != nil {
		u.ema.Swap(b)
	}
}
