package cluster

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"hgld/internal/blas"
)

// Linkage is the distance between two clusters of an Agglomerate run.
type Linkage int

const (
	// Ward is the square root of twice the increase of the inertia by a merge (Ward,
	// JASA 58, 1963), on SciPy's scale: √(2ab/(a+b)) · ‖c_A − c_B‖ for clusters of a and b
	// rows with the means c_A and c_B.
	Ward Linkage = iota
	// Average is the mean Euclidean distance between a row of one cluster and a row of
	// the other (UPGMA).
	Average
)

// String returns the linkage's name in Methods.
func (l Linkage) String() string { return [...]string{Ward: "ward", Average: "average"}[l] }

// Merge is one step of a Tree: the clusters A and B become one. Clusters 0 … N−1 are
// the rows, and cluster N+m is the result of merge m.
type Merge struct {
	A, B   int     // and B are the merged clusters, A < B
	Height float64 // their distance
	Size   int     // the number of rows of the result
}

// Tree is the result of agglomerative clustering.
type Tree struct {
	Rows    int     // the number of rows, N
	Linkage Linkage // the distance that it was made by
	Merges  []Merge // the N−1 merges by ascending height
}

// Agglomerate merges the two nearest clusters until one is left. It keeps a triangle of
// float32 distances: 2N² bytes, O(N²·D) time. lib computes the matrix products; nil
// means gonum.
//
// With either linkage a merge never brings a third cluster nearer than the nearer of
// the two was. Pairs of clusters that are each other's nearest may therefore be merged
// in any order: in rounds while there are many, then one after the other along the
// chain of nearest neighbours (Murtagh, The Computer Journal 26, 1983).
//
// Distances of merged clusters follow Lance and Williams in float32; they only decide
// which clusters are neighbours. Heights of Ward are computed from the means in
// float64; those of Average are the distances. Of equally near clusters the one that
// the chain came from is taken, otherwise the one of the lowest row. If ctx is
// cancelled, the error is that of ctx.
func Agglomerate(ctx context.Context, x Matrix, linkage Linkage, lib blas.Library) (*Tree, error) {
	if x.Rows == 0 {
		return nil, fmt.Errorf("cluster: agglomerate: no rows")
	}
	if err := x.finite(); err != nil {
		return nil, fmt.Errorf("cluster: agglomerate: %w", err)
	}
	t, err := grow(ctx, x, linkage, lib)
	if err != nil {
		return nil, fmt.Errorf("cluster: agglomerate: %w", err)
	}
	return t, nil
}

// grow is Agglomerate for rows that are known to be finite.
func grow(ctx context.Context, x Matrix, linkage Linkage, lib blas.Library) (*Tree, error) {
	p, err := KMeans{}.prepare(x)
	if err != nil {
		return nil, err
	}
	c, near := newChain(lib, p, linkage)
	if err := c.rounds(ctx, near); err != nil {
		return nil, err
	}
	return c.tree(ctx)
}

// triangle holds the distance of every pair of slots once, in blocks of side × side.
// Each row of a block is a cache line, so that reading a column, which a chain does as
// often as reading a row, does not touch a memory page for each number.
type triangle []float32

const (
	side      = 1 << sideBits
	sideBits  = 4
	blockBits = 2 * sideBits
)

func newTriangle(n int) triangle {
	blocks := (n + side - 1) / side
	return make(triangle, blocks*(blocks+1)/2<<blockBits)
}

// row returns the offset of the row of slot i; column j < i is at across(j).
func row(i int) int {
	block := i >> sideBits
	return block*(block+1)/2<<blockBits + i&(side-1)<<sideBits
}

func across(j int) int { return j>>sideBits<<blockBits + j&(side-1) }

// at returns the distance of two different slots.
func (d triangle) at(i, j int) *float32 {
	return &d[row(max(i, j))+across(min(i, j))]
}

