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

// operations are cases that no layer of nn is made of: losses and text encoders call
// the device's operation, and devicetest.Goldens compares that.
var operations = []string{"relu", "gelu_tanh", "quick_gelu", "softmax", "log_softmax", "cross_entropy"}

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
