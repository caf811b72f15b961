package definition

import (
	"slices"

	"hgld/train/device"
)

// mixedScores appends to a query's scores those of all pairs of its first positives, which are
// positives too. fold adds the gradients by these to the gradients by the real scores.
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

// Circle lists the pairs of a class by distance around a circle.
func Circle(n int) (pairs [][2]int) {
	for d := 1; d <= n/2; d++ {
		for i := range n {
			if j := (i + d) % n; d < n-d || i < j {
				pairs = append(pairs, [2]int{min(i, j), max(i, j)})
			}
		}
	}
	return pairs
}

// MixedRows is a Ranking of a batch extended by the mixtures of every pair of rows of a class, class after
// class by falling label.
type MixedRows struct{ *Ranking }

// Add adds weight times the loss. There is no memory.
func (d MixedRows) Add(in *Batch, weight float64, r *Result) {
	more := &Batch{Query: slices.Clone(in.Query), Labels: slices.Clone(in.Labels)}
	var classes []int32
	for _, p := range in.Labels {
		classes = append(classes, p[d.From])
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
		for i, p := range in.Labels {
			if p[d.From] == c {
				rows = append(rows, i)
			}
		}
		for _, p := range Circle(in.PerClass) {
			a := slices.Concat(in.Drawn...)[len(pairs)]
			i, j := rows[p[0]], rows[p[1]]
			v := make([]float64, len(in.Query[i]))
			for d := range v {
				v[d] = a*in.Query[i][d] + (1-a)*in.Query[j][d]
			}
			more.Query, more.Labels = append(more.Query, v), append(more.Labels, in.Labels[i])
			pairs = append(pairs, pair{i, j, a})
		}
	}
	more.Own()
	part := Result{Query: ZerosLike(more.Query)}
	d.add(more, weight, &part)
	r.Value += part.Value
	addTo(r.Query, part.Query[:len(in.Query)])
	for n, p := range pairs {
		for d, v := range part.Query[len(in.Query)+n] {
			r.Query[p.i][d] += p.a * v
			r.Query[p.j][d] += (1 - p.a) * v
		}
	}
}
