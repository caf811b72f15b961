package figure

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"hgld/internal/report"
	"hgld/internal/texttable"
	"hgld/labels"
	"hgld/train/metric"
	"hgld/train/sample"
)

// Items are vectors with their labels.
type Items struct {
	Vectors [][]float64   // of unit length
	Labels  []labels.Path // finest first
	Truth   Truth         // decides how many levels two items share; nil: Labels do
}

// NewItems divides vectors of F32 numbers, cols each, by their lengths.
func NewItems(data []byte, cols int, list []labels.Path) *Items {
	it := &Items{Labels: list}
	for i := range list {
		row, square := make([]float64, cols), 0.0
		for k := range row {
			row[k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*(i*cols+k):])))
			square += row[k] * row[k]
		}
		for k := range row {
			row[k] /= max(math.Sqrt(square), 1e-12)
		}
		it.Vectors = append(it.Vectors, row)
	}
	return it
}

// Dealing says how items become mini-batches.
type Dealing struct {
	Sizes    []int  // of the batches
	PerClass int    // items of each finest class in a batch; 0: any items
	Batches  int    // greatest number of batches of a size; 0: those of one pass over the items
	Seed     uint64 // of the deal
}

// deal returns the rows of each batch of one pass. A batch that would be smaller is left out.
func (d *Dealing) deal(items *Items, size int) ([][]int, error) {
	random := sample.NewRandom(d.Seed)
	m := max(d.PerClass, 1)
	if size%m != 0 {
		return nil, fmt.Errorf("a batch of %d cannot hold %d items of each class", size, m)
	}
	groups := map[int32][]int{}
	var classes []int32
	for row, p := range items.Labels {
		class := p[0]
		if d.PerClass == 0 {
			class = int32(row)
		} else if class < 0 {
			continue
		}
		if groups[class] == nil {
			classes = append(classes, class)
		}
		groups[class] = append(groups[class], row)
	}
	var tuples [][]int
	for _, class := range classes {
		rows := groups[class]
		for i, at := range random.Choose(len(rows), len(rows)/m*m) {
			if i%m == 0 {
				tuples = append(tuples, nil)
			}
			tuples[len(tuples)-1] = append(tuples[len(tuples)-1], rows[at])
		}
	}
	var batches [][]int
	for i, at := range random.Choose(len(tuples), len(tuples)*m/size*(size/m)) {
		if i%(size/m) == 0 {
			if d.Batches > 0 && len(batches) == d.Batches {
				break
			}
			batches = append(batches, nil)
		}
		batches[len(batches)-1] = append(batches[len(batches)-1], tuples[at]...)
	}
	if len(batches) == 0 {
		return nil, fmt.Errorf("the items make no batch of %d", size)
	}
	return batches, nil
}

// scores returns the scores of a query and the other rows, in the order of rows.
func (it *Items) scores(query int, rows []int) (others []int, s []float64) {
	for _, row := range rows {
		if row == query {
			continue
		}
		sum := 0.0
		for i, v := range it.Vectors[query] {
			sum += v * it.Vectors[row][i]
		}
		others, s = append(others, row), append(s, sum)
	}
	return others, s
}

// ranked returns the shared levels of the other rows in the order of their scores. Rows of which the
// labels do not say how many they share are left out.
func (it *Items) ranked(query int, rows []int) []byte {
	others, s := it.scores(query, rows)
	order := make([]int, len(others))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s[b], s[a]) })
	path, shared := it.Labels[query], make([]byte, 0, len(order))
	if it.Truth != nil {
		all := make([]byte, len(it.Labels))
		it.Truth.Shared(all, query)
		for _, i := range order {
			shared = append(shared, all[others[i]])
		}
		return shared
	}
	for _, i := range order {
		other := it.Labels[others[i]]
		if n, known := path.Related(other, 0, len(path)); known || path.Depth() == 0 || other.Depth() == 0 {
			shared = append(shared, byte(n))
		}
	}
	return shared
}

// measure returns the mean of a figure over the rows, each a query among the others; NaN if it is undefined
// for all.
func (it *Items) measure(set metric.Set, key string, rows []int) float64 {
	levels := len(it.Labels[0])
	at := slices.Index(set.Keys(levels), key)
	values, list := make([]float64, len(set.Keys(levels))), metric.NewList(levels, metric.ScoreThenRow)
	var all []float64
	for _, q := range rows {
		list.Reset(it.ranked(q, rows))
		set.Measure(values, list)
		all = append(all, values[at])
	}
	mean, _ := metric.Mean(all)
	return mean
}

// mostPairs bounds the pairs of items that a figure compares.
const mostPairs = 1 << 28

