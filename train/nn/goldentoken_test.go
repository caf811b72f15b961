package nn_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// functions are the cases without parameters but those of images; nil for others.
func functions(t *testing.T, f *tensorfile.File, c goldenCase, s goldenSettings) nn.Layer {
	switch c.Op {
	case "relu":
		return nn.ReLU
	case "gelu":
		return nn.GELU
	case "gelu_tanh":
		return nn.GELUTanh
	case "quick_gelu":
		return nn.QuickGELU
	case "softmax":
		return nn.Softmax
	case "log_softmax":
		return nn.LogSoftmax
	case "l2_normalize":
		return func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Normalize(t, x, s.Eps) }
	case "interpolate":
		return func(t *grad.Tape, x *grad.Var) *grad.Var {
			if len(s.Size) == 2 {
				return nn.Interpolate(t, x, s.Size[0], s.Size[1], device.Interpolation{AlignCorners: s.AlignCorners})
			}
			return nn.Rescale(t, x, s.Scale, s.AlignCorners)
		}
	case "cross_entropy":
		return crossEntropy(t, f, c, s)
	}
	return nil
}

func crossEntropy(t *testing.T, f *tensorfile.File, c goldenCase, s goldenSettings) nn.Layer {
	tensor, err := f.Tensor(c.Name + "/in.target")
	if err != nil {
		t.Fatal(err)
	}
	classes, err := tensor.Float64()
	if err != nil {
		t.Fatal(err)
	}
	targets := make([]int32, len(classes))
	for i, v := range classes {
		targets[i] = int32(v)
	}
	o := device.Softmax{Temperature: s.Temperature, Smoothing: s.Smoothing}
	return func(tape *grad.Tape, z *grad.Var) *grad.Var {
		each := nn.CrossEntropy(tape, z, uploadInts(tape.Backend(), targets...), o)
		switch s.Reduction {
		case "none":
			return each
		case "sum":
			return nn.Sum(tape, each, 1)
		case "mean":
			return nn.Sum(tape, each, 1/float32(len(targets)))
		}
		t.Fatalf("unknown reduction %q", s.Reduction)
		return nil
	}
}

// tokenLayer builds the layers of transformers.
func tokenLayer(t *testing.T, f *tensorfile.File, c goldenCase, s goldenSettings, scope nn.Scope) nn.Layer {
	x := dims(t, f, c.Name+"/in.x")
	switch c.Op {
	case "attention":
		linear := func(name string, in, out int) *nn.Linear {
			l := nn.NewLinear(scope.In(name), in, out)
			if !slices.Contains(c.Param, name+"_bias") {
				l = &nn.Linear{Weight: l.Weight}
			}
			return l
		}
		a := &nn.Attention{QKV: linear("qkv", x[2], 3*x[2]), Proj: linear("out", x[2], x[2]), Heads: s.Heads, Causal: s.Causal}
		if s.Lengths == nil {
			return a.Forward
		}
		return func(t *grad.Tape, x *grad.Var) *grad.Var {
			return a.Keys(t, x, uploadInts(t.Backend(), s.Lengths...))
		}
	case "patch_embed":
		return nn.NewPatchEmbed(scope, nn.PatchShape{
			Patch: s.Patch, Width: dims(t, f, c.Name+"/param.proj_weight")[0], H: x[2], W: x[3],
			Distilled: slices.Contains(c.Param, "dist_token"),
		}).Forward
	}
	t.Fatalf("no layer for %q", c.Op)
	return nil
}

func uploadInts(b device.Backend, values ...int32) device.Array {
	a := device.New(b, device.I32, len(values))
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, uint32(v))
	}
	b.Upload(a, data)
	return a
}
