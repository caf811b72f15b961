package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train"
	"hgld/train/backbone"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/testing/places"
)

// weightsOf makes a file with zeros for everything that a network declares.
func weightsOf(t *testing.T, name string, change func(tensorfile.Tensor) (tensorfile.Tensor, bool)) string {
	t.Helper()
	list := must.Get(backbone.KnownNetworks())(t)
	m := must.Get(modelNamed(list, name))(t)
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
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	must.Do(t, tensorfile.WriteSafetensors(f, tensors, nil))
	return path
}

func check(t *testing.T, args ...string) (stdout string, code int) {
	t.Helper()
	args = append([]string{"hgld", "models", "list", "--fits"}, args...)
	var out, errs bytes.Buffer
	err := newApp(environment{stdout: &out, stderr: &errs}, args[1:]).Run(args)
	return out.String(), exitCode(err)
}

// fitting prints the networks that a dictionary of a file fits, or why it cannot be read.
func fitting(t *testing.T, path, key string) (text string, fits bool) {
	t.Helper()
	list := must.Get(backbone.KnownNetworks())(t)
	w, err := readWeights(path, key)
	if err != nil {
		return err.Error(), false
	}
	var out bytes.Buffer
	all := backbone.FitAll(list, w.Tensors)
	printFits(&job{stdout: &out}, all)
	return out.String(), all[0].Fits
}

func TestModelsListNamesWhatAFileFits(t *testing.T) {
	path := weightsOf(t, "convnet", func(x tensorfile.Tensor) (tensorfile.Tensor, bool) { return x, true })
	if out, code := check(t, path); code != exitOK || !strings.Contains(out, "\nfits convnet\n") ||
		strings.Contains(out, "not ") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestModelsListRefusesWeightsThatAreNotFinite(t *testing.T) {
	path := weightsOf(t, "convnet", func(x tensorfile.Tensor) (tensorfile.Tensor, bool) {
		if x.Name == "conv2.weight" {
			copy(x.Data[8:], []byte{0, 0, 0xc0, 0x7f}) // NaN
		}
		return x, true
	})
	out, code := check(t, path)
	if code != exitIntegrity || !strings.Contains(out, "fits convnet") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// Wrapped weights fit a network as they do in a training.
func TestFitsAndTrainingReadTheSameWeights(t *testing.T) {
	wrapped := weightsOf(t, "convnet", func(x tensorfile.Tensor) (tensorfile.Tensor, bool) {
		x.Name = "student.module._orig_mod.model." + x.Name
		return x, true
	})
	for _, c := range []struct{ key, text string }{
		{"", "not convnet"}, {"student", "fits convnet, without the prefix module._orig_mod.model. of its names"},
		{"teacher", `begins with "teacher."`},
	} {
		out, fits := fitting(t, wrapped, c.key)
		cfg := config.Default()
		cfg.Model.Weights, cfg.Model.WeightsKey = wrapped, c.key
		cfg.Steps, cfg.Sampler.Batch, cfg.Sampler.M = 1, 4, 2
		r, err := train.New(cfg, train.Data{Train: &places.Set{Forms: 2, PerForm: 2, Views: 4, Size: 20}},
			train.Options{Backend: cpu.New(1)})
		if (err == nil) != fits || !strings.Contains(out, c.text) {
			t.Errorf("key %q: %v, fits %v\n%s", c.key, err, fits, out)
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

func TestModelsListNamesWhatDoesNotFit(t *testing.T) {
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
	if out, code = check(t, path, "--json"); code != exitIntegrity || !strings.Contains(out, `"layer4.1.bn2.running_var"`) {
		t.Errorf("exit %d\n%s", code, out)
	}
}
