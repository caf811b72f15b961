package step

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/network"
	"hgld/train/nn"
	"hgld/train/optim"
)

// averageSteps is the key of the moving average among the step counts.
const averageSteps = "ema"

// ExportAverage returns the averaged weights under the names of the weights, or nil without an
// average.
func (u *Update) ExportAverage(n *network.Network) ([]tensorfile.Tensor, error) {
	if u.EMA == nil {
		return nil, nil
	}
	u.Swap(n.Backend)
	tensors, err := n.Store.Export(n.Backend)
	u.Swap(n.Backend)
	if err != nil {
		return nil, err
	}
	return checkpoint.OfNetwork(tensors), n.Backend.Sync()
}

// Update is the second half of a step, from gradients to weights: clipping, the optimizers of
// network and proxies, and the moving average.
type Update struct {
	store *nn.Store

	Net, Proxies *optim.Optimizer // proxies has no groups if the loss has none
	Schedule     *optim.Scaled    // of the rates of backbone and head
	proxyPlan    *optim.Scaled
	freeze       optim.Freeze

	value *optim.ValueClip // nil: none
	clip  *optim.NormClip  // nil: none
	norm  *optim.Norm      // norm of the gradient of backbone and head; clip's if set
	EMA   *optim.EMA       // nil: none

	Steps int // steps taken, including skipped ones; they seed the random numbers
	key   [4]byte
}

// newUpdate makes the optimizers of the network and of the proxies, and adds their state to the
// checkpoint. The store must be built. own is the result of arrange.
func newUpdate(n *network.Network, c *config.Config, p *config.Resolved, own ownSettings) *Update {
	u := &Update{
		store: n.Store, Schedule: &optim.Scaled{Schedule: p.Schedule, Factor: 1},
		proxyPlan: &optim.Scaled{Schedule: p.ProxyPlan, Factor: 1}, freeze: FreezeOf(c),
	}
	var net, proxies []*optim.Group
	largest := 0
	for _, g := range n.Store.Groups {
		group := &optim.Group{Name: g.Name, Weights: g.Values, Grads: g.Grads, Rate: c.Optim.Rate, Decay: c.Optim.Decay,
			Spans: own.spans(g)}
		switch g.Name {
		case config.ProxyGroup:
			group.Rate, group.Decay = c.Optim.ProxyRate, c.Optim.ProxyDecay
			proxies = append(proxies, group)
			continue
		case config.HeadGroup:
			group.Rate *= c.Optim.HeadFactor
		}
		net = append(net, group)
		largest = max(largest, g.Values.Len())
	}
	u.Net, u.Proxies = optim.New(n.Backend, p.Rule, net...), optim.New(n.Backend, p.ProxyRule, proxies...)
	for _, o := range u.all() {
		for _, g := range o.Groups {
			for i, name := range o.MomentNames() {
				n.Store.RegisterMoment(checkpoint.OptimizerPrefix+g.Name+"."+name, n.Store.Find(g.Name), g.Moments[i])
			}
		}
	}
	if c.Optim.ClipValue > 0 {
		u.value = optim.NewValueClip(n.Backend, c.Optim.ClipValue, largest)
	}
	if c.Optim.Clip > 0 {
		u.clip = optim.NewNormClip(n.Backend, c.Optim.Clip)
		u.norm = u.clip.Norm
	} else {
		u.norm = optim.NewNorm(n.Backend)
	}
	if c.EMA.Decay > 0 {
		u.EMA = optim.NewEMA(n.Backend, c.EMA.Decay, c.EMA.WarmUp, averaged(n.Store)...)
	}
	return u
}

// FreezeOf returns which groups are frozen at the start of a run, and how long.
func FreezeOf(c *config.Config) optim.Freeze {
	return optim.Freeze{Epochs: c.Schedule.Freeze, Groups: c.Schedule.Frozen, Advances: c.Schedule.Advances}
}

