package call_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/loss"
	"hgld/train/python/call"
)

// In the gallery an item without any class counts as one of a class that no query has: with every loss, in float32 and
// by the definition.
func TestDistractorsAreNegatives(t *testing.T) {
	const spare = rows / 4 // classes of their own
	none, own := paths(), paths()
	for i := range spare {
		at := 2 * (4*i + 1)
		none[at], none[at+1] = -1, -1
		own[at], own[at+1] = classes+int32(i), classes/2+int32(i)
	}
	self := make([]int32, rows)
	for i := range self {
		self[i] = int32(i)
	}
	for _, k := range must.Get(call.Table())(t) {
		spec := must.Get(json.Marshal(map[string]any{"name": k.Name, "classes": []int{classes + spare, classes/2 + spare},
			"dim": dim, "unit": true, "threads": 1, "batch": rows, "per_class": 4}))(t)
		l, err := call.Open(backend, spec)
		if err != nil || len(l.Describe().States) > 0 || !l.Describe().Exact { // needs more, or is of no gallery alone
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			var params []call.Matrix
			for _, p := range l.Describe().Params {
				params = append(params, zeros(slices.Max([]int{1, p.Dims[0] * (len(p.Dims) - 1)}), p.Dims[len(p.Dims)-1]))
			}
			must.Do(t, l.Start(1, params))
			value := func(in *call.Batch, exact bool) float64 {
				in.Params = params
				if exact {
					in.Query, in.Gallery, in.Params = wide(in.Query), widened(in.Gallery), nil
					for _, p := range params {
						in.Params = append(in.Params, wide(p))
					}
				}
				v, err := l.Compute(in, new(call.Gradient))
				must.Do(t, err)
				return v
			}
			for _, exact := range []bool{false, true} {
				alone := value(&call.Batch{Query: vectors(0), QueryLabels: none}, exact)
				apart := value(&call.Batch{Query: vectors(0), QueryLabels: none, Gallery: vectors(0), GalleryLabels: own,
					Self: self}, exact)
				if math.Abs(alone-apart) > 1e-5*max(1, math.Abs(apart)) { // float32 sums in another order
					t.Errorf("exact %v: %v, want %v, as with classes of their own", exact, alone, apart)
				}
				if exact {
					fast := value(&call.Batch{Query: vectors(0), QueryLabels: none}, false)
					if math.Abs(fast-alone) > 1e-4*max(1, math.Abs(alone)) {
						t.Errorf("%v in float32, %v by the definition", fast, alone)
					}
				}
			}
		})
	}
}

func widened(m call.Matrix) call.Matrix {
	if m.Absent() {
		return m
	}
	return wide(m)
}

// A memory tells a distractor from an empty row.
func TestDistractorOfAMemory(t *testing.T) {
	l := open(t, `{"name": "smooth-ap", "classes": [6, 3], "dim": 8, "unit": true, "threads": 1}`)
	value := func(fine, coarse int32) float64 {
		memory := slices.Repeat([]int32{fine, coarse}, rows)
		copy(memory, paths()[:2*rows-2])
		v, err := l.Compute(&call.Batch{Query: vectors(0), QueryLabels: paths(), Memory: vectors(0), MemoryLabels: memory},
			new(call.Gradient))
		must.Do(t, err)
		return v
	}
	empty, distractor := value(-1, -1), value(-1, loss.Distractor)
	if empty == distractor {
		t.Errorf("%v with a distractor, and the same without", distractor)
	}
}

// Sizes that no machine has are refused before anything is made.
func TestImpossibleSizesAreRefused(t *testing.T) {
	for spec, want := range map[string]string{
		`{"name": "smooth-ap", "classes": [6], "dim": 8, "threads": 1000000}`:      "threads is 1000000",
		`{"name": "smooth-ap", "levels": 2147483648, "dim": 8}`:                    "2147483648 levels",
		`{"name": "smooth-ap", "classes": [6], "dim": 99999999999}`:                "99999999999 columns",
		`{"name": "nsm", "classes": [4611686018427387904], "dim": 8}`:              "4611686018427387904 classes",
		`{"name": "smooth-ap", "classes": [6], "dim": 8, "batch": 99999999999999}`: "batch is",
	} {
		if _, err := call.Open(backend, []byte(spec)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
	if _, err := call.Batches([]byte(`{"name": "random"}`), make([]int32, 4000), 2000, 1, 0); err == nil ||
		!strings.Contains(err.Error(), "2000 levels") {
		t.Errorf("%v", err)
	}
}
