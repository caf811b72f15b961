package backbone_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/nn/testing/nntest"
)

// The files of testdata/towers hold weights, images, embeddings and gradients by timm,
// transformers and open_clip; make.py there says how they were made.
func TestImageTowersMatchTheirLibraries(t *testing.T) {
	files, err := filepath.Glob("testdata/towers/*.safetensors")
	if err != nil || len(files) != 12 {
		t.Fatalf("%d files, want 12: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".safetensors"), func(t *testing.T) {
			// float32 on both sides, some tens of rounded sums after one another; an ε of 1e-5 for
			// 1e-6, the other GELU, or positions resampled otherwise are 1e-4 and more
			compareTower(t, file, backend(), 5e-6)
		})
	}
}

// towerSpec reads a file's kind and settings.
func towerSpec(t *testing.T, meta map[string]string) backbone.Spec {
	t.Helper()
	var err error
	decode := func(to any) { err = json.Unmarshal([]byte(meta["settings"]), to) }
	var spec backbone.Spec
	switch meta["kind"] {
	case "dinov2":
		var s backbone.DINOv2
		decode(&s)
		spec = s
	case "clip":
		var s backbone.CLIP
		decode(&s)
		spec = s
	case "siglip":
		var s backbone.SigLIP
		decode(&s)
		spec = s
	}
	if err != nil || spec == nil {
		t.Fatalf("%v: %v", meta, err)
	}
	return spec
}

// compareTower compares embedding and gradient of a file with those of the network.
func compareTower(t *testing.T, file string, b device.Backend, tolerance float64) {
	t.Helper()
	f, err := tensorfile.OpenSafetensors(file)
	must.Do(t, err)
	defer f.Close()
	spec := towerSpec(t, f.Metadata)
	var tensors []tensorfile.Tensor
	for _, name := range f.Names() {
		if strings.HasPrefix(name, "case.") {
			continue
		}
		x, err := f.Tensor(name)
		must.Do(t, err)
		tensors = append(tensors, x)
	}
	s := nn.NewStore()
	net := spec.Build(s.Group("all"), backbone.Options{})
	s.Allocate(b, 1)
	kept, _ := backbone.Pretrained(spec, tensors)
	must.Do(t, s.Import(b, kept, ""))
	_, shape, err := f.Shape("case.images")
	must.Do(t, err)
	images := uploadImages(b, read(t, f, "case.images"), shape[0], shape[1], shape[2], shape[3])
	tape := grad.NewTape(b, device.NewArena(b))
	x := tape.Leaf(images, device.New(b, device.F32, images.Shape()...))
	y := x
	for _, stage := range net.Stages() {
		y = stage.Layer(tape, y)
	}
	y = tape.Keep(y)
	nntest.Near(t, "embedding", download(t, b, y.Value), read(t, f, "case.embedding"), tolerance)
	upstream := device.New(b, device.F32, y.Value.Shape()...)
	put(b, upstream, read(t, f, "case.upstream"))
	tape.Backward(y, upstream)
	want := uploadImages(b, read(t, f, "case.dimages"), shape[0], shape[1], shape[2], shape[3])
	nntest.Near(t, "gradient by the images", download(t, b, x.Grad), download(t, b, want), tolerance)
}

// A whole CLIP has a text tower; a network without a projection drops that of the file.
func TestOtherTowersOfAFileAreLeftOut(t *testing.T) {
	spec := backbone.CLIP{ViT: backbone.ViT{Width: 16, Depth: 2, Heads: 2, Patch: 4, Input: 16}, Activation: "gelu"}
	tensors, _, err := tensorfile.ReadAll("testdata/towers/clip-openclip.safetensors")
	must.Do(t, err)
	s := nn.NewStore()
	spec.Build(s.Group("all"), backbone.Options{})
	kept, _ := backbone.Pretrained(spec, tensors)
	if bad := s.Compare(kept, ""); bad != nil {
		t.Error(bad)
	}
}

