package warmstart

import (
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/settings"
	"hgld/train/backbone"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/input"
	"hgld/train/pretrained"
)

// WeightDefaults says which settings were taken from what is known of the weights.
type WeightDefaults struct {
	// Origins are the sources of the settings that were not given and that a source states, by key.
	Origins map[string]string

	// Notes name what was taken, and where settings and weights contradict each other.
	Notes []string
}

// Adopt sets those settings that were not given to what the files beside the weights state (see
// [pretrained.Stated]), to what the run states that From names, or to what the name of the backbone
// implies, which may be that of another library (see [backbone.AliasOf]). Settings that were given stay as
// they are. An error says that hgld cannot do what the weights need.
func Adopt(c *config.Config, given func(key string) bool) (*WeightDefaults, error) {
	a := &adopter{c: c, given: given, own: c.Model.Backbone.Settings,
		WeightDefaults: WeightDefaults{Origins: map[string]string{}}}
	named := a.alias()
	list, err := stated(c)
	if err != nil {
		return nil, &config.Error{Err: err}
	}
	list = append(list, named...)
	if !a.look(list) {
		return &a.WeightDefaults, nil // Check reports it
	}
	if err := a.adopt(list); err != nil {
		return nil, &config.Error{Err: err}
	}
	return &a.WeightDefaults, nil
}

// AdoptPublished is Adopt for a network that is used as it was published: what no file states is the
// preprocessing of its usual weights.
func AdoptPublished(c *config.Config, given func(key string) bool) (*WeightDefaults, error) {
	a, err := Adopt(c, given)
	if err != nil {
		return nil, err
	}
	spec, err := config.Select(c.Backbones(), "backbone", "model.backbone", c.Model.Backbone)
	if err != nil {
		return a, nil
	}
	p := backbone.Published(spec)
	p.Source = c.Model.Backbone.Name + "'s usual weights"
	rest := &adopter{c: c, spec: spec, own: c.Model.Backbone.Settings, WeightDefaults: *a,
		given: func(key string) bool { return given(key) || a.Origins[key] != "" }, quiet: true}
	if err := rest.adopt([]backbone.Preprocessing{p}); err != nil {
		return nil, &config.Error{Err: err}
	}
	return &rest.WeightDefaults, nil
}

// stated returns what the file or run says that a new run starts from.
func stated(c *config.Config) ([]backbone.Preprocessing, error) {
	path := c.Model.Weights
	if c.From != "" {
		path = c.From
	}
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		if atomicfile.IsMissing(err) {
			err = nil // the reader of the weights reports it
		}
		return nil, err
	}
	if !info.IsDir() {
		return pretrained.Stated(path)
	}
	_, s, err := checkpoint.Find(path)
	if atomicfile.IsUnreadable(err) {
		return nil, err
	}
	if err != nil || c.From == "" {
		return nil, nil // as above
	}
	in := s.Config.Input
	p := backbone.Preprocessing{Source: path, Mean: in.Mean, Std: in.Std, Filter: in.Filter, Size: in.Size,
		Resize: in.Resize, Squash: in.Squash}
	if p.Resize == 0 {
		p.Resize, p.Squash = p.Size, true
	}
	return []backbone.Preprocessing{p}, nil
}

// textOf formats a value of a setting.
func textOf(value any) string { return settings.Text(reflect.ValueOf(value)) }

// adopter is an Adopt in progress.
type adopter struct {
	WeightDefaults
	c     *config.Config
	spec  backbone.Spec
	given func(key string) bool
	own   map[string]any // settings of the backbone that were given
	quiet bool           // contradictions are not noted
}

func (a *adopter) note(format string, args ...any) {
	a.Notes = append(a.Notes, fmt.Sprintf(format, args...))
}

// states records that settings that were not given are as a source states.
func (a *adopter) states(source string, keys ...string) {
	for _, key := range keys {
		if !a.given(key) {
			a.Origins[key] = source
		}
	}
}

// set records that a setting has the value that a source states.
func (a *adopter) set(key, source string, value any) {
	a.Origins[key] = source
	a.note("%s=%v, as %s states", key, textOf(value), source)
}

// setBackbone sets a setting of the backbone.
func (a *adopter) setBackbone(key, source string, value any) error {
	a.c.Model.Backbone.Settings = config.WithSetting(a.c.Model.Backbone.Settings, key, value)
	a.set("model.backbone.settings."+key, source, value)
	var err error
	a.spec, err = config.Select(a.c.Backbones(), "backbone", "model.backbone", a.c.Model.Backbone)
	return err
}

