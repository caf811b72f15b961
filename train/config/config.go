// Package config holds the settings that decide the result of a training run, and those that do not. It looks up their
// names in the tables of backbones, losses, samplers and optimizers, and refuses settings that do not fit together.
package config

import (
	"encoding/json"
	"errors"
	"fmt"

	"hgld/internal/img"
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
	Run      RunOptions     `yaml:"run" json:"-"`              // settings that do not change the result

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
	Precision  string `yaml:"precision" json:"precision,omitempty" usage:"storage of the backbone's activations: float32, bfloat16, or auto: bfloat16 on a GPU that computes in it; weights stay float32"`
	Dim        int    `yaml:"dim" json:"dim" range:"0 65536" usage:"size of the embedding; 0: no projection"`
	Weights    string `yaml:"weights" json:"weights" path:"in" usage:"safetensors or file of torch.save of the backbone to start from; empty: random"`
	WeightsKey string `yaml:"weights_key" json:"weights_key,omitempty" usage:"dictionary to read from a checkpoint with several, such as state_dict_ema or teacher; empty: state_dict, or the first"`

	Projection string `yaml:"projection" json:"projection,omitempty" usage:"initial projection: random (or empty), pca, pca-whitening, which divides each component by its deviation, or auto: pca for a linear head on vectors, if it has no more outputs than inputs"`
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
	Decay  float64 `yaml:"decay" json:"decay,omitempty" range:"0 1" usage:"share of the old average in the new one; 0: no average"`
	WarmUp bool    `yaml:"warmup" json:"warmup,omitempty" usage:"limit the decay of step t to (1+t)/(10+t), so that the average forgets the initial weights"`
}

// UnmarshalJSON reads a checkpoint, which may have the former key rise instead of warmup.
func (a *Average) UnmarshalJSON(text []byte) error {
	type plain Average
	with := struct {
		*plain
		Rise bool `json:"rise"`
	}{plain: (*plain)(a)}
	if err := json.Unmarshal(text, &with); err != nil {
		return err
	}
	a.WarmUp = a.WarmUp || with.Rise
	return nil
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
}

// RunOptions holds the settings that do not change the result of a run.
type RunOptions struct {
	Workers      int      `yaml:"workers" range:"0 1024" usage:"goroutines that decode images; 0: one for each processor"`
	Reads        int      `yaml:"reads" range:"0 1024" usage:"images read at the same time, ahead of the workers; 0: 32"`
	Prefetch     int      `yaml:"prefetch" range:"0 1024" usage:"batches decoded ahead"`
	Resample     string   `yaml:"resample" usage:"where images are resampled: host, device, or auto, which uses a GPU if there is one; the result is the same"`
	Evaluate     int      `yaml:"evaluate" range:"0 1e9" usage:"steps (or epochs) between evaluations; 0: at the end only"`
	EvalOn       string   `yaml:"eval_on" usage:"data for evaluations and for choosing the best checkpoint: validation, test, or landmarks, the benchmarks that landmarks.truth names"`
	Best         string   `yaml:"best" usage:"metric that chooses the best checkpoint; empty: H-AP, or the first in run.metrics"`
	KeepBestTest bool     `yaml:"keep_best_test" usage:"with eval_on test: eval.json keeps the best evaluation by run.best, not the last"`
	Checkpoint   int      `yaml:"checkpoint" range:"0 1e9" usage:"steps between checkpoints; 0: at the end only"`
	Keep         int      `yaml:"keep" range:"1 1e6" usage:"newest checkpoints to keep, in addition to the best one"`
	Metrics      []string `yaml:"metrics" usage:"metrics that an evaluation measures"`
	Log          []string `yaml:"log" usage:"what each step records besides its loss: region, the share of differences of scores in the operating region of the loss's sigmoid"`
}

// Default returns a small network for a CPU. The published recipes are written as changes to it.
func Default() Config {
	return Config{
		Input: input.Default(),
		Model: Architecture{Backbone: Named{Name: "convnet"}, Pooling: "gem", Standard: "layernorm",
			Precision: PrecisionAuto, Dim: 128},
		Loss:     Loss{Named: Named{Name: "smooth-ap"}, Preset: "paper"},
		Sampler:  Sampler{Named: Named{Name: "m-per-class"}, Batch: 64, M: 4},
		Optim:    Optim{Named: Named{Name: "adam"}, Rate: 1e-3, HeadFactor: 1, ProxyRate: 1e-2, Decay: 1e-4},
		Schedule: Schedule{Named: Named{Name: "cosine"}, Frozen: []string{"backbone"}},
		Epochs:   100,
		Run: RunOptions{Prefetch: 3, Resample: ResampleAuto, EvalOn: WatchValidation, Checkpoint: 500, Keep: 2,
			Metrics: DefaultMetrics()},
	}
}

