// Package stats quantifies the uncertainty of measured figures. It has bootstrap intervals for
// means over queries, randomisation tests for two models on the same queries, Holm's correction
// for several tests, and Student's interval for a few training runs.
//
// Every random number is a function of a seed and the number of the resample, so results do not
// depend on the number of threads.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Interval is a confidence interval from Low to High.
type Interval struct{ Low, High float64 }

// Clip returns the part of the interval from low to high, the range of the figure. Student's
// interval ignores that range and may leave it. An interval wholly outside becomes the nearer end.
func (i Interval) Clip(low, high float64) Interval {
	return Interval{min(max(i.Low, low), high), min(max(i.High, low), high)}
}

// Table holds the values of several figures for the units that are resampled. A unit is a query,
// or a class with all its queries. The estimate of a figure is the mean of its values.
type Table struct {
	units, figures int
	sums           []float64 // [units, figures], 0 where a figure has no value
	counts         []float64 // [units, masks]: number of values in each sum
	masks          int
	mask           []int // column of counts for each figure
}

// ByQuery makes a table whose units are queries. columns[k][q] is the value of figure k for query
// q, NaN if it is undefined. All columns must have the same length.
func ByQuery(columns [][]float64) *Table {
	queries := 0
	if len(columns) > 0 {
		queries = len(columns[0])
	}
	class := make([]int, queries)
	for q := range class {
		class[q] = q
	}
	return ByClass(columns, class)
}

// ByClass makes a table whose units are the classes of the queries. class[q] is the class of
// query q, any number. Units are in the order in which the classes first appear.
func ByClass(columns [][]float64, class []int) *Table {
	unit, units := unitsOf(class)
	t := &Table{units: units, figures: len(columns), sums: make([]float64, units*len(columns))}
	var counts [][]float64 // distinct ones, each over all units
	for k, column := range columns {
		count := make([]float64, units)
		for q, v := range column {
			if !math.IsNaN(v) {
				t.sums[unit[q]*t.figures+k] += v
				count[unit[q]]++
			}
		}
		at := slices.IndexFunc(counts, func(other []float64) bool { return slices.Equal(other, count) })
		if at < 0 {
			at, counts = len(counts), append(counts, count)
		}
		t.mask = append(t.mask, at)
	}
	t.masks = len(counts)
	t.counts = make([]float64, units*t.masks)
	for m, count := range counts {
		for u, n := range count {
			t.counts[u*t.masks+m] = n
		}
	}
	return t
}

// unitsOf numbers classes by first appearance.
func unitsOf(class []int) (unit []int, units int) {
	number := map[int]int{}
	unit = make([]int, len(class))
	for q, c := range class {
		u, known := number[c]
		if !known {
			u = len(number)
			number[c] = u
		}
		unit[q] = u
	}
	return unit, len(number)
}

// MeansOfClasses makes a table whose units are classes and whose figures are means over classes.
// Every class has the same weight, with the mean over its queries.
func MeansOfClasses(columns [][]float64, class []int) *Table {
	t := ByClass(columns, class)
	for u := range t.units {
		for k := range t.figures {
			if n := t.counts[u*t.masks+t.mask[k]]; n > 0 {
				t.sums[u*t.figures+k] /= n
			}
		}
	}
	for i, n := range t.counts {
		t.counts[i] = min(n, 1)
	}
	return t
}

// Units returns the number of units.
func (t *Table) Units() int { return t.units }

// Estimates returns every figure, NaN if no unit has a value.
func (t *Table) Estimates() []float64 {
	sums, counts := t.totals()
	return t.ratios(make([]float64, t.figures), sums, counts)
}

// totals adds up all units.
func (t *Table) totals() (sums, counts []float64) {
	sums, counts = make([]float64, t.figures), make([]float64, t.masks)
	for u := range t.units {
		t.add(sums, counts, u, 1)
	}
	return sums, counts
}

// add adds a unit to the totals, weight times.
func (t *Table) add(sums, counts []float64, unit int, weight float64) {
	floats.AddScaled(sums, weight, t.sums[unit*t.figures:][:t.figures])
	floats.AddScaled(counts, weight, t.counts[unit*t.masks:][:t.masks])
}

// ratios divides sums by their counts.
func (t *Table) ratios(dst, sums, counts []float64) []float64 {
	for k, sum := range sums {
		dst[k] = sum / counts[t.mask[k]]
	}
	return dst
}
