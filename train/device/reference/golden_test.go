package reference

import (
	"math"
	"path/filepath"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/train/device"
)

// golden is a case of goldens/nn.
type golden struct {
	t              *testing.T
	file           *tensorfile.File
	Name, Op, File string
	Settings       struct {
		Reduction    string
		Temperature  float32
		Smoothing    float32 `json:"label_smoothing"`
		Heads        int
		Causal       bool
		Lengths      []int
		Scale        float64 `json:"scale_factor"`
		AlignCorners bool    `json:"align_corners"`
	}
	Param []string
}

// The definitions give what PyTorch computes in float64. Package conformance compares the gradients of the backends
// with their differences, and package nn the layers with PyTorch's.
func TestDefinitionsAreThoseOfTorch(t *testing.T) {
	dir := goldens.Dir(t, "nn")
	var list struct{ Cases []golden }
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &list)
	compared := map[string]bool{}
	for _, c := range list.Cases {
		t.Run(c.Name, func(t *testing.T) {
			c.t, c.file = t, must.Get(tensorfile.OpenSafetensors(filepath.Join(dir, c.File)))(t)
			defer c.file.Close()
			got := c.compute()
			if got == nil {
				return // an operation of a layer
			}
			compared[c.Op] = true
			want := c.tensor("out.y").V
			diff, norm := 0.0, 0.0
			for i, w := range want {
				diff, norm = diff+(got[i]-w)*(got[i]-w), norm+w*w
			}
			// Sums of a hundred terms in another order differ by some units in the last place, 1e-16 each. The
			// temperature and the smoothing of a cross-entropy are rounded to F32.
			tolerance := 1e-13
			if c.Op == "cross_entropy" {
				tolerance = 0x1p-24
			}
			if len(got) != len(want) || math.Sqrt(diff) > tolerance*math.Sqrt(norm) {
				t.Errorf("%v, %d values: error %g of %g", c.Settings, len(got), math.Sqrt(diff), math.Sqrt(norm))
			}
		})
	}
	if len(compared) != 8 {
		t.Errorf("compared %v", compared)
	}
}

// compute returns the result of a case, or nil.
func (c *golden) compute() []float64 {
	s := c.Settings
	act := map[string]device.Func{"relu": device.ReLU, "gelu_tanh": device.GELUTanh, "quick_gelu": device.QuickGELU}
	switch c.Op {
	case "relu", "gelu_tanh", "quick_gelu":
		x := c.tensor("in.x")
		for i, v := range x.V {
			x.V[i] = Act(act[c.Op], v)
		}
		return x.V
	case "softmax", "log_softmax":
		return Softmax(c.tensor("in.x"), c.Op == "log_softmax").V
	case "cross_entropy":
		var target []int
		for _, k := range c.tensor("in.target").V {
			target = append(target, int(k))
		}
		y := SoftmaxLoss(c.tensor("in.x"), target, device.Softmax{Temperature: s.Temperature, Smoothing: s.Smoothing})
		sum := 0.0
		for _, v := range y {
			sum += v
		}
		return map[string][]float64{"none": y, "sum": {sum}, "mean": {sum / float64(len(y))}}[s.Reduction]
	case "attention":
		qkv := c.linear(c.tensor("in.x"), "qkv")
		y, _ := Attention(qkv, s.Lengths, device.Heads{Heads: s.Heads, Causal: s.Causal})
		return c.linear(y, "out").V
	case "interpolate":
		if x := c.tensor("in.x"); s.Scale != 0 {
			return c.interpolate(x)
		}
	}
	return nil
}

// linear applies the map of a name to the last axis.
func (c *golden) linear(x *Array, name string) *Array {
	w := c.tensor("param." + name + "_weight")
	var bias *Array
	for _, p := range c.Param {
		if p == name+"_bias" {
			bias = c.tensor("param." + p)
		}
	}
	y := MatMul(x, w, nil, bias, device.Mul{TransB: true, Alpha: 1}, x.Rows(), w.Dims[0], x.Cols())
	return &Array{append(append([]int{}, x.Dims[:len(x.Dims)-1]...), w.Dims[0]), y.V}
}

// interpolate resizes images [N,C,H,W], each channel as an image of its own.
func (c *golden) interpolate(x *Array) []float64 {
	y, s := c.tensor("out.y").Dims, c.Settings
	o := device.Interpolation{AlignCorners: s.AlignCorners, ScaleH: s.Scale, ScaleW: s.Scale}
	x.Dims = []int{x.Dims[0] * x.Dims[1], x.Dims[2], x.Dims[3], 1}
	return Interpolate(x, y[2], y[3], o).V
}

func (c *golden) tensor(key string) *Array {
	t := must.Get(c.file.Tensor(c.Name + "/" + key))(c.t)
	v := must.Get(t.Float64())(c.t)
	if len(t.Shape) == 0 {
		return &Array{[]int{1}, v}
	}
	return &Array{t.Shape, v}
}