// contradicted notes that a setting that was given is not what a source states.
func (a *adopter) contradicted(key string, value any, p backbone.Preprocessing, stated any) {
	if !a.quiet {
		a.note("%s is %v, but %s states %v", key, textOf(value), p.Source, textOf(stated))
	}
}

// look builds the backbone. A width may fit only the number of heads that a statement has.
func (a *adopter) look(list []backbone.Preprocessing) bool {
	b := a.c.Model.Backbone
	var err error
	if a.spec, err = config.Select(a.c.Backbones(), "backbone", "model.backbone", b); err == nil {
		return true
	}
	at := slices.IndexFunc(list, func(p backbone.Preprocessing) bool { return p.Heads > 0 })
	if _, given := a.own["heads"]; at < 0 || given {
		return false
	}
	if a.setBackbone("heads", list[at].Source, list[at].Heads) != nil {
		a.c.Model.Backbone = b
		return false
	}
	return true
}

// alias replaces another library's name of the backbone by hgld's. It returns the preprocessing that goes with it.
func (a *adopter) alias() []backbone.Preprocessing {
	b := &a.c.Model.Backbone
	if slices.Contains(a.c.Backbones().Names(), b.Name) {
		return nil
	}
	alias, ok := backbone.AliasOf(b.Name)
	if !ok {
		return nil
	}
	a.note("model.backbone %s is hgld's %s", b.Name, strings.TrimSpace(alias.Name+" "+settingsText(alias.Settings)))
	b.Name = alias.Name
	if merged := maps.Clone(alias.Settings); len(merged) > 0 {
		maps.Copy(merged, b.Settings)
		b.Settings = merged
	}
	return []backbone.Preprocessing{alias.Stated}
}

