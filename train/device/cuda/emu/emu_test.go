package emu

import (
	"testing"
)

const (
	scaleF32 = "scale_f32 u64 u64 f32 u64"
	blockSum = "block_sum u64 u64 u64"
)

// counting returns 0, 1, 2, …
func counting(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

func TestKernelsRunInEveryOrder(t *testing.T) {
	for _, order := range []string{"forward", "reversed", "shuffled:1", "shuffled:2"} {
		t.Run(order, func(t *testing.T) {
			d := open(t, order, scaleF32, blockSum)
			const n = 1000
			x, y, sums := d.upload(counting(n)), d.alloc(n), d.alloc(4)
			d.run(0, "scale_f32", 4, 256, y, x, float32(3), int64(n))
			d.run(0, "block_sum", 4, 256, sums, x, int64(n))
			for i, v := range d.download(y, n) {
				if v != 3*float32(i) {
					t.Fatalf("y[%d] = %v", i, v)
				}
			}
			for b, v := range d.download(sums, 4) {
				want := float32(0)
				for i := 256 * b; i < min(n, 256*b+256); i++ {
					want += float32(i)
				}
				if v != want {
					t.Errorf("sum of block %d = %v, want %v", b, v, want)
				}
			}
		})
	}
}
