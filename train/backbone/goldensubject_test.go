package backbone_test

import (
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// subject is a network under test, and what its goldens call it.
type subject struct {
	store  *nn.Store
	net    *backbone.Retrieval // nil for a backbone alone
	stages []backbone.Stage
	fronts int // tokens before the patches
	// finish finds the outputs by name in what the stages gave.
	finish func(t *grad.Tape, seen map[string]*grad.Var) map[string]*grad.Var
	// read takes the tensors of the file to the names of the store.
	read func([]tensorfile.Tensor) []tensorfile.Tensor
}

// timmNames are the transformers as timm calls them.
var timmNames = map[string]string{
	"vit_base_patch16_224":             "vit-base",
	"deit_small_distilled_patch16_224": "deit-small-distilled",
	"deit_base_distilled_patch16_224":  "deit-base-distilled",
}

// subjectOf builds the network of a case: a backbone with its classifier, or a
// retrieval net.
func subjectOf(t *testing.T, c goldenCase) subject {
	t.Helper()
	if released, ok := strings.CutPrefix(c.Model, "net:"); ok {
		return netSubject(t, c, modelOf(t, released), func(tensors []tensorfile.Tensor) []tensorfile.Tensor {
			kept, _ := backbone.Checkpoint(tensors)
			return kept
		})
	}
	if c.Model == "deit_small_from_distilled" {
		m := modelOf(t, "deit_small")
		return netSubject(t, c, m, func(tensors []tensorfile.Tensor) []tensorfile.Tensor {
			kept, _ := backbone.Pretrained(specOf(t, m.Backbone), tensors)
			for i := range kept {
				kept[i].Name = backbone.Prefix + kept[i].Name
			}
			return kept
		})
	}
	name, _, _ := strings.Cut(c.Model, "@")
	if ours, ok := timmNames[name]; ok {
		name = ours
	}
	spec := specOf(t, name)
	switch s := spec.(type) {
	case backbone.ViT:
		s.Input = c.Input.Shape[3]
		spec = s
	case backbone.DeiT:
		s.Input = c.Input.Shape[3]
		spec = s
	}
	s := subject{store: nn.NewStore(), fronts: 1, read: func(x []tensorfile.Tensor) []tensorfile.Tensor { return x }}
	net := spec.Build(s.store.Group("all"), backbone.Options{FreezeNorm: c.Mode == "frozen",
		Classes: 1000}).(backbone.Classifier)
	s.stages = net.Stages()
	if strings.Contains(name, "distilled") {
		s.fronts = 2
	}
	s.finish = func(tape *grad.Tape, seen map[string]*grad.Var) map[string]*grad.Var {
		if seen["norm"] == nil {
			return classify(tape, net, seen)
		}
		return classifyTokens(tape, net, s.fronts, seen)
	}
	return s
}

func specOf(t *testing.T, name string) backbone.Spec {
	t.Helper()
	spec, err := backbone.All.Get("backbone", name)
	must.Do(t, err)
	return spec
}

// modelOf is the model that SupRank calls released.
func modelOf(t *testing.T, released string) backbone.Model {
	t.Helper()
	if released == "resnet18_gem_32" { // of the goldens alone, for several scales
		return backbone.Model{Backbone: "resnet18", Pooling: "gem", Standard: "layernorm", Dim: 32}
	}
	for _, e := range backbone.Models {
		if e.Value.Released == released {
			return e.Value
		}
	}
	t.Fatalf("no model %q", released)
	return backbone.Model{}
}

// classify pools and classifies as torchvision.
func classify(tape *grad.Tape, net backbone.Classifier, seen map[string]*grad.Var) map[string]*grad.Var {
	features := nn.GlobalPool(tape, seen["layer4"], device.AvgPool)
	return map[string]*grad.Var{"features": features, "logits": logits(tape, net, features)[0]}
}

// classifyTokens classifies as timm.
func classifyTokens(tape *grad.Tape, net backbone.Classifier, fronts int,
	seen map[string]*grad.Var) map[string]*grad.Var {
	list := logits(tape, net, seen["norm"])
	if fronts == 1 {
		return map[string]*grad.Var{"cls": seen["token"], "tokens": seen["norm"], "logits": list[0]}
	}
	return map[string]*grad.Var{
		"cls": nn.Token(tape, seen["norm"], 0), "dist": nn.Token(tape, seen["norm"], 1), "mean": seen["token"],
		"logits_cls": list[0], "logits_dist": list[1],
		"logits_mean": tape.Detached(func() *grad.Var {
			sum := nn.Add(tape, list[0], list[1])
			tape.Do(func(b device.Backend) { b.Axpby(sum.Value, 0.5, sum.Value, 0, device.Array{}) })
			return sum
		}),
	}
}

// logits takes no part in the gradient.
func logits(tape *grad.Tape, net backbone.Classifier, x *grad.Var) (list []*grad.Var) {
	tape.Detached(func() *grad.Var {
		list = net.Logits(tape, x)
		for _, v := range list {
			tape.Keep(v)
		}
		return list[0]
	})
	return list
}

func netSubject(t *testing.T, c goldenCase, m backbone.Model,
	read func([]tensorfile.Tensor) []tensorfile.Tensor) subject {
	t.Helper()
	s := subject{store: nn.NewStore(), fronts: 1, read: read}
	var err error
	if s.net, err = m.Build(s.store); err != nil {
		t.Fatal(err)
	}
	if c.Scales == nil && m.FreezeNorm != (c.Mode == "frozen") {
		t.Fatalf("mode %s of a model with FreezeNorm %v", c.Mode, m.FreezeNorm)
	}
	s.stages = s.net.Stages()
	s.finish = func(_ *grad.Tape, seen map[string]*grad.Var) map[string]*grad.Var {
		return map[string]*grad.Var{"before_fc": seen["standard"], "cls": seen["standard"], "embedding": seen["embedding"]}
	}
	return s
}

// stageName is what the goldens call a stage: SupRank's nets number theirs.
func (s subject) stageName(name string) string {
	if s.net == nil {
		return name
	}
	for _, e := range [][2]string{{"maxpool", "3"}, {"layer1", "4"}, {"layer2", "5"}, {"layer3", "6"}, {"layer4", "7"}} {
		if name == backbone.Prefix+e[0] {
			return backbone.Prefix + e[1]
		}
	}
	return name
}

// rename is the store's name of an array in the file.
func (s subject) rename(name string) string {
	if s.net == nil {
		return name
	}
	name, _ = backbone.FromSupRank(name)
	return name
}

// patches are the embedded patches: tokens [N,T,D] without those in front and
// without their positions.
func (s subject) patches(t *testing.T, b device.Backend, tokens device.Array) []float64 {
	t.Helper()
	var at []float64
	for _, p := range s.store.Groups[0].Params {
		if strings.HasSuffix(p.Name(), "pos_embed") {
			at = download(t, b, p.Value)
		}
	}
	all, row := download(t, b, tokens), tokens.Dims[1]*tokens.Dims[2]
	var x []float64
	for n := range tokens.Dims[0] {
		for i := s.fronts * tokens.Dims[2]; i < row; i++ {
			x = append(x, all[n*row+i]-at[i])
		}
	}
	return x
}
