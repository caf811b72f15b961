package input

import (
	"errors"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/testing/places"
)

func TestMeasureTimesEveryPart(t *testing.T) {
	l := testLoader(&places.Set{Forms: 2, PerForm: 2, Views: 8, Size: 24}, 1, 1)
	for _, l.Packs = range []bool{false, true} {
		for _, workers := range []int{1, 3} {
			r, err := l.Measure(t.Context(), workers, 50, 1)
			must.Do(t, err)
			if r.Workers != workers || r.All <= 0 || r.Read < r.All || r.Decode < r.All || r.Crop < r.All {
				t.Errorf("%+v: no part is slower than the whole", r)
			}
		}
	}
	sent := 0
	l.Send = func(place int, from *Batch) { sent++ }
	if rate, err := l.MeasureUpload(t.Context(), 5); err != nil || rate <= 0 || sent != 6 {
		t.Errorf("%v images a second, %v, after %d batches", rate, err, sent)
	}
}

func TestMeasureNamesABrokenImage(t *testing.T) {
	l := testLoader(&places.Set{Forms: 1, PerForm: 1, Views: 2, Size: 24, Broken: map[int]bool{0: true, 1: true}}, 1, 1)
	var broken *ImageError
	if _, err := l.Measure(t.Context(), 2, 4, 1); !errors.As(err, &broken) {
		t.Errorf("error %v", err)
	}
}

// stored is a data set that knows how large its images are.
type stored struct {
	*shapes
	side int
}

func (d stored) StoredSide() int { return d.side }

func TestStoredSideIsTheLeastOfTheParts(t *testing.T) {
	one := func(side int) Dataset { return stored{&shapes{sizes: make([][2]int, 1)}, side} }
	for want, d := range map[int]Dataset{
		0: Join(one(0), &shapes{sizes: make([][2]int, 1)}), 256: Join(one(384), one(0), one(256)),
		384: &Subset{Of: one(384), Rows: []int{0}},
	} {
		if got := StoredSide(d); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}
