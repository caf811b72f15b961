package backbone_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/nn/testing/nntest"
)

// tolerances are relative L2 distances: what torch itself loses in float32, times
// ten to thirty (README of the goldens).
type tolerances struct{ out, grad float64 }

func (c goldenCase) tolerance() tolerances {
	switch {
	case c.Mode == "frozen":
		return tolerances{1e-5, 1e-4}
	case c.Mode == "eval":
		return tolerances{2e-5, 1e-4}
	}
	// Statistics of nine values in the last stage: each layer multiplies the errors
	// of the one before, and some ReLUs take the other branch.
	deep := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(c.Model, p) })
	}
	switch {
	case deep("resnet18"):
		return tolerances{1e-4, 1e-4}
	case deep("resnet34"):
		return tolerances{1e-3, 0.15}
	}
	return tolerances{1e-2, 0.15}
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// moments are the norm of x and its product with the probe of the given name.
func moments[T float32 | float64](x []T, name string) (norm, dot float64) {
	h := hash("probe." + name)
	for i, v := range x {
		v := float64(v)
		norm += v * v
		dot += v * float64(h.at(i, 1, 0))
	}
	return math.Sqrt(norm), dot
}

// A ReLU input within rounding of 0 may take the other branch in float32, and
// moves the gradients below by 1e-3 to 1e-2 (README of the goldens). It is allowed
// in cases that have one as close as this, in units of the layer's values.
const (
	kinkReach     = 1e-6
	flipTolerance = 2e-2
)

// momentsNear bounds the differences of norm and product: a probe's norm is
// √(n/3).
func momentsNear(norm, dot, wantNorm, wantDot float64, n int, tolerance float64) bool {
	return math.Abs(norm-wantNorm) <= tolerance*wantNorm &&
		math.Abs(dot-wantDot) <= tolerance*wantNorm*math.Sqrt(float64(n)/3)
}

func compareMoments(t *testing.T, what string, n int, norm, dot, wantNorm, wantDot, tolerance float64) {
	t.Helper()
	if !momentsNear(norm, dot, wantNorm, wantDot, n, tolerance) {
		t.Errorf("%s: norm %v and product with the probe %v, want %v and %v, tolerance %g",
			what, norm, dot, wantNorm, wantDot, tolerance)
	}
}

// compareStage looks at the value after a stage, if the case has it, and at every
// element where the file has them.
func (g *bench) compareStage(t *testing.T, c goldenCase, b device.Backend, name string, value []float64,
	a device.Array) {
	t.Helper()
	at := slices.IndexFunc(c.Stages, func(s goldenStage) bool { return s.Name == name })
	if at < 0 {
		return
	}
	want, tolerance := c.Stages[at], c.tolerance().out
	got := channelsFirst(value, a)
	if len(got) != size(want.Shape) {
		t.Fatalf("%s: %v, want %v", name, a, want.Shape)
	}
	norm, dot := moments(got, name)
	compareMoments(t, name, len(got), norm, dot, want.Norm, want.Dot, tolerance)
	rms := want.Norm / math.Sqrt(float64(len(got)))
	sum := 0.0
	for _, v := range got {
		sum += v
	}
	if d := math.Abs(sum/float64(len(got)) - want.Mean); !(d <= tolerance*rms) {
		t.Errorf("%s: the mean is off by %g", name, d)
	}
	for i, v := range want.First {
		if !(math.Abs(got[i]-v) <= 10*tolerance*rms) { // one element may be off by more than the mean one
			t.Errorf("%s: element %d is %v, want %v", name, i, got[i], v)
		}
	}
	if key := c.key() + "stage." + name; g.expected.Has(key) {
		nntest.Near(t, key, got, read(t, g.expected, key), tolerance)
	}
}

// channelsFirst takes images [N,H,W,C] to [N,C,H,W] and anything else as it is.
func channelsFirst(x []float64, a device.Array) []float64 {
	if a.N != 4 {
		return x
	}
	n, hw, c := a.Dims[0], a.Dims[1]*a.Dims[2], a.Dims[3]
	y := make([]float64, len(x))
	for i := range n {
		for p := range hw {
			for k := range c {
				y[(i*c+k)*hw+p] = x[(i*hw+p)*c+k]
			}
		}
	}
	return y
}

// compareRunning looks at the statistics that a forward pass in training mode has
// moved.
func (g *bench) compareRunning(t *testing.T, c goldenCase, s subject, b device.Backend) {
	t.Helper()
	if len(c.RunningNames) == 0 {
		return
	}
	norms, dots := read(t, g.expected, c.key()+"running_norm"), read(t, g.expected, c.key()+"running_dot")
	all := byName(t, s.store, b)
	for i, name := range c.RunningNames {
		got, err := all[s.rename(name)].Float64()
		must.Do(t, err)
		norm, dot := moments(got, name)
		compareMoments(t, name, len(got), norm, dot, norms[i], dots[i], c.tolerance().out)
	}
}

// byName exports a store.
func byName(t *testing.T, s *nn.Store, b device.Backend) map[string]tensorfile.Tensor {
	t.Helper()
	tensors, err := s.Export(b)
	must.Do(t, err)
	all := map[string]tensorfile.Tensor{}
	for _, x := range tensors {
		all[x.Name] = x
	}
	return all
}

// compareGradients looks at the gradient of every parameter and of the images.
// The weights are lost: their gradients are exported in their place.
func (g *bench) compareGradients(t *testing.T, c goldenCase, s subject, b device.Backend, x *grad.Var) {
	t.Helper()
	for _, group := range s.store.Groups {
		b.Copy(group.Values, group.Grads)
	}
	tolerance := c.tolerance().grad
	norms, dots := read(t, g.expected, c.key()+"grad_norm"), read(t, g.expected, c.key()+"grad_dot")
	all := byName(t, s.store, b)
	for i, name := range g.learnable(c) {
		got, err := all[s.rename(name)].Float32()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		norm, dot := moments(got, name)
		if !momentsNear(norm, dot, norms[i], dots[i], len(got), tolerance) && c.Kink > 0 && c.Kink < kinkReach &&
			momentsNear(norm, dot, norms[i], dots[i], len(got), flipTolerance) {
			t.Logf("gradient of %s: a ReLU's input within rounding of 0 took the other branch", name)
			continue
		}
		compareMoments(t, "gradient of "+name, len(got), norm, dot, norms[i], dots[i], tolerance)
		if key := c.key() + "grad." + name; g.expected.Has(key) {
			nntest.Near(t, key, wide(got), read(t, g.expected, key), tolerance)
		}
	}
	want := read(t, g.expected, c.key()+"grad_input")
	pixels := colours(channelsFirst(download(t, b, x.Grad), x.Grad), x.Grad)
	norm, dot := moments(pixels, "input")
	compareMoments(t, "gradient of the input", len(pixels), norm, dot, want[0], want[1], tolerance)
}

// colours leaves the fourth channel out of images [N,4,H,W].
func colours(x []float64, a device.Array) []float64 {
	hw := a.Dims[1] * a.Dims[2]
	var y []float64
	for i := range a.Dims[0] {
		y = append(y, x[i*4*hw:][:3*hw]...)
	}
	return y
}
