package cuda_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
)

// hopper opens a backend on an emulator, or a card, of compute capability 9.0. On another card it returns nil:
// gpu_check runs these tests on any, and there is nothing to compare.
func hopper(t *testing.T) *cuda.Backend {
	t.Helper()
	if conformance.OnCard() {
		b := conformance.Card(t)
		if !b.Warpgroups() {
			t.Log("the card has no wgmma")
			return nil
		}
		return b
	}
	libs := emu.Build(t)
	t.Setenv(cuda.LibrariesVariable, libs)
	control := emu.Open(t, libs)
	control.Capability(90)
	b, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err, control.LastError())
	}
	if !b.Warpgroups() {
		t.Fatal("a card of compute capability 9.0 does not compute by wgmma")
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("%v: %s", err, control.LastError())
		}
	})
	return b
}

// bothTiles compares what an operation leaves in arrays with wgmma and with other tiles by mma.sync: the
// emulator's bytes are the same, since both add up 16 products at a time. A card rounds as it likes, so there
// the results agree as sums in another order do.
func bothTiles(t *testing.T, b *cuda.Backend, what string, other int, do func(), results ...device.Array) {
	t.Helper()
	kept := make([][]byte, len(results))
	floats := make([][]float64, len(results))
	for _, tile := range []int{256, other} {
		tune(t, b, fmt.Sprintf("matmul.tile=%[1]d conv.tile=%[1]d convgradx.tile=%[1]d convgradw.tile=%[1]d "+
			"matmul.split=3 convgradw.split=3", tile))
		for _, r := range results {
			b.Fill(r, 0.5)
		}
		do()
		for i, r := range results {
			data, v := make([]byte, r.Len()*r.Type.Size()), values(t, b, r)
			if err := b.Wait(b.Download(data, r)); err != nil {
				t.Fatal(err)
			}
			switch {
			case tile == 256:
				kept[i], floats[i] = data, v
			case conformance.OnCard():
				diff, norm := 0.0, 0.0
				for j := range v {
					diff += (v[j] - floats[i][j]) * (v[j] - floats[i][j])
					norm += v[j] * v[j]
				}
				if !(diff <= productDifference*productDifference*norm) {
					t.Errorf("%s: result %d differs by %g of %g", what, i, diff, norm)
				}
			case !bytes.Equal(kept[i], data):
				t.Errorf("%s: result %d differs from that by mma.sync", what, i)
			}
		}
	}
}

// Rows, columns and sums that fill no tile and no step, and products lower than a tile.
func TestProductsByWgmmaEqualThoseByMma(t *testing.T) {
	b := hopper(t)
	if b == nil {
		return
	}
	const batch = 2
	for _, size := range [][3]int{{264, 136, 200}, {120, 264, 392}, {264, 64, 136}, {56, 264, 136}, {8, 8, 8}} {
		rows, cols, inner := size[0], size[1], size[2]
		for trans := range 4 {
			m := device.Mul{TransA: trans&1 != 0, TransB: trans&2 != 0, Alpha: 0.5, Beta: 1}
			if trans == 1 {
				m = device.Mul{TransA: true, Alpha: 2, Act: device.GELU, Bias: drawn(b, 4, cols).full}
			}
			x, y := drawn(b, 1, batch, rows, inner).short, drawn(b, 2, batch, inner, cols).short
			if m.TransA {
				x = drawn(b, 1, batch, inner, rows).short
			}
			if m.TransB {
				y = drawn(b, 2, batch, cols, inner).short
			}
			dst := device.New(b, device.BF16, batch, rows, cols)
			bothTiles(t, b, fmt.Sprint(size, trans), 128, func() { b.MatMul(dst, x, y, m) }, dst)
		}
	}
}

func TestConvolutionsByWgmmaEqualThoseByMma(t *testing.T) {
	b := hopper(t)
	if b == nil {
		return
	}
	convolveByWgmma(t, b, 72, 160, 128)
	convolveByWgmma(t, b, 64, 64, 64)
}

