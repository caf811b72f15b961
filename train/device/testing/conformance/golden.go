package conformance

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/train/device"
)

// The layers of goldens/nn in terms of operations. The files hold images as [N,C,H,W] and
// filters as [K,C,R,S]. A driver converts them to the device's layout and back.

// driver computes a case of one op and passes every output and gradient to check.
type driver func(*golden)

var drivers = map[string]driver{
	"conv2d": driveConv, "patch_embed": drivePatchEmbed,
	"batchnorm2d": driveBatchNorm, "batchnorm1d": driveBatchNorm, "bn_relu": driveNormReLU,
	"maxpool2d": drivePool, "adaptive_avgpool2d": drivePool, "adaptive_maxpool2d": drivePool, "gem": driveGeM,
	"linear": driveLinear, "layernorm": driveLayerNorm, "l2_normalize": driveNormalize,
	"gelu": driveAct, "gelu_tanh": driveAct, "quick_gelu": driveAct, "relu": driveAct,
	"softmax": driveSoftmax, "log_softmax": driveSoftmax, "cross_entropy": driveCrossEntropy,
	"attention": driveAttention, "interpolate": driveInterpolate,
}

// golden is one case of goldens/nn.
type golden struct {
	*suite
	file *tensorfile.File
	goldenCase
	checked map[string]bool
}

type goldenCase struct {
	Name, Op, File string
	Settings       struct {
		Stride, Padding, Dilation, Groups, Kernel, Patch int
		Output                                           []int
		Mode, Reduction                                  string
		Momentum, Eps, Temperature                       float64
		Smoothing                                        float64 `json:"label_smoothing"`
		Heads                                            int
		Causal                                           bool
		Lengths                                          []float64
		Scale                                            float64 `json:"scale_factor"`
		AlignCorners                                     bool    `json:"align_corners"`
	}
	In, Param, Out, Grad []string
}

// Goldens runs the cases of goldens/nn on b in float32, one subtest each.
func Goldens(t *testing.T, b Ops) {
	dir := goldens.Dir(t, "nn")
	var list struct{ Cases []goldenCase }
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &list)
	if len(list.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range list.Cases {
		if strings.HasPrefix(c.Op, "adaptive_") && !slices.Equal(c.Settings.Output, []int{1, 1}) {
			continue // networks do not use windows of several sizes
		}
		t.Run("nn/"+c.Name, func(t *testing.T) {
			drive, ok := drivers[c.Op]
			if !ok {
				t.Fatalf("unknown op %q", c.Op)
			}
			file, err := tensorfile.OpenSafetensors(filepath.Join(dir, c.File))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			s := &suite{T: t, b: b, dtype: device.F32, r: rand.New(rand.NewPCG(1, 1))}
			g := &golden{s, file, c, map[string]bool{}}
			drive(g)
			g.complete()
			for _, buf := range s.buffers {
				b.Free(buf)
			}
		})
	}
}

// complete fails if some output or gradient of the case was not compared.
func (g *golden) complete() {
	for _, name := range g.Out {
		if !g.checked["out."+name] {
			g.Errorf("out.%s was not compared", name)
		}
	}
	for _, name := range g.Grad {
		if !g.checked["grad."+name] {
			g.Errorf("grad.%s was not compared", name)
		}
	}
}

// tensor reads <case>/<key>.
func (g *golden) tensor(key string) *array {
	g.Helper()
	t, err := g.file.Tensor(g.Name + "/" + key)
	if err != nil {
		g.Fatal(err)
	}
	v, err := t.Float64()
	if err != nil {
		g.Fatal(err)
	}
	dims := t.Shape
	if len(dims) == 0 {
		dims = []int{1}
	}
	return &array{Dims: dims, V: v}
}

// param uploads a parameter. It returns an absent array if the case has none of that name.
func (g *golden) param(name string) device.Array {
	g.Helper()
	if !slices.Contains(g.Param, name) {
		return absent
	}
	return g.put(device.F32, g.tensor("param."+name))
}

// image uploads <case>/<key> in channels-last layout.
func (g *golden) image(key string) device.Array {
	g.Helper()
	return g.put(device.F32, channelsLast(g.tensor(key)))
}

// filters uploads the filters of a convolution in channels-last layout.
func (g *golden) filters(name string) device.Array {
	g.Helper()
	return g.put(device.F32, channelsLast(g.tensor("param."+name)))
}

// channelsLast moves the second of four dimensions to the end. channelsSecond is the inverse.
func channelsLast(a *array) *array {
	if len(a.Dims) != 4 {
		return a
	}
	n, c, hw := a.Dims[0], a.Dims[1], a.Dims[2]*a.Dims[3]
	out := zeros(n, a.Dims[2], a.Dims[3], c)
	for i, v := range a.V {
		out.V[(i/hw/c*hw+i%hw)*c+i/hw%c] = v
	}
	return out
}

func channelsSecond(v []float64, n, hw, c int) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[(i/c/hw*c+i%c)*hw+i/c%hw] = x
	}
	return out
}

// tolerance returns the relative L2 tolerance for float32: 2e-6, as the goldens' README
// recommends. If the mean is 1,000 times the spread, float32 holds x itself only to 1e-4 of
// the spread.
func (g *golden) tolerance(key string) float64 {
	switch {
	case g.Name == "bn_train_big_mean" || g.Name == "layernorm_big_mean":
		return 5e-4
	case key == "grad.p":
		return 1e-5
	}
	return 2e-6
}

// check compares an output or a gradient. got has the file's layout.
func (g *golden) check(key string, got []float64) {
	g.Helper()
	g.checked[key] = true
	want := g.tensor(key).V
	absolute := denormal
	if g.Name == "bn_train_two_values" && key == "grad.x" {
		absolute = 1e-4 // x̂ is ±1 for any x, so the gradient is nearly zero
	}
	g.near(key, got, want, g.tolerance(key), absolute)
}

// checkImage compares a device array in channels-last layout.
func (g *golden) checkImage(key string, d device.Array) {
	g.Helper()
	got := g.get(d)
	if d.N == 4 {
		got = channelsSecond(got, d.Dims[0], d.Dims[1]*d.Dims[2], d.Dims[3])
	}
	g.check(key, got)
}

// checkIf compares d with a gradient if the case has it.
func (g *golden) checkIf(name string, d device.Array) {
	g.Helper()
	if slices.Contains(g.Grad, name) {
		g.checkImage("grad."+name, d)
	}
}

// like allocates an array with the shape of d. It returns an absent array if d is absent.
func (g *golden) like(d device.Array) device.Array {
	if d.Absent() {
		return absent
	}
	return g.alloc(device.F32, d.Shape()...)
}
