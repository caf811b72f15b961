package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/train/backbone"
)

// weightsOf makes a file with zeros for everything that a network declares.
func weightsOf(t *testing.T, name string, change func(tensorfile.Tensor) (tensorfile.Tensor, bool)) string {
	t.Helper()
	list, err := backbone.KnownNetworks()
	if err != nil {
		t.Fatal(err)
	}
	m, err := modelNamed(list, name)
	if err != nil {
		t.Fatal(err)
	}
	var tensors []tensorfile.Tensor
	for _, x := range m.Store.Layout() {
		n := 1
		for _, d := range x.Dims {
			n *= d
		}
		if y, keep := change(tensorfile.NewF32(x.Name, x.Dims, make([]float32, n))); keep {
			tensors = append(tensors, y)
		}
	}
	path := filepath.Join(t.TempDir(), name+".safetensors")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tensorfile.WriteSafetensors(f, tensors, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func check(t *testing.T, args ...string) (stdout string, code int) {
	t.Helper()
	args = append([]string{"hgld", "models", "check"}, args...)
	var out, errs bytes.Buffer
	err := newApp(environment{stdout: &out, stderr: &errs}, args[1:]).Run(args)
	return out.String(), exitCode(err)
}

func TestModelsCheckNamesWhatAFileFits(t *testing.T) {
	path := weightsOf(t, "convnet", func(x tensorfile.Tensor) (tensorfile.Tensor, bool) { return x, true })
	if out, code := check(t, path); code != exitOK || !strings.Contains(out, "\nfits convnet\n") ||
		strings.Contains(out, "not ") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestModelsCheckNamesWhatDoesNotFit(t *testing.T) {
	path := weightsOf(t, "convnet", func(x tensorfile.Tensor) (tensorfile.Tensor, bool) {
		if x.Name == "conv2.weight" {
			x.Name = "conv9.weight"
		}
		return x, x.Name != "bn1.bias"
	})
	out, code := check(t, path)
	for _, want := range []string{
		"not convnet: 2 missing, 1 unexpected, 0 of another shape",
		"missing    bn1.bias", "unexpected conv9.weight", "sha256 ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != exitIntegrity {
		t.Errorf("exit %d, want %d", code, exitIntegrity)
	}
	if out, code = check(t, "--model", "resnet18", path); code != exitIntegrity || strings.Contains(out, "more") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
