package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/train/device"
)

// normals returns a matrix of normal numbers, whose rows are ld apart.
func normals(b *Backend, rows, cols, ld int) device.Array {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(cols)))
	a := device.New(b, device.F32, rows, ld)
	for i := range f32(a) {
		f32(a)[i] = float32(r.NormFloat64())
	}
	return a.ColRange(0, cols)
}

// Half of the scores of rows among themselves are copied. They are those against a copy of the rows, to
// the byte.
func TestScoresOfRowsAmongThemselvesAreThoseOfACopy(t *testing.T) {
	b := New(2)
	for _, n := range []int{1, 63, 130, 700} { // below a block, with part of one, and packed for all tiles
		rows := normals(b, n, 33, 35)
		twin := device.New(b, device.F32, n, 33)
		b.Copy(twin, rows)
		got, want := normals(b, n, n, n+3), normals(b, n, n, n+3)
		b.Scores(got, rows, rows)
		b.Scores(want, rows, twin)
		if !slices.Equal(f32(got), f32(want)) {
			t.Errorf("%d rows have other scores among themselves", n)
		}
	}
}

func TestSymmetrizeAddsTheTranspose(t *testing.T) {
	for _, threads := range []int{1, 3} {
		b := New(threads)
		for _, n := range []int{1, 63, 64, 65, 200} {
			for _, factors := range []int{1, n} {
				a, s := normals(b, n, n, n+5), normals(b, 1, factors, factors).Reshape(factors)
				want := slices.Clone(f32(a))
				at := func(i, j int) float32 { return float32(f32(s)[min(i, factors-1)] * f32(a)[i*a.Ld+j]) }
				for i := range n {
					for j := range n {
						want[i*a.Ld+j] = at(i, j) + at(j, i)
					}
				}
				if !b.Symmetrize(a, s) || !slices.Equal(f32(a), want) {
					t.Errorf("%d rows with %d factors on %d threads: not the sum with the transpose", n, factors, threads)
				}
			}
		}
	}
}
