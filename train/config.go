// Package train is stage 5 of hgld. It reads images with a hierarchy of labels through an
// [input.Dataset], trains a retrieval network, and writes checkpoints to a run directory.
// checkpoint.go specifies its layout.
//
// A run is an iterator of events (see [Run.Events]); the package prints nothing. The result of a
// run depends only on its configuration, data and seed. It does not depend on the number of
// threads or workers, nor on how often the run was stopped and resumed. Package retrieval also
// measures embeddings made by other programs.
package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/img"
	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/train/backbone"
	"hgld/train/input"
	"hgld/train/loss"
	"hgld/train/metric"
	"hgld/train/optim"
	"hgld/train/sample"
)

// Config holds the settings of a run that decide its result. Omitted fields take their values
// from Default. Class counts are read from the data, never configured.
type Config struct {
	Input    input.Settings `yaml:"input" json:"input"`            // images
	Model    Architecture   `yaml:"model" json:"model"`            // network
	Loss     Loss           `yaml:"loss" json:"loss"`              // loss and its preset
	Sampler  Sampler        `yaml:"sampler" json:"sampler"`        // batches
	Optim    Optim          `yaml:"optim" json:"optim"`            // optimizer and rates
	Schedule Schedule       `yaml:"schedule" json:"schedule"`      // schedules of the rates
	EMA      Average        `yaml:"ema" json:"ema,omitzero"`       // moving average of the weights
	Memory   CrossBatch     `yaml:"memory" json:"memory,omitzero"` // earlier embeddings as a second gallery
	Passes   Passes         `yaml:"passes" json:"passes,omitzero"` // batches in chunks
	Epochs   int            `yaml:"epochs" json:"epochs" range:"0 1e7" usage:"epochs of the sampler"`
	Steps    int            `yaml:"steps" json:"steps" range:"0 1e9" usage:"optimizer steps, instead of epochs; 0: train for epochs"`
	Seed     uint64         `yaml:"seed" json:"seed" usage:"seed of weights, batches and augmentation"`
	Stop     EarlyStop      `yaml:"stop" json:"stop,omitzero"` // ends a run before its last step
	Run      Upkeep         `yaml:"run" json:"-"`              // settings that do not change the result

	From string `yaml:"from" json:"from,omitempty" path:"in" usage:"run directory, checkpoint or exported .safetensors whose whole network a new run starts from, with new proxies and a new optimizer"`
}

// Named selects an entry of a table and overrides some of its settings.
type Named struct {
	Name     string         `yaml:"name" json:"name" usage:"name of a table entry; a wrong name lists them all"`
	Settings map[string]any `yaml:"settings" json:"settings,omitempty" usage:"settings of that entry; those not given keep their defaults"`
}

// IsZero reports whether n selects nothing. Checkpoints then omit it.
func (n Named) IsZero() bool { return n.Name == "" && len(n.Settings) == 0 }

// Architecture is the retrieval network: backbone, pooling, standardisation and projection, with
// output vectors of unit length.
type Architecture struct {
	Backbone   Named  `yaml:"backbone" json:"backbone"` // an entry of backbone.All
	FreezeNorm bool   `yaml:"freeze_norm" json:"freeze_norm" usage:"normalise by the running statistics in training too"`
	Pooling    string `yaml:"pooling" json:"pooling" usage:"gem, gem-frozen, avg, max, mean-max; none for a vision transformer"`
	Standard   string `yaml:"standard" json:"standard" usage:"layernorm, l2 or none"`
	Precision  string `yaml:"precision" json:"precision,omitempty" usage:"storage of the backbone's activations: float32, bfloat16, or auto: bfloat16 on a card that computes in it; weights stay float32"`
	Dim        int    `yaml:"dim" json:"dim" range:"0 65536" usage:"size of the embedding; 0: no projection"`
	Weights    string `yaml:"weights" json:"weights" path:"in" usage:"safetensors of the backbone to start from; empty: random"`

	Projection string `yaml:"projection" json:"projection,omitempty" usage:"initial projection: empty for random, pca, or pca-whitening, which divides each component by its deviation"`
	FitOn      int    `yaml:"fit_on" json:"fit_on,omitempty" range:"0 1e8" usage:"number of training images that the components are fitted to, chosen by seed; 0: all"`
}

