package cpu

import (
	"hgld/internal/ranksort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// rankRow computes the rank loss of one query and its gradient. It is the scratch memory of
// one thread and reuses its slices from row to row.
//
// Every part of the loss is a sum over blocks (rankPlan). Each block is one call of sums,
// which computes Σ_i w_i f(x_i − y_j) and its slope. The gradient exchanges the roles of i and
// k. If a row has few positives, the call adds up the pairs. Otherwise the row is sorted once,
// and each call costs O(sources + targets):
//
//   - counts, ties and all that is linear in t (H, ρ(t−δ)+Offset, Leak) are
//     differences of prefix sums;
//   - sigmoids are sums of decaying exponentials, carried along the sorted scores
//     (tailSums).
//
// Sums are in float64. For a row of 60,000 items, the ranks differ from the reference by a
// relative 1e-8. The gradient differs by its rounding to float32, 6e-8.
type rankRow struct {
	sums
	sorted bool
	rel    []float64 // relevance of each level

	// The existing items by level: level l is start[l]:start[l+1]. Within a level the items are
	// sorted by falling score, or by row if the row is not sorted.
	start [257]int32
	z     []float32 // scores
	row   []int32
	neg   []float32 // −z in reverse order, which also falls
	dz    []float64 // gradient in reverse order

	// Positives: the k-th is the item at start[1]+k.
	level        []uint8
	order        []int32 // sorted by falling score, then row
	rank, plus   []float64
	srank, splus []float64 // sums of slopes
	u, v         []float64 // derivatives of the loss with respect to rank and plus

	// Scratch memory for a block's inputs and outputs.
	chosen                  []int32
	scores                  []float32
	values, slopes, weights []float64
	ones                    []float64
	keys, spare             []uint64
}

// load reads the items of a row. count [L+1] holds the number of items at each level.
func (r *rankRow) load(s []float32, sh []uint8, count []int32, few int) {
	r.start[0] = 0
	for l, n := range count {
		r.start[l+1] = r.start[l] + n
	}
	n := int(r.start[len(count)])
	positives := n - int(r.start[1])
	resized(&r.z, n)
	resized(&r.row, n)
	resized(&r.order, positives)
	if r.sorted = positives > few; r.sorted {
		r.loadSorted(s, sh)
	} else {
		r.loadPlain(s, sh)
	}
	level := resized(&r.level, positives)[:0]
	for l := 1; l < len(count); l++ {
		for range count[l] {
			level = append(level, uint8(l))
		}
	}
	neg := resized(&r.neg, n)
	for p, z := range r.z {
		neg[n-1-p] = -z
	}
}

// loadPlain reads the items in row order.
func (r *rankRow) loadPlain(s []float32, sh []uint8) {
	next := r.start
	top := uint8(len(r.rel) - 1)
	negatives := 0
	for i, l := range sh {
		if l == 0 {
			r.z[negatives], r.row[negatives] = s[i], int32(i)
			negatives++
		} else if l <= top {
			p := next[l]
			r.z[p], r.row[p] = s[i], int32(i)
			next[l]++
		}
	}
	for k := range r.order {
		r.order[k] = int32(k)
	}
}

// loadSorted sorts the items by falling score, then row. It sorts negatives separately, since
// they are the majority.
func (r *rankRow) loadSorted(s []float32, sh []uint8) {
	top := uint8(len(r.rel) - 1)
	negatives := int(r.start[1])
	keys, spare := resized(&r.keys, len(r.z)), resized(&r.spare, len(r.z))
	a, b := 0, negatives
	for i, l := range sh {
		if l == 0 {
			keys[a] = ranksort.Key(s[i], uint32(i))
			a++
		} else if l <= top {
			keys[b] = ranksort.Key(s[i], uint32(i))
			b++
		}
	}
	for p, k := range ranksort.Sort(keys[:negatives], spare[:negatives]) {
		r.z[p], r.row[p] = ranksort.Score(k), int32(uint32(k))
	}
	next := r.start
	for j, k := range ranksort.Sort(keys[negatives:], spare[negatives:]) {
		l := sh[uint32(k)]
		p := next[l]
		r.z[p], r.row[p] = ranksort.Score(k), int32(uint32(k))
		r.order[j] = p - r.start[1]
		next[l]++
	}
}

// forward computes the ranks and returns the loss.
func (r *rankRow) forward(p *rankPlan, count []int32, o *device.Score) float64 {
	n := len(r.level)
	rank, plus := resized(&r.rank, n), resized(&r.plus, n)
	clear(resized(&r.srank, n))
	clear(resized(&r.splus, n))
	for k, l := range r.level {
		rank[k], plus[k] = 1, r.rel[l]
	}
	for i := range p.blocks {
		r.addRanks(&p.blocks[i])
	}
	return reference.RankScore(resized(&r.u, n), resized(&r.v, n), rank, plus, r.level, r.rel, count, o)
}

// addRanks adds a block's sums to the ranks of its positives.
func (r *rankRow) addRanks(b *block) {
	first, last := r.start[b.level], r.start[b.level+1]
	chosen := r.choose(b)
	if first == last || len(chosen) == 0 {
		return
	}
	r.backward = false
	r.x, r.w = r.z[first:last], r.unit(int(last-first))
	r.y, r.value, r.slope = resized(&r.scores, len(chosen)), resized(&r.values, len(chosen)),
		resized(&r.slopes, len(chosen))
	clear(r.value)
	clear(r.slope)
	for j, k := range chosen {
		r.y[j] = r.z[r.start[1]+k]
	}
	r.sum(b.step)
	for j, k := range chosen {
		v, d := r.value[j], r.slope[j]
		l := r.level[k]
		if l == b.level { // a sum excludes the item itself
			v -= b.step.Value(0)
			d -= b.step.Slope(0)
		}
		if b.plus {
			m := min(r.rel[b.level], r.rel[l])
			r.plus[k] += m * v
			r.splus[k] += m * d
		} else {
			r.rank[k] += v
			r.srank[k] += d
		}
	}
}

// gradient writes the gradient of the row.
func (r *rankRow) gradient(p *rankPlan, ds []float32) {
	dz := resized(&r.dz, len(r.z))
	clear(dz)
	for i := range p.blocks {
		if b := &p.blocks[i]; b.step.Kind != device.Heaviside {
			r.addGrad(b)
		}
	}
	for k := range r.level {
		r.own(int32(k), r.u[k]*r.srank[k]+r.v[k]*r.splus[k])
	}
	for p, i := range r.row {
		ds[i] = float32(dz[len(dz)-1-p])
	}
}

// own subtracts d from the gradient of positive k.
func (r *rankRow) own(k int32, d float64) { r.dz[len(r.dz)-1-int(r.start[1]+k)] -= d }

// addGrad adds, for each item i of a block, the sum over k of the slope at s_i − s_k times
// u_k, or times v_k and the smaller relevance. It computes the sum of addRanks with i and k
// exchanged, on negated scores in reverse order.
func (r *rankRow) addGrad(b *block) {
	n := int32(len(r.z))
	first, last := n-r.start[b.level+1], n-r.start[b.level]
	chosen := r.choose(b)
	if first == last || len(chosen) == 0 {
		return
	}
	r.backward = true
	r.y, r.slope = r.neg[first:last], r.dz[first:last]
	r.x, r.w = resized(&r.scores, len(chosen)), resized(&r.weights, len(chosen))
	for i, k := range chosen {
		g := r.u[k]
		if b.plus {
			g = r.v[k] * min(r.rel[b.level], r.rel[r.level[k]])
		}
		at := len(chosen) - 1 - i
		r.x[at], r.w[at] = -r.z[r.start[1]+k], g
		if r.level[k] == b.level {
			r.own(k, g*b.step.Slope(0))
		}
	}
	r.sum(b.step)
}

// choose returns the positives of a block in sorted order.
func (r *rankRow) choose(b *block) []int32 {
	if int(b.hi-b.lo) == len(r.rel)-2 {
		return r.order
	}
	chosen := resized(&r.chosen, len(r.order))[:0]
	for _, k := range r.order {
		if l := r.level[k]; l >= b.lo && l <= b.hi {
			chosen = append(chosen, k)
		}
	}
	return chosen
}

func (r *rankRow) sum(f *reference.Step) {
	if r.sorted {
		r.sumSorted(f)
	} else {
		r.sumPairs(f)
	}
}

// unit returns a slice of n ones.
func (r *rankRow) unit(n int) []float64 {
	for len(r.ones) < n {
		r.ones = append(r.ones, 1)
	}
	return r.ones[:n]
}
