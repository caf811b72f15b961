package call_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/python/call"
)

// withoutLevels hides the parent of one row and the class of another.
func withoutLevels() []int32 {
	list := paths()
	list[2*3+1], list[2*7] = -1, -1
	return list
}

// float64 is computed by the definition.
func TestLossesOfTheCallerFollowMixedDepth(t *testing.T) {
	l, proxies := open(t, happier), zeros(classes, dim)
	must.Do(t, l.Start(1, []call.Matrix{proxies}))
	compute := func(x, p call.Matrix) float64 {
		v, err := l.Compute(&call.Batch{Query: x, QueryLabels: withoutLevels(), Params: []call.Matrix{p}}, new(call.Gradient))
		must.Do(t, err)
		return v
	}
	if got, want := compute(vectors(0), proxies), compute(wide(vectors(0)), wide(proxies)); math.Abs(got-want) > 1e-5 {
		t.Errorf("%v in float32, %v by the definition", got, want)
	}
	csl := open(t, `{"name": "csl", "classes": [6, 3], "dim": 8, "paths": [[0,0],[1,0],[2,1],[3,1],[4,2],[5,2]]}`)
	_, err := csl.Compute(&call.Batch{Query: vectors(0), QueryLabels: withoutLevels(), Params: []call.Matrix{proxies}},
		new(call.Gradient))
	if err == nil || !strings.Contains(err.Error(), "lacks a level, and csl needs every level above the finest") {
		t.Errorf("error %v", err)
	}
}

// To row 0, row 1 is of the same class, row 2 of another, and row 3 has a parent alone.
func TestEvaluationsOfTheCallerFollowMixedDepth(t *testing.T) {
	spec := []byte(`{"metrics": ["AP"], "ties": "row", "mean": "query", "resample": "query", "levels": ["class", "parent"],
		"threads": 1, "per_query": true}`)
	x := call.Matrix{F32: []float32{4, 1, 2, 3}, Rows: 4, Cols: 1, Stride: 1}
	side := &call.Side{Vectors: x, Classes: []int32{0, -1, 0, -1, 1, -1, -1, 0}}
	r, err := call.Evaluate(context.Background(), backend, spec, side, new(call.Side), nil)
	must.Do(t, err)
	if v := float64(r.PerQuery.Values["AP_level0"][0]); v != 0.5 {
		t.Errorf("AP %v, want 1/2: row 3 is left out, and row 2 is ahead of row 1", v)
	}
}