// Loss names the loss. A preset sets all switches in which the papers differ from the released
// code.
type Loss struct {
	Named  `yaml:",inline"`
	Preset string `yaml:"preset" json:"preset" usage:"paper or released"`
}

// Sampler configures how batches are drawn.
type Sampler struct {
	Named `yaml:",inline"`
	Batch int `yaml:"batch" json:"batch" range:"1 65536" usage:"rows of a batch"`
	M     int `yaml:"m" json:"m" range:"1 65536" usage:"rows of a class in a batch"`
}

// Optim is the optimizer and its rates. The head is everything after the backbone, including the
// exponent of GeM. Proxies belong to the loss.
type Optim struct {
	Named      `yaml:",inline"`
	Rate       float64 `yaml:"lr" json:"lr" range:"0 1e6" usage:"rate of the backbone and, times head_factor, of the head"`
	HeadFactor float64 `yaml:"head_factor" json:"head_factor" range:"0 1e6" usage:"the head's rate is lr times this"`
	ProxyRate  float64 `yaml:"proxy_lr" json:"proxy_lr" range:"0 1e6" usage:"rate of the proxies, which belong to the loss"`
	Decay      float64 `yaml:"weight_decay" json:"weight_decay" range:"0 1e4" usage:"weight decay of backbone and head"`
	Clip       float64 `yaml:"clip" json:"clip" range:"0 1e12" usage:"bound of the gradient's norm over backbone and head; 0: none"`

	Proxies    Named   `yaml:"proxies" json:"proxies,omitzero"` // rule of the proxies; Adam if unnamed
	ProxyDecay float64 `yaml:"proxy_weight_decay" json:"proxy_weight_decay,omitempty" range:"0 1e4" usage:"weight decay of the proxies"`

	LayerDecay float64 `yaml:"layer_decay" json:"layer_decay,omitempty" range:"0 1" usage:"factor from the rate of one backbone layer to that of the layer before it; the last layer has lr times this; 0: all layers have lr"`

	ClipValue float64  `yaml:"clip_value" json:"clip_value,omitempty" range:"0 1e12" usage:"bound of every element of the gradient, before the norm is taken; 0: none"`
	NoDecay   []string `yaml:"no_decay" json:"no_decay,omitempty" usage:"parameters without weight decay: names, in which * stands for anything; 1d: all biases, scales and offsets"`
}

// Average is the exponential moving average of the weights. Evaluations and exports use the
// average instead of the weights.
type Average struct {
	Decay float64 `yaml:"decay" json:"decay,omitempty" range:"0 1" usage:"share of the old average in the new one; 0: no average"`
	Rise  bool    `yaml:"rise" json:"rise,omitempty" usage:"limit the decay of step t to (1+t)/(10+t), so that the average forgets the initial weights"`
}

// Schedule says how rates change. The unit is steps in a run measured in steps, and epochs
// otherwise, as in the published recipes. A cosine without a length ends with the run.
type Schedule struct {
	Named  `yaml:",inline"`
	WarmUp int `yaml:"warmup" json:"warmup,omitempty" range:"0 1e9" usage:"steps or epochs of a linear rise of all rates, before the schedule"`

	Freeze   int      `yaml:"freeze" json:"freeze" range:"0 1e9" usage:"steps or epochs at the start in which the groups in schedule.frozen do not train and no rate changes"`
	Frozen   []string `yaml:"frozen" json:"frozen" usage:"groups that are frozen at the start: backbone, head, proxies"`
	Advances bool     `yaml:"freeze_advances" json:"freeze_advances,omitempty" usage:"schedules also advance during frozen steps; in the released code they start after them"`

	// schedule of the proxies' rate; without a name, the schedule of the other groups
	Proxies Named `yaml:"proxies" json:"proxies,omitzero"`

	Plateau Plateau `yaml:"plateau" json:"plateau,omitzero"` // cuts all rates when evaluations stop improving

	// Old reports that a file used the keys from when warmup meant frozen groups.
	Old bool `yaml:"-" json:"-"`
}

