package stats

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat/distuv"

	"hgld/internal/crash"
	"hgld/train/sample"
)

// Bootstrap computes intervals for the figures of a table by resampling its units with
// replacement (Efron, "Better Bootstrap Confidence Intervals", 1987).
type Bootstrap struct {
	Confidence float64 // such as 0.95
	Resamples  int     // number of resamples
	Seed       uint64  // of the resamples
	Threads    int     // 0: all processors; does not change the result
	Method     Method  // how an interval is computed from the resamples

	// Means are further figures. Each is the mean of the estimates of some columns, such as the
	// mean over levels.
	Means [][]int
}

// Method selects how an interval is computed from the distribution of the resamples.
type Method int

// Percentile takes quantiles of the resamples. BCa corrects them for bias and skewness. Expanded
// also widens BCa for a small number of units n, as Student's t widens a normal interval
// (Hesterberg, "What Teachers Should Know About the Bootstrap", 2015, 5.2): the normal quantile z
// becomes √(n/(n−1))·t_{n−1}.
const (
	Percentile Method = iota
	BCa
	Expanded
)

// Intervals returns an interval for each figure, those of Means last. If a figure is undefined or
// has fewer than two units, its interval is NaN to NaN. If all resamples are equal, the interval
// has zero width.
func (b Bootstrap) Intervals(t *Table) []Interval {
	figures := t.figures + len(b.Means)
	estimate := b.withMeans(t.Estimates())
	drawn := b.draw(t)
	speed := make([]float64, figures)
	if b.Method != Percentile {
		speed = b.acceleration(t)
	}
	units := b.unitsWithValues(t)
	intervals := make([]Interval, figures)
	parallel(b.Threads, figures, func(k int) {
		values := make([]float64, 0, b.Resamples)
		for r := range b.Resamples {
			if v := drawn[r*figures+k]; !math.IsNaN(v) { // a resample may have no value
				values = append(values, v)
			}
		}
		intervals[k] = b.interval(units[k], estimate[k], values, speed[k])
	})
	return intervals
}

// unitsWithValues counts, for each figure, the units that have a value. For a mean of columns it
// is the smallest count among the columns.
func (b Bootstrap) unitsWithValues(t *Table) []int {
	units := make([]int, t.figures, t.figures+len(b.Means))
	for k := range units {
		for u := range t.units {
			if t.counts[u*t.masks+t.mask[k]] > 0 {
				units[k]++
			}
		}
	}
	for _, columns := range b.Means {
		fewest := t.units
		for _, k := range columns {
			fewest = min(fewest, units[k])
		}
		units = append(units, fewest)
	}
	return units
}

// withMeans appends the figures of Means.
func (b Bootstrap) withMeans(estimates []float64) []float64 {
	for _, columns := range b.Means {
		sum := 0.0
		for _, k := range columns {
			sum += estimates[k]
		}
		estimates = append(estimates, sum/float64(len(columns)))
	}
	return estimates
}

// draw returns the figures of every resample, [resamples, figures]. Resample r draws as many
// units as there are, from the stream (seed, r).
func (b Bootstrap) draw(t *Table) []float64 {
	figures := t.figures + len(b.Means)
	all := make([]float64, b.Resamples*figures)
	type scratch struct {
		weight       []uint32
		sums, counts []float64
	}
	pool := sync.Pool{New: func() any {
		return &scratch{make([]uint32, t.units), make([]float64, t.figures), make([]float64, t.masks)}
	}}
	parallel(b.Threads, b.Resamples, func(r int) {
		s := pool.Get().(*scratch)
		defer pool.Put(s)
		clear(s.weight)
		clear(s.sums)
		clear(s.counts)
		random := sample.NewRandom(b.Seed, uint64(r))
		for range t.units {
			s.weight[random.IntN(t.units)]++
		}
		for u, w := range s.weight {
			if w > 0 {
				t.add(s.sums, s.counts, u, float64(w))
			}
		}
		row := all[r*figures:][:t.figures:figures]
		b.withMeans(t.ratios(row, s.sums, s.counts))
	})
	return all
}

// acceleration returns the acceleration of BCa for each figure: the skewness of the leave-one-out
// estimates, divided by 6.
func (b Bootstrap) acceleration(t *Table) []float64 {
	sums, counts := t.totals()
	figures := t.figures + len(b.Means)
	less := func(u int, each func(estimates []float64)) {
		s, c := slices.Clone(sums), slices.Clone(counts)
		t.add(s, c, u, -1)
		each(b.withMeans(t.ratios(make([]float64, t.figures, figures), s, c)))
	}
	mean := make([]float64, figures)
	for u := range t.units {
		less(u, func(estimates []float64) {
			for k, v := range estimates {
				mean[k] += v / float64(t.units)
			}
		})
	}
	squares, cubes := make([]float64, figures), make([]float64, figures)
	for u := range t.units {
		less(u, func(estimates []float64) {
			for k, v := range estimates {
				d := mean[k] - v
				squares[k] += d * d
				cubes[k] += d * d * d
			}
		})
	}
	for k, square := range squares {
		if square > 0 { // otherwise all are equal, and so are the resamples
			cubes[k] /= 6 * math.Pow(square, 1.5)
		}
	}
	return cubes
}

var normal = distuv.UnitNormal

// interval computes the interval of one figure from its resamples.
func (b Bootstrap) interval(units int, estimate float64, values []float64, speed float64) Interval {
	if units < 2 || math.IsNaN(estimate) || len(values) == 0 {
		return Interval{math.NaN(), math.NaN()}
	}
	slices.Sort(values)
	if values[0] == values[len(values)-1] {
		return Interval{values[0], values[0]}
	}
	z := normal.Quantile((1 + b.Confidence) / 2)
	if b.Method == Expanded {
		n := float64(units)
		z = math.Sqrt(n/(n-1)) * distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile((1+b.Confidence)/2)
	}
	bias := 0.0
	if b.Method != Percentile {
		below, _ := slices.BinarySearch(values, estimate)
		upTo, _ := slices.BinarySearch(values, math.Nextafter(estimate, math.Inf(1)))
		share := float64(below+upTo) / 2 / float64(len(values))
		least := 0.5 / float64(len(values)) // keeps the bias finite if all resamples are on one side
		bias = normal.Quantile(min(max(share, least), 1-least))
	}
	place := func(z float64) float64 {
		shifted := bias + (bias+z)/(1-speed*(bias+z))
		return quantile(values, normal.CDF(shifted))
	}
	return Interval{place(-z), place(z)}
}

// quantile interpolates between sorted values.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	if math.IsNaN(at) {
		return math.NaN()
	}
	i := min(int(at), len(sorted)-1)
	next := min(i+1, len(sorted)-1)
	return sorted[i] + (at-float64(i))*(sorted[next]-sorted[i])
}

// parallel calls do for 0 … n−1 on several threads.
func parallel(threads, n int, do func(i int)) {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(threads, n) {
		wait.Go(func() {
			defer crash.Guard()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}
