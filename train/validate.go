package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/train/backbone"
	"hgld/train/input"
	"hgld/train/loss"
)

// rule is a condition that a configuration must not meet, with the message for it.
type rule struct {
	broken bool
	text   string
	args   []any
}

// firstBroken returns the message of the first rule that is broken, or nil.
func firstBroken(rules []rule) error {
	for _, r := range rules {
		if r.broken {
			return fmt.Errorf(r.text, r.args...)
		}
	}
	return nil
}

// validate checks how the settings of a configuration go together, in the order of hgld.yaml. The
// names are looked up in p, and settings.Check has checked the range of every number.
func (c *Config) validate(p *resolved) error {
	decoded := float64(c.rowBytes()) * float64(c.Sampler.Batch) * float64(max(c.Run.Prefetch, 1)+1)
	rules := []rule{
		{decoded > input.MostDecoded, "sampler.batch is %d, input.size %d and run.prefetch %d: the decoded images would " +
			"take %.0f GiB, want at most %d",
			[]any{c.Sampler.Batch, c.Input.Size, c.Run.Prefetch, decoded / (1 << 30), input.MostDecoded >> 30}},
		{c.From != "" && (c.Model.Weights != "" || c.Model.Projection != ""),
			"from is %s, which sets the whole network: remove model.weights and model.projection", []any{c.From}},
	}
	rules = slices.Concat(rules, c.inputRules(), c.modelRules(p), c.lossRules(p), []rule{
		{!(c.Optim.Rate > 0), "optim.lr is %v, want a positive rate", []any{c.Optim.Rate}},
		{!(c.EMA.Decay < 1), "ema.decay is %v, want 0 (no average) or a share below 1, such as 0.999", []any{c.EMA.Decay}},
	})
	for _, key := range []string{"batch", "m"} {
		value, given := c.Sampler.Settings[key]
		rules = append(rules, rule{given, "sampler.settings.%s is %v: want sampler.%s alone", []any{key, value, key}})
	}
	if err := firstBroken(rules); err != nil {
		return err
	}
	return c.validateNames()
}

// inputRules are those of images.
func (c *Config) inputRules() []rule {
	in, e, none := c.Input, c.Input.Erase, [3]float32{}
	return []rule{
		{in.Resize != 0 && in.Resize < in.Size, "input.resize is %d, want at least input.size = %d",
			[]any{in.Resize, in.Size}},
		{!(0 < in.Scale[0] && in.Scale[0] <= in.Scale[1]), "input.scale is %v, want 0 < low <= high <= 1", []any{in.Scale}},
		{!(in.Ratio[0] <= in.Ratio[1]), "input.ratio is %v, want 0 < low <= high", []any{in.Ratio}},
		{e.Probability > 0 && !(e.Scale[0] <= e.Scale[1] && 0 < e.Ratio[0] && e.Ratio[0] <= e.Ratio[1]),
			"input.erase has scale %v and ratio %v; want each from low to high, and ratios above 0", []any{e.Scale, e.Ratio}},
		{in.Crop == "padded" && in.Pad >= in.Size, "input.pad is %d, want 0 or more, and less than input.size = %d",
			[]any{in.Pad, in.Size}},
		{in.Std != none && !(in.Std[0] > 0 && in.Std[1] > 0 && in.Std[2] > 0), "input.std is %v, want positive numbers",
			[]any{in.Std}},
		{in.Std == none && in.Mean != none, "input.mean is %v without input.std: give both, or neither for those of the " +
			"backbone", []any{in.Mean}},
	}
}

