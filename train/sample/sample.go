// Package sample decides which rows of a data set make a batch. A sampler is a pure function of
// the labels, a seed and the epoch. Any epoch can be computed without the earlier ones, so a run
// can resume in the middle of one, and the number of workers changes nothing.
//
// Rows are numbers 0…N−1. A label is a class at one level of a row's path; a row whose class is
// −1 at that level belongs to no class, and is drawn only by samplers with Rest. Samplers visit
// classes by number and the rows of a class in their order, so that the same data in another order
// gives the same batches with other row numbers.
package sample

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"hgld/internal/registry"
	"hgld/labels"
)

// Sampler makes the batches of an epoch.
type Sampler interface {
	// Epoch returns the batches of an epoch, counted from 0, each a list of rows. It returns at
	// least one batch, or an error that says what is missing.
	Epoch(rows []labels.Path, seed uint64, epoch int) ([][]int, error)

	// Size returns the number of rows of a full batch. A batch may have fewer if the sampler says
	// so, but never more.
	Size() int
}

// Grouped is a Sampler whose batches have the same number of rows of each class that they
// contain.
type Grouped interface {
	Sampler
	// PerClass returns that number.
	PerClass() int
}

// All is the table of samplers, with the settings of the published recipes.
var All = registry.Table[Sampler]{
	{Name: "m-per-class", About: "m rows of each of batch/m classes, every row at most once per epoch",
		Value: &MPerClass{Batch: 256, M: 4}},
	{Name: "random-m-per-class", About: "m rows of each of batch/m classes drawn anew for every batch",
		Value: &RandomMPerClass{Batch: 256, M: 4, Batches: 1000}},
	{Name: "balanced", About: "m rows of each of batch/m classes drawn anew; a class goes through its rows in turn",
		Value: &Balanced{Batch: 256, M: 4}},
	{Name: "dyml", About: "items of m rows of one class at every level, as in Dynamic Metric Learning",
		Value: &DyML{Batch: 240, M: 4}},
	{Name: "random", About: "all rows in random order, whatever their classes", Value: &Shuffled{Batch: 256, M: 1}},
	{Name: "hierarchical", About: "batches of two super-classes, every pair equally often",
		Value: &Hierarchical{Batch: 256, M: 4, PerTuple: 5, Supers: 2, Outer: 1}},
}

// class holds the rows of one class.
type class struct {
	label int32
	rows  []int
}

// classes groups rows by their class at a level, ordered by class number.
func classes(rows []labels.Path, level int) ([]class, error) {
	groups := map[int32][]int{}
	for i, p := range rows {
		if level < 0 || level >= len(p) {
			return nil, fmt.Errorf("sample: the sampler uses level %d (0 is the finest), but labels have %d in all",
				level, len(p))
		}
		if c := p[level]; c >= 0 {
			groups[c] = append(groups[c], i)
		}
	}
	list := make([]class, 0, len(groups))
	for _, label := range slices.Sorted(maps.Keys(groups)) {
		list = append(list, class{label, groups[label]})
	}
	return list, nil
}

// Rest says what a sampler does with rows that lack its level, as images of mixed depth do.
type Rest struct {
	// Rest draws them, too: together with the rows that lack it and are of the same class at the nearest
	// coarser level that they have, or else at the nearest finer one. Rows without any class are never drawn.
	Rest bool `yaml:"rest"`
}

// groups are the classes of a level, followed by those of the rows that lack it.
func (o Rest) groups(rows []labels.Path, level int) ([]class, error) {
	list, err := classes(rows, level)
	if err != nil || !o.Rest {
		return list, err
	}
	type key struct {
		level int
		label int32
	}
	more := map[key][]int{}
	for i, p := range rows {
		if p[level] >= 0 {
			continue
		}
		for at := range len(p) {
			nearest := level + 1 + at // coarser levels from the nearest, then finer ones
			if nearest >= len(p) {
				nearest = len(p) - 1 - at
			}
			if nearest >= 0 && p[nearest] >= 0 {
				of := key{nearest, p[nearest]}
				more[of] = append(more[of], i)
				break
			}
		}
	}
	for _, of := range slices.SortedFunc(maps.Keys(more), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.label, b.label))
	}) {
		list = append(list, class{of.label, more[of]})
	}
	return list, nil
}

// byPath returns the rows that have a finest class, or any class with all, sorted by path. Rows with the
// same path keep their order.
func byPath(rows []labels.Path, all bool) []int {
	var order []int
	for i, p := range rows {
		if p[0] >= 0 || all && p.Depth() > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(rows[a], rows[b]) })
	return order
}

// checkBatch returns an error if a batch does not divide into classes.
func checkBatch(batch, m int) error {
	if m < 2 {
		return fmt.Errorf("sample: m is %d, want at least 2 rows per class, which a ranking needs", m)
	}
	if batch < m || batch%m != 0 {
		return fmt.Errorf("sample: batch is %d, want a multiple of m = %d", batch, m)
	}
	return nil
}

// draw returns m rows of a class: without repeats if it has m, and otherwise m independent draws,
// as the released samplers do.
func draw(r *Random, c class, m int) []int {
	out := make([]int, m)
	if len(c.rows) < m {
		for i := range out {
			out[i] = c.rows[r.IntN(len(c.rows))]
		}
		return out
	}
	for i, at := range r.Choose(len(c.rows), m) {
		out[i] = c.rows[at]
	}
	return out
}

// shuffle puts a slice in random order.
func shuffle[T any](r *Random, s []T) {
	for i := len(s) - 1; i > 0; i-- {
		j := r.IntN(i + 1)
		s[i], s[j] = s[j], s[i]
	}
}