// Upkeep holds the settings that do not change the result of a run.
type Upkeep struct {
	Device     string   `yaml:"device,omitempty" usage:"auto, cpu, cuda or cuda:N; empty: device at the top of hgld.yaml"`
	Threads    int      `yaml:"threads" range:"0 1024" usage:"threads for arithmetic on the CPU; 0: one for each processor"`
	Workers    int      `yaml:"workers" range:"0 1024" usage:"goroutines that decode images; 0: one for each processor"`
	Prefetch   int      `yaml:"prefetch" range:"0 1024" usage:"batches decoded ahead"`
	Resample   string   `yaml:"resample" usage:"where images are resampled: host, device, or auto, which uses a card if there is one; the result is the same"`
	Evaluate   int      `yaml:"evaluate" range:"0 1e9" usage:"steps (or epochs) between evaluations; 0: at the end only"`
	Watch      string   `yaml:"watch" usage:"data for evaluations and for choosing the best checkpoint: validation or test"`
	Best       string   `yaml:"best" usage:"metric that chooses the best checkpoint; empty: H-AP, or the first in run.metrics"`
	Checkpoint int      `yaml:"checkpoint" range:"0 1e9" usage:"steps between checkpoints; 0: at the end only"`
	Keep       int      `yaml:"keep" range:"1 1e6" usage:"newest checkpoints to keep, in addition to the best one"`
	Metrics    []string `yaml:"metrics" usage:"metrics that an evaluation measures"`
}

// Default returns a small network for a CPU. The published recipes are written as changes to it.
func Default() Config {
	return Config{
		Input: input.Default(),
		Model: Architecture{Backbone: Named{Name: "convnet"}, Pooling: "gem", Standard: "layernorm",
			Precision: precisionAuto, Dim: 128},
		Loss:     Loss{Named: Named{Name: "smooth-ap"}, Preset: "paper"},
		Sampler:  Sampler{Named: Named{Name: "m-per-class"}, Batch: 64, M: 4},
		Optim:    Optim{Named: Named{Name: "adam"}, Rate: 1e-3, HeadFactor: 1, ProxyRate: 1e-2, Decay: 1e-4},
		Schedule: Schedule{Named: Named{Name: "cosine"}, Frozen: []string{"backbone"}},
		Epochs:   100,
		Run: Upkeep{Prefetch: 3, Resample: resampleAuto, Watch: watchValidation, Checkpoint: 500, Keep: 2,
			Metrics: DefaultMetrics()},
	}
}

// DefaultMetrics returns the metrics that the tables of the papers report.
func DefaultMetrics() []string {
	return []string{"R@1", "R@10", "AP", "mAP@R", "H-AP", "ASI", "NDCG"}
}

// parts is a configuration with its names looked up in the tables.
type parts struct {
	backbone  backbone.Spec
	head      backbone.Head
	loss      loss.Kind
	sampler   sample.Sampler
	rule      optim.Kind
	proxyRule optim.Kind
	schedule  optim.Schedule
	proxyPlan optim.Schedule

	projection projection
	metrics    metric.Set
	filter     img.Filter
}

// ConfigError names the wrong setting and the expected value.
type ConfigError struct{ Err error }

// Error returns the message, which names the setting and the expected value.
func (e *ConfigError) Error() string { return "train: " + e.Err.Error() }

// Unwrap returns the underlying error.
func (e *ConfigError) Unwrap() error { return e.Err }

// resolve checks a configuration, looks up every name in its table and applies the settings. It
// returns the first mistake as a *ConfigError.
func (c *Config) resolve() (parts, error) {
	p, err := c.lookUp()
	if err != nil {
		return p, &ConfigError{err}
	}
	return p, nil
}

