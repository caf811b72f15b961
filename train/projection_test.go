package train

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/train/device/cpu"
	"hgld/train/tensor"
	"hgld/train/testing/places"
)

// whitened is a training whose projection starts from principal components.
func whitened(steps int, kind string) (Config, *places.Set) {
	c, d := tiny(steps)
	c.Model.Standard, c.Model.Dim, c.Model.Projection = "l2", 8, kind
	return c, d
}

func TestProjectionStartsFromPrincipalComponents(t *testing.T) {
	for _, kind := range []string{"pca", "pca-whitening"} {
		c, d := whitened(1, kind)
		dir := t.TempDir()
		r, err := New(c, Data{Train: d}, Options{Dir: dir, Backend: cpu.New(1)})
		if err != nil {
			t.Fatal(err)
		}
		events := 0
		proceed, err := r.startProjection(context.Background(), func(e Event, _ error) bool {
			events++
			return e.Kind == Projected && e.Images == d.Len()
		})
		if err != nil || !proceed || events != 1 {
			t.Fatalf("%d events, %v", events, err)
		}
		// The projected features have mean 0, no correlations, and with whitening
		// variance 1: the definition, computed here from the features.
		var features [][]float32
		err = r.network.features(context.Background(), d, embedOptions{thread: r.thread}, func(x *tensor.Tensor) error {
			for i := range x.Rows() {
				features = append(features, x.Row(i))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		weight, err := tensor.Read(filepath.Join(dir, projectionFile), "weight")
		if err != nil {
			t.Fatal(err)
		}
		bias, err := tensor.Read(filepath.Join(dir, projectionFile), "bias")
		if err != nil {
			t.Fatal(err)
		}
		n := len(features)
		y := make([][]float64, n)
		for i := range n {
			for k := range weight.Rows() {
				sum := float64(bias.Data[k])
				for j, w := range weight.Row(k) {
					sum += float64(w) * float64(features[i][j])
				}
				y[i] = append(y[i], sum)
			}
		}
		covariance := func(a, b int) (s float64) {
			for i := range n {
				s += y[i][a] * y[i][b] / float64(n-1)
			}
			return s
		}
		last := math.Inf(1)
		for a := range weight.Rows() {
			scale := math.Sqrt(covariance(0, 0) * covariance(a, a))
			for b := range a {
				// float32 weights on float32 features
				if c := covariance(a, b); math.Abs(c) > 1e-3*scale {
					t.Errorf("%s: components %d and %d have covariance %v", kind, a, b, c)
				}
			}
			v := covariance(a, a)
			if kind == "pca-whitening" && math.Abs(v-1) > 1e-3 || v > last*1.001 {
				t.Errorf("%s: variance %v of component %d after %v", kind, v, a, last)
			}
			last = v
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResumedRunDoesNotRepeatTheProjection(t *testing.T) {
	c, d := whitened(12, "pca")
	c.Model.FitOn = 40
	whole, parts := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
	mustTrain(t, c, Data{Train: d}, Options{Dir: parts, Limit: 5})
	for _, e := range mustTrain(t, c, Data{Train: d}, Options{Dir: parts}) {
		if e.Kind == Projected {
			t.Error("the projection was found again")
		}
	}
	sameWeights(t, "stopped after 5 steps", whole, parts)
}

// A run that is stopped before its projection is there begins with it later.
func TestRunStoppedInTheProjectionStartsItLater(t *testing.T) {
	c, d := whitened(6, "pca")
	whole, stopped := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := trainAll(t, ctx, c, Data{Train: d}, Options{Dir: stopped}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	mustTrain(t, c, Data{Train: d}, Options{Dir: stopped})
	sameWeights(t, "stopped before the first step", whole, stopped)
}

func TestUntrainedNetworkHasTheProjectionOfItsRun(t *testing.T) {
	c, d := whitened(2, "pca-whitening")
	dir := t.TempDir()
	events := mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	if events[0].Kind != Projected {
		t.Fatalf("first event %+v", events[0])
	}
	m, err := Open(dir, cpu.New(1), nil, true)
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := m.network.store.Export(m.network.b)
	if err != nil {
		t.Fatal(err)
	}
	weight, err := tensor.Read(filepath.Join(dir, projectionFile), "weight")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tensors, func(t tensorfile.Tensor) bool { return t.Name == "fc.weight" })
	if !bytes.Equal(tensors[i].Data, weight.File("").Data) {
		t.Error("the untrained projection is another")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, projectionFile), []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, cpu.New(1), nil, true); err == nil || !strings.Contains(err.Error(), projectionFile) {
		t.Errorf("error %v", err)
	}
}

func TestProjectionNeedsEnoughImages(t *testing.T) {
	c, d := whitened(2, "pca")
	c.Model.FitOn = 8 // and as many components
	if _, err := trainAll(t, context.Background(), c, Data{Train: d}, Options{Dir: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "components") {
		t.Errorf("error %v", err)
	}
	c.Model.Dim = 0
	if _, err := trainAll(t, context.Background(), c, Data{Train: d}, Options{Dir: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "model.dim is 0: set model.dim") {
		t.Errorf("error %v", err)
	}
}