// convolveByWgmma convolves c channels to k. tile is that of mma.sync.
func convolveByWgmma(t *testing.T, b *cuda.Backend, c, k, tile int) {
	t.Helper()
	const images, side = 2, 13
	for _, shape := range []device.ConvShape{
		{PadH: 1, PadW: 1},
		{PadH: 1, PadW: 1, StrideH: 2, StrideW: 2},
		{PadH: 1, PadW: 2, DilationW: 2},
	} {
		groups := max(shape.Groups, 1)
		out := (side-1)/max(shape.StrideH, 1) + 1
		what := fmt.Sprintf("%d to %d, %+v", c, k, shape)
		x, w := drawn(b, 1, images, side, side, c).short, drawn(b, 2, k, 3, 3, c/groups).short
		dy, residual := drawn(b, 3, images, out, out, k).short, drawn(b, 4, images, out, out, k).short
		y, stats := device.New(b, device.BF16, images, out, out, k), device.New(b, device.F32, 2*k)
		bothTiles(t, b, "Conv "+what, tile, func() {
			b.Conv(y, x, w, shape, device.Epilogue{Residual: residual, Act: device.ReLU, Stats: stats})
		}, y, stats)

		dx, sums := device.New(b, device.BF16, images, side, side, c), device.New(b, device.F32, 2*c)
		mean := drawn(b, 5, c).full
		bothTiles(t, b, "ConvGradX "+what, tile, func() {
			b.ConvGradX(dx, dy, w, shape, device.GradEpilogue{Add: dx, Mask: x, X: x, Sums: sums, Mean: mean})
		}, dx, sums)

		dw := device.New(b, device.F32, k, 3, 3, c/groups)
		bothTiles(t, b, "ConvGradW "+what, tile, func() { b.ConvGradW(dw, dy, x, shape, 1) }, dw)
	}
}

// A driver before CUDA 12.0 refuses the machine code and the PTX. A card that leaves something else than the
// product is used without wgmma too, and both are told once. A kernel that fails is an error that says how to do
// without.
func TestCardsWithoutWgmmaComputeByMma(t *testing.T) {
	if conformance.OnCard() {
		t.Skip("needs the emulator")
	}
	libs := emu.Build(t)
	t.Setenv(cuda.LibrariesVariable, libs)
	control := emu.Open(t, libs)
	control.Capability(90)
	control.Fail(twice(222))
	refused, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	drv, _, err := cuda.OpenDriver()
	if err != nil {
		t.Fatal(err)
	}
	other, err := cuda.OpenWith(idle{drv}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.ProvideWarpgroups(); err != nil {
		t.Fatal(err)
	}
	for b, want := range map[*cuda.Backend]string{
		refused: "the driver does not load the kernels that use wgmma", other: "should be ",
	} {
		var told []string
		b.UseLibraries(false)
		b.Say = func(text string) { told = append(told, text) }
		x, y := drawn(b, 1, 256, 256).short, device.New(b, device.BF16, 256, 256)
		for range 2 {
			b.MatMul(y, x, x, device.Mul{Alpha: 1})
		}
		if b.Warpgroups() || len(told) != 1 || !strings.Contains(told[0], want) {
			t.Errorf("wgmma %v, and %q was told; want %q", b.Warpgroups(), told, want)
		}
		b.Close()
	}
	t.Setenv(cuda.TuneVariable, "kernels.mma=1")
	b, err := cuda.Open(0)
	if err != nil || b.Warpgroups() {
		t.Fatal(b, err)
	}
	b.Close()
	t.Setenv(cuda.TuneVariable, "")
	control.Fail("matmul_tn_256x128_bf16:1:715")
	want := "HGLD_CUDA_TUNE=kernels.mma=1 computes without"
	if _, err := cuda.Open(0); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a kernel that fails: %v", err)
	}
}
