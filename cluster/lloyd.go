package cluster

import (
	"cmp"
	"context"
	"slices"

	"hgld/internal/blas"
)

// descent is one run of Lloyd's rule.
type descent struct {
	*problem
	lib       blas.Library
	centroids []float64 // [K,D] in the space of y
	c         Matrix    // the same in float32
	cc        []float32 // squared lengths of c; all zero for spherical k-means
	index     []int32   // nearest centroid of each row [N]
	dist      []float32 // cc − 2y·c of that centroid [N]
	labels    []int32   // index, except for rows that an empty cluster took [N]
	sizes     []int     // rows of each label [K]
	sums      []float64 // of the rows of each label in summed [K,D]
	summed    []int32   // labels that sums is made from, −1 for none [N]; nil at first
	enter     []int32   // the sum that each row enters, −1 for none [N]
	leave     []int32   // the sum that each row leaves [N]
	left      []float64 // sums of the rows that leave [K,D]
	masses    []float64 // weight of the rows of each label [K]
	bounds    *bounds   // of Elkan; nil for others
}

// descend alternates assignment and means from the given start until no label changes,
// no centroid moves, or MaxIter assignments are made. The result is the
// last assignment.
func (p *problem) descend(ctx context.Context, o KMeans, from start, restart int) (*Result, error) {
	w := newDescent(p, o, from.centroids)
	if o.Algorithm == Elkan {
		w.bounds = newBounds(w, from.products)
	}
	r := &Result{Restart: restart}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		it := Iteration{Restart: restart, Iteration: len(r.History) + 1}
		it.Moved, it.Inertia = w.assign()
		stop := it.Moved == 0 || it.Iteration == o.MaxIter || o.Algorithm == MiniBatch
		if !stop {
			it.Refilled = w.refill()
			it.Shift = w.move()
			stop = it.Shift == 0
		}
		r.History = append(r.History, it)
		if o.Watch != nil {
			o.Watch(it)
		}
		if stop {
			break
		}
	}
	r.Iterations = len(r.History)
	r.Labels, r.Sizes = w.index, make([]int, o.K)
	for _, k := range r.Labels {
		r.Sizes[k]++
	}
	p.finish(r, w.centroids)
	return r, nil
}

func newDescent(p *problem, o KMeans, start []float64) *descent {
	n, d := p.y.Rows, p.y.Cols
	w := &descent{problem: p, lib: o.BLAS, centroids: start,
		c: NewMatrix(o.K, d), cc: make([]float32, o.K), labels: make([]int32, n), sizes: make([]int, o.K),
		masses: make([]float64, o.K),
		index:  make([]int32, n), dist: make([]float32, n), sums: make([]float64, o.K*d)}
	for i := range w.labels {
		w.labels[i] = -1
	}
	return w
}

// assign assigns every row to its nearest centroid. It returns the number of rows that
// changed, and the inertia.
func (w *descent) assign() (moved int, inertia float64) {
	for i, v := range w.centroids {
		w.c.Data[i] = float32(v)
	}
	if w.norms == nil {
		for k := range w.cc {
			w.cc[k] = float32(square(w.c.Row(k)))
		}
	}
	if w.bounds != nil {
		w.bounds.assign()
	} else {
		nearestRows(w.lib, w.index, w.dist, w.y, w.c, w.cc)
	}
	w.keepKnown()
	clear(w.sizes)
	clear(w.masses)
	for i, k := range w.index {
		if k != w.labels[i] {
			moved++
		}
		w.labels[i] = k
		w.sizes[k]++
		weight := w.weight(i)
		w.masses[k] += weight
		if w.norms != nil {
			inertia += weight * max(0, 1+float64(w.dist[i])/2) // dist is −2cos
		} else {
			inertia += weight * max(0, w.yy[i]+float64(w.dist[i]))
		}
	}
	return moved, inertia
}

// keepKnown keeps the rows of known groups in their groups.
func (w *descent) keepKnown() {
	if w.known == nil {
		return
	}
	for i, g := range w.known.Of {
		if g >= 0 {
			w.index[i], w.dist[i] = g, w.cc[g]-2*dot(w.y.Row(i), w.c.Row(int(g)))
		}
	}
}

// refill gives every empty cluster the row farthest from its own centroid.
func (w *descent) refill() int {
	var empty []int
	for k, size := range w.sizes {
		if size == 0 {
			empty = append(empty, k)
		}
	}
	if len(empty) == 0 {
		return 0
	}
	far, rows := make([]float64, len(w.labels)), make([]int, len(w.labels))
	d := w.y.Cols
	for i, k := range w.labels {
		rows[i] = i
		far[i] = distance2(w.y.Row(i), w.centroids[int(k)*d:int(k+1)*d])
		if w.known.fixed(i) {
			far[i] = -1
		}
	}
	slices.SortFunc(rows, func(a, b int) int { return cmp.Or(cmp.Compare(far[b], far[a]), cmp.Compare(a, b)) })
	for e, k := range empty {
		i := rows[e]
		if w.known.fixed(i) { // no other row is left
			return e
		}
		w.sizes[w.labels[i]]--
		w.masses[w.labels[i]] -= w.weight(i)
		w.labels[i] = int32(k)
		w.sizes[k]++
		w.masses[k] += w.weight(i)
	}
	return len(empty)
}