// DefaultMetrics returns the metrics that the tables of the papers report.
func DefaultMetrics() []string {
	return []string{"R@1", "R@10", "AP", "mAP@R", "H-AP", "ASI", "NDCG"}
}

// Resolved is a configuration with its names looked up in the tables.
type Resolved struct {
	Backbone  backbone.Spec  // the network up to its features
	Head      backbone.Head  // pooling, standardisation and projection
	Loss      loss.Kind      // the loss of the preset
	Sampler   sample.Sampler // draws the batches
	Rule      optim.Kind     // optimizer of backbone and head
	ProxyRule optim.Kind     // optimizer of the proxies
	Schedule  optim.Schedule // of the rates of backbone and head
	ProxyPlan optim.Schedule // schedule of the rate of the proxies

	Projection projection // how principal components become the projection
	Metrics    metric.Set // what an evaluation measures
	Filter     img.Filter // resampling of images
}

// Error names the wrong setting and the expected value.
type Error struct{ Err error }

// Error returns the message, which names the setting and the expected value.
func (e *Error) Error() string { return "train: " + e.Err.Error() }

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Resolve checks the ranges of a configuration, looks up every name in its table, applies the
// settings and validates the whole. It returns the first mistake as a *Error.
func (c *Config) Resolve() (Resolved, error) {
	p, err := c.lookUp()
	if err != nil {
		return p, &Error{err}
	}
	return p, nil
}

func (c *Config) lookUp() (p Resolved, err error) {
	if c.Steps > 0 {
		c.Epochs = 0
	}
	if err := settings.Check(c); err != nil {
		return p, err
	}
	if c.Steps == 0 && c.Epochs == 0 { // schedules need the length
		return p, errors.New("steps and epochs are 0: want one of them positive")
	}
	if p.Backbone, err = Select(c.Backbones(), "backbone", "model.backbone", c.Model.Backbone); err != nil {
		return p, err
	}
	if p.Head.Pooling, err = backbone.Poolings.Get("pooling", c.Model.Pooling); err != nil {
		return p, fmt.Errorf("model.pooling: %w", err)
	}
	if p.Head.Standard, err = backbone.Standards.Get("standard", c.Model.Standard); err != nil {
		return p, fmt.Errorf("model.standard: %w", err)
	}
	p.Head.Dim = c.Model.Dim
	if c.Model.fitted() {
		if p.Projection, err = projections.Get("projection", c.Model.Projection); err != nil {
			return p, fmt.Errorf("model.projection: %w", err)
		}
	}
	if p.Loss, err = c.Loss.Kind(); err != nil {
		return p, err
	}
	sampler := c.Sampler.Named
	sampler.Settings = WithSetting(WithSetting(sampler.Settings, "batch", c.Sampler.Batch), "m", c.Sampler.M)
	if p.Sampler, err = Select(sample.All, "sampler", "sampler", sampler); err != nil {
		return p, err
	}
	if p.Rule, err = Select(optim.All, "optimizer", "optim", c.Optim.Named); err != nil {
		return p, err
	}
	proxies := c.Optim.Proxies
	if proxies.Name == "" {
		proxies.Name = "adam"
	}
	if p.ProxyRule, err = Select(optim.All, "optimizer", "optim.proxies", proxies); err != nil {
		return p, err
	}
	if p.Schedule, err = c.plan("schedule", c.Schedule.Named); err != nil {
		return p, err
	}
	p.ProxyPlan = p.Schedule
	if c.Schedule.Proxies.Name != "" {
		if p.ProxyPlan, err = c.plan("schedule.proxies", c.Schedule.Proxies); err != nil {
			return p, err
		}
	}
	if p.Metrics, err = metric.ParseSet(c.Run.Metrics); err != nil {
		return p, fmt.Errorf("run.metrics: %w", err)
	}
	if p.Filter, err = input.Filters.Get("filter", c.Input.Filter); err != nil {
		return p, fmt.Errorf("input.filter: %w", err)
	}
	if err := c.validate(&p); err != nil {
		return p, err
	}
	if c.Input.Std == [3]float32{} {
		facts := p.Backbone.Facts()
		c.Input.Mean, c.Input.Std = facts.Mean, facts.Std
	}
	return p, nil
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
			n.Settings = WithSetting(n.Settings, "length", length)
		}
	}
	if s, err = Select(optim.Schedules, "schedule", where, n); err != nil || warmUp == 0 {
		return s, err
	}
	return optim.Rising{Schedule: s, Steps: warmUp}, nil
}

