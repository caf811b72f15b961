package call_test

import (
	"slices"
	"strings"
	"testing"

	"hgld/labels"
	"hgld/train/input"
	"hgld/train/python/call"
	"hgld/train/sample"
)

// The batches of every sampler are those that a training takes, epoch by epoch.
func TestBatchesAreThoseOfATraining(t *testing.T) {
	var rows []labels.Path
	var flat []int32
	for i := range int32(96) {
		p := labels.Path{i % 12, i % 12 / 3}
		rows, flat = append(rows, p), append(flat, p...)
	}
	small := map[string]sample.Sampler{
		"m-per-class":        &sample.MPerClass{Batch: 16, M: 4},
		"random-m-per-class": &sample.RandomMPerClass{Batch: 16, M: 4, Batches: 5},
		"balanced":           &sample.Balanced{Batch: 16, M: 4},
		"dyml":               &sample.DyML{Batch: 16, M: 4},
		"random":             &sample.Shuffled{Batch: 16},
		"hierarchical":       &sample.Hierarchical{Batch: 16, M: 4, PerTuple: 5, Supers: 2, Outer: 1},
	}
	for _, name := range sample.All.Names() {
		spec := `{"name": "` + name + `", "settings": {"batch": 16, "m": 4`
		if name == "random-m-per-class" {
			spec += `, "batches": 5`
		}
		epoch, list := 0, [][]int(nil)
		for w, err := range input.Epochs(small[name], rows, 7, input.Position{}) {
			if err != nil {
				t.Fatal(name, err)
			}
			list = append(list, w.Rows)
			if !w.Last {
				continue
			}
			got, err := call.Batches([]byte(spec+"}}"), flat, 2, 7, epoch)
			if err != nil || !slices.EqualFunc(got, list, slices.Equal[[]int]) {
				t.Errorf("%s: epoch %d is %v, want %v; %v", name, epoch, got, list, err)
			}
			if epoch, list = epoch+1, nil; epoch == 3 {
				break
			}
		}
	}
}

func TestWrongSamplersAreErrors(t *testing.T) {
	for spec, want := range map[string]string{
		`{"name": "m-per-clas"}`:                                     `unknown sampler "m-per-clas": did you mean "m-per-class"?`,
		`{"name": "m-per-class", "settings": {"batch": 10, "m": 4}}`: "sample: batch is 10, want a multiple of m = 4",
		`[]`: "the sampler is no JSON of the expected form",
	} {
		if _, err := call.Batches([]byte(spec), []int32{0, 1}, 1, 0, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", spec, err, want)
		}
	}
}
