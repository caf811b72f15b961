package nn_test

import (
	"slices"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/train/nn"
)

// operations are the cases without a layer in nn: losses and text encoders call the
// device's operation, whose definition package reference compares. So are those of an attention
// that is causal or has keys of different number.
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
		a := &nn.Attention{QKV: linear("qkv", x[2], 3*x[2]), Proj: linear("out", x[2], x[2]), Heads: s.Heads}
		return a.Forward
	case "patch_embed":
		return nn.NewPatchEmbed(scope, nn.PatchShape{
			Patch: s.Patch, Width: dims(t, f, c.Name+"/param.proj_weight")[0], H: x[2], W: x[3],
			Distilled: slices.Contains(c.Param, "dist_token"),
		}).Forward
	}
	t.Fatalf("no layer for %q", c.Op)
	return nil
}