func (c *Config) lookUp() (p parts, err error) {
	if c.Steps > 0 {
		c.Epochs = 0
	}
	if err := c.check(); err != nil {
		return p, err
	}
	if c.From != "" && (c.Model.Weights != "" || c.Model.Projection != "") {
		return p,
			fmt.Errorf("from is %s, which sets the whole network: remove model.weights and model.projection",
				c.From)
	}
	if p.backbone, err = pick(c.backbones(), "backbone", "model.backbone", c.Model.Backbone); err != nil {
		return p, err
	}
	if c.Input.Std == [3]float32{} {
		facts := p.backbone.Facts()
		c.Input.Mean, c.Input.Std = facts.Mean, facts.Std
	}
	if p.head.Pooling, err = backbone.Poolings.Get("pooling", c.Model.Pooling); err != nil {
		return p, fmt.Errorf("model.pooling: %w", err)
	}
	if p.head.Standard, err = backbone.Standards.Get("standard", c.Model.Standard); err != nil {
		return p, fmt.Errorf("model.standard: %w", err)
	}
	p.head.Dim = c.Model.Dim
	if c.Model.Projection != "" {
		if p.projection, err = projections.Get("projection", c.Model.Projection); err != nil {
			return p, fmt.Errorf("model.projection: %w", err)
		}
		if c.Model.Dim == 0 {
			return p, fmt.Errorf("model.projection is %s, but model.dim is 0: set model.dim", c.Model.Projection)
		}
	}
	if err := c.fits(p.backbone.Facts()); err != nil {
		return p, err
	}
	if p.loss, err = c.Loss.Kind(); err != nil {
		return p, err
	}
	if err := errors.Join(c.Memory.check(), c.Passes.check(c, p.loss)); err != nil {
		return p, err
	}
	if c.Memory.exists() && loss.ByRows(p.loss) {
		return p, fmt.Errorf("%s reads no memory: remove memory.size and memory.unique, or train with a ranking or pair "+
			"loss", c.Loss.Name)
	}
	sampler := c.Sampler.Named
	sampler.Settings = with(with(sampler.Settings, "batch", c.Sampler.Batch), "m", c.Sampler.M)
	if p.sampler, err = pick(sample.All, "sampler", "sampler", sampler); err != nil {
		return p, err
	}
	if p.rule, err = pick(optim.All, "optimizer", "optim", c.Optim.Named); err != nil {
		return p, err
	}
	proxies := c.Optim.Proxies
	if proxies.Name == "" {
		proxies.Name = "adam"
	}
	if p.proxyRule, err = pick(optim.All, "optimizer", "optim.proxies", proxies); err != nil {
		return p, err
	}
	if p.schedule, err = c.plan("schedule", c.Schedule.Named); err != nil {
		return p, err
	}
	p.proxyPlan = p.schedule
	if c.Schedule.Proxies.Name != "" {
		if p.proxyPlan, err = c.plan("schedule.proxies", c.Schedule.Proxies); err != nil {
			return p, err
		}
	}
	if p.metrics, err = metric.ParseSet(c.Run.Metrics); err != nil {
		return p, fmt.Errorf("run.metrics: %w", err)
	}
	if p.filter, err = input.Filters.Get("filter", c.Input.Filter); err != nil {
		return p, fmt.Errorf("input.filter: %w", err)
	}
	return p, nil
}

// checkSampler returns an error if sampler.settings has keys that the sampler group overrides.
// Runs of earlier versions may have them, and can still be resumed.
func (c *Config) checkSampler() error {
	for key, value := range map[string]int{"batch": c.Sampler.Batch, "m": c.Sampler.M} {
		if other, given := c.Sampler.Settings[key]; given && fmt.Sprint(other) != fmt.Sprint(value) {
			return &ConfigError{fmt.Errorf("sampler.settings.%s is %v, and sampler.%s %d: want sampler.%s alone", key,
				other, key, value, key)}
		}
	}
	return nil
}

