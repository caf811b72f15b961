package cluster

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"hgld/internal/blas"
)

// TSNE holds the settings of t-SNE (van der Maaten and Hinton, JMLR 9, 2008), which
// draws the rows in two dimensions and keeps neighbours together. It minimises KL(P‖Q),
// with q_ij ∝ 1/(1+‖y_i−y_j‖²) and p_ij from Gaussians whose widths give each row
// Perplexity neighbours.
//
// The repulsion of all pairs is computed exactly. p_ij is taken as 0 beyond the
// 3·Perplexity nearest rows, as in Barnes–Hut t-SNE (JMLR 15, 2014). The picture starts
// from the first two principal components, scaled to a standard deviation of 1e-4. The
// schedule is scikit-learn's: 250 iterations with P exaggerated 12-fold and a momentum
// of 0.5, then 0.8; a rate of max(N/48, 50); Jacobs' gains.
//
// A picture depends only on the rows and the settings.
type TSNE struct {
	// Perplexity is the effective number of neighbours; 0 means 30, or (N−1)/3 if that
	// is less.
	Perplexity float64
	// MaxIter is the number of iterations; 0 means 1000.
	MaxIter int
	// Seed draws the noise of 1e-8 that separates equal rows.
	Seed  uint64
	BLAS  blas.Library        // nil means gonum
	Watch func(iteration int) // called after each iteration; may be nil
}

const (
	exaggeration    = 12
	exaggeratedFor  = 250
	leastGain       = 0.01
	widthIterations = 100
)

// Run returns a picture of x [N,2]. It needs at least 4 rows. If ctx is cancelled, it
// returns the error of ctx.
func (o TSNE) Run(ctx context.Context, x Matrix) (Matrix, error) {
	if x.Rows < 4 {
		return Matrix{}, fmt.Errorf("cluster: t-SNE of %d rows; want at least 4", x.Rows)
	}
	o.Perplexity = cmp.Or(o.Perplexity, min(30, float64(x.Rows-1)/3))
	o.MaxIter = cmp.Or(o.MaxIter, 1000)
	if !(o.Perplexity >= 1) || o.Perplexity >= float64(x.Rows) || o.MaxIter < 0 {
		return Matrix{}, fmt.Errorf("cluster: t-SNE with perplexity %v and %d iterations; want a perplexity from 1 to below "+
			"the %d rows", o.Perplexity, o.MaxIter, x.Rows)
	}
	e, err := o.affinities(x)
	if err != nil {
		return Matrix{}, fmt.Errorf("cluster: t-SNE: %w", err)
	}
	e.start(x, o.Seed)
	for it := range o.MaxIter {
		if err := ctx.Err(); err != nil {
			return Matrix{}, fmt.Errorf("cluster: t-SNE: %w", err)
		}
		momentum, scale := 0.8, 1.0
		if it < exaggeratedFor {
			momentum, scale = 0.5, exaggeration
		}
		e.gradient(scale)
		e.step(momentum)
		if o.Watch != nil {
			o.Watch(it + 1)
		}
	}
	y := NewMatrix(x.Rows, 2)
	for i := range x.Rows {
		y.Row(i)[0], y.Row(i)[1] = float32(e.y[0][i]), float32(e.y[1][i])
	}
	return y, nil
}

// affinity is p_ij of one neighbour j.
type affinity struct {
	row int
	p   float64
}

// embedding is a run of t-SNE. The two coordinates are stored apart, for speed.
type embedding struct {
	near  [][]affinity // of each row, by row; symmetric
	rate  float64
	y     [2][]float64
	speed [2][]float64
	gain  [2][]float64
	slope [2][]float64
	push  [2][]float64 // Σ_j q²·(y_i−y_j), not yet divided by Z
	z     []float64    // Σ_j 1/(1+‖y_i−y_j‖²)
}

// affinities computes P: for each row the width at which the entropy of its neighbours
// is ln(Perplexity), then p_ij = (p_{j|i} + p_{i|j}) / 2N.
func (o TSNE) affinities(x Matrix) (*embedding, error) {
	n := x.Rows
	k := min(n-1, int(3*o.Perplexity+1))
	rows, err := neighbourRows(x, k, o.BLAS)
	if err != nil {
		return nil, err
	}
	p, err := newPairs(x, o.BLAS, false)
	if err != nil {
		return nil, err
	}
	given := make([][]float64, n) // p_{j|i} in the order of rows[i]
	p.each(func(i int, d []float64) {
		own := make([]float64, k)
		for a, j := range rows[i] {
			own[a] = d[j]
		}
		given[i] = conditional(own, math.Log(o.Perplexity))
	})
	e := &embedding{near: make([][]affinity, n), rate: max(float64(n)/exaggeration/4, 50), z: make([]float64, n)}
	for c := range 2 {
		for _, v := range []*[]float64{&e.y[c], &e.speed[c], &e.gain[c], &e.slope[c], &e.push[c]} {
			*v = make([]float64, n)
		}
		for i := range n {
			e.gain[c][i] = 1
		}
	}
	for i := range n {
		for a, j := range rows[i] {
			half := given[i][a] / float64(2*n)
			e.add(i, j, half)
			e.add(j, i, half)
		}
	}
	return e, nil
}