// chain is a run of Agglomerate. A cluster occupies the slot of one of its rows.
type chain struct {
	*problem
	linkage Linkage
	d       triangle
	sizes   []int
	origin  []int       // original row of each slot
	active  []int       // slots that hold a cluster, ascending
	sums    [][]float64 // of the rows; nil for a single row
	path    []int       // slots, each the nearest neighbour of the one before
	merges  []joined
}

// newChain starts with every row in its own slot, and returns the nearest neighbour of
// each.
func newChain(lib blas.Library, p *problem, linkage Linkage) (*chain, *nearest) {
	n := p.y.Rows
	c := &chain{problem: p, linkage: linkage, sizes: make([]int, n), sums: make([][]float64, n), origin: make([]int, n)}
	for i := range n {
		c.sizes[i], c.origin[i] = 1, i
	}
	var near *nearest
	c.d, near = distances(lib, p, linkage)
	return c, near
}

// tree follows the chain to its end.
func (c *chain) tree(ctx context.Context) (*Tree, error) {
	for i := range c.sizes {
		c.active = append(c.active, i)
	}
	for len(c.active) > 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.extend()
	}
	return c.order(), nil
}

// joined is a merge as the chain finds it, before sorting by height.
type joined struct {
	kept, gone int // original rows of the slots
	height     float64
}

// extend lengthens the chain until its last two clusters are each other's nearest, and
// merges them.
func (c *chain) extend() {
	if len(c.path) == 0 {
		c.path = append(c.path, c.active[0])
	}
	for {
		last := c.path[len(c.path)-1]
		before, near := -1, float32(math.Inf(1))
		if len(c.path) > 1 {
			before = c.path[len(c.path)-2]
			near = *c.d.at(last, before)
		}
		next := c.nearest(last, before, near)
		if next == before {
			c.path = c.path[:len(c.path)-2]
			c.merge(min(last, before), max(last, before))
			return
		}
		c.path = append(c.path, next)
	}
}

// nearest returns the slot nearest to i. best, at the distance near, stays unless
// another is nearer.
func (c *chain) nearest(i, best int, near float32) int {
	cut, _ := slices.BinarySearch(c.active, i)
	if best < 0 {
		best = c.active[0]
		if best == i {
			best = c.active[1]
		}
	}
	own := c.d[row(i):]
	for _, j := range c.active[:cut] {
		if v := own[across(j)]; v < near {
			best, near = j, v
		}
	}
	own = c.d[across(i):]
	for _, j := range c.active[cut+1:] {
		if v := own[row(j)]; v < near {
			best, near = j, v
		}
	}
	return best
}

// merge joins the cluster of slot gone into that of kept > gone, whose part of the
// triangle is contiguous.
func (c *chain) merge(gone, kept int) {
	apart := *c.d.at(kept, gone)
	at, _ := slices.BinarySearch(c.active, gone)
	c.active = slices.Delete(c.active, at, at+1)
	w := c.newMerger(gone, kept, apart)
	for _, k := range c.active {
		if k != kept {
			to := c.d.at(k, kept)
			*to = w.between(*c.d.at(k, gone), *to, c.sizes[k])
		}
	}
	c.join(gone, kept, apart)
}

// join records the merge of two slots at the distance apart. The cluster is then in
// slot kept.
func (c *chain) join(gone, kept int, apart float32) {
	height := float64(apart)
	if c.linkage == Ward {
		height = c.wardHeight(gone, kept)
	}
	c.sizes[kept] += c.sizes[gone]
	c.merges = append(c.merges, joined{c.origin[kept], c.origin[gone], height})
}

// merger computes the distance of other clusters to a merged one.
type merger struct {
	a, b, apart float64 // numbers of rows of the two, and their distance
	ward        bool
}

func (c *chain) newMerger(a, b int, apart float32) merger {
	return merger{float64(c.sizes[a]), float64(c.sizes[b]), float64(apart), c.linkage == Ward}
}