// check returns an error unless the items can be dealt.
func (d *Dealing) check(items *Items) error {
	switch n := len(items.Vectors); {
	case n*n > mostPairs:
		return fmt.Errorf("%d items are too many to compare all pairs: want at most %d", n, 1<<14)
	case len(d.Sizes) == 0:
		return errors.New("no batch size is given")
	}
	for _, size := range d.Sizes {
		if size < 2 || size > len(items.Vectors) {
			return fmt.Errorf("a batch of %d of %d items: want 2 items or more, and no more than there are", size,
				len(items.Vectors))
		}
	}
	return nil
}

// Gap draws a metric of mini-batches by their size: the mean over the batches and their deviation, and the
// metric of all items together as a line. It is figure 2 of RaMBO; the distance to the line is the
// decomposability gap. Every item of a batch is a query among the others. key is the metric with its level.
func Gap(items *Items, d Dealing, key string, set metric.Set) (*Figure, error) {
	if err := d.check(items); err != nil {
		return nil, err
	}
	rows := make([]int, len(items.Vectors))
	for i := range rows {
		rows[i] = i
	}
	whole := 100 * items.measure(set, key, rows)
	f := &Figure{Plot: report.Plot{XLabel: "batch size", YLabel: key + " (%)", LogX: true, YMost: 100},
		Table: texttable.Table{Head: []string{"batch size", "batches", "mean", "deviation", "all items", "gap"}}}
	batches, all := report.Curve{Name: "mini-batches: mean ± deviation", Dots: true}, report.Curve{Name: "all items"}
	for _, size := range slices.Sorted(slices.Values(d.Sizes)) {
		deal, err := d.deal(items, size)
		if err != nil {
			return nil, err
		}
		var values []float64
		for _, batch := range deal {
			if v := 100 * items.measure(set, key, batch); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		mean, deviation := moments(values)
		f.Table.Rows = append(f.Table.Rows, []string{strconv.Itoa(size), strconv.Itoa(len(values)), number(mean),
			number(deviation), number(whole), number(mean - whole)})
		if len(values) > 0 {
			point := report.Point{X: float64(size), Y: mean}
			if len(values) > 1 {
				point.Low, point.High = max(mean-deviation, 0), min(mean+deviation, 100)
			}
			batches.Points = append(batches.Points, point)
		}
		all.Points = append(all.Points, report.Point{X: float64(size), Y: whole})
		f.Plot.XTicks = append(f.Plot.XTicks, float64(size))
	}
	f.Plot.Curves = []report.Curve{batches, all}
	return f, nil
}

// moments returns mean and standard deviation, NaN where they are undefined.
func moments(values []float64) (mean, deviation float64) {
	n, sum, squares := float64(len(values)), 0.0, 0.0
	for _, v := range values {
		sum += v
	}
	mean = sum / n
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(squares / (n - 1))
}

// Operating draws the share of differences of scores, over all pairs of two items of a batch and all its
// queries, at which the sigmoid of temperature tau has a slope above least: S7 (a) of Smooth-AP, whose least
// slope is 0.005. The query itself is no item. The mean is over the batches of one pass.
func Operating(items *Items, d Dealing, tau, least float64) (*Figure, error) {
	if err := d.check(items); err != nil {
		return nil, err
	}
	if !(tau > 0) || !(least > 0) {
		return nil, fmt.Errorf("tau is %v and the least slope %v, want positive numbers", tau, least)
	}
	reach := metric.OperatingRegion(tau, least)
	f := &Figure{Plot: report.Plot{XLabel: "batch size", YLabel: "differences in the operating region (%)", LogX: true,
		YMost: 100},
		Table: texttable.Table{Head: []string{"batch size", "batches", "share", "deviation", "half width"}}}
	curve := report.Curve{Dots: true}
	for _, size := range slices.Sorted(slices.Values(d.Sizes)) {
		deal, err := d.deal(items, size)
		if err != nil {
			return nil, err
		}
		var shares []float64
		for _, batch := range deal {
			within, pairs := 0, 0
			for _, q := range batch {
				_, s := items.scores(q, batch)
				within += metric.ClosePairs(s, reach)
				pairs += len(s) * (len(s) - 1) / 2
			}
			shares = append(shares, 100*float64(within)/float64(max(pairs, 1)))
		}
		mean, deviation := moments(shares)
		point := report.Point{X: float64(size), Y: mean}
		if len(shares) > 1 {
			point.Low, point.High = max(mean-deviation, 0), min(mean+deviation, 100)
		}
		curve.Points = append(curve.Points, point)
		f.Plot.XTicks = append(f.Plot.XTicks, point.X)
		f.Table.Rows = append(f.Table.Rows, []string{strconv.Itoa(size), strconv.Itoa(len(shares)), number(mean),
			number(deviation), number(reach)})
	}
	f.Plot.Curves = []report.Curve{curve}
	return f, nil
}
