package cluster

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/gonum"
)

// bounds holds, for each row and each group of centroids, a lower bound of the
// distances to the centroids of the group, except the row's own. A group is skipped if
// its bound is above the distance to the row's own centroid. The other groups are
// compared by products in float32, exactly as Lloyd compares all, so that the nearest
// centroid and its distance are the same. Bounds allow for the rounding of the
// products, so that what they exclude is farther.
//
// A group is a panel of the matrix product. Centroids are grouped by their distances at
// the start.
type bounds struct {
	*descent
	groups   int
	order    []int32     // centroid at each position of the panels [K]
	place    []int32     // position of each centroid [K]
	sorted   Matrix      // centroids in that order
	sortedCC []float32   // and cc [K]
	packed   *factor     // of sorted
	known    [][]float32 // products of all rows with each of the first centroids; nil if not computed
	lower    []float32   // [N,groups]; nil before the first assignment
	before   []float64   // centroids of the previous assignment [K,D]
	shift    []float32   // largest movement in each group since then, rounded up [groups]
	free     sync.Pool   // of *boundsTile
}

// rounding bounds the error of a squared distance from products in float32, relative to
// ‖x‖²+‖c‖². An error of 2⁻²⁴ with random sign in each of 512 terms leaves much less
// than 2⁻¹⁹·⁵ of the sum of their magnitudes.
const rounding = 1. / (1 << 19)

func newBounds(w *descent, known [][]float32) *bounds {
	k := w.c.Rows
	return &bounds{descent: w, known: known, before: make([]float64, len(w.centroids)), order: make([]int32, k),
		place: make([]int32, k), sorted: NewMatrix(k, w.c.Cols), sortedCC: make([]float32, k)}
}

// assign finds the nearest centroid of each row.
func (b *bounds) assign() {
	first := b.lower == nil
	if first {
		b.chainCentroids()
	}
	for at, k := range b.order {
		copy(b.sorted.Row(at), b.c.Row(int(k)))
		b.sortedCC[at] = b.cc[k]
	}
	b.packed = newFactor(b.lib, b.sorted, b.packed)
	if first {
		b.groups = b.packed.across(b.c.Rows) / b.packed.width
		b.lower, b.shift = make([]float32, b.y.Rows*b.groups), make([]float32, b.groups)
	} else {
		b.measureShift()
	}
	tiles(b.y.Rows, func(lo, hi int) { b.tile(lo, hi).assign(first) })
	copy(b.before, b.centroids)
	b.known = nil
}

// chainCentroids puts near centroids next to each other: a chain from the first centroid, each
// followed by the nearest that is left.
func (b *bounds) chainCentroids() {
	k := b.c.Rows
	left, at := make([]int32, k), int32(0)
	for c := range left {
		left[c] = int32(c)
	}
	for i := range k {
		b.order[i], b.place[at] = at, int32(i)
		left = slices.DeleteFunc(left, func(c int32) bool { return c == at })
		near := float32(math.Inf(1))
		last := b.c.Row(int(at))
		for _, c := range left {
			if d := b.cc[c] - 2*dot(last, b.c.Row(int(c))); d < near {
				near, at = d, c
			}
		}
	}
}

// length2 returns ‖c_k‖² as it enters a distance; it is zero for spherical k-means.
func (b *bounds) length2(k int) float64 {
	if b.norms != nil {
		return 1
	}
	return float64(b.cc[k])
}

// ends returns lower and upper bounds of the distance of row i to centroid k, from cc −
// 2y·c.
func (b *bounds) ends(i, k int, dist float32) (low, high float64) {
	size := b.yy[i] + b.length2(k)
	square := b.yy[i] + b.length2(k) - float64(b.cc[k]) + float64(dist)
	return math.Sqrt(max(0, square-rounding*size)), math.Sqrt(max(0, square+rounding*size))
}

func (b *bounds) measureShift() {
	d := b.y.Cols
	clear(b.shift)
	for at, k := range b.order {
		c := int(k) * d
		moved := math.Sqrt(gap2(b.centroids[c:c+d], b.before[c:c+d]))
		if moved > 0 { // centroids in float32 are rounded too
			moved = moved*(1+1e-6) + 1e-6*math.Sqrt(b.length2(int(k)))
			g := at / b.packed.width
			b.shift[g] = max(b.shift[g], float32(moved))
		}
	}
}

// boundsTile is the scratch memory for assigning some rows.
type boundsTile struct {
	*bounds
	lo, hi int
	wanted []bool     // whether a row is compared with a group [rows, groups]
	marked []int32    // rows that a group is compared with
	places []*float32 // their vectors
	rows   []float32  // their vectors, contiguous, for libraries that need that
	buf    []float32  // products [marked, width]
	best   []rivals   // of each row and group that are compared [rows, groups]
}

// rivals are the nearest and the second nearest centroid of a group.
type rivals struct{ first, second rival }

// rival packs a centroid and its cc − 2y·c into one number that sorts by the distance
// and then by the centroid.
type rival int64

// nobody is farther than any centroid.
const nobody rival = math.MaxInt64

func newRival(k int32, dist float32) rival {
	bits := int32(math.Float32bits(dist))
	return rival(bits^int32(uint32(bits>>31)>>1))<<32 | rival(k) // the complement makes negative numbers sort correctly
}