// averaged lists the arrays that the moving average follows: the network's weights and running
// statistics, as an evaluation reads them.
func averaged(s *nn.Store) (list []device.Array) {
	for _, g := range s.Groups {
		if g.Name != config.ProxyGroup {
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
		if g.Name == config.ProxyGroup {
			continue // proxies have their own setting
		}
		for _, p := range g.Params {
			hit, err := matches(rules, p)
			if err != nil {
				return nil, &config.Error{Err: err}
			}
			if hit == "" {
				continue
			}
			used[hit], noDecay[p] = true, true
		}
	}
	for _, rule := range rules {
		if !used[rule] {
			return nil,
				&config.Error{Err: fmt.Errorf("optim.no_decay: %.80q matches no parameter that earlier entries do not match; "+
					"use the names in a checkpoint's %s, such as %s",
					rule, checkpoint.ModelFile, s.Groups[0].Params[0].Name())}
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

// all returns both optimizers.
func (u *Update) all() [2]*optim.Optimizer { return [2]*optim.Optimizer{u.Net, u.Proxies} }

// Groups returns the groups of both optimizers.
func (u *Update) Groups() []*optim.Group { return slices.Concat(u.Net.Groups, u.Proxies.Groups) }

// rates holds the rates of the groups in a step; 0 for a group that is frozen or does not exist.
type rates struct{ Backbone, Head, Proxies float64 }

// rates returns the rates of the next step.
func (u *Update) rates() (r rates) {
	for _, o := range u.all() { // which allocates nothing
		for _, g := range o.Groups {
			switch {
			case g.Frozen:
			case g.Name == config.BackboneGroup:
				r.Backbone = g.Eta
			case g.Name == config.HeadGroup:
				r.Head = g.Eta
			default:
				r.Proxies = g.Eta
			}
		}
	}
	return r
}

// Scale multiplies all rates by a factor, in addition to their schedules.
func (u *Update) Scale(factor float64) { u.Schedule.Factor, u.proxyPlan.Factor = factor, factor }

// Adjust sets the rates for a step. at is the time of the schedules, in steps or epochs from 0.
// It reports whether the set of frozen groups has changed; the step must then be re-recorded.
func (u *Update) Adjust(at int) (changed bool) {
	for _, o := range u.all() {
		plan := u.Schedule
		if o == u.Proxies {
			plan = u.proxyPlan
		}
		changed = o.Adjust(plan, u.freeze, at+1) || changed
	}
	return changed
}

// prepare counts a step and uploads its new values: constants of the optimizers and the key of
// the random numbers.
func (u *Update) prepare(b device.Backend) {
	binary.LittleEndian.PutUint32(u.key[:], uint32(u.Steps))
	b.Upload(u.store.Key.RowRange(1, 2), u.key[:])
	u.Steps++
	for _, o := range u.all() {
		o.Begin(b)
	}
}

// measure is the first recorded part: guard counts gradients that are not finite. Values are clipped before
// the norm is taken; proxies are not clipped. A frozen group has no part in the norm, as parameters without a gradient
// have none in PyTorch; processes do not add its gradient.
func (u *Update) measure(b device.Backend, guard device.Array) {
	for _, g := range u.Proxies.Groups {
		b.Guard(guard, g.Grads)
	}
	var groups []*optim.Group
	for _, g := range u.Net.Groups {
		if !g.Frozen {
			groups = append(groups, g)
		}
	}
	if u.value != nil {
		u.value.Apply(b, groups...)
	}
	if u.clip != nil {
		u.clip.Apply(b, guard, groups...)
	} else {
		u.norm.Measure(b, guard, groups...)
	}
}

// apply is the second. It changes nothing while guard is set.
func (u *Update) apply(b device.Backend, guard device.Array) {
	for _, o := range u.all() {
		o.Step(b, guard)
	}
	if u.EMA != nil {
		u.EMA.Step(b, guard)
	}
}

// Counts returns the steps that each group and the moving average have taken, by name. The device
// counts them, because only the device knows which steps were skipped.
func (u *Update) Counts() map[string]device.Array {
	list := map[string]device.Array{}
	for _, g := range u.Groups() {
		list[g.Name] = g.Steps
	}
	if u.EMA != nil {
		list[averageSteps] = u.EMA.Steps
	}
	return list
}

// ReadCounts downloads the counts.
func (u *Update) ReadCounts(b device.Backend) (map[string]int, error) {
	steps := map[string]int{}
	for name, at := range u.Counts() {
		var number [4]byte
		if err := b.Wait(b.Download(number[:], at)); err != nil {
			return nil, err
		}
		steps[name] = int(binary.LittleEndian.Uint32(number[:]))
	}
	return steps, nil
}

// SetCounts restores the counts of a checkpoint.
func (u *Update) SetCounts(b device.Backend, steps map[string]int) {
	for name, at := range u.Counts() {
		b.Upload(at, binary.LittleEndian.AppendUint32(nil, uint32(steps[name])))
	}
}

// Swap exchanges the weights with their average, if there is one. It is called before an
// evaluation and again after it.
func (u *Update) Swap(b device.Backend) {
	if u.EMA != nil {
		u.EMA.Swap(b)
	}
}
