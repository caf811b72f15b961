package reference

import (
	"math"

	"hgld/train/device"
)

// Bins are the constants of device.Bins in float64.
type Bins struct {
	N        int     // centres, at least 2
	Min, Max float64 // the last and the first centre
}

// place returns the bin at or above a score (bins are in falling order of scores), the share that
// belongs to the next bin, and the slope of that share.
func (o Bins) place(s float64) (bin int, next, slope float64) {
	x := (o.Max - s) / (o.Max - o.Min) * float64(o.N-1)
	switch {
	case x < 0:
		return 0, 0, 0
	case x >= float64(o.N-1):
		return o.N - 2, 1, 0
	}
	floor := math.Floor(x)
	return int(floor), x - floor, -float64(o.N-1) / (o.Max - o.Min)
}

// BinLoss defines the loss by bins for one query. s [G] and sh [G] are its scores and shared
// levels. ds receives the gradient and may be nil. work [6N] is scratch. If a score is NaN, so are
// the loss and the gradient.
func BinLoss[T float32 | float64](ds []float64, s []T, sh []uint8, o Bins, work []float64) float64 {
	clear(ds)
	clear(work)
	n := o.N
	all, pos := work[:n], work[n:2*n]
	positives := 0.0
	for i, l := range sh {
		if l == device.AbsentLevel {
			continue
		}
		if s[i] != s[i] {
			return binLossOfNaN(ds, sh)
		}
		bin, next, _ := o.place(float64(s[i]))
		all[bin] += 1 - next
		all[bin+1] += next
		if l >= 1 {
			pos[bin] += 1 - next
			pos[bin+1] += next
			positives++
		}
	}
	if positives == 0 {
		return 0
	}
	loss := BinSlopes(work, n, positives)
	if ds == nil {
		return loss
	}
	byAll, byPos := work[4*n:5*n], work[5*n:]
	for i, l := range sh {
		if l == device.AbsentLevel {
			continue
		}
		bin, _, slope := o.place(float64(s[i]))
		if slope == 0 {
			continue
		}
		d := byAll[bin+1] - byAll[bin]
		if l >= 1 {
			d += byPos[bin+1] - byPos[bin]
		}
		ds[i] = -slope * d / positives
	}
	return loss
}

// BinSlopes returns the loss of a query from its histogram, and the derivatives of its precision
// Σ_m c⁺_m C⁺_m/C_m. work [6n] holds c, the weight of all items in each of n bins, and c⁺, that of
// the positives. Its last two parts receive the derivatives by the weight of a bin among all items
// and among the positives.
func BinSlopes(work []float64, n int, positives float64) float64 {
	all, pos, sumAll, sumPos := work[:n], work[n:2*n], work[2*n:3*n], work[3*n:4*n]
	ap, a, p := 0.0, 0.0, 0.0
	for m := range n {
		a, p = a+all[m], p+pos[m]
		sumAll[m], sumPos[m] = a, p
		if a > 0 {
			ap += pos[m] * p / a
		}
	}
	binSlopes(work[4*n:5*n], work[5*n:], pos, sumAll, sumPos)
	return 1 - ap/positives
}

// binLossOfNaN returns the loss of a query with a NaN score, which has no bin.
func binLossOfNaN(ds []float64, sh []uint8) float64 {
	for i := range ds {
		if sh[i] != device.AbsentLevel {
			ds[i] = math.NaN()
		}
	}
	return math.NaN()
}

// binSlopes returns the derivatives of Σ_m c⁺_m C⁺_m/C_m by the weight of a bin among all items,
// and by its weight among the positives:
//
//	byAll_j = −Σ_{m≥j} c⁺_m C⁺_m/C_m²    byPos_j = C⁺_j/C_j + Σ_{m≥j} c⁺_m/C_m
func binSlopes(byAll, byPos, pos, sumAll, sumPos []float64) {
	all, tail := 0.0, 0.0
	for j := len(pos) - 1; j >= 0; j-- {
		share := 0.0
		if sumAll[j] > 0 {
			share = sumPos[j] / sumAll[j]
			all -= pos[j] * share / sumAll[j]
			tail += pos[j] / sumAll[j]
		}
		byAll[j], byPos[j] = all, share+tail
	}
}