func (r rival) centroid() int32 { return int32(uint32(r)) }

func (r rival) dist() float32 {
	bits := int32(r >> 32)
	return math.Float32frombits(uint32(bits ^ int32(uint32(bits>>31)>>1)))
}

// tile returns scratch memory for assigning rows lo to hi.
func (b *bounds) tile(lo, hi int) *boundsTile {
	t, used := b.free.Get().(*boundsTile)
	if !used {
		width := b.packed.width
		strip, gather := b.packed.strip()
		t = &boundsTile{bounds: b, wanted: make([]bool, tileRows*b.groups), best: make([]rivals, tileRows*b.groups),
			marked: make([]int32, 0, tileRows), buf: make([]float32, tileRows*width)}
		if gather {
			t.places = make([]*float32, 0, tileRows+strip)
		} else {
			t.rows = make([]float32, tileRows*b.y.Cols)
		}
	}
	t.lo, t.hi = lo, hi
	return t
}

func (t *boundsTile) assign(first bool) {
	for i := t.lo; i < t.hi; i++ {
		wanted := t.wanted[(i-t.lo)*t.groups:][:t.groups]
		if first {
			for g := range wanted {
				wanted[g] = true
			}
			continue
		}
		t.markGroups(i, wanted)
	}
	for g := range t.groups {
		t.compare(g)
	}
	for i := t.lo; i < t.hi; i++ {
		t.assignRow(i)
	}
	t.free.Put(t)
}

// markGroups updates the bounds of row i and marks the groups that may hold a centroid as
// near as its own. If there are any, its own group is marked too.
func (t *boundsTile) markGroups(i int, wanted []bool) {
	own := int(t.index[i])
	t.dist[i] = t.cc[own] - 2*dot(t.y.Row(i), t.c.Row(own))
	_, high := t.ends(i, own, t.dist[i])
	upper, any := float32(high)*(1+1e-6), false
	lower := t.lower[i*t.groups:][:t.groups]
	for g, moved := range t.shift {
		lower[g] -= moved
		wanted[g] = lower[g] <= upper
		any = any || wanted[g]
	}
	wanted[int(t.place[own])/t.packed.width] = any
}

// compare finds the rivals in group g for the rows that want it.
func (t *boundsTile) compare(g int) {
	from, to := g*t.packed.width, min((g+1)*t.packed.width, t.c.Rows)
	t.marked = t.marked[:0]
	for at := range t.hi - t.lo {
		if t.wanted[at*t.groups+g] {
			t.marked = append(t.marked, int32(at))
		}
	}
	if len(t.marked) == 0 {
		return
	}
	t.multiply(from, to)
	order, cc := t.order[from:to], t.sortedCC[from:to]
	for line, at := range t.marked {
		r := rivals{nobody, nobody}
		for j, product := range t.buf[line*len(order):][:len(order)] {
			n := newRival(order[j], cc[j]-2*product)
			r.second = min(r.second, max(r.first, n))
			r.first = min(r.first, n)
		}
		t.best[int(at)*t.groups+g] = r
	}
}

// multiply fills buf with the products of the marked rows and the centroids [from,to).
func (t *boundsTile) multiply(from, to int) {
	d, n := t.y.Cols, len(t.marked)
	switch {
	case t.known != nil:
		for j, c := range t.order[from:to] {
			for line, product := range t.known[c][t.lo:t.hi] {
				t.buf[line*(to-from)+j] = product
			}
		}
	case n == t.hi-t.lo:
		t.packed.products(t.buf, to-from, t.y.Data[t.lo*d:t.hi*d], n, from, to)
	case t.rows == nil:
		t.places = t.places[:n]
		for line, at := range t.marked {
			t.places[line] = &t.y.Data[(t.lo+int(at))*d]
		}
		t.packed.gathered(t.buf, to-from, t.places, n, from, to)
	default:
		for line, at := range t.marked {
			copy(t.rows[line*d:][:d], t.y.Row(t.lo+int(at)))
		}
		t.packed.products(t.buf, to-from, t.rows[:n*d], n, from, to)
	}
}

// assignRow assigns row i to the nearest of its rivals and takes their bounds.
func (t *boundsTile) assignRow(i int) {
	at := (i - t.lo) * t.groups
	wanted, best := t.wanted[at:][:t.groups], t.best[at:][:t.groups]
	winner := nobody
	for g, want := range wanted {
		if want {
			winner = min(winner, best[g].first)
		}
	}
	if winner == nobody {
		return
	}
	t.index[i], t.dist[i] = winner.centroid(), winner.dist()
	lower := t.lower[i*t.groups:][:t.groups]
	for g, want := range wanted {
		if !want {
			continue
		}
		other := best[g].first
		if other == winner {
			other = best[g].second
		}
		low := math.Inf(1)
		if other != nobody {
			low, _ = t.ends(i, int(other.centroid()), other.dist())
		}
		lower[g] = float32(low) * (1 - 1e-6)
	}
}

// dot returns x·y in float32.
func dot(x, y []float32) float32 { return gonum.Implementation{}.Sdot(len(x), x, 1, y, 1) }
