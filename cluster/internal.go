package cluster

import (
	"fmt"
	"math"
	"slices"

	"hgld/internal/blas"
)

// Internal measures a partition by the vectors alone. The measures are undefined for
// one cluster and for as many clusters as rows.
type Internal struct {
	Silhouette       float64 `json:"silhouette"`        // mean of Silhouettes, −1 to 1; higher is better
	SilhouetteCosine float64 `json:"silhouette_cosine"` // the same with 1 − cos as distance
	CalinskiHarabasz float64 `json:"calinski_harabasz"` // higher is better
	DaviesBouldin    float64 `json:"davies_bouldin"`    // lower is better
}

// Measure computes all internal measures. For clusters of n_k rows with means c_k
// around the mean c of all N rows,
//
//	Calinski–Harabasz = Σ n_k‖c_k − c‖² / (K−1) · (N−K) / Σ‖x − c_k‖²
//	Davies–Bouldin    = mean_k max_{l≠k} (s_k + s_l) / ‖c_k − c_l‖
//
// where s_k is the mean distance of a row to its c_k (Communications in Statistics 3,
// 1974; IEEE PAMI 1, 1979). As in scikit-learn, the first is 1 if all rows equal their
// means, and coinciding means do not count in the second. lib computes the matrix
// products; nil means gonum.
func Measure(x Matrix, labels []int32, lib blas.Library) (Internal, error) {
	var m Internal
	for i, cosine := range []bool{false, true} {
		each, err := Silhouettes(x, labels, cosine, lib)
		if err != nil {
			return Internal{}, err
		}
		sum := 0.0
		for _, s := range each {
			sum += s
		}
		*[]*float64{&m.Silhouette, &m.SilhouetteCosine}[i] = sum / float64(len(each))
	}
	own, sizes := renumber(labels)
	c := scatterOf(x, own, sizes)
	m.CalinskiHarabasz = 1
	if n, k := float64(x.Rows), float64(len(sizes)); c.within > 0 {
		m.CalinskiHarabasz = c.between / (k - 1) * (n - k) / c.within
	}
	m.DaviesBouldin = c.daviesBouldin()
	return m, nil
}

// Silhouettes returns (b−a)/max(a,b) for each row, where a is its mean distance to the
// other rows of its cluster and b that to the rows of the nearest other cluster
// (Rousseeuw, J. Comput. Appl. Math. 20, 1987). It is 0 for a row alone in its cluster.
// The distance is Euclidean, or 1 − cos.
func Silhouettes(x Matrix, labels []int32, cosine bool, lib blas.Library) ([]float64, error) {
	own, sizes := renumber(labels)
	if err := checkPartition(x, labels, len(sizes)); err != nil {
		return nil, err
	}
	p, err := newPairs(x, lib, cosine)
	if err != nil {
		return nil, fmt.Errorf("cluster: silhouette: %w", err)
	}
	s := make([]float64, x.Rows)
	p.each(func(i int, d []float64) {
		if sizes[own[i]] == 1 {
			return
		}
		sums := make([]float64, len(sizes))
		for j, v := range d {
			if !cosine {
				v = math.Sqrt(v)
			}
			sums[own[j]] += v
		}
		a, b := sums[own[i]]/float64(sizes[own[i]]-1), math.Inf(1)
		for k, sum := range sums {
			if k != own[i] {
				b = min(b, sum/float64(sizes[k]))
			}
		}
		if larger := max(a, b); larger > 0 {
			s[i] = (b - a) / larger
		}
	})
	return s, nil
}

