package train

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/train/backbone"
	"hgld/train/device/cpu"
	"hgld/train/nn"
)

// networkOf is the tensors of a run's network, as it is before a step.
func networkOf(t *testing.T, r *Run) map[string][]byte {
	t.Helper()
	tensors, err := r.network.store.Export(r.o.Backend)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string][]byte{}
	for _, x := range ofNetwork(tensors) {
		list[x.Name] = x.Data
	}
	return list
}

// exportFile writes the whole network of a run, as hgld train export does.
func exportFile(t *testing.T, run string) string {
	t.Helper()
	m, err := Open(run, cpu.New(1), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tensors, err := m.Weights()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.safetensors")
	var file bytes.Buffer
	if err := errors.Join(tensorfile.WriteSafetensors(&file, tensors, nil),
		os.WriteFile(path, file.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWarmStartTakesTheWholeNetwork(t *testing.T) {
	c, d := tiny(6)
	c.Loss.Name = "nsm"
	first := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: first})
	file := exportFile(t, first)
	m, err := Open(first, cpu.New(1), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tensors, err := m.Weights()
	if err != nil {
		t.Fatal(err)
	}
	c.Seed++
	for _, from := range []string{first, filepath.Join(first, checkpointName(6)), file} {
		c.From = from
		r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1), Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		got := networkOf(t, r)
		for _, x := range tensors {
			if !bytes.Equal(got[x.Name], x.Data) {
				t.Errorf("from %s: %s is another", from, x.Name)
			}
		}
		if len(got) != len(tensors) || r.Step() != 0 {
			t.Errorf("from %s: %d tensors of %d, step %d", from, len(got), len(tensors), r.Step())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWarmStartNamesWhatDoesNotFit(t *testing.T) {
	c, d := tiny(2)
	first := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: first})
	c.From, c.Model.Dim = first, 8
	_, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
	if !errors.As(err, new(*ConfigError)) || !strings.Contains(err.Error(), "model.dim is 8, the checkpoint has 16") {
		t.Errorf("error %v", err)
	}
	c.Model.Dim, c.Model.Weights = 16, "net.safetensors"
	if _, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)}); err == nil ||
		!strings.Contains(err.Error(), "remove model.weights") {
		t.Errorf("error %v", err)
	}
	c.From, c.Model.Weights = "", first
	var folder *WeightsFolderError
	if _, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)}); !errors.As(err, &folder) || folder.Path != first {
		t.Errorf("error %v", err)
	}
}

// Weights of a backbone that come with a head and a pooling leave those behind, and
// the run says so.
func TestWeightsOfAWholeNetworkListUnreadTensors(t *testing.T) {
	c, d := tiny(2)
	first := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: first})
	c.Model.Weights = exportFile(t, first)
	r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if left := r.Left(); !slices.Contains(left, "fc.weight") ||
		!slices.ContainsFunc(left, func(s string) bool { return strings.HasPrefix(s, "pooling.") }) ||
		slices.ContainsFunc(left, func(s string) bool { return strings.HasPrefix(s, backbonePrefix) }) {
		t.Errorf("left behind: %v", left)
	}
}

func TestCompleteRunGoesOnForMoreSteps(t *testing.T) {
	c, d := tiny(4)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	c.Steps = 6
	r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	e := r.Extension()
	if e == nil || e.Unit != "steps" || e.Was != 4 || e.Now != 6 || e.Schedule != "cosine" ||
		!(e.Before < e.Rate && e.Rate < c.Optim.Rate) || r.Step() != 4 {
		t.Errorf("%+v after step %d", e, r.Step())
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if events := mustTrain(t, c, Data{Train: d}, Options{Dir: dir}); events[0].Step != 5 || events[0].Rate != e.Rate {
		t.Errorf("%+v, want a rate of %v", events[0], e.Rate)
	}
	for what, change := range map[string]func(*Config){
		"fewer steps":     func(c *Config) { c.Steps = 5 },
		"epochs":          func(c *Config) { c.Steps, c.Epochs = 0, 50 },
		"another setting": func(c *Config) { c.Steps, c.Optim.Decay = 9, 0.5 },
	} {
		other := c
		change(&other)
		if _, err := New(other, Data{Train: d}, Options{Backend: cpu.New(1), Dir: dir}); !errors.As(err,
			new(*ResumeError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	part := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: part, Limit: 2})
	c.Steps = 9
	if _, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1), Dir: part}); !errors.As(err, new(*ResumeError)) {
		t.Errorf("a run that is not complete: %v", err)
	}
}