// plan returns the schedule that n names, after the warm-up. A schedule that ends does so with
// the run, unless its length is given.
func (c *Config) plan(where string, n Named) (optim.Schedule, error) {
	s, err := optim.Schedules.Get("schedule", n.Name)
	if err != nil {
		return nil, fmt.Errorf("%s.name: %w", where, err)
	}
	warmUp := c.Schedule.WarmUp
	if _, rises := s.(optim.LinearCosine); rises && warmUp > 0 {
		return nil, fmt.Errorf("schedule.warmup is %d, but schedule %s has its own warm-up: use one of them", warmUp, n.Name)
	}
	if _, ends := s.(optim.Finite); ends {
		if _, given := n.Settings["length"]; !given {
			length := max(c.Steps, c.Epochs) - warmUp
			if length < 1 {
				return nil, fmt.Errorf("schedule.warmup is %d, want less than the length of the run", warmUp)
			}
			n.Settings = with(n.Settings, "length", length)
		}
	}
	if s, err = pick(optim.Schedules, "schedule", where, n); err != nil || warmUp == 0 {
		return s, err
	}
	return optim.Rising{Schedule: s, Steps: warmUp}, nil
}

// fits checks the input and the head against the requirements of the backbone.
func (c *Config) fits(f backbone.Facts) error {
	switch name := c.Model.Backbone.Name; {
	case f.Vector && c.Model.Pooling != "none":
		return fmt.Errorf("model.pooling is %s, want none: %s outputs one vector for each image", c.Model.Pooling, name)
	case !f.Vector && c.Model.Pooling == "none":
		return fmt.Errorf("model.pooling is none, but %s outputs a feature map: want one of %s",
			name, strings.Join(backbone.Poolings.Names(), ", "))
	case f.Fixed && c.Input.Size != f.Input:
		return fmt.Errorf("input.size is %d, but %s expects images of %d: change input.size or "+
			"model.backbone.settings.input", c.Input.Size, name, f.Input)
	case f.Fixed && len(c.Input.Scales) > 0:
		return fmt.Errorf("input.scales is %v, but %s takes images of one size: remove input.scales", c.Input.Scales, name)
	}
	for _, s := range c.Input.Scales {
		if side := s * float64(c.Input.Size); !(side >= 8 && side <= 1<<13) {
			return fmt.Errorf("input.scales has %v, which turns %d pixels into %.0f, want 8 to 8192", s,
				c.Input.Size, side)
		}
	}
	return nil
}

