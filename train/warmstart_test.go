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
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/evaluation"
	"hgld/train/network"
	"hgld/train/nn"
	"hgld/train/warmstart"
)

// A run that starts from another one sees images as that one did.
func TestARunFromARunTakesItsPreprocessing(t *testing.T) {
	c, d := tiny(2)
	c.Input.Filter, c.Input.Mean, c.Input.Std = "lanczos", [3]float32{0.1, 0.2, 0.3}, [3]float32{1, 1, 1}
	first := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: first})
	next, _ := tiny(2)
	next.From = first
	if _, err := warmstart.Adopt(&next,
		func(string) bool { return false }); err != nil || next.Input.Filter != "lanczos" ||
		next.Input.Mean != c.Input.Mean || next.Input.Std != c.Input.Std {
		t.Errorf("%v, %+v", err, next.Input)
	}
}

// networkOf is the tensors of a run's network, as it is before a step.
func networkOf(t *testing.T, r *Run) map[string][]byte {
	t.Helper()
	tensors, err := r.network.Store.Export(r.o.Backend)
	must.Do(t, err)
	list := map[string][]byte{}
	for _, x := range checkpoint.OfNetwork(tensors) {
		list[x.Name] = x.Data
	}
	return list
}

// exportFile writes the whole network of a run, as hgld train export does.
func exportFile(t *testing.T, run string) string {
	t.Helper()
	m, err := evaluation.Open(run, cpu.New(1), nil, false)
	must.Do(t, err)
	defer m.Close()
	tensors, err := m.Weights()
	must.Do(t, err)
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
	m, err := evaluation.Open(first, cpu.New(1), nil, false)
	must.Do(t, err)
	defer m.Close()
	tensors, err := m.Weights()
	must.Do(t, err)
	c.Seed++
	for _, from := range []string{first, filepath.Join(first, checkpoint.Name(6)), file} {
		c.From = from
		r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1), Dir: t.TempDir()})
		must.Do(t, err)
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
	if !errors.As(err, new(*config.Error)) || !strings.Contains(err.Error(), "model.dim is 8, the checkpoint has 16") {
		t.Errorf("error %v", err)
	}
	c.Model.Dim, c.Model.Weights = 16, "net.safetensors"
	if _, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)}); err == nil ||
		!strings.Contains(err.Error(), "remove model.weights") {
		t.Errorf("error %v", err)
	}
	c.From, c.Model.Weights = "", first
	var folder *warmstart.WeightsFolderError
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
	must.Do(t, err)
	defer r.Close()
	if left := r.Left(); !slices.Contains(left, "fc.weight") ||
		!slices.ContainsFunc(left, func(s string) bool { return strings.HasPrefix(s, "pooling.") }) ||
		slices.ContainsFunc(left, func(s string) bool { return strings.HasPrefix(s, network.BackbonePrefix) }) {
		t.Errorf("left behind: %v", left)
	}
}

func TestCompleteRunGoesOnForMoreSteps(t *testing.T) {
	c, d := tiny(4)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	c.Steps = 6
	r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1), Dir: dir})
	must.Do(t, err)
	e := r.Extension()
	if e == nil || e.Unit != "steps" || e.Was != 4 || e.Now != 6 || e.Schedule != "cosine" ||
		!(e.Before < e.Rate && e.Rate < c.Optim.Rate) || r.Step() != 4 {
		t.Errorf("%+v after step %d", e, r.Step())
	}
	must.Do(t, r.Close())
	if events := mustTrain(t, c, Data{Train: d}, Options{Dir: dir}); events[0].Step != 5 || events[0].Rate != e.Rate {
		t.Errorf("%+v, want a rate of %v", events[0], e.Rate)
	}
	for what, change := range map[string]func(*config.Config){
		"fewer steps":     func(c *config.Config) { c.Steps = 5 },
		"epochs":          func(c *config.Config) { c.Steps, c.Epochs = 0, 50 },
		"another setting": func(c *config.Config) { c.Steps, c.Optim.Decay = 9, 0.5 },
	} {
		other := c
		change(&other)
		if _, err := New(other, Data{Train: d}, Options{Backend: cpu.New(1), Dir: dir}); !errors.As(err,
			new(*checkpoint.ResumeError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	part := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: part, Limit: 2})
	c.Steps = 9
	if _, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1), Dir: part}); !errors.As(err,
		new(*checkpoint.ResumeError)) {
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
			path := filepath.Join(folder, checkpoint.ModelFile)
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 4
			return os.WriteFile(path, data, 0o644)
		},
		"nothing":  func(folder string) error { return errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o755)) },
		"no sums":  func(folder string) error { return os.Remove(filepath.Join(folder, checkpoint.SumsFile)) },
		"no state": func(folder string) error { return os.Remove(filepath.Join(folder, checkpoint.StateFile)) },
	} {
		dir := t.TempDir()
		mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: 4})
		must.Do(t, damage(filepath.Join(dir, checkpoint.Name(4))))
		r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(2), Dir: dir})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		aside := r.Damaged()
		if len(aside) != 1 || !errors.As(aside[0].Err, new(*checkpoint.DamagedError)) || r.Step() != 2 {
			t.Fatalf("%s: step %d, put aside %+v", what, r.Step(), aside)
		}
		must.Do(t, r.Close())
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
	path := filepath.Join(dir, checkpoint.Name(4), checkpoint.ModelFile)
	must.Do(t, errors.Join(os.Rename(path, path+".away"), os.Mkdir(path, 0o755)))
	_, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1), Dir: dir})
	if err == nil || errors.As(err, new(*checkpoint.DamagedError)) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	if list, _ := checkpoint.List(dir); len(list) != 2 {
		t.Errorf("%v", list)
	}
}

func TestWeightsOfAnotherNetworkSayWhichTheyFit(t *testing.T) {
	b := cpu.New(2)
	spec, err := backbone.All.Get("backbone", "resnet18")
	must.Do(t, err)
	store := nn.NewStore()
	spec.Build(store.Group("all"), backbone.Options{})
	store.Build(b, 1)
	tensors, err := store.Export(b)
	must.Do(t, err)
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
	if !errors.As(err, new(*config.Error)) || !strings.Contains(err.Error(),
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
		c.Model.Backbone = config.Named{Name: "convnet", Settings: map[string]any{"widths": []any{4}, "strides": []any{2}}}
		c.Model.Weights = file + ext
		r, err := New(c, Data{Train: d}, Options{Backend: b})
		must.Do(t, err)
		tensors, err := r.network.Store.Export(b)
		must.Do(t, errors.Join(err, r.Close()))
		i := slices.IndexFunc(tensors,
			func(t tensorfile.Tensor) bool { return t.Name == network.BackbonePrefix+"conv1.weight" })
		if i < 0 {
			t.Fatal("no conv1.weight")
		}
		values, err := tensors[i].Float32()
		must.Do(t, err)
		first = append(first, values)
	}
	if !slices.Equal(first[0], first[1]) || first[0][0] == 0 {
		t.Errorf("%v and %v, expected the same weights", first[0], first[1])
	}
}
