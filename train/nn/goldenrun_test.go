package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn/testing/nntest"
)

// runGolden runs a case forward and backward through a tape and compares every
// output and gradient, after the recording and after a replay.
func runGolden(t *testing.T, b device.Backend, f *tensorfile.File, c goldenCase, l built) {
	l.store.Build(b, 1)
	importParams(t, f, c, l, b)
	tape := grad.NewTape(b, device.NewArena(b))
	inputs := map[string]*grad.Var{}
	for _, name := range []string{"x", "residual"} {
		if slices.Contains(c.In, name) {
			value := image(t, b, f, c.Name+"/in."+name, l.channels)
			inputs[name] = tape.Leaf(value, device.New(b, device.F32, value.Shape()...))
		}
	}
	if l.forward {
		tape.Evaluate()
		y := l.layer(tape, inputs["x"], nil)
		compare(t, c, f, "out.y", "", fromImage(t, b, f, c.Name+"/out.y", y.Value))
		return
	}
	y := tape.Keep(l.layer(tape, inputs["x"], inputs["residual"]))
	moved := nntest.Values[float32](t, l.store, b) // before a replay moves the statistics again
	up := image(t, b, f, c.Name+"/up.y", 0)
	tape.Backward(y, up.Reshape(y.Value.Shape()...))
	for _, when := range []string{"", " replayed"} {
		compare(t, c, f, "out.y", when, fromImage(t, b, f, c.Name+"/out.y", y.Value))
		grads := nntest.Gradients[float32](t, l.store, b)
		for name := range grads {
			grads[inFile(name)] = grads[name]
		}
		for _, name := range c.Grad {
			got := grads[name]
			if v := inputs[name]; v != nil {
				got = fromImage(t, b, f, c.Name+"/grad."+name, v.Grad)
			}
			compare(t, c, f, "grad."+name, when, got)
		}
		tape.Replay()
	}
	for _, name := range c.Out {
		if name != "y" {
			compare(t, c, f, "out."+name, "", moved[name[:len(name)-len("_after")]])
		}
	}
}

// inFile is the name that the cases give to a parameter of a store.
func inFile(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "patch_embed."), ".", "_")
}

// importParams fills the store from the file: param.* and running statistics.
func importParams(t *testing.T, f *tensorfile.File, c goldenCase, l built, b device.Backend) {
	t.Helper()
	have, err := l.store.Export(b)
	must.Do(t, err)
	for i, e := range have {
		for _, prefix := range []string{"param.", "in."} {
			if key := c.Name + "/" + prefix + inFile(e.Name); f.Has(key) {
				if have[i], err = f.Tensor(key); err != nil {
					t.Fatal(err)
				}
				have[i].Name = e.Name
			}
		}
	}
	must.Do(t, l.store.Import(b, have, ""))
}

func compare(t *testing.T, c goldenCase, f *tensorfile.File, what, when string, got []float32) {
	t.Helper()
	want, err := f.Float32(c.Name + "/" + what)
	must.Do(t, err)
	if c.Name == "bn_train_two_values" && what == "grad.x" { // nearly zero: absolutely
		for i, v := range want {
			if math.Abs(float64(got[i]-v)) > 1e-4 {
				t.Errorf("%s%s[%d]: %v, want %v", what, when, i, got[i], v)
			}
		}
		return
	}
	nntest.Near(t, what+when, got, want, tolerance(c, what))
}

// image uploads a tensor, an image with its channels last and, if channels is
// given, padded to that many.
func image(t *testing.T, b device.Backend, f *tensorfile.File, name string, channels int) device.Array {
	t.Helper()
	v, err := f.Float32(name)
	must.Do(t, err)
	shape := dims(t, f, name)
	if len(shape) == 4 {
		v, shape = channelsLast(v, shape, max(channels, shape[1]))
	}
	return upload(b, v, shape...)
}

// fromImage downloads an array in the order of the named tensor.
func fromImage(t *testing.T, b device.Backend, f *tensorfile.File, name string, a device.Array) []float32 {
	t.Helper()
	v := download(t, b, a)
	if shape := dims(t, f, name); len(shape) == 4 {
		v = channelsFirst(v, shape, a.Cols())
	}
	return v
}