// settingsText lists settings as YAML does.
func settingsText(values map[string]any) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, fmt.Sprintf("%s: %v", key, values[key]))
	}
	if len(list) == 0 {
		return ""
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// adopt takes every setting from the first of the statements that has it.
func (a *adopter) adopt(list []backbone.Preprocessing) error {
	first := func(has func(p backbone.Preprocessing) bool) (p backbone.Preprocessing, found bool) {
		i := slices.IndexFunc(list, has)
		if i < 0 {
			return p, false
		}
		return list[i], true
	}
	for _, p := range list {
		if p.Unread != "" {
			a.note("%s is not read: %s", p.Source, p.Unread)
		}
	}
	if p, is := first(func(p backbone.Preprocessing) bool { return p.Std != [3]float32{} }); is {
		a.pixels(p)
	}
	if p, is := first(func(p backbone.Preprocessing) bool { return p.Filter != "" }); is {
		if err := a.filter(p); err != nil {
			return err
		}
	}
	if p, is := first(func(p backbone.Preprocessing) bool { return p.Heads > 0 }); is {
		if err := a.heads(p); err != nil {
			return err
		}
	}
	if p, is := first(func(p backbone.Preprocessing) bool { return p.Activation != "" }); is {
		if err := a.activation(p); err != nil {
			return err
		}
	}
	if p, is := first(func(p backbone.Preprocessing) bool { return p.Epsilon > 0 }); is {
		if own := a.spec.Facts().Unshown.Epsilon; own > 0 && math.Abs(p.Epsilon/own-1) > 0.01 {
			a.note("%s states an ε of %g for its norms, but %s computes with %g", p.Source, p.Epsilon,
				a.c.Model.Backbone.Name, own)
		}
	}
	p, is := first(func(p backbone.Preprocessing) bool { return p.Size > 0 || p.Unsupported != "" })
	if !is {
		if p, is = first(func(p backbone.Preprocessing) bool { return p.Positions > 0 }); is {
			p.Size, p.Resize = p.Positions, p.Positions
		}
	}
	if is {
		return a.geometry(p)
	}
	return nil
}

// pixels adopts mean and standard deviation.
func (a *adopter) pixels(p backbone.Preprocessing) {
	in, facts := &a.c.Input, a.spec.Facts()
	near := func(x, y [3]float32) bool {
		far := 0.0
		for i := range x {
			far = max(far, math.Abs(float64(x[i]-y[i])))
		}
		return far < 5e-4 // published constants have three digits, or more
	}
	mean, std := in.Mean, in.Std
	if std == [3]float32{} {
		mean, std = facts.Mean, facts.Std
	}
	a.states(p.Source, "input.mean", "input.std")
	switch same := near(mean, p.Mean) && near(std, p.Std); {
	case same:
	case a.given("input.mean") || a.given("input.std"):
		a.contradicted("input.mean", mean, p, p.Mean)
		a.contradicted("input.std", std, p, p.Std)
	default:
		in.Mean, in.Std = p.Mean, p.Std
		a.set("input.mean", p.Source, p.Mean)
		a.set("input.std", p.Source, p.Std)
	}
}

// filter adopts the resampling kernel.
func (a *adopter) filter(p backbone.Preprocessing) error {
	in := &a.c.Input
	a.states(p.Source, "input.filter")
	switch {
	case in.Filter == p.Filter:
	case a.given("input.filter"):
		a.contradicted("input.filter", in.Filter, p, p.Filter)
	case !slices.Contains(input.Filters.Names(), p.Filter):
		return fmt.Errorf("%s states the filter %.40q, which hgld does not have: choose one with input.filter", p.Source,
			p.Filter)
	default:
		in.Filter = p.Filter
		a.set("input.filter", p.Source, p.Filter)
	}
	return nil
}

// heads adopts the number of attention heads.
func (a *adopter) heads(p backbone.Preprocessing) error {
	heads := a.spec.Facts().Unshown.Heads
	switch _, given := a.own["heads"]; {
	case heads == 0 || heads == p.Heads:
	case given:
		a.contradicted("model.backbone.settings.heads", heads, p, p.Heads)
	default:
		return a.setBackbone("heads", p.Source, p.Heads)
	}
	return nil
}

// activation adopts the activation of the MLPs.
func (a *adopter) activation(p backbone.Preprocessing) error {
	u, name := a.spec.Facts().Unshown, a.c.Model.Backbone.Name
	_, given := a.own["activation"]
	_, known := backbone.Activations[p.Activation]
	switch {
	case u.Activation == "" || u.Activation == p.Activation:
	case given:
		a.contradicted("model.backbone.settings.activation", u.Activation, p, p.Activation)
	case !u.Settable:
		return fmt.Errorf("%s states the activation %.40q, but %s computes %s: hgld cannot use these weights", p.Source,
			p.Activation, name, u.Activation)
	case !known:
		return fmt.Errorf("%s states the activation %.40q, which hgld does not have: choose one with "+
			"model.backbone.settings.activation", p.Source, p.Activation)
	default:
		return a.setBackbone("activation", p.Source, p.Activation)
	}
	return nil
}

// geometry adopts the size of the input, and how an image is resized and cropped to it.
func (a *adopter) geometry(p backbone.Preprocessing) error {
	in, facts := &a.c.Input, a.spec.Facts()
	_, sized := a.own["input"]
	a.states(p.Source, "input.size", "input.resize", "input.squash")
	shaped := a.given("input.resize") || a.given("input.squash")
	if p.Unsupported != "" {
		if !shaped && !a.given("input.size") {
			return fmt.Errorf("%s states %s, which hgld does not have: choose with input.size and input.resize", p.Source,
				p.Unsupported)
		}
		a.contradicted("input.resize", in.Resize, p, p.Unsupported)
		return nil
	}
	if facts.Fixed && sized && !a.given("input.size") {
		in.Size = facts.Input
	}
	want := p
	if (a.given("input.size") || facts.Fixed && sized) && in.Size != p.Size {
		a.contradicted("input.size", in.Size, p, p.Size)
		want.Size, want.Resize = in.Size, p.Resize*in.Size/p.Size
	}
	if facts.Fixed && facts.Input != want.Size && !sized {
		source := p.Source
		if want.Size != p.Size {
			source = "input.size"
		}
		if err := a.setBackbone("input", source, want.Size); err != nil {
			return err
		}
	}
	if in.Size != want.Size {
		in.Size = want.Size
		a.set("input.size", p.Source, want.Size)
	}
	is := backbone.Preprocessing{Size: in.Size, Resize: in.Resize, Squash: in.Squash}
	if in.Resize == 0 {
		is.Resize, is.Squash = in.Size, true
	}
	switch {
	case is.Geometry() == want.Geometry():
	case shaped:
		a.contradicted("input.resize", is.Geometry(), p, want.Geometry())
	default:
		if in.Resize != want.Resize {
			in.Resize = want.Resize
			a.set("input.resize", p.Source, want.Resize)
		}
		if in.Squash != want.Squash {
			in.Squash = want.Squash
			a.set("input.squash", p.Source, want.Squash)
		}
	}
	return nil
}