// Of files that are no tower, names are said as they stand; nothing panics.
func TestOddTensorsAreNamed(t *testing.T) {
	spec := backbone.SigLIP{ViT: backbone.ViT{Width: 16, Depth: 1, Heads: 2, Patch: 4, Input: 16}, Activation: "gelu"}
	zero := func(name string, shape ...int) tensorfile.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return tensorfile.NewF32(name, shape, make([]float32, n))
	}
	for _, x := range []tensorfile.Tensor{zero("proj", 0, 3), zero("encoder.layers.0.self_attn.q_proj.weight", 3, 3),
		zero("head.attention.in_proj_weight", 4, 3), zero("positional_embedding", 3), zero("class_embedding"),
		zero("embeddings.position_embedding.weight", 2, 2)} {
		s := nn.NewStore()
		spec.Build(s.Group("all"), backbone.Options{})
		kept, _ := backbone.Pretrained(spec, []tensorfile.Tensor{x})
		bad := s.Compare(kept, "")
		if bad == nil || len(bad.Unexpected)+len(bad.Shapes) != 1 && x.Name != "proj" {
			t.Errorf("%s: %v", x.Name, bad)
		}
	}
}

func TestTowersGiveUnitVectors(t *testing.T) {
	for _, spec := range []backbone.Spec{
		backbone.DINOv2{ViT: backbone.ViT{Width: 16, Depth: 1, Heads: 2, Patch: 16, Input: 32}, Registers: 2},
		backbone.CLIP{ViT: backbone.ViT{Width: 16, Depth: 1, Heads: 2, Patch: 16, Input: 32}, Projection: 8,
			Activation: "gelu"},
		backbone.SigLIP{ViT: backbone.ViT{Width: 16, Depth: 1, Heads: 2, Patch: 16, Input: 32}, Activation: "gelu_tanh"},
	} {
		givesUnitVectors(t, spec, backbone.Head{Pooling: pooling(t, "none"), Standard: standard(t, "none"), Dim: 4})
	}
}

// Forward leaves out tokens of the last block that no later stage reads: the embedding and all gradients are those of
// the stages one after the other, but for roundings in another order.
func TestForwardOfATowerIsThatOfItsStages(t *testing.T) {
	small := backbone.ViT{Width: 16, Depth: 2, Heads: 2, Patch: 8, Input: 32}
	for _, spec := range []backbone.Spec{small, backbone.DeiT{ViT: small, Distilled: true},
		backbone.SigLIP{ViT: small, Activation: "gelu"}} {
		run := func(forward func(*backbone.Retrieval, *grad.Tape, *grad.Var) *grad.Var) map[string][]float64 {
			b := backend()
			s := nn.NewStore()
			net := backbone.NewRetrieval(s, spec, backbone.Options{},
				backbone.Head{Pooling: pooling(t, "none"), Standard: standard(t, "none")})
			s.Build(b, 1)
			tape := grad.NewTape(b, device.NewArena(b))
			y := tape.Keep(forward(net, tape, tape.Leaf(noise(b, 3, 32), device.Array{})))
			upstream := device.New(b, device.F32, y.Value.Shape()...)
			put(b, upstream, make([]float64, y.Value.Len()))
			b.Fill(upstream.Reshape(y.Value.Len()).RowRange(1, 2), 1)
			tape.Backward(y, upstream)
			all := nntest.Gradients[float64](t, s, b)
			all["embedding"] = download(t, b, y.Value)
			return all
		}
		want := run(func(r *backbone.Retrieval, t *grad.Tape, x *grad.Var) *grad.Var {
			for _, stage := range r.Stages() {
				x = stage.Layer(t, x)
			}
			return x
		})
		got := run((*backbone.Retrieval).Forward)
		for name := range want {
			nntest.Near(t, fmt.Sprintf("%T: %s", spec, name), got[name], want[name], 1e-5)
		}
	}
}