// modelRules compare the input and the head with what the backbone needs.
func (c *Config) modelRules(p *resolved) []rule {
	f, m := p.backbone.Facts(), c.Model
	rules := []rule{
		{m.Projection != "" && m.Dim == 0, "model.projection is %s, but model.dim is 0: set model.dim",
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
		rules = append(rules, rule{!(side >= 8 && side <= 1<<13),
			"input.scales has %v, which turns %d pixels into %.0f, want 8 to 8192", []any{s, c.Input.Size, side}})
	}
	return rules
}

// lossRules say which losses a memory and chunks suit.
func (c *Config) lossRules(p *resolved) []rule {
	byRows := loss.ByRows(p.loss)
	return []rule{
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
		if groups := []string{backboneGroup, headGroup, proxyGroup}; !slices.Contains(groups, group) {
			return fmt.Errorf("schedule.frozen: %w", registry.Unknown("group", group, groups))
		}
	}
	if !slices.Contains(precisions, c.Model.Precision) {
		return fmt.Errorf("model.precision is %.80q, want one of %s", c.Model.Precision, strings.Join(precisions, ", "))
	}
	if c.Run.Resample != "" && !slices.Contains(resamples, c.Run.Resample) { // a checkpoint has none
		return fmt.Errorf("run.resample: %w", registry.Unknown("place", c.Run.Resample, resamples))
	}
	if !slices.Contains(watched, c.Run.Watch) {
		return fmt.Errorf("run.watch: %w", registry.Unknown("part of the data", c.Run.Watch, watched))
	}
	for _, name := range c.Run.Log {
		if name != logRegion {
			return fmt.Errorf("run.log: %w", registry.Unknown("value", name, []string{logRegion}))
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

// validateData checks that the data have what the configuration evaluates during training.
func (c *Config) validateData(d Data) error {
	p, watchesTest := c.Schedule.Plateau, c.Run.Watch == watchTest
	err := firstBroken([]rule{
		{len(d.Benchmarks) > 0 && d.Query != nil, "the test has both queries and benchmarks, want one of them", nil},
		{len(d.Benchmarks) > 0 && len(d.Further) > 0, "the benchmarks have one level each, in which classes have no " +
			"further parents: leave these out", nil},
		{c.Run.ReportBest && !(watchesTest && c.Run.Evaluate > 0), "run.report_best reports the best of several " +
			"evaluations of the test: set run.watch=test and run.evaluate, or leave it out", nil},
		{watchesTest && !d.tested(), "run.watch is test, but the data has no test queries: name them, or set " +
			"run.watch=validation", nil},
		{c.Run.Evaluate > 0 && c.Run.Watch == watchValidation && d.Validation == nil && d.tested(),
			"run.evaluate is %d, but there are no validation classes: hold some out of the training (hold_out), or set " +
				"run.watch=test to evaluate the test during training", []any{c.Run.Evaluate}},
		{p.Factor != 0 && !(p.Factor > 0 && p.Factor < 1 && p.Patience > 0),
			"schedule.plateau has factor %v and patience %d: want a factor between 0 and 1, and a patience from 1 up",
			[]any{p.Factor, p.Patience}},
		{p.Factor == 0 && p.Patience > 0,
			"schedule.plateau has patience %d and no factor: set schedule.plateau.factor, such as 0.1", []any{p.Patience}},
		{c.waits() && c.Run.Evaluate == 0, "schedule.plateau and stop.patience count evaluations, but run.evaluate is 0: " +
			"set it to the steps (or epochs) between them", nil},
		{c.waits() && d.Validation == nil && c.Run.Watch == watchValidation, "schedule.plateau and stop.patience " +
			"count evaluations, but there are no validation classes: " +
			"hold some out of the training (hold_out), or set run.watch=test", nil},
	})
	if err != nil {
		return err
	}
	return errors.Join(validateBenchmarks(d.Benchmarks), c.validateLandmarks(d.Landmarks))
}

// validateBenchmarks checks that each benchmark has one level.
func validateBenchmarks(list []Benchmark) error {
	for i, b := range list {
		if levels := b.Query.Levels(); len(levels) != 1 {
			return fmt.Errorf("benchmark %d has the levels %s, want one", i+1, strings.Join(levels, ", "))
		}
	}
	return nil
}