// move puts every centroid at the mean of its rows and returns Σ‖c−c'‖². A cluster
// without rows, or whose rows sum to no direction, stays where it is.
func (w *descent) move() (shift float64) {
	w.sum()
	d := w.y.Cols
	each, next := make([]float64, len(w.sizes)), make([]float64, len(w.sums))
	copy(next, w.sums)
	parallel(len(w.sizes), func(k int) {
		to, c := next[k*d:(k+1)*d], w.centroids[k*d:(k+1)*d]
		if w.sizes[k] == 0 || !mean(to, w.masses[k], w.norms != nil) {
			return
		}
		each[k] = gap2(to, c)
		copy(c, to)
	})
	for _, e := range each {
		shift += e
	}
	return shift
}

// sum updates the sums in float64: rows that changed their cluster leave one sum and
// enter another. After the first iterations only few rows change.
func (w *descent) sum() {
	if w.summed == nil {
		w.summed, w.enter, w.leave = make([]int32, len(w.labels)), make([]int32, len(w.labels)), make([]int32, len(w.labels))
		w.left = make([]float64, len(w.sums))
		for i := range w.summed {
			w.summed[i] = -1
		}
	}
	for i, k := range w.labels {
		w.enter[i], w.leave[i] = k, w.summed[i]
		if k == w.summed[i] {
			w.enter[i], w.leave[i] = -1, -1
		}
		w.summed[i] = k
	}
	w.scatter(w.sums, w.enter)
	clear(w.left)
	w.scatter(w.left, w.leave)
	d := w.y.Cols
	for i, v := range w.left {
		w.sums[i] -= v
	}
	for k, size := range w.sizes {
		if size == 0 { // no rounding error may remain
			clear(w.sums[k*d : (k+1)*d])
		}
	}
}

func (w *descent) scatter(dst []float64, index []int32) {
	if w.weights == nil {
		scatterAdd(dst, w.y, index)
	} else {
		scatterWeighted(dst, w.y, index, w.weights)
	}
}

// scatterWeighted adds row i times its weight to row index[i] of dst; −1 skips a row.
func scatterWeighted(dst []float64, x Matrix, index []int32, weights []float64) {
	for i, k := range index {
		if k < 0 {
			continue
		}
		sum := dst[int(k)*x.Cols : int(k+1)*x.Cols]
		for j, v := range x.Row(i) {
			sum[j] += weights[i] * float64(v)
		}
	}
}

// mean turns the weighted sum of rows into their centroid and reports whether there is
// one.
func mean(sum []float64, weight float64, spherical bool) bool {
	if spherical {
		return Normalize(sum)
	}
	for j := range sum {
		sum[j] /= weight
	}
	return true
}

// finish computes centroids and inertia of the labels in float64 from the original
// rows. An empty cluster keeps the centroid in left.
func (p *problem) finish(r *Result, left []float64) {
	n, d := p.x.Rows, p.x.Cols
	r.Centroids = make([]float64, len(left))
	masses := make([]float64, len(r.Sizes))
	if p.weights == nil && p.norms == nil {
		scatterAdd(r.Centroids, p.x, r.Labels)
		for k, size := range r.Sizes {
			masses[k] = float64(size)
		}
	} else {
		p.addScaled(r.Centroids, masses, r.Labels)
	}
	for k, size := range r.Sizes {
		c := r.Centroids[k*d : (k+1)*d]
		if size > 0 && mean(c, masses[k], p.norms != nil) {
			continue
		}
		copy(c, left[k*d:(k+1)*d])
		for j := range p.shift {
			c[j] += p.shift[j]
		}
	}
	each := make([]float64, n)
	tiles(n, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			c := r.Centroids[int(r.Labels[i])*d : int(r.Labels[i]+1)*d]
			if p.norms == nil {
				each[i] = p.weight(i) * distance2(p.x.Row(i), c)
				continue
			}
			dot := 0.0
			for j, v := range p.x.Row(i) {
				dot += float64(v) * c[j]
			}
			each[i] = p.weight(i) * (1 - dot/p.norms[i])
		}
	})
	for _, e := range each {
		r.Inertia += e
	}
}

// addScaled adds every row times its weight, at unit length for directions, to the sum
// of its label, and its weight to the mass.
func (p *problem) addScaled(sums, masses []float64, labels []int32) {
	d := p.x.Cols
	for i, k := range labels {
		scale := p.weight(i)
		masses[k] += scale
		if p.norms != nil {
			scale /= p.norms[i]
		}
		for j, v := range p.x.Row(i) {
			sums[int(k)*d+j] += float64(v) * scale
		}
	}
}

// distance2 returns ‖x−c‖² in float64. It uses four running sums, because the additions
// of a single one would wait for each other.
func distance2(x []float32, c []float64) float64 {
	var s [4]float64
	c = c[:len(x)]
	whole := len(x) &^ 3
	for j := 0; j < whole; j += 4 {
		x, c := x[j:j+4:j+4], c[j:j+4:j+4]
		d0, d1, d2, d3 := float64(x[0])-c[0], float64(x[1])-c[1], float64(x[2])-c[2], float64(x[3])-c[3]
		s[0] += d0 * d0
		s[1] += d1 * d1
		s[2] += d2 * d2
		s[3] += d3 * d3
	}
	for j := whole; j < len(x); j++ {
		d := float64(x[j]) - c[j]
		s[j&3] += d * d
	}
	return s[0] + s[1] + s[2] + s[3]
}