// The newest checkpoint is damaged: the run continues from the one before, ends with
// the bytes of a run that was never stopped, and keeps the damaged one.
func TestDamagedCheckpointFallsBackToTheSoundOne(t *testing.T) {
	c, d := tiny(6)
	c.Run.Checkpoint = 2
	whole := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
	for what, damage := range map[string]func(folder string) error{
		"a flipped bit": func(folder string) error {
			path := filepath.Join(folder, modelFile)
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 4
			return os.WriteFile(path, data, 0o644)
		},
		"nothing":  func(folder string) error { return errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o755)) },
		"no sums":  func(folder string) error { return os.Remove(filepath.Join(folder, sumsFile)) },
		"no state": func(folder string) error { return os.Remove(filepath.Join(folder, stateFile)) },
	} {
		dir := t.TempDir()
		mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: 4})
		if err := damage(filepath.Join(dir, checkpointName(4))); err != nil {
			t.Fatal(err)
		}
		r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(2), Dir: dir})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		aside := r.Damaged()
		if len(aside) != 1 || !errors.As(aside[0].Err, new(*DamagedError)) || r.Step() != 2 {
			t.Fatalf("%s: step %d, put aside %+v", what, r.Step(), aside)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
		sameWeights(t, what, whole, dir)
		if _, err := os.Stat(aside[0].Path); err != nil {
			t.Error(err)
		}
	}
}

// A checkpoint that cannot be read is not damaged: nothing is put aside, and the run
// stops.
func TestUnreadableCheckpointIsNotPutAside(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root reads everything: a folder in the place of the file cannot be read either")
	}
	c, d := tiny(4)
	c.Run.Checkpoint = 2
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	path := filepath.Join(dir, checkpointName(4), modelFile)
	if err := errors.Join(os.Rename(path, path+".away"), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	_, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1), Dir: dir})
	if err == nil || errors.As(err, new(*DamagedError)) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	if list, _ := checkpoints(dir); len(list) != 2 {
		t.Errorf("%v", list)
	}
}

func TestWeightsOfAnotherNetworkSayWhichTheyFit(t *testing.T) {
	b := cpu.New(2)
	spec, err := backbone.All.Get("backbone", "resnet18")
	if err != nil {
		t.Fatal(err)
	}
	store := nn.NewStore()
	spec.Build(store.Group("all"), backbone.Options{})
	store.Build(b, 1)
	tensors, err := store.Export(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tensors {
		tensors[i].Name = "module." + tensors[i].Name // as DataParallel saves them
	}
	path := filepath.Join(t.TempDir(), "w.safetensors")
	var file bytes.Buffer
	if err := errors.Join(tensorfile.WriteSafetensors(&file, tensors, nil),
		os.WriteFile(path, file.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	c, d := tiny(2)
	c.Model.Weights = path
	_, err = New(c, Data{Train: d}, Options{Backend: b})
	if !errors.As(err, new(*ConfigError)) || !strings.Contains(err.Error(),
		"these weights fit resnet18: set model.backbone.name=resnet18") {
		t.Errorf("error %v", err)
	}
}

// The file was written by PyTorch; its twin has the same tensors as safetensors.
func TestWeightsOfTorchAreReadAsTheyAre(t *testing.T) {
	const file = "../internal/torchfile/testdata/convnet"
	b := cpu.New(1)
	var first [][]float32
	for _, ext := range []string{".pth", ".safetensors"} {
		c, d := tiny(2)
		c.Model.Backbone = Named{Name: "convnet", Settings: map[string]any{"widths": []any{4}, "strides": []any{2}}}
		c.Model.Weights = file + ext
		r, err := New(c, Data{Train: d}, Options{Backend: b})
		if err != nil {
			t.Fatal(err)
		}
		tensors, err := r.network.store.Export(b)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(tensors, func(t tensorfile.Tensor) bool { return t.Name == backbonePrefix+"conv1.weight" })
		if i < 0 {
			t.Fatal("no conv1.weight")
		}
		values, err := tensors[i].Float32()
		if err != nil {
			t.Fatal(err)
		}
		first = append(first, values)
	}
	if !slices.Equal(first[0], first[1]) || first[0][0] == 0 {
		t.Errorf("%v and %v, expected the same weights", first[0], first[1])
	}
}
