package train

import (
	"errors"
	"fmt"

	"hgld/labels"
	"hgld/train/config"
	"hgld/train/evaluation"
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
	// if config.RunOptions.EvalOn asks for it. Both may be nil.
	Query, Gallery input.Dataset

	// Benchmarks are a test in several parts, used instead of Query.
	Benchmarks []evaluation.Benchmark

	// Landmarks are benchmarks of landmarks, for config.RunOptions.EvalOn.
	Landmarks []evaluation.Landmarks

	// ExtraParents are extra parents of classes of Train, Validation, Query and Gallery; nil: the labels are a tree.
	ExtraParents []labels.ExtraParent
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

// parents joins the parents of the classes of the data with the further ones, of which at least one must be of a class
// there. nil: there are none.
func (d *Data) parents() (*labels.Parents, error) {
	if len(d.ExtraParents) == 0 {
		return nil, nil
	}
	p, err := evaluation.ParentsOf(d.ExtraParents, d.Train, d.Validation, d.Query, d.Gallery)
	if err != nil {
		return nil, err
	}
	return p, p.CheckUsed(d.ExtraParents)
}

// maxPaths is how many paths a class may have in a training, whose losses compare each with each.
const maxPaths = 8

// wide returns the labels of the training's items as losses read them (loss.Batch), with the number of their paths.
// full are the classes by the numbers of the data, and dense by those of the run. Without extra parents, dense is
// wide. Classes that no item of the training has in the tree get numbers beyond the others.
func (d *Data) wide(full, dense []labels.Path) (wide []labels.Path, paths int, err error) {
	parents, err := d.parents()
	if err != nil || parents == nil {
		return dense, 1, err
	}
	numbers := make([]map[int32]int32, len(full[0]))
	for l := range numbers {
		numbers[l] = map[int32]int32{}
		for i, p := range full {
			numbers[l][p[l]] = dense[i][l]
		}
	}
	of := map[int32][]labels.Path{} // by finest class
	for _, p := range full {
		if of[p[0]] == nil {
			of[p[0]] = parents.Paths(p[0])
			paths = max(paths, len(of[p[0]]))
		}
		if paths > maxPaths {
			return nil, 0, fmt.Errorf("extra parents give the %s %.80q %d paths, want at most %d", d.Train.Levels()[0],
				d.Train.Classes(0)[p[0]], paths, maxPaths)
		}
	}
	rows := map[int32]labels.Path{} // by finest class
	for _, p := range full {
		if rows[p[0]] == nil {
			rows[p[0]] = sideBySide(of[p[0]], paths, numbers)
		}
		wide = append(wide, rows[p[0]])
	}
	return wide, paths, nil
}

// sideBySide joins paths to one of n, the last one repeated, by the numbers of the classes at each level. A class
// without a number gets the next one.
func sideBySide(list []labels.Path, n int, numbers []map[int32]int32) (row labels.Path) {
	for i := range n {
		for l, c := range list[min(i, len(list)-1)] {
			number, known := numbers[l][c]
			if !known {
				number = int32(len(numbers[l]))
				numbers[l][c] = number
			}
			row = append(row, number)
		}
	}
	return row
}

// validateLandmarks checks that a network can embed the images of benchmarks of landmarks.
func validateLandmarks(c *config.Config, list []evaluation.Landmarks) error {
	watches := c.Run.EvalOn == config.WatchLandmarks
	err := config.FirstBroken([]config.Rule{
		{Broken: watches && len(list) == 0, Text: "run.eval_on is landmarks, but the data has none: name a ground truth in " +
			"landmarks.truth and the folder of its images in landmarks.images"},
		{Broken: !watches && len(list) > 0,
			Text: "landmarks.truth names a benchmark, which is measured during training alone: set " +
				"run.eval_on=landmarks, or leave it out"},
		{Broken: len(list) > 0 && c.OfVectors(),
			Text: "landmarks are images, but the run trains on vectors: leave out landmarks.truth"},
	})
	if err != nil || len(list) == 0 || list[0].Side == 0 {
		return err
	}
	if err := c.AnyShape(); err != nil {
		return fmt.Errorf("%v: set landmarks.side=0, which crops them as an evaluation does", err)
	}
	return nil
}

// validateData checks that the data have what the configuration evaluates during training.
func validateData(c *config.Config, d Data) error {
	p, watchesTest := c.Schedule.Plateau, c.Run.EvalOn == config.WatchTest
	err := config.FirstBroken([]config.Rule{
		{Broken: len(d.Benchmarks) > 0 && d.Query != nil,
			Text: "the test has both queries and benchmarks, want one of them"},
		{Broken: len(d.Benchmarks) > 0 && len(d.ExtraParents) > 0,
			Text: "the benchmarks have one level each, in which classes have no " +
				"extra parents: leave these out"},
		{Broken: c.Run.KeepBestTest && !(watchesTest && c.Run.Evaluate > 0),
			Text: "run.keep_best_test reports the best of several " +
				"evaluations of the test: set run.eval_on=test and run.evaluate, or leave it out"},
		{Broken: watchesTest && !d.tested(),
			Text: "run.eval_on is test, but the data has no test queries: name them, or set run.eval_on=validation"},
		{Broken: c.Run.Evaluate > 0 && c.Run.EvalOn == config.WatchValidation && d.Validation == nil && d.tested(),
			Text: "run.evaluate is %d, but there are no validation classes: hold some out of the training (hold_out), or set " +
				"run.eval_on=test to evaluate the test during training", Args: []any{c.Run.Evaluate}},
		{Broken: p.Factor != 0 && !(p.Factor > 0 && p.Factor < 1 && p.Patience > 0),
			Text: "schedule.plateau has factor %v and patience %d: want a factor between 0 and 1, and a patience from 1 up",
			Args: []any{p.Factor, p.Patience}},
		{Broken: p.Factor == 0 && p.Patience > 0,
			Text: "schedule.plateau has patience %d and no factor: set schedule.plateau.factor, such as 0.1",
			Args: []any{p.Patience}},
		{Broken: c.Waits() && c.Run.Evaluate == 0,
			Text: "schedule.plateau and stop.patience count evaluations, but run.evaluate is 0: " +
				"set it to the steps (or epochs) between them"},
		{Broken: c.Waits() && d.Validation == nil && c.Run.EvalOn == config.WatchValidation,
			Text: "schedule.plateau and stop.patience " +
				"count evaluations, but there are no validation classes: " +
				"hold some out of the training (hold_out), or set run.eval_on=test"},
	})
	if err != nil {
		return err
	}
	return errors.Join(evaluation.CheckBenchmarks(d.Benchmarks), validateLandmarks(c, d.Landmarks))
}
