package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
)

// drawnWeights makes a file of weights that fits convnet, in a folder with the files of a processor.
func drawnWeights(t *testing.T, files map[string]string) string {
	t.Helper()
	path := weightsOf(t, "convnet", func(x tensorfile.Tensor) (tensorfile.Tensor, bool) {
		values := make([]float32, len(x.Data)/4)
		for i := range values {
			if values[i] = float32(i*7919%101)/101 - 0.3; strings.HasSuffix(x.Name, "running_var") {
				values[i] = 1
			}
		}
		x = tensorfile.NewF32(x.Name, x.Shape, values)
		return x, true
	})
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(filepath.Dir(path), name), []byte(text), 0o644))
	}
	return filepath.Dir(path)
}

func TestImagesAreEmbeddedWithPublishedWeights(t *testing.T) {
	trainedPictures(t)
	folder := drawnWeights(t, map[string]string{
		"preprocessor_config.json": `{"size": {"height": 32, "width": 32}, "resample": 3}`})
	embed := func(args ...string) (string, []byte) {
		t.Helper()
		code, out, errs := run(t, append(append([]string{"embed-images", "--weights", folder, "--out", "e.npy"}, args...),
			"pictures/test")...)
		vectors, err := os.ReadFile("e.npy")
		if code != exitOK || err != nil {
			t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
		}
		return out + errs, vectors
	}
	text, vectors := embed()
	for _, want := range []string{"input.size=32, as", "input.filter=bicubic, as", "input.squash=true",
		"48 vectors of 128", "published weights of convnet"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text, again := embed(); !strings.Contains(text, "nothing to do") || !bytes.Equal(vectors, again) {
		t.Errorf("the same command again:\n%s", text)
	}
	succeeds(t, "eval", "run", "--embeddings", "e.npy", "--out", "e.eval.json")
	found := succeeds(t, "search", "--index", "e.npy", "--format", "csv", "-k", "1", "pictures/test/bridge/place6/10.png")
	if !strings.Contains(found, "bridge/place6/10.png") {
		t.Errorf("the image itself is not the nearest:\n%s", found)
	}
	text, other := embed("-o", "input.filter=bilinear")
	if bytes.Equal(vectors, other) || !strings.Contains(text, "input.filter is bilinear, but") {
		t.Errorf("another filter:\n%s", text)
	}
}

func TestPublishedWeightsThatNoNetworkFitsAreRefused(t *testing.T) {
	trainedPictures(t)
	folder := drawnWeights(t, map[string]string{"config.json": `{"architecture": "convnext_tiny"}`})
	empty := t.TempDir()
	for want, args := range map[string][]string{
		"needs one model: a run (--run) or":           {},
		"states the network \"convnext_tiny\", which": {"--weights", folder},
		"has no file of weights":                      {"--weights", empty},
		"did you mean \"convnet\"":                    {"--weights", folder, "--backbone", "convnett"},
		"95 missing":                                  {"--weights", folder, "--backbone", "resnet18"},
	} {
		says(t, exitUsage, want, append(append([]string{"embed-images"}, args...), "pictures/test")...)
	}
}
