package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/train/device"
)

func TestPackedMatricesGiveTheSameBytes(t *testing.T) {
	b := New(2)
	m := &maker{b, rand.New(rand.NewPCG(5, 6))}
	for _, transB := range []bool{false, true} {
		for _, rows := range []int{1, 7, 500} {
			for _, s := range []struct{ k, n int }{{8, 32}, {300, 96}, {700, 1056}} {
				x, bias := m.f32(rows, s.k), m.f32(s.n)
				w := m.f32(s.k, s.n)
				if transB {
					w = m.f32(s.n, s.k)
				}
				for _, mul := range []device.Mul{{TransB: transB, Alpha: 1, Bias: bias, Act: device.GELU},
					{TransB: transB, Alpha: 1, Beta: 1}} {
					want, got := m.f32(rows, s.n), device.New(b, device.F32, rows, s.n)
					b.Copy(got, want)
					b.MatMul(want, x, w, mul)
					kept := device.New(b, device.F32, w.Dims[0], w.Dims[1])
					b.Copy(kept, w)
					if !b.Pack(kept, transB) {
						return // this processor's BLAS does not pack
					}
					b.MatMul(got, x, kept, mul)
					if !slices.Equal(f32(got), f32(want)) {
						t.Errorf("%d × %+v, transposed %t, %+v: other bytes", rows, s, transB, mul)
					}
					b.Free(kept.Buf)
				}
			}
		}
	}
	if len(b.packed) != 0 {
		t.Errorf("%d matrices are packed that were freed", len(b.packed))
	}
}

func TestPackedMatrixInAnotherProductPanics(t *testing.T) {
	b := New(1)
	m := &maker{b, rand.New(rand.NewPCG(7, 8))}
	w := m.f32(32, 32)
	if !b.Pack(w, true) {
		return
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	b.MatMul(m.f32(3, 32), m.f32(3, 32), w, device.Mul{Alpha: 1})
}