func (e *embedding) add(i, j int, p float64) {
	for a := range e.near[i] {
		if e.near[i][a].row == j {
			e.near[i][a].p += p
			return
		}
	}
	e.near[i] = append(e.near[i], affinity{j, p})
}

// conditional returns p ∝ exp(−β·d2) with the β, found by bisection, that gives the
// entropy. Distances come nearest first.
func conditional(d2 []float64, entropy float64) []float64 {
	p := make([]float64, len(d2))
	beta, low, high := 1.0, 0.0, math.Inf(1)
	for range widthIterations {
		sum, dot := 0.0, 0.0
		for a, d := range d2 {
			p[a] = math.Exp(-beta * (d - d2[0]))
			sum += p[a]
			dot += p[a] * (d - d2[0])
		}
		h := math.Log(sum) + beta*dot/sum
		for a := range p {
			p[a] /= sum
		}
		if math.Abs(h-entropy) < 1e-5 {
			break
		}
		if h > entropy {
			low = beta
		} else {
			high = beta
		}
		if math.IsInf(high, 1) {
			beta *= 2
		} else {
			beta = (low + high) / 2
		}
	}
	return p
}

// start places the rows at their first two principal components, and at noise alone if
// there are fewer.
func (e *embedding) start(x Matrix, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	var first Matrix
	for dims := min(2, x.Cols); dims > 0 && first.Rows == 0; dims-- {
		if p, err := FitPCA(x, dims); err == nil {
			first = p.Project(x, false)
		}
	}
	scale := 0.0
	if first.Rows > 0 {
		for i := range first.Rows {
			scale += float64(first.Row(i)[0]) * float64(first.Row(i)[0])
		}
		scale = 1e-4 / math.Sqrt(scale/float64(first.Rows))
	}
	for i := range x.Rows {
		for c := range 2 {
			e.y[c][i] = 1e-8 * random.NormFloat64()
			if c < first.Cols {
				e.y[c][i] += scale * float64(first.Row(i)[c])
			}
		}
	}
}

// repulse computes push and z of every row.
func (e *embedding) repulse() (z float64) {
	ys, xs := e.y[1], e.y[0]
	tiles(len(xs), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			xi, yi := xs[i], ys[i]
			var sum, px, py float64
			for j, xj := range xs {
				dx, dy := xi-xj, yi-ys[j]
				q := 1 / (1 + dx*dx + dy*dy)
				sum += q
				q *= q
				px += q * dx
				py += q * dy
			}
			e.z[i], e.push[0][i], e.push[1][i] = sum-1, px, py // without the row itself
		}
	})
	for _, v := range e.z {
		z += v
	}
	return z
}

// gradient fills slope with dKL/dy = 4 Σ_j (scale·p_ij − q_ij)·(y_i−y_j)/(1+‖y_i−y_j‖²).
func (e *embedding) gradient(scale float64) {
	z := e.repulse()
	tiles(len(e.z), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var ax, ay float64
			for _, a := range e.near[i] {
				dx, dy := e.y[0][i]-e.y[0][a.row], e.y[1][i]-e.y[1][a.row]
				w := a.p / (1 + dx*dx + dy*dy)
				ax += w * dx
				ay += w * dy
			}
			e.slope[0][i] = 4 * (scale*ax - e.push[0][i]/z)
			e.slope[1][i] = 4 * (scale*ay - e.push[1][i]/z)
		}
	})
}

// step moves the rows. The rate of a coordinate grows while it keeps its direction and
// shrinks when it turns.
func (e *embedding) step(momentum float64) {
	for c := range 2 {
		for i, g := range e.slope[c] {
			if g*e.speed[c][i] < 0 {
				e.gain[c][i] += 0.2
			} else {
				e.gain[c][i] = max(leastGain, e.gain[c][i]*0.8)
			}
			e.speed[c][i] = momentum*e.speed[c][i] - e.rate*e.gain[c][i]*g
			e.y[c][i] += e.speed[c][i]
		}
	}
}