func checkPartition(x Matrix, labels []int32, k int) error {
	if len(labels) != x.Rows {
		panic("cluster: a partition of another number of rows")
	}
	if k < 2 || k >= x.Rows {
		return fmt.Errorf("cluster: measures of %d clusters of %d rows are not defined; want 2 to %d clusters", k, x.Rows,
			x.Rows-1)
	}
	if err := x.finite(); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// renumber numbers the labels that occur from 0 in ascending order, and counts them.
func renumber(labels []int32) (own []int, sizes []int) {
	used := slices.Compact(slices.Sorted(slices.Values(labels)))
	own, sizes = make([]int, len(labels)), make([]int, len(used))
	for i, l := range labels {
		own[i], _ = slices.BinarySearch(used, l)
		sizes[own[i]]++
	}
	return own, sizes
}

// scatter describes how the rows of a partition lie around its means.
type scatter struct {
	d               int
	means           []float64 // [K,D]
	spread          []float64 // mean distance of a cluster's rows to their mean
	within, between float64
}

func scatterOf(x Matrix, own, sizes []int) *scatter {
	s := &scatter{d: x.Cols, means: make([]float64, len(sizes)*x.Cols), spread: make([]float64, len(sizes))}
	for i, k := range own {
		for j, v := range x.Row(i) {
			s.means[k*x.Cols+j] += float64(v)
		}
	}
	for at := range s.means {
		s.means[at] /= float64(sizes[at/x.Cols])
	}
	for i, k := range own {
		d := distance2(x.Row(i), s.mean(k))
		s.within += d
		s.spread[k] += math.Sqrt(d) / float64(sizes[k])
	}
	all, _ := meanScatter(x)
	for k, size := range sizes {
		s.between += float64(size) * gap2(s.mean(k), all)
	}
	return s
}

func (s *scatter) mean(k int) []float64 { return s.means[k*s.d : (k+1)*s.d] }

func (s *scatter) daviesBouldin() float64 {
	sum := 0.0
	for k, a := range s.spread {
		worst := 0.0
		for l, b := range s.spread {
			if apart := math.Sqrt(gap2(s.mean(k), s.mean(l))); l != k && apart > 0 {
				worst = max(worst, (a+b)/apart)
			}
		}
		sum += worst
	}
	return sum / float64(len(s.spread))
}

// gap2 returns ‖a−b‖².
func gap2(a, b []float64) float64 {
	s := 0.0
	for j, v := range a {
		s += (v - b[j]) * (v - b[j])
	}
	return s
}

// Trustworthiness measures how well a picture y of the rows x keeps neighbours: it is 1
// if the k nearest rows of each row in y are among its k nearest in x (Venna and Kaski,
// ICANN 2001). It is
//
//	1 − 2/(N·k·(2N−3k−1)) Σ_i Σ_j (rank of j from i in x − k)
//
// over those of the k nearest j in y that are not among the k nearest in x. A tie goes
// to the lower row. It is defined for 1 ≤ k < N/2.
func Trustworthiness(x, y Matrix, k int, lib blas.Library) (float64, error) {
	n := x.Rows
	if y.Rows != n {
		panic("cluster: Trustworthiness: a picture of other rows")
	}
	if k < 1 || 2*k >= n {
		return 0, fmt.Errorf("cluster: trustworthiness of %d neighbours among %d rows is not defined; want 1 to %d", k, n,
			(n-1)/2)
	}
	nearest, err := neighbourRows(y, k, lib)
	if err != nil {
		return 0, fmt.Errorf("cluster: trustworthiness: %w", err)
	}
	p, err := newPairs(x, lib, false)
	if err != nil {
		return 0, fmt.Errorf("cluster: trustworthiness: %w", err)
	}
	worse := make([]int, n)
	p.each(func(i int, d []float64) {
		for _, j := range nearest[i] {
			rank := 1
			for l, v := range d {
				if l != i && (v < d[j] || v == d[j] && l < j) {
					rank++
				}
			}
			worse[i] += max(0, rank-k)
		}
	})
	total := 0
	for _, w := range worse {
		total += w
	}
	return 1 - 2*float64(total)/(float64(n)*float64(k)*float64(2*n-3*k-1)), nil
}

// neighbourRows returns the k nearest rows of each row, nearest first.
func neighbourRows(x Matrix, k int, lib blas.Library) ([][]int, error) {
	p, err := newPairs(x, lib, false)
	if err != nil {
		return nil, err
	}
	rows := make([][]int, x.Rows)
	p.each(func(i int, d []float64) {
		order := make([]int, 0, k+1)
		for j, v := range d {
			if j == i || len(order) == k && v >= d[order[k-1]] {
				continue
			}
			at, _ := slices.BinarySearchFunc(order, v, func(l int, v float64) int {
				if d[l] <= v { // rows come in order, so this one comes after its equals
					return -1
				}
				return 1
			})
			order = slices.Insert(order, at, j)
			order = order[:min(k, len(order))]
		}
		rows[i] = order
	})
	return rows, nil
}

// Stability measures how much partitions of the same rows from different seeds agree:
// the mean adjusted Rand index of their pairs, 1 if all are equal. It needs at least
// two.
func Stability(partitions [][]int32) (float64, error) {
	if len(partitions) < 2 {
		return 0, fmt.Errorf("cluster: stability of %d partitions is not defined; want 2 or more", len(partitions))
	}
	sum, wide := 0.0, make([][]int, len(partitions))
	for i, p := range partitions {
		wide[i], _ = renumber(p)
	}
	for i, p := range wide {
		for _, q := range wide[:i] {
			e, err := Compare(p, q)
			if err != nil {
				return 0, err
			}
			sum += e.ARI
		}
	}
	return sum / float64(len(wide)*(len(wide)-1)/2), nil
}
