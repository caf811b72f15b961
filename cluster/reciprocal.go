package cluster

import (
	"context"
	"math"

	"hgld/internal/blas"
)

// nearest holds the nearest other slot of each slot (ties: the lowest) and its
// distance.
type nearest struct {
	slot []int32 // −1: none yet
	dist []float32
}

func newNearest(n int) *nearest {
	near := &nearest{make([]int32, n), make([]float32, n)}
	for i := range n {
		near.slot[i], near.dist[i] = -1, float32(math.Inf(1))
	}
	return near
}

// updateRow takes account of the distances of slot i from all slots before it.
func (near *nearest) updateRow(i int32, line []float32) {
	slot, dist := near.slot[:len(line)], near.dist[:len(line)]
	best, at := near.dist[i], near.slot[i]
	for j, v := range line {
		if v < best {
			best, at = v, int32(j)
		}
		if v < dist[j] {
			dist[j], slot[j] = v, i
		}
	}
	near.dist[i], near.slot[i] = best, at
}

// distances fills the triangle with the distances of all pairs of rows, squared for
// Ward, and finds the nearest neighbour of each row.
func distances(lib blas.Library, p *problem, linkage Linkage) (triangle, *nearest) {
	n := p.y.Rows
	d := newTriangle(n)
	lowerPairs(p.y, lib, func(i, from int, dots []float32) {
		at, own, yy := row(i)+across(from), p.yy[i], p.yy[from:]
		dots = dots[:min(len(dots), i-from)]
		for j, dot := range dots {
			s := max(0, own+yy[j]-2*float64(dot))
			if linkage == Average {
				s = math.Sqrt(s)
			}
			d[at+across(j)] = float32(s)
		}
	})
	near, line := newNearest(n), make([]float32, n)
	for i := range n {
		for j := 0; j < i; j += side {
			copy(line[j:i], d[row(i)+across(j):][:side])
		}
		near.updateRow(int32(i), line[:i])
	}
	return d, near
}

// fewestPairs is the share of the clusters, one in that many, that a round must merge,
// because it goes through all distances.
const fewestPairs = 16

// rounds merges all pairs of clusters that are each other's nearest, and compacts the
// slots, as long as there are many such pairs. near has the nearest neighbour of each
// slot.
func (c *chain) rounds(ctx context.Context, near *nearest) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var next []couple
		pairs := 0
		for i, slot := range near.slot {
			switch hi := int(slot); {
			case hi < 0 || int(near.slot[hi]) != i:
				next = append(next, couple{lo: i, hi: i, size: c.sizes[i]})
			case i < hi:
				next = append(next, couple{i, hi, c.sizes[i] + c.sizes[hi], c.newMerger(i, hi, near.dist[i])})
				pairs++
			}
		}
		if pairs == 0 || pairs*fewestPairs < len(near.slot) {
			return nil
		}
		near = c.closeUp(next)
	}
}

// couple is what becomes one slot: two slots, or one twice.
type couple struct {
	lo, hi int
	size   int // rows of both
	merger
}

// closeUp makes each couple a slot, at the lower one's position or before, and returns
// the nearest neighbour of each. A number of the triangle is only overwritten after its
// last use: the distances of a couple to those before it are read at its lower slot or
// later, and written there or before.
func (c *chain) closeUp(next []couple) *nearest {
	near := newNearest(len(next))
	var pairs []int32 // couples of two slots
	line, columns, rows := make([]float32, len(next)), make([]int32, len(next)), make([]int32, len(next))
	for t := range next {
		g := &next[t]
		columns[t], rows[t] = int32(across(g.lo)), int32(c.sizes[g.lo])
		c.lower(line[:t], g, columns, rows)
		for _, u := range pairs {
			h := &next[u]
			upper := *c.d.at(g.lo, h.hi)
			if g.lo < g.hi {
				upper = g.between(upper, *c.d.at(g.hi, h.hi), c.sizes[h.hi])
			}
			line[u] = h.between(line[u], upper, g.size)
		}
		for u := 0; u < t; u += side {
			copy(c.d[row(t)+across(u):], line[u:min(u+side, t)])
		}
		near.updateRow(int32(t), line[:t])
		if g.lo < g.hi {
			pairs = append(pairs, int32(t))
		}
	}
	for t, g := range next {
		if g.lo < g.hi {
			c.join(g.hi, g.lo, float32(g.merger.apart))
		}
		c.sizes[t], c.sums[t], c.origin[t] = c.sizes[g.lo], c.sums[g.lo], c.origin[g.lo]
	}
	n := len(next)
	c.sizes, c.sums, c.origin = c.sizes[:n], c.sums[:n], c.origin[:n]
	return near
}

// lower fills a line with the distances of the couple g to the lower slots of the
// couples before it, which are in the given columns and have the given numbers of rows.
func (c *chain) lower(line []float32, g *couple, columns, rows []int32) {
	from, columns := c.d[row(g.lo):], columns[:len(line)]
	if g.lo == g.hi {
		for u, column := range columns {
			line[u] = from[column]
		}
		return
	}
	upper := c.d[row(g.hi):]
	for u, column := range columns {
		line[u] = g.between(from[column], upper[column], int(rows[u]))
	}
}