// Kind looks up the loss in the table of its preset and applies the settings.
func (l Loss) Kind() (loss.Kind, error) {
	table, err := loss.Presets.Get("preset", l.Preset)
	if err != nil {
		return nil, fmt.Errorf("loss.preset: %w", err)
	}
	return Select(loss.WithExternal(table), "loss", "loss", l.Named)
}

// CrossBatch is a memory of the embeddings of earlier batches. It is a second gallery for every
// ranking and pair loss ("Cross-Batch Memory", CVPR 2020; loss.Ring). The loss's setting
// memory_combine says how the two losses are joined.
type CrossBatch struct {
	Size   int     `yaml:"size" json:"size,omitempty" range:"0 1e7" usage:"number of embeddings; 0: no memory"`
	Unique bool    `yaml:"unique" json:"unique,omitempty" usage:"keep the last embedding of each training image, instead of size"`
	Start  int     `yaml:"start" json:"start,omitempty" range:"0 1e9" usage:"first step that reads the memory, counted from 1 (an epoch in a run of epochs); it fills from the first step on"`
	First  bool    `yaml:"first" json:"first,omitempty" usage:"the loss reads the memory before the batch is added, not after"`
	Weight float64 `yaml:"weight" json:"weight,omitempty" range:"0 1e6" usage:"weight of its loss relative to the loss of the batch; 0: 1"`
}

// exists reports whether there is a memory of embeddings.
func (m CrossBatch) exists() bool { return m.Size > 0 || m.Unique }

// ForImages returns m for data with the given number of images.
func (m CrossBatch) ForImages(images int) CrossBatch {
	if m.Unique {
		m.Size = images
	}
	return m
}

// Passes says how a batch goes through the network if its activations do not fit in memory.
type Passes struct {
	// Chunk is the number of rows that go through at a time; 0 means all. Each chunk goes forward
	// twice: first for the embeddings of the whole batch, from which the loss is computed, then
	// for the gradient. The gradient is exactly that of the whole batch (grad.TwoPass).
	Chunk int `yaml:"chunk" json:"chunk,omitempty" range:"0 65536" usage:"rows that go through the network at a time, in two passes; 0: all rows, in one pass"`
	// Accumulate adds up the gradients of each chunk's own loss in one pass. The result is the
	// same only if the loss is a mean over rows.
	Accumulate bool `yaml:"accumulate" json:"accumulate,omitempty" usage:"add up the gradients of the chunks in one pass; only for a loss that is a mean over rows"`
}

// Plateau cuts all rates, in addition to the schedules, when evaluations stop improving.
type Plateau struct {
	Factor   float64 `yaml:"factor" json:"factor,omitempty" range:"0 1" usage:"factor for all rates after patience evaluations without improvement; 0: never"`
	Patience int     `yaml:"patience" json:"patience,omitempty" range:"0 1e9" usage:"evaluations in a row without improvement before the rates are cut; a cut restarts the count"`
}

// EarlyStop ends a run when its evaluations stop improving.
type EarlyStop struct {
	Patience int `yaml:"patience" json:"patience,omitempty" range:"0 1e9" usage:"evaluations in a row without improvement before the run ends; 0: never"`
}

// Waits reports whether evaluations change the course of the run.
func (c *Config) Waits() bool { return c.Schedule.Plateau.Factor > 0 || c.Stop.Patience > 0 }

// The groups of the store: the backbone, everything after it, and the parameters of the
// loss.
const (
	BackboneGroup = "backbone"
	HeadGroup     = "head"
	ProxyGroup    = loss.ParamGroup
)

// ItemsText returns "vectors" or "images".
func ItemsText(vectors bool) string {
	if vectors {
		return "vectors"
	}
	return "images"
}