// between returns the distance of a cluster with the given number of rows to the merged
// one, from its distances to the two parts.
func (m *merger) between(from, to float32, rows int) float32 {
	if !m.ward {
		return float32((m.a*float64(from) + m.b*float64(to)) / (m.a + m.b))
	}
	n := float64(rows)
	return float32(((m.a+n)*float64(from) + (m.b+n)*float64(to) - n*m.apart) / (m.a + m.b + n))
}

// wardHeight returns the height of a merge from the sums of the rows, which it joins.
func (c *chain) wardHeight(gone, kept int) float64 {
	s, t := c.sum(gone), c.sum(kept)
	a, b := float64(c.sizes[gone]), float64(c.sizes[kept])
	square := 0.0
	for j := range s {
		v := s[j]/a - t[j]/b
		square += v * v
		t[j] += s[j]
	}
	c.sums[kept], c.sums[gone] = t, nil
	return math.Sqrt(2 * a * b / (a + b) * square)
}

func (c *chain) sum(slot int) []float64 {
	if c.sums[slot] != nil {
		return c.sums[slot]
	}
	s := make([]float64, c.x.Cols)
	for j, v := range c.x.Row(c.origin[slot]) {
		s[j] = float64(v)
	}
	return s
}

// order sorts the merges by height. Rounding may put a merge below one of its parts; it
// is raised to that height, so that it never comes before its parts.
func (c *chain) order() *Tree {
	n := c.x.Rows
	floor := make([]float64, n)
	for i := range c.merges {
		m := &c.merges[i]
		m.height = max(m.height, floor[m.kept], floor[m.gone])
		floor[m.kept] = m.height
	}
	slices.SortStableFunc(c.merges, func(a, b joined) int { return cmp.Compare(a.height, b.height) })
	t := &Tree{Rows: n, Linkage: c.linkage, Merges: make([]Merge, 0, len(c.merges))}
	id, size := make([]int, n), make([]int, n)
	for i := range id {
		id[i], size[i] = i, 1
	}
	for m, j := range c.merges {
		size[j.kept] += size[j.gone]
		t.Merges = append(t.Merges, Merge{min(id[j.kept], id[j.gone]), max(id[j.kept], id[j.gone]), j.height, size[j.kept]})
		id[j.kept] = n + m
	}
	return t
}

// Cut returns the cluster of each row when k clusters are left, numbered in the order
// of their first rows. k must be from 1 to Rows.
func (t *Tree) Cut(k int) ([]int32, error) {
	if k < 1 || k > t.Rows {
		return nil, fmt.Errorf("cluster: cut into %d clusters, want 1 to %d", k, t.Rows)
	}
	parent := make([]int, t.Rows+len(t.Merges))
	for i := range parent {
		parent[i] = i
	}
	for m, j := range t.Merges[:t.Rows-k] {
		parent[j.A], parent[j.B] = t.Rows+m, t.Rows+m
	}
	labels, number := make([]int32, t.Rows), map[int]int32{}
	for m := t.Rows - k - 1; m >= 0; m-- { // a merge's parent is known before its parts
		parent[t.Rows+m] = parent[parent[t.Rows+m]]
	}
	for i := range labels {
		root := parent[parent[i]]
		if _, known := number[root]; !known {
			number[root] = int32(len(number))
		}
		labels[i] = number[root]
	}
	return labels, nil
}

// Partition cuts the tree of the rows x into k clusters, whose centroids are the means
// of their rows.
func (t *Tree) Partition(x Matrix, k int) (*Result, error) {
	if x.Rows != t.Rows {
		panic("cluster: the tree of other rows")
	}
	labels, err := t.Cut(k)
	if err != nil {
		return nil, err
	}
	r := &Result{Labels: labels, Sizes: make([]int, k), Algorithm: t.Linkage.String()}
	for _, l := range labels {
		r.Sizes[l]++
	}
	(&problem{x: x}).finish(r, make([]float64, k*x.Cols))
	return r, nil
}
