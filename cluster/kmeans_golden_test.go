package cluster

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// expectation is the expected result of one run. Lists that a case omits are not compared.
type expectation struct {
	Labels     []int32     `json:"labels"`
	Inertia    *float64    `json:"inertia"`
	Objective  *float64    `json:"objective"` // the inertia of spherical k-means
	Iterations int         `json:"iterations"`
	Centroids  [][]float64 `json:"centroids"`
	NonEmpty   int         `json:"non_empty"`
	Sizes      []int       `json:"sizes"`
}

// check compares a result with a golden run. The tolerance is relative to the larger of 1 and the
// expected value.
func (e expectation) check(t *testing.T, r *Result, relaxed []string, tolerance float64) {
	t.Helper()
	exact := func(field string) bool { return !slices.Contains(relaxed, field) }
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
			t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
		}
	}
	if e.Labels == nil || (e.Inertia == nil) == (e.Objective == nil) || e.Iterations == 0 {
		t.Fatal("the case lacks labels, inertia or iterations")
	}
	if exact("labels") && !slices.Equal(r.Labels, e.Labels) {
		t.Errorf("labels = %v, want %v", r.Labels, e.Labels)
	}
	if exact("iterations") && r.Iterations != e.Iterations {
		t.Errorf("%d iterations, want %d", r.Iterations, e.Iterations)
	}
	if e.Inertia != nil {
		near("inertia", r.Inertia, *e.Inertia)
	} else {
		near("objective", r.Inertia, *e.Objective)
	}
	if exact("centroids") {
		for k, row := range e.Centroids {
			for j, want := range row {
				near("centroid", r.Centroids[k*len(row)+j], want)
			}
		}
	}
	used := 0
	for _, size := range r.Sizes {
		if size > 0 {
			used++
		}
	}
	if e.NonEmpty > 0 && exact("non_empty") && used != e.NonEmpty {
		t.Errorf("%d clusters have rows, want %d", used, e.NonEmpty)
	}
	if e.Sizes != nil && exact("sizes") && !slices.Equal(r.Sizes, e.Sizes) {
		t.Errorf("sizes = %v, want %v", r.Sizes, e.Sizes)
	}
}

func pack(t testing.TB, rows [][]float32) Matrix {
	t.Helper()
	m := must.Get(Pack(rows))(t)
	return m
}

func run(t testing.TB, o KMeans, x Matrix, seed uint64) *Result {
	t.Helper()
	r := must.Get(o.Run(context.Background(), x, seed))(t)
	return r
}

// The golden values of the small cases are float64. This package also computes all reported values
// in float64, from rows that float32 represents exactly.
const smallTolerance = 1e-9

func TestGoldenKMeans(t *testing.T) {
	var file struct {
		KMeans []struct {
			Name     string
			X, Init  [][]float32
			Expected expectation
			Relaxed  []string
		} `json:"kmeans"`
		Spherical []struct {
			Name     string
			X        [][]float32
			InitRows []int `json:"init_rows"`
			Expected expectation
			Relaxed  []string
		} `json:"spherical_kmeans"`
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "cluster"), "cases.json"), &file)
	for _, c := range file.KMeans {
		t.Run("cluster/kmeans."+c.Name, func(t *testing.T) {
			r := run(t, KMeans{K: len(c.Init), Start: pack(t, c.Init)}, pack(t, c.X), 0)
			c.Expected.check(t, r, c.Relaxed, smallTolerance)
		})
	}
	for _, c := range file.Spherical {
		t.Run("cluster/spherical_kmeans."+c.Name, func(t *testing.T) {
			var start [][]float32
			for _, row := range c.InitRows {
				start = append(start, c.X[row])
			}
			r := run(t, KMeans{K: len(start), Start: pack(t, start), Spherical: true}, pack(t, c.X), 0)
			c.Expected.check(t, r, c.Relaxed, smallTolerance)
		})
	}
}

// rowsOf returns rows [lo,hi) of m.
func rowsOf(m Matrix, lo, hi int) Matrix {
	return Matrix{Rows: hi - lo, Cols: m.Cols, Data: m.Data[lo*m.Cols : hi*m.Cols]}
}

// labelEmbeddings returns a tensor of the label embeddings, converted from 16-bit floats.
func labelEmbeddings(t testing.TB, name string) Matrix {
	t.Helper()
	f, err := tensorfile.OpenSafetensors(filepath.Join(goldens.Dir(t, "cluster"), "label_embeddings.safetensors"))
	must.Do(t, err)
	defer f.Close()
	_, shape, err := f.Shape(name)
	must.Do(t, err)
	data := must.Get(f.Float32(name))(t)
	return Matrix{Rows: shape[0], Cols: shape[1], Data: data}
}

// textTolerance is the precision of the values in text.json.
const textTolerance = 1e-6

// textCase is a case of text.json: rows of a tensor of label embeddings.
type textCase struct {
	Tensor    string
	Rows      [2]int
	K         int
	KMeans    expectation `json:"kmeans"`
	Spherical expectation `json:"spherical_kmeans"`
	Ward      struct {
		Last   []float64 `json:"last_20_heights"`
		Sum    float64   `json:"sum_of_heights"`
		Labels []int32   `json:"labels_in_order_of_first_appearance"`
	}
	Internal Internal  `json:"internal_of_kmeans"`
	PCA      []float64 `json:"pca_explained_variance_first_10"`

	x Matrix
}

func textCases(t *testing.T) []textCase {
	var file struct{ Cases []textCase }
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "cluster"), "text.json"), &file)
	for i := range file.Cases {
		c := &file.Cases[i]
		c.x = rowsOf(labelEmbeddings(t, c.Tensor), c.Rows[0], c.Rows[1])
	}
	return file.Cases
}

func TestGoldenKMeansOfText(t *testing.T) {
	for i, c := range textCases(t) {
		start := rowsOf(c.x, 0, c.K)
		// Labels are exact, because no row is almost as close to a second centroid.
		t.Run("cluster/text."+strconv.Itoa(i), func(t *testing.T) {
			c.KMeans.check(t, run(t, KMeans{K: c.K, Start: start}, c.x, 0), nil, textTolerance)
			c.Spherical.check(t, run(t, KMeans{K: c.K, Start: start, Spherical: true}, c.x, 0), nil, textTolerance)
		})
	}
}

// covered lists the golden lists that a test of this package runs completely, and the fields that
// describe a case.
var covered = map[string][]string{
	"cases.json": {"format", "kmeans", "spherical_kmeans", "ward", "external", "internal", "pca", "trustworthiness"},
	"text.json": {"tensor", "rows", "k", "init", "kmeans", "spherical_kmeans", "ward", "internal_of_kmeans",
		"pca_explained_variance_first_10"},
	"best.json": {"format", "sets", "tsne"},
}

// A golden list that no test knows would never run.
func TestEveryListOfGoldensIsKnown(t *testing.T) {
	dir := goldens.Dir(t, "cluster")
	for file := range covered {
		var lists map[string]json.RawMessage
		goldens.ReadJSON(t, filepath.Join(dir, file), &lists)
		if file == "text.json" { // its cases hold the lists
			var cases struct{ Cases []map[string]json.RawMessage }
			goldens.ReadJSON(t, filepath.Join(dir, file), &cases)
			if len(cases.Cases) == 0 {
				t.Fatalf("%s has no cases", file)
			}
			lists = cases.Cases[0]
		}
		for name := range lists {
			if !slices.Contains(covered[file], name) {
				t.Errorf("%s: no test runs the list %q", file, name)
			}
		}
	}
}
