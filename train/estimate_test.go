package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/train/testing/places"
)

// The table of docs/gpu.md is what a plan of the published networks counts.
func TestDocumentedWorkIsThatOfThePlan(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(goldens.Root(), "docs", "gpu.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		workRow(t, "resnet50", true), workRow(t, "resnet101", true), workRow(t, "deit-small", true),
		workRow(t, "resnet50", false), workRow(t, "resnet101", false),
	} {
		if !strings.Contains(string(text), row) {
			t.Errorf("docs/gpu.md does not have the row\n%s", row)
		}
	}
}

// workRow plans a step of a network in bfloat16, with frozen or trained BatchNorm, and returns the
// row of the table: megabytes and GFLOP of an image, and the images in a second at which memory of
// 3.0 and 4.3 TB/s is busy.
func workRow(t *testing.T, name string, frozen bool) string {
	t.Helper()
	c := Default()
	c.Model.Backbone.Name, c.Model.FreezeNorm, c.Model.Dim = name, frozen, 512
	c.Model.Precision = precisionBFloat16
	if strings.HasPrefix(name, "deit") {
		c.Model.Pooling = "none"
	}
	c.Sampler.Batch, c.Sampler.M, c.Steps = 256, 4, 1
	e, err := Plan(c, Data{Train: &places.Set{Forms: 8, PerForm: 16, Views: 4, Size: 8}})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]float64{}
	for _, w := range e.Ops {
		of[w.Op] = w.Bytes
	}
	image := func(v float64) float64 { return v / 256 / 1e6 }
	row := "| " + name + " |"
	if !frozen {
		row = "| " + name + ", trained BatchNorm |"
	}
	rest := e.Bytes
	for _, op := range []string{"Conv", "MatMul", "Norm", "NormGrad", "ReluGrad", "ConvGradX", "ConvGradW"} {
		row += fmt.Sprintf(" %.0f |", image(of[op]))
		rest -= of[op]
	}
	return row + fmt.Sprintf(" %.0f | %.0f | %.1f | %.0f | %.0f |", image(rest), image(e.Bytes), e.FLOPs/256/1e9,
		256*3.0e12/e.Bytes, 256*4.3e12/e.Bytes)
}
