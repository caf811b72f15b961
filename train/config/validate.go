package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/input"
	"hgld/train/loss"
)

// Rule is a condition that a configuration must not meet, with the message for it.
type Rule struct {
	Broken bool   // whether the configuration meets the condition
	Text   string // message, a format
	Args   []any  // of the message
}

// FirstBroken returns the message of the first rule that is broken, or nil.
func FirstBroken(rules []Rule) error {
	for _, r := range rules {
		if r.Broken {
			return fmt.Errorf(r.Text, r.Args...)
		}
	}
	return nil
}

// validate checks how the settings of a configuration go together, in the order of hgld.yaml. The
// names are looked up in p, and settings.Check has checked the range of every number.
func (c *Config) validate(p *Resolved) error {
	decoded := float64(c.rowBytes()) * float64(c.Sampler.Batch) * float64(max(c.Run.Prefetch, 1)+1)
	rules := []Rule{
		{decoded > input.MostDecoded, "sampler.batch is %d, input.size %d and run.prefetch %d: the decoded images would " +
			"take %.0f GiB, want at most %d",
			[]any{c.Sampler.Batch, c.Input.Size, c.Run.Prefetch, decoded / (1 << 30), input.MostDecoded >> 30}},
		{c.From != "" && (c.Model.Weights != "" || c.Model.fitted()),
			"from is %s, which sets the whole network: remove model.weights and model.projection", []any{c.From}},
	}
	rules = slices.Concat(rules, c.inputRules(), c.modelRules(p), c.lossRules(p), []Rule{
		{!(c.Optim.Rate > 0), "optim.lr is %v, want a positive rate", []any{c.Optim.Rate}},
		{!(c.EMA.Decay < 1), "ema.decay is %v, want 0 (no average) or a share below 1, such as 0.999", []any{c.EMA.Decay}},
	})
	for _, key := range []string{"batch", "m"} {
		value, given := c.Sampler.Settings[key]
		rules = append(rules, Rule{given, "sampler.settings.%s is %v: want sampler.%s alone", []any{key, value, key}})
	}
	if err := FirstBroken(rules); err != nil {
		return err
	}
	return c.validateNames()
}

// inputRules are those of images.
func (c *Config) inputRules() []Rule {
	in, none := c.Input, [3]float32{}
	return []Rule{
		{in.Resize != 0 && in.Resize < in.Size, "input.resize is %d, want at least input.size = %d",
			[]any{in.Resize, in.Size}},
		{!(0 < in.Scale[0] && in.Scale[0] <= in.Scale[1]), "input.scale is %v, want 0 < low <= high <= 1", []any{in.Scale}},
		{!(in.Ratio[0] <= in.Ratio[1]), "input.ratio is %v, want 0 < low <= high", []any{in.Ratio}},
		{in.Crop == "padded" && in.Pad >= in.Size, "input.pad is %d, want 0 or more, and less than input.size = %d",
			[]any{in.Pad, in.Size}},
		{in.Std != none && !(in.Std[0] > 0 && in.Std[1] > 0 && in.Std[2] > 0), "input.std is %v, want positive numbers",
			[]any{in.Std}},
		{in.Std == none && in.Mean != none, "input.mean is %v without input.std: give both, or neither for those of the " +
			"backbone", []any{in.Mean}},
	}
}

// modelRules compare the input and the head with what the backbone needs.
func (c *Config) modelRules(p *Resolved) []Rule {
	f, m := p.Backbone.Facts(), c.Model
	rules := []Rule{
		{m.fitted() && m.Dim == 0, "model.projection is %s, but model.dim is 0: set model.dim",
			[]any{m.Projection}},
		{f.Vector && m.Pooling != "none", "model.pooling is %s, want none: %s outputs one vector for each image",
			[]any{m.Pooling, m.Backbone.Name}},
		{!f.Vector && m.Pooling == "none", "model.pooling is none, but %s outputs a feature map: want one of %s",
			[]any{m.Backbone.Name, strings.Join(backbone.Poolings.Names(), ", ")}},
		{f.Fixed && c.Input.Size != f.Input, "input.size is %d, but %s expects images of %d: change input.size or " +
			"model.backbone.settings.input", []any{c.Input.Size, m.Backbone.Name, f.Input}},
		{f.Fixed && len(c.Input.Scales) > 0, "input.scales is %v, but %s takes images of one size: remove input.scales",
			[]any{c.Input.Scales, m.Backbone.Name}},
	}
	for _, s := range c.Input.Scales {
		side := s * float64(c.Input.Size)
		rules = append(rules, Rule{!(side >= 8 && side <= 1<<13),
			"input.scales has %v, which turns %d pixels into %.0f, want 8 to 8192", []any{s, c.Input.Size, side}})
	}
	return rules
}

