package cpu

import (
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// BinLoss computes the loss of each query and its gradient. Reference.BinLoss defines it. Here a
// score goes through one conversion to a whole number, the histogram is a sum of whole numbers,
// and the gradient is looked up by bin.
func (b *Backend) BinLoss(loss, ds, s, sh device.Array, o *device.Bins) {
	if !device.AreMatrices(sh, s, ds) || loss.Len() != sh.Rows() || o.N < 2 {
		panic(shapes("BinLoss", loss, ds, s, sh))
	}
	t := binTask{loss: loss, ds: ds, s: s, sh: sh, n: o.N, top: float64(o.Max),
		perUnit: float64(o.N-1) / (float64(o.Max) - float64(o.Min))}
	slots := binGroups * t.groupSize()
	t.slots = scratch[int32](b, "binloss.slots", b.Threads()*sh.Cols())
	t.counts = scratch[uint64](b, "binloss.counts", b.Threads()*slots*binCopies)
	t.table = scratch[float32](b, "binloss.table", b.Threads()*slots)
	t.work = scratch[float64](b, "binloss", b.Threads()*6*o.N)
	split(b, sh.Rows(), 1, t)
}

// A histogram of a query has a group of slots for negatives, one for positives and one for items
// that do not exist. A group has a slot for each bin. A score at or beyond the last centre is in
// the last of them, and one more slot takes those beyond the first centre: both have slope 0.
const (
	binGroups = 3
	binCopies = 4 // of a slot, so that an addition need not wait for the last one
)

// A slot adds up the number of its items, and the shares of them that belong to the next bin in
// units of 2^-24, in one word. A share is as exact as a score near 1. The sum does not depend on
// the order of the items.
const (
	binShareBits = 24
	binCountBit  = 44
	binMostItems = 1<<(64-binCountBit) - 1 // that one word can count
)

type binTask struct {
	loss, ds, s, sh device.Array
	n               int     // bins
	top, perUnit    float64 // the first centre, and bins in a unit of the score
	slots           []int32
	counts          []uint64
	table           []float32
	work            []float64
}

func (t *binTask) groupSize() int { return t.n + 1 }

func (t *binTask) span(worker, lo, hi int) {
	n, g := binGroups*t.groupSize(), t.sh.Cols()
	h := histogram{binTask: t, slots: t.slots[worker*g:][:g], counts: t.counts[worker*n*binCopies:][:n*binCopies],
		table: t.table[worker*n:][:n], work: t.work[worker*6*t.n:][:6*t.n]}
	for level := range h.first {
		h.first[level] = int32(t.groupSize())
	}
	h.first[0], h.first[device.AbsentLevel] = 0, int32(2*t.groupSize())
	for q := lo; q < hi; q++ {
		var ds []float32
		if !t.ds.Absent() {
			ds = row(f32(t.ds), t.ds, q)
		}
		f32(t.loss)[q] = float32(h.query(ds, row(f32(t.s), t.s, q), row(u8(t.sh), t.sh, q)))
	}
}

// histogram is the memory of one worker.
type histogram struct {
	*binTask
	slots  []int32    // of each item
	first  [256]int32 // slot of the group of each level
	counts []uint64   // of each slot, in copies
	table  []float32  // gradient of each slot
	work   []float64
}

// query returns the loss of a query and writes its gradient, unless ds is nil.
func (h *histogram) query(ds, s []float32, sh []uint8) float64 {
	all, pos := h.work[:h.n], h.work[h.n:2*h.n]
	clear(h.work[:2*h.n])
	for at := 0; at < len(s); at += binMostItems {
		part := min(binMostItems, len(s)-at)
		if !h.count(h.slots[at:][:part], s[at:][:part], sh[at:][:part]) {
			return lossOfNaN(ds, sh)
		}
		h.add(all, 0)
		h.add(pos, h.groupSize())
	}
	positives := 0.0
	for i, w := range pos {
		all[i] += w
		positives += w
	}
	if positives == 0 {
		clear(ds)
		return 0
	}
	l := reference.BinSlopes(h.work, h.n, positives)
	if ds == nil {
		return l
	}
	h.tabulate(h.work[4*h.n:5*h.n], h.work[5*h.n:], positives)
	table := h.table
	for i, slot := range h.slots[:len(ds)] {
		ds[i] = table[slot]
	}
	return l
}

// count writes the slot of each item and adds them to counts. It reports whether no score is NaN.
func (h *histogram) count(slots []int32, s []float32, sh []uint8) bool {
	clear(h.counts)
	last, n, top, perUnit := float64(h.n-1), int32(h.n), h.top, h.perUnit
	counts, first := h.counts, &h.first
	slots, sh = slots[:len(s)], sh[:len(s)]
	for i, score := range s {
		x := (top - float64(score)) * perUnit
		slot, share := first[sh[i]], uint64(0)
		switch {
		case x < 0:
			slot += n
		case x < last:
			at := uint64(x * (1 << binShareBits))
			slot += int32(at >> binShareBits)
			share = at & (1<<binShareBits - 1)
		case x >= last:
			slot += n - 1
		case sh[i] != device.AbsentLevel:
			return false
		}
		slots[i] = slot
		counts[int(slot)*binCopies+i%binCopies] += 1<<binCountBit + share
	}
	return true
}

// add adds the weights of a group, whose first slot is given, to its bins.
func (h *histogram) add(bins []float64, first int) {
	for i := range h.groupSize() {
		sum := uint64(0)
		for _, c := range h.counts[(first+i)*binCopies:][:binCopies] {
			sum += c
		}
		share := float64(sum&(1<<binCountBit-1)) / (1 << binShareBits)
		weight := float64(sum>>binCountBit) - share
		if i == h.n { // beyond the first centre
			bins[0] += weight
			continue
		}
		bins[i] += weight
		if share > 0 {
			bins[i+1] += share
		}
	}
}

// tabulate writes the gradient by the score of an item in each slot.
func (h *histogram) tabulate(byAll, byPos []float64, positives float64) {
	clear(h.table)
	for i := range h.n - 1 {
		d := byAll[i+1] - byAll[i]
		h.table[i] = float32(h.perUnit * d / positives)
		d += byPos[i+1] - byPos[i]
		h.table[h.groupSize()+i] = float32(h.perUnit * d / positives)
	}
}

// lossOfNaN returns the loss of a query with a NaN score, which has no bin.
func lossOfNaN(ds []float32, sh []uint8) float64 {
	clear(ds)
	for i := range ds {
		if sh[i] != device.AbsentLevel {
			ds[i] = float32(math.NaN())
		}
	}
	return math.NaN()
}
