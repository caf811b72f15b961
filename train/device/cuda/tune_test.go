package cuda_test

import (
	"bytes"
	"strings"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
)

// tune sets knobs.
func tune(t testing.TB, b *cuda.Backend, text string) {
	t.Helper()
	if err := b.Tune(text); err != nil {
		t.Fatal(err)
	}
}

func TestKnobsAreCheckedByName(t *testing.T) {
	b := emulated(t)
	for text, want := range map[string]string{
		"matmul.tiles=64":   `$HGLD_CUDA_TUNE has "matmul.tiles"; want matmul.tile, conv.tile, `,
		"conv.tile=96":      `conv.tile is "96"; want 64, 128 or 256`,
		"matmul.split":      `matmul.split is ""; want 1 to 64`,
		"matmul.split=65":   `matmul.split is "65"; want 1 to 64`,
		"cublaslt.plan=8":   `cublaslt.plan is "8"; want 0 to 7`,
		"cudnn.plan=-1":     `cudnn.plan is "-1"; want 0 to 31`,
		"conv.tile=64,128 ": `conv.tile is "64,128"; want 64, 128 or 256`,
	} {
		if err := b.Tune(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	tune(t, b, " matmul.tile=64  convgradw.split=2\tcudnn.plan=3\n")
	if conformance.OnCard() {
		return
	}
	t.Setenv(cuda.TuneVariable, "conv.tile=1")
	if _, err := cuda.Open(0); err == nil || !strings.Contains(err.Error(), "want 64, 128 or 256") {
		t.Errorf("opened with a wrong knob: %v", err)
	}
}

// Large tiles and other splits give right products too. Without knobs the suite's shapes have tiles of
// 64, which TestConformance tests. TestTilesChangeNoBytes compares convolutions with those.
func TestProductsPassTheConformanceSuiteWithOtherTilesAndSplits(t *testing.T) {
	for _, dtype := range []device.DType{device.F32, device.BF16} {
		t.Run(dtype.String(), func(t *testing.T) {
			c := open(t)
			c.Poison = true
			tune(t, c.Backend, "matmul.tile=128 conv.tile=128 convgradx.tile=128 convgradw.tile=128 matmul.split=3 "+
				"convgradw.split=5")
			ops := []string{"MatMul"}
			if effort.Exhaustive() {
				ops = append(ops, "Conv")
			}
			conformance.RunOps(t, c, dtype, ops...)
		})
	}
}

// tuned computes a product of each kind with knobs, and returns the bytes.
func tuned(t *testing.T, b *cuda.Backend, dtype device.DType, knobs string) (all [][]byte) {
	tune(t, b, knobs)
	of := func(p pair) device.Array {
		if dtype == device.BF16 {
			return p.short
		}
		return p.full
	}
	keep := func(a device.Array) {
		data := make([]byte, a.Len()*a.Type.Size())
		if err := b.Wait(b.Download(data, a)); err != nil {
			t.Fatal(err)
		}
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
	const one = " matmul.split=1 convgradw.split=1"
	small := "matmul.tile=64 conv.tile=64 convgradx.tile=64 convgradw.tile=64"
	large := strings.ReplaceAll(small, "64", "128")
	split := " matmul.split=4 convgradw.split=3"
	for _, dtype := range []device.DType{device.F32, device.BF16} {
		want, wantSplit := tuned(t, b, dtype, small+one), tuned(t, b, dtype, small+split)
		got, gotSplit := tuned(t, b, dtype, large+one), tuned(t, b, dtype, large+split)
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
	for knobs, want := range map[string]int{"cublaslt.plan=1": 1, "cublaslt.plan=2": 0} {
		t.Run(knobs, func(t *testing.T) {
			v := openVendor(t, "all")
			tune(t, v.Backend, knobs)
			v.product(t, device.F32, 7)
			if got, _ := v.queued(); got != want || len(*v.told) != 1-want {
				t.Errorf("%d products by the library, want %d; told %q", got, want, *v.told)
			}
		})
	}
	for knobs, want := range map[string]int{"cudnn.plan=1": 1, "cudnn.plan=31": 0} {
		t.Run(knobs, func(t *testing.T) {
			v := openVendor(t, "all")
			tune(t, v.Backend, knobs)
			v.convolve(t, 4)
			if _, got := v.queued(); got != want || len(*v.told) != 1-want {
				t.Errorf("%d convolutions by the library, want %d; told %q", got, want, *v.told)
			}
		})
	}
}

// The walk of the knobs ends at the library's last plan: of the imitations two for a product, and
// for a convolution in BF16 two of each way of asking.
func TestTuningWalkReachesEveryVendorPlan(t *testing.T) {
	if conformance.OnCard() {
		t.Skip("needs the imitations of NVIDIA's libraries")
	}
	w := newWalk(newMeasure(t, emu.BuildVendor(t)))
	for _, shape := range append(w.convolutionShapes(), w.productShapes()...) {
		shape(w)
	}
	if len(w.Rows) != 6 || !w.products || !w.convolutions {
		t.Fatalf("%d rows, libraries %v and %v", len(w.Rows), w.products, w.convolutions)
	}
	for _, f := range w.Rows {
		if strings.HasPrefix(f.Name, "ConvGradW 3×3") && f.First == nil {
			continue // no library has it
		}
		if f.First == nil || f.Plan.Ms > f.First.Ms || f.Best.Ms > f.Rule.Ms || f.Best.Ms <= 0 ||
			!strings.HasSuffix(f.First.Knobs, "plan=0") {
			t.Errorf("%+v, library %+v, its best %+v", f, f.First, f.Plan)
		}
	}
	w.b.UseLibraries(true)
	w.b.ForgetTold()
	w.fell = false
	tune(t, w.b, "cublaslt.plan=2")
	x, y := w.array(8, 8), w.array(8, 8)
	w.b.MatMul(y, x, x, device.Mul{Alpha: 1})
	if !w.fell {
		t.Error("a plan that there is not was taken")
	}
}