// check checks the numbers of a configuration.
func (c *Config) check() error {
	if err := settings.Check(c); err != nil {
		return err
	}
	if bytes := float64(c.rowBytes()) * float64(c.Sampler.Batch) * float64(max(c.Run.Prefetch,
		1)+1); bytes > input.MostDecoded {
		return fmt.Errorf("sampler.batch is %d, input.size %d and run.prefetch %d: the decoded images would "+
			"take %.0f GiB, want at most %d",
			c.Sampler.Batch, c.Input.Size, c.Run.Prefetch, bytes/(1<<30), input.MostDecoded>>30)
	}
	in, e, none := c.Input, c.Input.Erase, [3]float32{}
	for _, rule := range []struct {
		broken bool
		text   string
		args   []any
	}{
		{c.Steps < 0 || c.Epochs < 0 || c.Steps == 0 && c.Epochs == 0,
			"steps is %d and epochs %d: want one of them positive, and none negative", []any{c.Steps, c.Epochs}},
		{!slices.Contains(precisions, c.Model.Precision), "model.precision is %.80q, want one of %s",
			[]any{c.Model.Precision, strings.Join(precisions, ", ")}},
		{in.Size < 8, "input.size is %d, want at least 8 pixels", []any{in.Size}},
		{in.Resize != 0 && in.Resize < in.Size, "input.resize is %d, want at least input.size = %d",
			[]any{in.Resize, in.Size}},
		{!(in.Scale[0] > 0 && in.Scale[0] <= in.Scale[1] && in.Scale[1] <= 1), "input.scale is %v, want 0 < low <= high <= 1",
			[]any{in.Scale}},
		{!(in.Ratio[0] > 0 && in.Ratio[0] <= in.Ratio[1]), "input.ratio is %v, want 0 < low <= high", []any{in.Ratio}},
		{e.Probability > 0 && !(e.Scale[0] <= e.Scale[1] && 0 < e.Ratio[0] && e.Ratio[0] <= e.Ratio[1]),
			"input.erase has scale %v and ratio %v; want each from low to high, and ratios above 0", []any{e.Scale, e.Ratio}},
		{in.Pad < 0 || in.Crop == "padded" && in.Pad >= in.Size,
			"input.pad is %d, want 0 or more, and less than input.size = %d", []any{in.Pad, in.Size}},
		{in.Std != none && !(in.Std[0] > 0 && in.Std[1] > 0 && in.Std[2] > 0), "input.std is %v, want positive numbers",
			[]any{in.Std}},
		{in.Std == none && in.Mean != none, "input.mean is %v without input.std: give both, or neither for those of the " +
			"backbone", []any{in.Mean}},
		{!(c.Optim.Rate > 0), "optim.lr is %v, want a positive rate", []any{c.Optim.Rate}},
		{c.Optim.Clip < 0 || c.Optim.ClipValue < 0, "optim.clip is %v and optim.clip_value %v, want bounds, or 0 for none",
			[]any{c.Optim.Clip, c.Optim.ClipValue}},
		{!(c.EMA.Decay >= 0 && c.EMA.Decay < 1), "ema.decay is %v, want 0 (no average) or a share below 1, such as 0.999",
			[]any{c.EMA.Decay}},
		{c.Run.Keep < 1, "run.keep is %d, want at least 1 checkpoint", []any{c.Run.Keep}},
	} {
		if rule.broken {
			return fmt.Errorf(rule.text, rule.args...)
		}
	}
	for _, n := range []struct {
		key   string
		value float64
	}{
		{"optim.head_factor", c.Optim.HeadFactor}, {"optim.proxy_lr", c.Optim.ProxyRate},
		{"optim.weight_decay", c.Optim.Decay},
		{"optim.proxy_weight_decay", c.Optim.ProxyDecay},
		{"model.dim", float64(c.Model.Dim)}, {"model.fit_on", float64(c.Model.FitOn)},
		{"schedule.warmup", float64(c.Schedule.WarmUp)}, {"schedule.freeze", float64(c.Schedule.Freeze)},
		{"run.evaluate", float64(c.Run.Evaluate)}, {"run.checkpoint", float64(c.Run.Checkpoint)},
		{"run.threads", float64(c.Run.Threads)},
		{"run.workers", float64(c.Run.Workers)}, {"run.prefetch", float64(c.Run.Prefetch)},
	} {
		if !(n.value >= 0) {
			return fmt.Errorf("%s is %v, want a number from 0 up", n.key, n.value)
		}
	}
	groups := []string{backboneGroup, headGroup, proxyGroup}
	for _, group := range c.Schedule.Frozen {
		if !slices.Contains(groups, group) {
			return fmt.Errorf("schedule.frozen: %w", registry.Unknown("group", group, groups))
		}
	}
	if c.Run.Resample != "" && !slices.Contains(resamples, c.Run.Resample) { // a checkpoint has none
		return fmt.Errorf("run.resample: %w", registry.Unknown("place", c.Run.Resample, resamples))
	}
	if !slices.Contains(watched, c.Run.Watch) {
		return fmt.Errorf("run.watch: %w", registry.Unknown("part of the data", c.Run.Watch, watched))
	}
	if _, err := input.Crops.Get("crop", in.Crop); err != nil {
		return fmt.Errorf("input.crop: %w", err)
	}
	return nil
}