// lossRules say which losses a memory and chunks suit.
func (c *Config) lossRules(p *Resolved) []Rule {
	byRows := loss.ByRows(p.Loss)
	return []Rule{
		{c.Memory.Size > 0 && c.Memory.Unique, "memory.size is %d, but memory.unique has a place for each training image: " +
			"remove one of them", []any{c.Memory.Size}},
		{c.Memory.exists() && byRows, "%s reads no memory: remove memory.size and memory.unique, or train with a ranking " +
			"or pair loss", []any{c.Loss.Name}},
		{c.Passes.Accumulate && c.Passes.Chunk == 0, "passes.accumulate adds up the gradients of chunks, but passes.chunk " +
			"is 0: set passes.chunk", nil},
		{c.Passes.Accumulate && !byRows, "passes.accumulate: %s ranks each query against the whole batch, so its loss is " +
			"not the sum of those of its chunks: adding up their gradients would train on rankings of %d items in place " +
			"of %d; leave passes.accumulate out, and passes.chunk alone gives the gradient of the whole batch, for a " +
			"second forward pass", []any{c.Loss.Name, c.Passes.Chunk, c.Sampler.Batch}},
	}
}

// validateNames checks the names that no table has.
func (c *Config) validateNames() error {
	for _, group := range c.Schedule.Frozen {
		if groups := []string{BackboneGroup, HeadGroup, ProxyGroup}; !slices.Contains(groups, group) {
			return fmt.Errorf("schedule.frozen: %w", registry.Unknown("group", group, groups))
		}
	}
	if !slices.Contains(precisions, c.Model.Precision) {
		return fmt.Errorf("model.precision is %.80q, want one of %s", c.Model.Precision, strings.Join(precisions, ", "))
	}
	if c.Run.Resample != "" && !slices.Contains(resamples, c.Run.Resample) { // a checkpoint has none
		return fmt.Errorf("run.resample: %w", registry.Unknown("place", c.Run.Resample, resamples))
	}
	if !slices.Contains(watched, c.Run.EvalOn) {
		return fmt.Errorf("run.eval_on: %w", registry.Unknown("part of the data", c.Run.EvalOn, watched))
	}
	for _, name := range c.Run.Log {
		if name != LogRegion {
			return fmt.Errorf("run.log: %w", registry.Unknown("value", name, []string{LogRegion}))
		}
		if c.Passes.Accumulate {
			return errors.New("run.log has region, which compares the rows of a whole batch: remove passes.accumulate")
		}
	}
	if _, err := input.Crops.Get("crop", c.Input.Crop); err != nil {
		return fmt.Errorf("input.crop: %w", err)
	}
	return nil
}

// Values of run.eval_on: the part of the data that is evaluated during training.
const (
	WatchValidation = "validation"
	WatchTest       = "test"
	WatchLandmarks  = "landmarks"
)

var watched = []string{WatchValidation, WatchTest, WatchLandmarks}

// BestKey returns the key of the metric that ranks evaluations. A per-level metric without a level means its first
// key: that of the finest level, or of the part that judges in a benchmark of landmarks.
func (c *Config) BestKey(keys []string) (string, error) {
	switch want := c.Run.Best; {
	case want == "" && slices.Contains(keys, "H-AP"):
		return "H-AP", nil
	case want == "":
		return keys[0], nil
	case slices.Contains(keys, want):
		return want, nil
	default:
		for _, key := range keys {
			if name, _, leveled := strings.Cut(key, "_level"); leveled && name == want {
				return key, nil
			}
		}
		return "", fmt.Errorf("run.best: %w", registry.Unknown("metric", want, keys))
	}
}

// LogRegion is a value of run.log.
const LogRegion = "region"

// ShapeError says that a network takes images of one size alone, and none in their own shapes.
type ShapeError struct {
	Network string // its name
	Side    int    // of its images
}

// Error names the network and the size that it takes.
func (e *ShapeError) Error() string {
	return fmt.Sprintf("%s takes images of %d×%d pixels alone, and none in their own shapes", e.Network, e.Side, e.Side)
}

// AnyShape returns a *ShapeError if the network takes images of one size alone.
func (c *Config) AnyShape() error {
	spec, err := Select(c.Backbones(), "backbone", "model.backbone", c.Model.Backbone)
	if err != nil {
		return err
	}
	if f := spec.Facts(); f.Fixed {
		return &ShapeError{c.Model.Backbone.Name, f.Input}
	}
	return nil
}

// Values of model.precision.
const (
	PrecisionAuto     = "auto"
	PrecisionFloat32  = "float32"
	PrecisionBFloat16 = "bfloat16"
)

var precisions = []string{PrecisionAuto, PrecisionFloat32, PrecisionBFloat16}

// Activations returns the storage type of the backbone's activations.
func (a *Architecture) Activations() device.DType {
	if a.Precision == PrecisionBFloat16 {
		return device.BF16
	}
	return device.F32
}

// Values of run.resample.
const (
	ResampleAuto   = "auto"
	ResampleHost   = "host"
	ResampleDevice = "device"
)

var resamples = []string{ResampleAuto, ResampleHost, ResampleDevice}

// ResolveResample replaces auto by what suits the device: images are resampled on a device with
// memory of its own, and otherwise by the workers that decode them.
func (u *RunOptions) ResolveResample(b device.Backend) {
	where := ResampleHost
	if u.ResampleOn(b) {
		where = ResampleDevice
	}
	u.Resample = where
}

// ResampleOn reports whether images are resampled on b. Checkpoints do not hold the setting, and
// an empty value means auto.
func (u *RunOptions) ResampleOn(b device.Backend) bool {
	switch u.Resample {
	case ResampleHost:
		return false
	case ResampleDevice:
		return true
	}
	return device.OwnMemory(b)
}
