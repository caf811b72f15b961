package nn_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/testing/conformance"
	"hgld/train/grad"
	"hgld/train/nn"
)

type goldenCase struct {
	Name, Op, File string
	Settings       json.RawMessage
	In, Param, Out []string
	Grad           []string
}

// goldenSettings are the keys that any operation has.
type goldenSettings struct {
	Stride, Padding, Dilation, Groups, Kernel int
	Mode                                      string
	Momentum, Eps                             float32
	Output                                    []int
	Patch                                     int
	Heads                                     int
	Causal                                    bool
	Lengths                                   []int32
	Size                                      []int
	Scale                                     float64 `json:"scale_factor"`
	AlignCorners                              bool    `json:"align_corners"`
	Temperature                               float32
	Smoothing                                 float32 `json:"label_smoothing"`
	Reduction                                 string
}

// built is a case ready to run: its layer, in a store that has its parameters.
type built struct {
	store    *nn.Store
	layer    func(t *grad.Tape, x, residual *grad.Var) *grad.Var
	channels int  // of the input on the device, if not those of the file
	forward  bool // there is no gradient: it is a layer of evaluations
}

func TestGoldenLayers(t *testing.T) {
	dir := goldens.Dir(t, "nn")
	var all struct{ Cases []goldenCase }
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &all)
	b := conformance.CardOr(t, backend())
	for _, c := range all.Cases {
		if slices.Contains(operations, c.Op) || ragged(t, c) {
			continue
		}
		t.Run("nn/"+c.Name, func(t *testing.T) {
			f, err := tensorfile.OpenSafetensors(filepath.Join(dir, c.File))
			must.Do(t, err)
			defer f.Close()
			for _, l := range layers(t, f, c) {
				runGolden(t, b, f, c, l)
			}
		})
	}
}

// ragged reports whether a case is an attention that only text encoders have.
func ragged(t *testing.T, c goldenCase) bool {
	t.Helper()
	var s goldenSettings
	must.Do(t, json.Unmarshal(c.Settings, &s))
	return s.Causal || s.Lengths != nil
}

// layers builds the layer of a case, or every form that we have of it.
func layers(t *testing.T, f *tensorfile.File, c goldenCase) []built {
	var s goldenSettings
	d := json.NewDecoder(bytes.NewReader(c.Settings))
	d.DisallowUnknownFields()
	must.Do(t, d.Decode(&s))
	l := built{store: nn.NewStore()}
	scope := l.store.Group("all")
	x := dims(t, f, c.Name+"/in.x")
	one := func(layer nn.Layer) []built {
		l.layer = func(t *grad.Tape, x, _ *grad.Var) *grad.Var { return layer(t, x) }
		return []built{l}
	}
	affine := slices.Contains(c.Param, "weight")
	switch c.Op {
	case "conv2d":
		w := dims(t, f, c.Name+"/param.weight")
		conv := nn.NewConv(scope, x[1], w[0], w[2], device.ConvShape{
			StrideH: s.Stride, StrideW: s.Stride, PadH: s.Padding, PadW: s.Padding,
			DilationH: s.Dilation, DilationW: s.Dilation, Groups: s.Groups,
		})
		if slices.Contains(c.Param, "bias") {
			conv.WithBias(scope)
		}
		if x[1] == 3 {
			l.channels = nn.ImageChannels
		}
		return one(conv.Forward)
	case "batchnorm2d", "batchnorm1d":
		norm := &nn.BatchNorm{Running: scope.Statistics(x[1], s.Momentum)}
		if affine {
			l.store = nn.NewStore()
			norm = nn.NewBatchNorm(l.store.Group("all"), x[1])
			norm.Running.Momentum = s.Momentum
		}
		norm.Eps, norm.Frozen = s.Eps, s.Mode == "frozen"
		return one(norm.Forward)
	case "bn_relu":
		return []built{folded(x[1], s.Eps), plain(x[1], s.Eps)}
	case "maxpool2d":
		p := device.PoolShape{Mode: device.MaxPool, H: s.Kernel, W: s.Kernel,
			StrideH: s.Stride, StrideW: s.Stride, PadH: s.Padding, PadW: s.Padding}
		return one(func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Pool(t, x, p) })
	case "adaptive_avgpool2d":
		if s.Output[0]*s.Output[1] > 1 {
			return nil // no network has it
		}
		return one(func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.GlobalPool(t, x, device.AvgPool) })
	case "adaptive_maxpool2d":
		return one(func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.GlobalPool(t, x, device.MaxPool) })
	case "gem":
		gem := nn.NewGeM(scope)
		gem.Eps = s.Eps
		return one(gem.Forward)
	case "linear":
		w := dims(t, f, c.Name+"/param.weight")
		linear := &nn.Linear{Weight: scope.Param("weight", nn.KaimingUniform, w...)}
		if slices.Contains(c.Param, "bias") {
			linear.Bias = scope.Param("bias", nn.Constant(0), w[0])
		}
		return one(linear.Forward)
	case "layernorm":
		norm := &nn.LayerNorm{Eps: s.Eps}
		if affine {
			norm = nn.NewLayerNorm(scope, x[len(x)-1], s.Eps)
		}
		return one(norm.Forward)
	case "interpolate":
		if l.forward = true; len(s.Size) == 2 {
			return nil // package reference
		}
		return one(func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Rescale(t, x, s.Scale, s.AlignCorners) })
	case "gelu":
		return one(nn.GELU)
	case "l2_normalize":
		return one(func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Normalize(t, x, s.Eps) })
	case "patch_embed":
		l.channels = nn.ImageChannels
	}
	return one(tokenLayer(t, f, c, s, scope))
}

// folded is BatchNorm, residual and ReLU as the epilogue of a convolution that
// changes nothing.
func folded(channels int, eps float32) built {
	s := nn.NewStore()
	norm := nn.NewBatchNorm(s.Group("all"), channels)
	norm.Eps, norm.Frozen = eps, true
	unit := nn.NewConv(s.Group("unit").In("unit"), channels, channels, 1, nn.Square(1, 0))
	return built{store: s, layer: func(t *grad.Tape, x, residual *grad.Var) *grad.Var {
		identity := make([]float32, channels*channels)
		for i := range channels {
			identity[i*channels+i] = 1
		}
		put(t.Backend(), unit.Weight.Value, identity)
		return nn.ConvNormAct(t, x, unit, norm, residual, device.ReLU)
	}}
}

// plain is the same by one operation after the other.
func plain(channels int, eps float32) built {
	s := nn.NewStore()
	norm := nn.NewBatchNorm(s.Group("all"), channels)
	norm.Eps, norm.Frozen = eps, true
	return built{store: s, layer: func(t *grad.Tape, x, residual *grad.Var) *grad.Var {
		y := norm.Forward(t, x)
		if residual != nil {
			y = nn.Add(t, y, residual)
		}
		return relu(t, y)
	}}
}

func dims(t *testing.T, f *tensorfile.File, name string) []int {
	t.Helper()
	_, shape, err := f.Shape(name)
	must.Do(t, err)
	return shape
}

// tolerance is what goldens/nn advises for float32, with its reasons there.
func tolerance(c goldenCase, what string) float64 {
	switch {
	case c.Op == "maxpool2d" || c.Op == "adaptive_maxpool2d":
		return 0
	case strings.HasSuffix(c.Name, "big_mean"):
		return 5e-4
	case what == "grad.p":
		return 1e-5
	}
	return 2e-6
}
