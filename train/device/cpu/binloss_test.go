package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// A row of more items than a word of the histogram can count has the loss and the slopes of its definition.
func TestBinLossOfMoreItemsThanAWordCounts(t *testing.T) {
	const items = binMostItems + 9
	b, r := New(1), rand.New(rand.NewPCG(4, 4))
	s, ds := device.New(b, device.F32, 1, items), device.New(b, device.F32, 1, items)
	sh, loss := device.New(b, device.U8, 1, items), device.New(b, device.F32, 1)
	for i := range items {
		f32(s)[i] = 0.1 + 0.05*r.Float32() // one bin
		u8(sh)[i] = [8]uint8{1, device.AbsentLevel}[i%8]
	}
	b.BinLoss(loss, ds, s, sh, &device.Bins{N: 11, Min: -1, Max: 1})
	slopes := make([]float64, items)
	want := reference.BinLoss(slopes, f32(s), u8(sh), reference.Bins{N: 11, Min: -1, Max: 1}, make([]float64, 66))
	if got := float64(f32(loss)[0]); math.Abs(got-want) > 1e-6 { // float32, and a million shares of 2^-24
		t.Errorf("the loss is %v, want %v", got, want)
	}
	for i, w := range slopes {
		if d := math.Abs(float64(f32(ds)[i]) - w); d > 2e-5*math.Abs(w) {
			t.Fatalf("item %d has slope %v, want %v", i, f32(ds)[i], w)
		}
	}
}
