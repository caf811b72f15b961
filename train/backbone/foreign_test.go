//go:build foreign

package backbone_test

import (
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/nn/testing/nntest"
	"hgld/train/tensor"
)

// foreign are networks of other libraries whose weights scripts/check_weights
// writes to the folder in $HGLD_WEIGHTS, each with images and logits: NAME and
// NAME.case. It reads NAME.back, which is written here.
var foreign = map[string]string{"resnet50": "resnet50", "deit_small_distilled_patch16_224": "deit-small-distilled"}

func TestForeignWeightsGiveTheForeignLogits(t *testing.T) {
	dir := os.Getenv("HGLD_WEIGHTS")
	if dir == "" {
		t.Fatal("HGLD_WEIGHTS names no folder of weights")
	}
	for name, ours := range foreign {
		t.Run(name, func(t *testing.T) { exchange(t, filepath.Join(dir, name), specOf(t, ours)) })
	}
}

// The towers of scripts/check_weights, of the published widths and random weights, in the form of
// testdata/towers.
func TestForeignTowersGiveTheForeignEmbeddings(t *testing.T) {
	dir := os.Getenv("HGLD_TOWERS")
	if dir == "" {
		t.Fatal("HGLD_TOWERS names no folder")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	if err != nil || len(files) != 12 {
		t.Fatalf("%d files, want 12: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			// up to 12 layers, and sums of 384 and 1536 products, in another order; see tower_test.go
			compareTower(t, file, cpu.New(0), 2e-5)
		})
	}
}

func exchange(t *testing.T, base string, spec backbone.Spec) {
	tensors, _, err := tensorfile.ReadAll(base + ".safetensors")
	must.Do(t, err)
	b := cpu.New(0)
	s := nn.NewStore()
	net := spec.Build(s.Group("all"), backbone.Options{Classes: 1000}).(backbone.Classifier)
	s.Allocate(b, 1)
	must.Do(t, s.Import(b, tensors, ""))
	x, err := tensor.Read(base+".case.safetensors", "images")
	must.Do(t, err)
	images := uploadImages(b, wide(x.Data), x.Dims[0], x.Dims[1], x.Dims[2], x.Dims[3])
	tape := grad.NewTape(b, device.NewArena(b)).Evaluate()
	y := tape.Leaf(images, device.Array{})
	for _, stage := range net.Stages() {
		if stage.Name != "token" { // the heads read all tokens
			y = stage.Layer(tape, y)
		}
	}
	if !spec.Facts().Vector {
		y = nn.GlobalPool(tape, y, device.AvgPool)
	}
	for i, v := range net.Logits(tape, y) {
		want, err := tensor.Read(base+".case.safetensors", []string{"logits", "logits_dist"}[i])
		must.Do(t, err)
		nntest.Near(t, "logits", download(t, b, v.Value), wide(want.Data), 1e-4) // float32 on both sides
	}
	out, err := s.Export(b)
	must.Do(t, err)
	f, err := os.Create(base + ".back.safetensors")
	must.Do(t, err)
	defer f.Close()
	must.Do(t, tensorfile.WriteSafetensors(f, append(out, s.Counters()...), map[string]string{"format": "pt"}))
}
