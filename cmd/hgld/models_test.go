package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/train"
	"hgld/train/backbone"
	"hgld/train/device/cpu"
	"hgld/train/testing/places"
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

// What models check says of wrapped weights, a training does.
func TestModelsCheckAndTrainingReadTheSameWeights(t *testing.T) {
	wrapped := weightsOf(t, "convnet", func(x tensorfile.Tensor) (tensorfile.Tensor, bool) {
		x.Name = "student.module._orig_mod.model." + x.Name
		return x, true
	})
	for _, c := range []struct{ key, text string }{
		{"", "not convnet"}, {"student", "fits convnet, without the prefix module._orig_mod.model. of its names"},
		{"teacher", ""},
	} {
		out, code := check(t, "--key", c.key, wrapped)
		config := train.Default()
		config.Model.Weights, config.Model.WeightsKey = wrapped, c.key
		config.Steps, config.Sampler.Batch, config.Sampler.M = 1, 4, 2
		r, err := train.New(config, train.Data{Train: &places.Set{Forms: 2, PerForm: 2, Views: 4, Size: 20}},
			train.Options{Backend: cpu.New(1)})
		if (err == nil) != (code == exitOK) || !strings.Contains(out, c.text) {
			t.Errorf("key %q: %v, exit %d\n%s", c.key, err, code, out)
		}
		if err != nil {
			continue
		}
		if notes := strings.Join(r.StartNotes(), "\n"); !strings.Contains(notes, `"module._orig_mod.model."`) {
			t.Errorf("notes %q", notes)
		}
		r.Close()
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
