package cuda_test

import (
	"bytes"
	"fmt"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/conformance"
)

// Large tiles and other splits give right products too. Unasked, the suite's shapes have tiles of
// 64, which TestConformance tests. TestTilesChangeNoBytes compares convolutions with those.
func TestProductsPassTheConformanceSuiteWithOtherTilesAndSplits(t *testing.T) {
	for _, dtype := range []device.DType{device.F32, device.BF16} {
		t.Run(dtype.String(), func(t *testing.T) {
			c := open(t)
			c.Poison = true
			c.Choose(cuda.Choices{Tile: 128, Splits: 3})
			ops := []string{"MatMul"}
			if effort.Exhaustive() {
				ops = append(ops, "Conv")
			}
			conformance.RunOps(t, c, dtype, ops...)
		})
	}
}

// chosen computes a product of each kind with a tile and splits, and returns the bytes.
func chosen(t *testing.T, b *cuda.Backend, dtype device.DType, tile, splits int) (all [][]byte) {
	b.Choose(cuda.Choices{Tile: tile, Splits: splits})
	of := func(p pair) device.Array {
		if dtype == device.BF16 {
			return p.short
		}
		return p.full
	}
	keep := func(a device.Array) {
		data := make([]byte, a.Len()*a.Type.Size())
		must.Do(t, b.Wait(b.Download(data, a)))
		all = append(all, data)
	}
	x, y, dst := of(drawn(b, 1, 70, 520)), of(drawn(b, 2, 520, 130)), device.New(b, dtype, 70, 130)
	b.MatMul(dst, x, y, device.Mul{Alpha: 1})
	keep(dst)
	shape := device.ConvShape{PadH: 1, PadW: 1}
	image, w, out := of(drawn(b, 3, 3, 13, 14, 8)), of(drawn(b, 4, 72, 3, 3, 8)), of(drawn(b, 5, 3, 13, 14, 72))
	dw := device.New(b, device.F32, 72, 3, 3, 8)
	b.ConvGradW(dw, out, image, shape, 0)
	keep(dw)
	b.Conv(out, image, w, shape, device.Epilogue{})
	keep(out)
	b.ConvGradX(image, out, w, shape, device.GradEpilogue{})
	keep(image)
	return all
}

// A tile changes no bytes. Splits do, but not twice in the same way.
func TestTilesChangeNoBytes(t *testing.T) {
	b := emulated(t)
	b.UseLibraries(false)
	for _, dtype := range []device.DType{device.F32, device.BF16} {
		want, wantSplit := chosen(t, b, dtype, 64, 1), chosen(t, b, dtype, 64, 3)
		got, gotSplit := chosen(t, b, dtype, 128, 1), chosen(t, b, dtype, 128, 3)
		for i, of := range []string{"MatMul", "ConvGradW", "Conv", "ConvGradX"} {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%v %s: tiles of 64 and 128 give different bytes", dtype, of)
			}
			if !bytes.Equal(gotSplit[i], wantSplit[i]) {
				t.Errorf("%v %s in splits: tiles of 64 and 128 give different bytes", dtype, of)
			}
		}
		if bytes.Equal(want[1], wantSplit[1]) {
			t.Errorf("%v: a gradient has the same bytes in one piece and in three: nothing was split", dtype)
		}
	}
}

// A plan behind the first is taken where the library has one, and otherwise hgld's kernel, which is
// told.
func TestVendorPlanIsChosenByNumber(t *testing.T) {
	for plan, want := range map[int]int{1: 1, 2: 0} {
		t.Run(fmt.Sprint("cublaslt ", plan), func(t *testing.T) {
			v := openVendor(t, "all")
			v.Choose(cuda.Choices{Way: cuda.ByWay(fmt.Sprint("cublaslt ", plan))})
			v.product(t, device.F32, 7)
			if got, _ := v.queued(); got != want || len(*v.told) != 1-want {
				t.Errorf("%d products by the library, want %d; told %q", got, want, *v.told)
			}
		})
	}
	for plan, want := range map[int]int{1: 1, 31: 0} {
		t.Run(fmt.Sprint("cudnn ", plan), func(t *testing.T) {
			v := openVendor(t, "all")
			v.Choose(cuda.Choices{Way: cuda.ByWay(fmt.Sprint("cudnn ", plan))})
			v.convolve(t, 4)
			if _, got := v.queued(); got != want || len(*v.told) != 1-want {
				t.Errorf("%d convolutions by the library, want %d; told %q", got, want, *v.told)
			}
		})
	}
}
