package train

import (
	"hgld/labels"
	"hgld/train/input"
)

// Data is the input of a run. Without Gallery, the items of Query rank each other, each left out
// of its own ranking. Validation is always ranked that way.
type Data struct {
	Train input.Dataset // required

	// Validation holds classes that were held out of Train for evaluations during training; see
	// [HoldOut]. It may be nil.
	Validation input.Dataset

	// Query and Gallery are the test. It is evaluated when the run is complete, and earlier only
	// if Upkeep.Watch asks for it. Both may be nil.
	Query, Gallery input.Dataset

	// Benchmarks are a test in several parts, used instead of Query.
	Benchmarks []Benchmark

	// Landmarks are benchmarks of landmarks, for Upkeep.Watch.
	Landmarks []Landmarks

	// Further are further parents of classes of Train, Validation, Query and Gallery; nil: the labels are a tree.
	Further []labels.FurtherParent
}

// ForTraining returns the data with validation and test separated. Without a test, Query is often
// the validation.
func (d Data) ForTraining() Data {
	if d.Query == d.Validation {
		d.Query = nil
	}
	return d
}

// tested reports whether there is a test.
func (d *Data) tested() bool { return d.Query != nil || len(d.Benchmarks) > 0 }
