package propagate

import (
	"math"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device/cpu"
	"hgld/train/retrieval"
)

// turned returns unit vectors at these angles, in degrees.
func turned(degrees ...float64) *retrieval.Matrix {
	m := &retrieval.Matrix{Cols: 2}
	for _, d := range degrees {
		m.Values = append(m.Values, float32(math.Cos(d*math.Pi/180)), float32(math.Sin(d*math.Pi/180)))
	}
	return m
}

// Three labelled landmarks: 0 of class 0 near 0°, 1 of class 0 near 20°, 2 of class 1 near 90°. Landmark 3 has
// images at 10° and 60°, landmark 4 none with neighbours but those of class 1.
func TestVotesOfTheNearestImages(t *testing.T) {
	in := Input{
		Vectors: turned(0, 1, 20, 21, 90, 91, 10, 60, 95, 45),
		Owner:   []int32{0, 0, 1, 1, 2, 2, 3, 3, 4, -1},
		Class:   []int32{0, 0, 1, -1, -1},
	}
	r, err := Run(t.Context(), cpu.New(1), in, Options{K: 2, Heat: 0.1})
	must.Do(t, err)
	// The neighbours of 10° are 1° and 20°, both of class 0. Those of 60° are 90° of class 1 and 91° of class 1,
	// cosines .8660 and .8572, nearer than 21° (.7771). So landmark 3 has half of its votes for each.
	if len(r.Votes) != 2 || r.Votes[0].Landmark != 3 || r.Votes[0].Class != 0 || r.Votes[0].Second != 1 ||
		math.Abs(r.Votes[0].Share-0.5) > 1e-12 || r.Votes[0].Images != 2 {
		t.Errorf("votes %+v", r.Votes)
	}
	if v := r.Votes[1]; v.Landmark != 4 || v.Class != 1 || v.Share != 1 || v.Second != -1 {
		t.Errorf("landmark 4: %+v", v)
	}
	// Asked without their own images, 0 and 1 are each other's neighbours, and 2 is nearest to 1: wrong.
	var test []int32
	for _, v := range r.Test {
		test = append(test, v.Class)
	}
	if !slices.Equal(test, []int32{0, 0, 0}) {
		t.Errorf("the test has the classes %v, want 0, 0, 0", test)
	}
	levels := r.Estimate(in.Class, []float64{0, 1})
	if levels[0] != (Level{Least: 0, Asked: 3, Given: 3, Right: 2}) {
		t.Errorf("estimate %+v", levels)
	}
	if share, low, high := levels[0].Interval(); math.Abs(share-2.0/3) > 1e-12 || math.Abs(low-0.2077) > 1e-4 ||
		math.Abs(high-0.9385) > 1e-4 { // R's binom.confint(2, 3, methods = "wilson")
		t.Errorf("interval %v, %v to %v", share, low, high)
	}
}

// Neighbours weigh by their cosines: at temperature h, e^(a/h) against e^(b/h).
func TestNearerImagesWeighMore(t *testing.T) {
	in := Input{Vectors: turned(0, 60, 20), Owner: []int32{0, 1, 2}, Class: []int32{0, 1, -1}}
	r, err := Run(t.Context(), cpu.New(1), in, Options{K: 2, Heat: 0.5})
	must.Do(t, err)
	a, b := math.Exp(math.Cos(20*math.Pi/180)/0.5), math.Exp(math.Cos(40*math.Pi/180)/0.5)
	if v := r.Votes[0]; v.Class != 0 || math.Abs(v.Share-a/(a+b)) > 1e-6 { // cosines are float32
		t.Errorf("%+v, want %v of class 0", v, a/(a+b))
	}
	in.Class = []int32{-1, -1, -1}
	if _, err := Run(t.Context(), cpu.New(1), in, Options{K: 2, Heat: 0.5}); err == nil {
		t.Error("no landmark has a class")
	}
}
