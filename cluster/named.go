package cluster

import (
	"context"
	"math"

	"hgld/internal/blas"
	"hgld/internal/usage"
)

// named are groups that a plan has by name. A tag belongs to the group whose name is
// nearest to it by direction, if it leads the second nearest by margin. The others, the
// rest, are clustered.
type named struct {
	names  []string
	x      Matrix // unit vectors of the names
	margin float64
	rest   *Plan
	k      int // clusters of the rest
}

// NameGroups makes a plan put tags into groups declared by name: those that are clearly
// nearest to one name, by a cosine that exceeds the second best by at least margin. The
// other tags form the remaining clusters. x has the vectors of the names, as the encoder
// of the tags makes them. The error is a usage error.
func (p *Plan) NameGroups(names []string, x Matrix, margin float64) error {
	switch {
	case p.base.Known != nil:
		return usage.Errorf("groups by name and groups kept from an earlier hierarchy cannot be combined; choose one")
	case p.options.Center || p.options.PCA > 0:
		return usage.Errorf("groups by name need the vectors as they were encoded; leave out center and pca")
	case len(names) < 2 || x.Rows != len(names) || x.Cols != p.x.Cols:
		return usage.Errorf("%d names with %d vectors of %d values; want two or more names, and %d values as the tags have",
			len(names), x.Rows, x.Cols, p.x.Cols)
	}
	unit, _, err := normalize(x)
	if err != nil {
		return usage.Wrap(err)
	}
	p.named = &named{names: names, x: unit, margin: margin}
	return nil
}

// Leads returns for each row of x the row of names that is nearest by direction, and by how
// much its cosine exceeds that of the second nearest. The rows of both have unit length.
func Leads(lib blas.Library, x, names Matrix) (nearest []int, leads []float64) {
	nearest, leads = make([]int, x.Rows), make([]float64, x.Rows)
	cosines := make([]float32, leadRows*names.Rows)
	for from := 0; from < x.Rows; from += leadRows {
		n := min(leadRows, x.Rows-from)
		lib.Sgemm(false, true, n, names.Rows, x.Cols, 1, x.Data[from*x.Cols:], x.Cols, names.Data, names.Cols, 0, cosines,
			names.Rows)
		for i := range n {
			nearest[from+i], leads[from+i] = Lead(cosines[i*names.Rows:][:names.Rows])
		}
	}
	return nearest, leads
}

// leadRows is the number of rows that are compared with all names at once.
const leadRows = 512

// Lead returns the place of the largest value and how much it exceeds the second largest.
func Lead(values []float32) (at int, by float64) {
	second := float32(math.Inf(-1))
	for i, v := range values[1:] {
		if v > values[at] {
			second, at = values[at], i+1
		} else {
			second = max(second, v)
		}
	}
	return at, float64(values[at]) - float64(second)
}

// split returns the group of each row of the plan, −1 for the rest.
func (p *Plan) split() ([]int32, error) {
	unit, _, err := normalize(p.x)
	if err != nil {
		return nil, err
	}
	nearest, leads := Leads(p.base.BLAS, unit, p.named.x)
	of := make([]int32, len(nearest))
	for i, g := range nearest {
		if of[i] = int32(g); leads[i] < p.named.margin {
			of[i] = -1
		}
	}
	return of, nil
}

// runNamed is Run of a plan with groups by name.
func (p *Plan) runNamed(ctx context.Context, k int, seed uint64, watch func(Iteration)) (*Result, error) {
	n := p.named
	if k < p.Least() {
		return nil, usage.Errorf("k is %d, but %d groups have names; choose a larger k to leave clusters for the other tags",
			k, len(n.names))
	}
	of, err := p.split()
	if err != nil {
		return nil, err
	}
	n.rest = p.Without(func(i int) bool { return of[i] >= 0 })
	n.rest.named = nil
	if err := n.rest.SetOptions(p.options); err != nil {
		return nil, err
	}
	rest := &Result{Algorithm: "names"}
	if n.k = min(k-len(n.names), len(n.rest.Tags)); n.k > 0 {
		if rest, err = n.rest.Run(ctx, n.k, seed, watch); err != nil {
			return nil, err
		}
		rest.Algorithm = "names, " + rest.Algorithm
	}
	return p.join(of, rest), nil
}

// join puts the partition of the rest after the groups by name.
func (p *Plan) join(of []int32, rest *Result) *Result {
	n, r := p.named, *rest
	groups := len(n.names)
	r.Labels, r.Sizes = make([]int32, len(of)), append(make([]int, groups), rest.Sizes...)
	r.Known = &Known{Names: n.names, Of: of}
	next := 0
	for i, g := range of {
		if g < 0 {
			g = int32(groups) + rest.Labels[next]
			next++
		} else {
			r.Sizes[g]++
		}
		r.Labels[i] = g
	}
	r.Centroids = append(make([]float64, groups*p.x.Cols), rest.Centroids...)
	n.place(&r)
	return &r
}

// place sets the centroids of the groups to their names.
func (n *named) place(r *Result) {
	for i, v := range n.x.Data {
		r.Centroids[i] = float64(v)
	}
}
