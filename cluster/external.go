package cluster

import (
	"errors"
	"math"
)

// External compares a partition with a true one of the same items. Logarithms are
// natural.
//
// Adjusted measures have the expectation 0 for random partitions with the same sizes:
// the ARI of Hubert and Arabie (Journal of Classification 2, 1985), and the AMI of
// Vinh, Epps and Bailey (JMLR 11, 2010) with the arithmetic mean of the entropies.
// Where a formula gives 0/0, the conventions of scikit-learn apply: two equal
// partitions score 1 in all measures.
type External struct {
	ARI    float64 // over pairs of items
	MI     float64 // mutual information, in nats
	NMI    float64 // MI over the arithmetic mean of the entropies: the V-measure
	AMI    float64 // adjusted mutual information
	Purity float64 // Σ over the clusters of the largest overlap with a class, divided by n

	Items, Clusters int // number of items and of clusters
	Moves           int // items whose class is not the majority class of their cluster
}

// ActionsPerItem returns the curator's work on a draft per item: a move for each item
// in the wrong cluster, and a decision for each cluster.
func (e External) ActionsPerItem() float64 { return float64(e.Moves+e.Clusters) / float64(e.Items) }

// Compare measures predicted, the cluster of each item, against truth, its class. Both
// may use any numbers. No items are an error.
func Compare(truth, predicted []int) (External, error) {
	if len(truth) != len(predicted) {
		panic("cluster: Compare: lists of different length")
	}
	if len(truth) == 0 {
		return External{}, errors.New("cluster: the two partitions have no items to compare")
	}
	c := cross(truth, predicted)
	e := External{Items: len(truth), Clusters: len(c.cols)}
	e.pairs(c)
	e.information(c)
	majority := make([]int, len(c.cols))
	for _, cell := range c.cells {
		majority[cell.col] = max(majority[cell.col], cell.count)
	}
	e.Moves = e.Items
	for _, m := range majority {
		e.Moves -= m
	}
	e.Purity = float64(e.Items-e.Moves) / float64(e.Items)
	return e, nil
}

// table is a contingency table: items of each class and cluster, in order of
// first appearance.
type table struct {
	n          int
	rows, cols []int
	cells      []cell
}

type cell struct{ row, col, count int }

func cross(truth, predicted []int) table {
	number := func(of []int) (ids []int, sizes []int) {
		index := map[int]int{}
		for _, v := range of {
			id, known := index[v]
			if !known {
				id = len(index)
				index[v] = id
				sizes = append(sizes, 0)
			}
			ids = append(ids, id)
			sizes[id]++
		}
		return ids, sizes
	}
	a, rows := number(truth)
	b, cols := number(predicted)
	t := table{n: len(truth), rows: rows, cols: cols}
	index := map[[2]int]int{}
	for i := range a {
		at, known := index[[2]int{a[i], b[i]}]
		if !known {
			at = len(t.cells)
			index[[2]int{a[i], b[i]}] = at
			t.cells = append(t.cells, cell{a[i], b[i], 0})
		}
		t.cells[at].count++
	}
	return t
}

// equal reports whether both partitions are the same except for their numbers.
func (t table) equal() bool { return len(t.cells) == len(t.rows) && len(t.cells) == len(t.cols) }

func (e *External) pairs(t table) {
	choose := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	var both, rows, cols float64
	for _, c := range t.cells {
		both += choose(c.count)
	}
	for _, r := range t.rows {
		rows += choose(r)
	}
	for _, c := range t.cols {
		cols += choose(c)
	}
	all := choose(t.n)
	e.ARI = 1
	if !t.equal() {
		chance := rows * cols / all
		e.ARI = (both - chance) / ((rows+cols)/2 - chance)
	}
}

func (e *External) information(t table) {
	n := float64(t.n)
	entropy := func(sizes []int) (h float64) {
		for _, s := range sizes {
			h -= float64(s) / n * math.Log(float64(s)/n)
		}
		return h
	}
	for _, c := range t.cells {
		e.MI += float64(c.count) / n * math.Log(n*float64(c.count)/float64(t.rows[c.row])/float64(t.cols[c.col]))
	}
	e.MI = max(0, e.MI)
	if t.equal() {
		e.NMI, e.AMI = 1, 1
		return
	}
	if len(t.rows) == 1 || len(t.cols) == 1 { // one partition says nothing about the other
		return
	}
	mean, chance := (entropy(t.rows)+entropy(t.cols))/2, t.expectedMI()
	e.NMI = e.MI / mean
	e.AMI = (e.MI - chance) / (mean - chance)
}

// expectedMI is the mean of MI over all tables with the same margins, cell
// counts being hypergeometric (Vinh, Epps and Bailey 2010, equation 24a).
func (t table) expectedMI() float64 {
	logFactorial := make([]float64, t.n+1)
	for i := 2; i <= t.n; i++ {
		logFactorial[i] = logFactorial[i-1] + math.Log(float64(i))
	}
	n, sum := float64(t.n), 0.0
	for _, a := range t.rows {
		for _, b := range t.cols {
			for k := max(1, a+b-t.n); k <= min(a, b); k++ {
				p := logFactorial[a] + logFactorial[b] + logFactorial[t.n-a] + logFactorial[t.n-b] -
					logFactorial[t.n] - logFactorial[k] - logFactorial[a-k] - logFactorial[b-k] - logFactorial[t.n-a-b+k]
				sum += float64(k) / n * math.Log(n*float64(k)/float64(a)/float64(b)) * math.Exp(p)
			}
		}
	}
	return sum
}
