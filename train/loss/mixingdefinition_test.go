package loss_test

import (
	"slices"
	"testing"

	"hgld/train/device"
	"hgld/train/loss"
)

// mixedScores appends to the scores of a query those of all pairs of its first
// positives, which are positives too. fold adds the gradients by these to those by
// the real ones.
func mixedScores(s []float64, sh []uint8, most int, share []float64) (mixed []float64, levels []uint8,
	fold func([]float64)) {
	var found []int
	for i, l := range sh {
		if l >= 1 && l != device.AbsentLevel && len(found) < most {
			found = append(found, i)
		}
	}
	mixed, levels = slices.Clone(s), slices.Clone(sh)
	type pair struct {
		i, j int
		a    float64
	}
	var pairs []pair
	at := 0
	for i := range most {
		for j := i + 1; j < most; j++ {
			if a := share[at]; j < len(found) {
				mixed = append(mixed, a*s[found[i]]+(1-a)*s[found[j]])
				levels = append(levels, 1)
				pairs = append(pairs, pair{found[i], found[j], a})
			}
			at++
		}
	}
	return mixed, levels, func(ds []float64) {
		for n, p := range pairs {
			ds[p.i] += p.a * ds[len(s)+n]
			ds[p.j] += (1 - p.a) * ds[len(s)+n]
		}
	}
}

// circle lists the pairs of a class by their distance around a circle.
func circle(n int) (pairs [][2]int) {
	for d := 1; d <= n/2; d++ {
		for i := range n {
			if j := (i + d) % n; d < n-d || i < j {
				pairs = append(pairs, [2]int{min(i, j), max(i, j)})
			}
		}
	}
	return pairs
}

// addMixedRows is the loss of a batch to which the mixtures of every pair of rows
// of a class have been added, class after class by falling label.
func addMixedRows(t *testing.T, k loss.RecallAtKOriginal, in *batch, weight float64, r *result) {
	t.Helper()
	more := &batch{query: slices.Clone(in.query), labels: slices.Clone(in.labels)}
	var classes []int32
	for _, p := range in.labels {
		classes = append(classes, p[k.Level])
	}
	slices.Sort(classes)
	classes = slices.Compact(classes)
	slices.Reverse(classes)
	type pair struct {
		i, j int
		a    float64
	}
	var pairs []pair
	for _, c := range classes {
		var rows []int
		for i, p := range in.labels {
			if p[k.Level] == c {
				rows = append(rows, i)
			}
		}
		for _, p := range circle(in.perClass) {
			a := slices.Concat(in.drawn...)[len(pairs)]
			i, j := rows[p[0]], rows[p[1]]
			v := make([]float64, len(in.query[i]))
			for d := range v {
				v[d] = a*in.query[i][d] + (1-a)*in.query[j][d]
			}
			more.query, more.labels = append(more.query, v), append(more.labels, in.labels[i])
			pairs = append(pairs, pair{i, j, a})
		}
	}
	more.own()
	d := rankingOf(t, k, len(in.labels[0]), len(in.query))
	part := result{query: like(more.query)}
	d.add(more, weight, &part)
	r.value += part.value
	addTo(r.query, part.query[:len(in.query)])
	for n, p := range pairs {
		for d, v := range part.query[len(in.query)+n] {
			r.query[p.i][d] += p.a * v
			r.query[p.j][d] += (1 - p.a) * v
		}
	}
}
