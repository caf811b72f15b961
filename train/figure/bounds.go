package figure

import (
	"fmt"
	"math"
	"strconv"

	"hgld/internal/report"
	"hgld/internal/texttable"
)

// Batch says how a batch is divided for a query whose positives are all ranked ahead of its negatives.
type Batch struct {
	Positives, Negatives int // items of each kind
	LowPositives         int // E⁺: positives whose score is not above β
	HighNegatives        int // E⁻: negatives whose score is above β
}

// NewBatch divides a batch: a share of each kind, rounded, is on the wrong side of β.
func NewBatch(positives, negatives int, share float64) Batch {
	return Batch{Positives: positives, Negatives: negatives, LowPositives: int(math.Round(share * float64(positives))),
		HighNegatives: int(math.Round(share * float64(negatives)))}
}

// GapBounds returns the upper bounds of the decomposability gap of K batches that are divided alike, without
// (Eq. 26 of "Optimization of Rank Losses") and with (Eq. 27) the constraint that positives score above β and
// negatives below. In the worst case without it, the global ranking is one batch after the other.
func GapBounds(of Batch, batches int) (without, with float64) {
	low, high := of.LowPositives, of.Positives-of.LowPositives // E⁺, G⁺
	var sum, calibrated float64
	for b := range batches {
		positives, negatives := b*of.Positives, b*of.Negatives // of the batches before
		for j := 1; j <= of.Positives; j++ {
			rank := float64(j + positives)
			sum += rank / (rank + float64(negatives))
		}
		for j := 1; j <= high; j++ {
			rank := float64(j + b*high)
			calibrated += rank / (rank + float64(b*of.HighNegatives))
		}
		for j := 1; j <= low; j++ {
			rank := float64(j + high + positives)
			calibrated += rank / (rank + float64(negatives))
		}
	}
	n := float64(batches * of.Positives)
	return 1 - sum/n, 1 - calibrated/n
}

// mostBatches bounds the number of batches of a figure.
const mostBatches = 1 << 16

// Bounds draws both bounds by the number of batches: 1, 2, 4 … up to the given one.
func Bounds(of Batch, batches int) (*Figure, error) {
	switch {
	case of.Positives < 1 || of.Negatives < 1 || of.Positives+of.Negatives > 1<<16:
		return nil, fmt.Errorf("a batch of %d positives and %d negatives; want at least 1 of each, and at most %d together",
			of.Positives, of.Negatives, 1<<16)
	case of.LowPositives < 0 || of.LowPositives > of.Positives || of.HighNegatives < 0 || of.HighNegatives > of.Negatives:
		return nil, fmt.Errorf("%d of %d positives and %d of %d negatives are on the wrong side; want no more than there are",
			of.LowPositives, of.Positives, of.HighNegatives, of.Negatives)
	case batches < 2 || batches > mostBatches:
		return nil, fmt.Errorf("%d batches; want 2 to %d", batches, mostBatches)
	}
	f := &Figure{Plot: report.Plot{XLabel: "batches", YLabel: "upper bound of the gap (%)", LogX: true, YMost: 100},
		Table: texttable.Table{Head: []string{"batches", "without", "with"}}}
	curves := []report.Curve{{Name: "any scores (Eq. 26)", Dots: true}, {Name: "calibrated scores (Eq. 27)", Dots: true}}
	for k := 1; k <= batches; k *= 2 {
		without, with := GapBounds(of, k)
		f.Plot.XTicks = append(f.Plot.XTicks, float64(k))
		for i, v := range []float64{without, with} {
			curves[i].Points = append(curves[i].Points, report.Point{X: float64(k), Y: math.Max(100*v, 0)})
		}
		f.Table.Rows = append(f.Table.Rows, []string{strconv.Itoa(k), number(100 * without), number(100 * with)})
	}
	f.Plot.Curves = curves
	return f, nil
}
