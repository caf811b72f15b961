package cuda_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/cuda/vendor"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
)

// withVendor is a backend on the emulator and on the imitations of NVIDIA's libraries.
type withVendor struct {
	card
	seen     *emu.Vendor
	told     *[]string
	products int // before
	convs    int
}

// openVendor opens a backend with a setting of HGLD_CUDA_VENDOR. At the end of the test it fails
// for wrong calls of the libraries and for objects that were not destroyed.
func openVendor(t *testing.T, setting string) withVendor {
	t.Helper()
	if conformance.OnCard() {
		t.Skip("needs the emulator: $" + conformance.CardVariable + " is set")
	}
	libs, imitations := emu.Build(t), emu.BuildVendor(t)
	t.Setenv(cuda.LibrariesVariable, libs+string(os.PathListSeparator)+imitations)
	t.Setenv(cuda.VendorVariable, setting)
	if os.Getenv(vendor.PlansVariable) == "" {
		t.Setenv(vendor.PlansVariable, "off")
	}
	control := emu.Open(t, libs)
	seen := emu.OpenVendor(t, imitations)
	b, err := cuda.Open(0)
	must.Do(t, err)
	b.Poison = true
	v := withVendor{card{b, control}, seen, new([]string), seen.Products(), seen.Convolutions()}
	b.Log = func(text string) { *v.told = append(*v.told, text); t.Log(text) }
	before, alive := seen.Complaints(), seen.Alive()
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("%v: %s", err, control.LastError())
		}
		if wrong := strings.TrimPrefix(seen.Complaints(), before); wrong != "" {
			t.Errorf("wrong calls of the libraries:\n%s", wrong)
		}
		if n := seen.Alive() - alive; n != 0 {
			t.Errorf("%d objects of the libraries were not destroyed", n)
		}
	})
	return v
}

// queued returns the number of products and convolutions of the libraries so far.
func (v withVendor) queued() (products, convolutions int) {
	return v.seen.Products() - v.products, v.seen.Convolutions() - v.convs
}

func TestVendorPassesTheConformanceSuite(t *testing.T) {
	v := openVendor(t, "all")
	for _, dtype := range []device.DType{device.BF16, device.F32} {
		t.Run(dtype.String(), func(t *testing.T) { conformance.RunOps(t, v, dtype, "MatMul", "Conv") })
	}
	products, convolutions := v.queued()
	epilogues := 2
	if effort.Long() {
		epilogues = 12
	}
	if products < 2*60 || convolutions < 2*(6+1+epilogues)*24 {
		t.Errorf("the libraries computed %d products and %d convolutions", products, convolutions)
	}
	if len(*v.told) > 0 {
		t.Errorf("something fell back: %q", *v.told)
	}
}

// Attention in bfloat16 without masks is cuDNN's on Hopper from 64 tokens on, where the heads are multiples of 8, and
// conforms; all other is that of our kernels.
func TestVendorAttentionPassesTheConformanceSuite(t *testing.T) {
	v := openVendor(t, "all")
	v.Backend.Hopper()
	conformance.RunOps(t, v, device.BF16, "Attention")
	if _, n := v.queued(); n < 2*2 || len(*v.told) > 0 {
		t.Errorf("the library computed %d attentions and gradients; told %q", n, *v.told)
	}
	of := func(tokens, size int, causal, ragged bool) int {
		_, before := v.queued()
		v.attend(t, 2, tokens, size, causal, ragged)
		_, after := v.queued()
		return after - before
	}
	for _, c := range []struct {
		tokens, size   int
		causal, ragged bool
		want           int
	}{{64, 8, false, false, 2}, {64, 8, true, false, 0}, {64, 8, false, true, 0}, {63, 8, false, false, 0},
		{64, 4, false, false, 0}, {64, 136, false, false, 0}} {
		if got := of(c.tokens, c.size, c.causal, c.ragged); got != c.want {
			t.Errorf("%+v: the library computed %d", c, got)
		}
	}
}

// attend computes an attention of two heads of zeros and its gradient.
func (v withVendor) attend(t *testing.T, images, tokens, size int, causal, ragged bool) {
	t.Helper()
	width, o := 2*size, device.Heads{Heads: 2, Causal: causal}
	qkv, y := device.New(v, device.BF16, images, tokens, 3*width), device.New(v, device.BF16, images, tokens, width)
	dqkv, dy := device.New(v, device.BF16, images, tokens, 3*width), device.New(v, device.BF16, images, tokens, width)
	lse, lengths := device.New(v, device.F32, images, 2, tokens), device.Array{}
	if ragged {
		lengths = device.New(v, device.I32, images)
		v.Fill(lengths, 3)
	}
	v.Fill(qkv, 0)
	v.Fill(dy, 1)
	v.Attention(y, lse, qkv, lengths, o)
	v.AttentionGrad(dqkv, dy, y, lse, qkv, lengths, o)
	for _, a := range []device.Array{qkv, y, dqkv, dy, lse, lengths} {
		if !a.Absent() {
			v.Free(a.Buf)
		}
	}
}

// product multiplies two matrices of ones, so that every element is inner.
func (v withVendor) product(t *testing.T, dtype device.DType, inner int) {
	t.Helper()
	x, y, dst := device.New(v, dtype, 3, inner), device.New(v, dtype, inner, 5), device.New(v, device.F32, 3, 5)
	v.Fill(x, 1)
	v.Fill(y, 1)
	v.MatMul(dst, x, y, device.Mul{Alpha: 1})
	out := download(t, v.Backend, dst)
	for _, a := range []device.Array{x, y, dst} {
		v.Free(a.Buf)
	}
	want := numbers(float32(inner))
	for i := 0; i < len(out); i += 4 {
		if string(out[i:i+4]) != string(want) {
			t.Fatalf("element %d of a product of ones is %v, want %v", i/4, out[i:i+4], want)
		}
	}
}

func TestVendorSettingSelectsTypes(t *testing.T) {
	for setting, want := range map[string]int{"off": 0, "": 0, "bfloat16": 0, "all": 1} {
		t.Run(setting, func(t *testing.T) {
			v := openVendor(t, setting)
			v.product(t, device.F32, 7)
			if got, _ := v.queued(); got != want {
				t.Errorf("%d products in float32 by the library, want %d", got, want)
			}
			if setting == "bfloat16" {
				v.product(t, device.BF16, 7)
				if got, _ := v.queued(); got != 1 {
					t.Errorf("%d products in bfloat16 by the library, want 1", got)
				}
			}
		})
	}
	t.Setenv(cuda.VendorVariable, "fast")
	t.Setenv(cuda.LibrariesVariable, emu.Build(t))
	if _, err := cuda.Open(0); err == nil || !strings.Contains(err.Error(), "want bfloat16, measured, all or off") {
		t.Errorf("got %v", err)
	}
}

// checkTold checks that one reason was told, with the code of a status and, if the code says so, how much memory
// the GPU has.
func (v withVendor) checkTold(t *testing.T, code string) {
	t.Helper()
	short := strings.Contains(code, "ALLOC") && !strings.Contains(code, "HOST")
	if len(*v.told) != 1 || !strings.Contains((*v.told)[0], code) ||
		strings.Contains((*v.told)[0], "out of device memory: ") != short {
		t.Errorf("told %q, want one text with %s", *v.told, code)
	}
}

// A product that the library refuses, at any of its calls, is computed by our kernel, and the
// reason is told once.
func TestVendorProductsFallBackAndReportOnce(t *testing.T) {
	for calls, told := range map[string]string{
		"cublasLtMatmul:1:15":                      "CUBLAS_STATUS_NOT_SUPPORTED",
		"cublasLtMatmul:1:3":                       "CUBLAS_STATUS_ALLOC_FAILED",
		"cublasLtMatmulAlgoGetHeuristic:1:15":      "CUBLAS_STATUS_NOT_SUPPORTED",
		"cublasLtMatmulDescCreate:1:3":             "CUBLAS_STATUS_ALLOC_FAILED",
		"cublasLtMatrixLayoutCreate:2:3":           "CUBLAS_STATUS_ALLOC_FAILED",
		"cublasLtMatmulPreferenceSetAttribute:2:7": "CUBLAS_STATUS_INVALID_VALUE",
		"cublasLtCreate:1:1":                       "CUBLAS_STATUS_NOT_INITIALIZED",
	} {
		t.Run(calls, func(t *testing.T) {
			v := openVendor(t, "all")
			v.emulator.Fail(calls)
			for range 3 {
				v.product(t, device.F32, 9)
			}
			if got, _ := v.queued(); got != 0 {
				t.Errorf("%d products by the library", got)
			}
			v.checkTold(t, told)
		})
	}
}

// convolve convolves an image of ones with filters of ones: the middle of the result is 9·c.
func (v withVendor) convolve(t *testing.T, c int) {
	t.Helper()
	x, w := device.New(v, device.F32, 1, 3, 3, c), device.New(v, device.F32, 2, 3, 3, c)
	y := device.New(v, device.F32, 1, 3, 3, 2)
	v.Fill(x, 1)
	v.Fill(w, 1)
	v.Conv(y, x, w, device.ConvShape{PadH: 1, PadW: 1}, device.Epilogue{})
	out := download(t, v.Backend, y)
	for _, a := range []device.Array{x, w, y} {
		v.Free(a.Buf)
	}
	if got := out[4*8 : 4*9]; string(got) != string(numbers(float32(9*c))) {
		t.Fatalf("the middle is %v, want %v", got, numbers(float32(9*c)))
	}
}

func TestVendorConvolutionsFallBackAndReportOnce(t *testing.T) {
	for calls, told := range map[string]string{
		"cudnnBackendExecute:1:3000":          "CUDNN_STATUS_NOT_SUPPORTED",
		"cudnnBackendFinalize:6:3000":         "CUDNN_STATUS_NOT_SUPPORTED",
		"cudnnBackendCreateDescriptor:3:4003": "HOST_ALLOCATION_FAILED",
		"cudnnCreate:1:4003":                  "HOST_ALLOCATION_FAILED",
		"cudnnCreate:1:4004":                  "DEVICE_ALLOCATION_FAILED",
	} {
		t.Run(calls, func(t *testing.T) {
			v := openVendor(t, "all")
			v.emulator.Fail(calls)
			for range 3 {
				v.convolve(t, 4)
			}
			if _, got := v.queued(); got != 0 {
				t.Errorf("%d convolutions by the library", got)
			}
			v.checkTold(t, told)
		})
	}
}

// A failure while work is queued may have left half a result: it is no reason to go on.
func TestVendorFailureWhileQueuedIsSticky(t *testing.T) {
	v := openVendor(t, "all")
	x := device.New(v, device.F32, 2, 2)
	v.Fill(x, 1)
	v.emulator.Fail("cublasLtMatmul:1:13")
	v.MatMul(device.New(v, device.F32, 2, 2), x, x, device.Mul{Alpha: 1})
	if err := v.Sync(); err == nil || !strings.Contains(err.Error(), "MatMul: cublasLtMatmul") {
		t.Errorf("got %v", err)
	}
	v.Backend.ClearError()
}

func TestVendorFailureForMemoryIsThatOfTheDevice(t *testing.T) {
	v := openVendor(t, "all")
	x, w := device.New(v, device.F32, 1, 3, 3, 4), device.New(v, device.F32, 2, 3, 3, 4)
	v.Fill(x, 1)
	v.Fill(w, 1)
	v.emulator.Fail("cudnnBackendExecute:1:4004")
	v.Conv(device.New(v, device.F32, 1, 1, 1, 2), x, w, device.ConvShape{}, device.Epilogue{})
	if err := v.Sync(); !errors.As(err, new(*device.OutOfMemory)) ||
		!strings.Contains(err.Error(), "Conv: out of device memory") {
		t.Errorf("got %v", err)
	}
	v.Backend.ClearError()
}

// A step with the libraries' work is recorded and repeated.
func TestVendorIsRecordedInPrograms(t *testing.T) {
	v := openVendor(t, "all")
	x, sum := device.New(v, device.F32, 4, 4), device.New(v, device.F32, 4, 4)
	v.Fill(x, 1)
	v.Fill(sum, 0)
	step := func() { v.MatMul(sum, x, x, device.Mul{Alpha: 1, Beta: 1}) }
	step()
	p, err := v.Record(step)
	must.Do(t, err)
	p.Run()
	p.Run()
	out := download(t, v.Backend, sum)
	if want := numbers(12); string(out[:4]) != string(want) {
		t.Errorf("three products of ones add up to %v, want %v", out[:4], want)
	}
	p.Close()
}

// The result of BF16 products is that of float64 to half a unit of BF16, with the bias rounded
// to BF16 and GELU by tanh in the epilogue.
func TestVendorFusesBiasAndGELUInBF16(t *testing.T) {
	v := openVendor(t, "bfloat16")
	x, y, dst := device.New(v, device.BF16, 1, 2), device.New(v, device.BF16, 2, 3), device.New(v, device.BF16, 1, 3)
	bias, back := device.New(v, device.F32, 3), device.New(v, device.F32, 1, 3)
	v.Fill(x, 0.5)
	v.Fill(y, 1)
	v.Upload(bias, numbers(-3, 0, 1))
	v.MatMul(dst, x, y, device.Mul{Alpha: 1, Bias: bias, Act: device.GELUTanh})
	v.Copy(back, dst)
	out := download(t, v.Backend, back)
	for i, b := range []float64{-3, 0, 1} {
		z := 1 + b
		want := 0.5 * z * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(z+0.044715*z*z*z)))
		got := float64(math.Float32frombits(binary.NativeEndian.Uint32(out[4*i:])))
		if math.Abs(got-want) > 0x1p-8*math.Abs(want) {
			t.Errorf("element %d is %v, want %v", i, got, want)
		}
	}
	if products, _ := v.queued(); products != 1 {
		t.Errorf("%d products by the library, want 1", products)
	}
}

// cuDNN's fallback for BF16 without tensor cores is far slower than our kernel, which uses them.
func TestAlgorithmsWithoutTensorCoresAreNotTakenInBF16(t *testing.T) {
	v := openVendor(t, "bfloat16")
	v.seen.WithoutTensorCores(t)
	x, w := device.New(v, device.BF16, 1, 3, 3, 8), device.New(v, device.BF16, 2, 1, 1, 8)
	y, back := device.New(v, device.BF16, 1, 3, 3, 2), device.New(v, device.F32, 1, 3, 3, 2)
	v.Fill(x, 1)
	v.Fill(w, 2)
	for range 2 {
		v.Conv(y, x, w, device.ConvShape{}, device.Epilogue{Act: device.ReLU})
	}
	v.Copy(back, y)
	if out := download(t, v.Backend, back); string(out[:4]) != string(numbers(16)) {
		t.Errorf("eight products of 2 are %v", out[:4])
	}
	if _, n := v.queued(); n != 0 || len(*v.told) != 1 || !strings.Contains((*v.told)[0], "does not use tensor cores") {
		t.Errorf("%d convolutions by the library, want none; told %q", n, *v.told)
	}
}

// A plan is compiled once for a kind of GPU and a version of cuDNN, and kept for other Backends and for later runs.
// What was kept and is damaged, or of another version, is compiled again.
func TestPlansAreKeptForLaterRuns(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(vendor.PlansVariable, dir)
	file := func() string {
		files, err := filepath.Glob(filepath.Join(dir, "9.26.0--CUDA-12040--hgld-emulator--8.0--108-multiprocessors",
			"*.plan"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the files are %v, %v", files, err)
		}
		return files[0]
	}
	later := func() { // what the process keeps belongs to the folder
		next := filepath.Join(t.TempDir(), "plans")
		must.Do(t, os.Rename(dir, next))
		dir = next
		t.Setenv(vendor.PlansVariable, dir)
	}
	change := func(old, new string, sound bool) {
		later()
		data, err := os.ReadFile(file())
		must.Do(t, err)
		_, text, _ := strings.Cut(string(data), "\n")
		sum := sha256.Sum256([]byte(text))
		changed := strings.Replace(text, old, new, 1)
		if changed == text {
			t.Fatalf("no %s in %s", old, text)
		}
		if sound {
			sum = sha256.Sum256([]byte(changed))
		}
		must.Do(t, os.WriteFile(file(), fmt.Appendf(nil, "%x\n%s", sum, changed), 0o600))
	}
	for _, c := range []struct {
		name     string
		before   func()
		compiled int
	}{
		{"the first run", func() {}, 1},
		{"another Backend", func() {}, 0},
		{"a later run", later, 0},
		{"a damaged file", func() { change("Engine", "engine", false) }, 1},
		{"the file made anew", later, 0},
		{"a file of another version", func() { change(`{\"plan\":`, `{\"plan\":1`, true) }, 1},
		{"a folder that cannot be written", func() { t.Setenv(vendor.PlansVariable, "/dev/null/plans") }, 1},
		{"its next Backend", func() {}, 0},
		{"none are kept", func() { t.Setenv(vendor.PlansVariable, "off") }, 1},
		{"and again", func() {}, 1},
	} {
		c.before()
		t.Run(c.name, func(t *testing.T) {
			v := openVendor(t, "all")
			before := v.seen.Planned()
			v.convolve(t, 4)
			if _, n := v.queued(); n != 1 || len(*v.told) != 0 {
				t.Errorf("%d convolutions by the library; told %q", n, *v.told)
			}
			if n := v.seen.Planned() - before; n < c.compiled || (n > 0) != (c.compiled > 0) {
				t.Errorf("%d plans were compiled, want %d", n, c.compiled)
			}
		})
	}
}

// A plan that was kept and cannot be executed is forgotten, so that the next run finds another.
func TestPlanThatFailsIsNotKept(t *testing.T) {
	t.Setenv(vendor.PlansVariable, t.TempDir())
	for i, c := range []struct {
		fail string
		by   int // convolutions by the library
	}{{"", 1}, {"cudnnBackendExecute:1:3000", 0}, {"", 1}} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			v := openVendor(t, "all")
			before := v.seen.Planned()
			v.emulator.Fail(c.fail)
			v.convolve(t, 4)
			if _, n := v.queued(); n != c.by {
				t.Errorf("%d convolutions by the library, want %d", n, c.by)
			}
			if compiled := v.seen.Planned() > before; compiled != (i != 1) {
				t.Errorf("compiled is %v", compiled)
			}
		})
	}
}

// The real cuDNN ends the process if it does not find its parts, or the cuBLASLt of its CUDA.
func TestLibraryWithoutItsPartsIsNotCalled(t *testing.T) {
	libs, imitations := emu.Build(t), emu.BuildVendor(t)
	for missing, want := range map[string][2]string{ // reasons why cuBLASLt and cuDNN are not used
		"":                    {"", ""},
		"libcudnn.so.9":       {"", "libcudnn.so.9 is not there"},
		"libcudnn_graph.so.9": {"", "lacks libcudnn_graph.so.9, a part of cuDNN"},
		"libcublasLt.so.12":   {"libcublasLt.so.12 is not there", "needs libcublasLt.so.12: libcublasLt.so.12 is not there"},
	} {
		t.Run(missing, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"libcublasLt.so.12", "libcudnn.so.9", "libcudnn_graph.so.9"} {
				if name != missing {
					must.Do(t, os.Symlink(filepath.Join(imitations, name), filepath.Join(dir, name)))
				}
			}
			t.Setenv(cuda.LibrariesVariable, libs+string(os.PathListSeparator)+dir)
			for i, f := range cuda.ProbeVendor(12040) {
				if (f.Err == nil) != (want[i] == "") || f.Err != nil && !strings.Contains(f.Err.Error(), want[i]) {
					t.Errorf("%s: %v, want %q", f.Name, f.Err, want[i])
				}
			}
		})
	}
}

// In bfloat16 the library computes what it is faster at: no gradient with sums of wide results, and of convolutions of
// a few channels the gradient by x alone.
func TestConvolutionsInBF16ThatOurKernelsComputeFaster(t *testing.T) {
	stem, patches := device.ConvShape{StrideH: 2, StrideW: 2, PadH: 1, PadW: 1}, device.ConvShape{StrideH: 2, StrideW: 2}
	for name, c := range map[string]struct {
		n, side, c, taps int
		shape            device.ConvShape
		way              cuda.ByWay
		by               string // what it computes: the result, the gradients by x, by x with sums, and by w
	}{
		"1×1":                      {n: 2, side: 3, c: 8, taps: 1, by: "y x sums w"},
		"1×1 of 65,536 pixels":     {n: 4, side: 128, c: 8, taps: 1, by: "y x sums w"},
		"1×1 of 66,048 pixels":     {n: 66048, side: 1, c: 8, taps: 1, by: "y x sums w"},
		"the same, by cuDNN":       {n: 66048, side: 1, c: 8, taps: 1, way: "cudnn", by: "y x sums w"},
		"1×1 with stride down":     {n: 2, side: 3, c: 8, taps: 1, shape: device.ConvShape{StrideH: 2}, by: "y x sums w"},
		"1×1 with stride":          {n: 2, side: 3, c: 8, taps: 1, shape: device.ConvShape{StrideW: 2}, by: "y x sums w"},
		"1×1 with padding":         {n: 2, side: 3, c: 8, taps: 1, shape: device.ConvShape{PadW: 1}, by: "y x sums w"},
		"1×1 in groups":            {n: 2, side: 3, c: 16, taps: 1, shape: device.ConvShape{Groups: 2}, by: "y x sums w"},
		"sums of wide gradients":   {n: 2, side: 3, c: 16, taps: 1, by: "y x w"},
		"the same again, by cuDNN": {n: 2, side: 3, c: 16, taps: 1, way: "cudnn", by: "y x sums w"},
		"3×3":                      {n: 2, side: 3, c: 8, taps: 3, shape: device.ConvShape{PadH: 1}, by: "y x sums w"},
		"four channels":            {n: 2, side: 3, c: 4, taps: 3, by: "x sums"},
		"four channels, by cuDNN":  {n: 2, side: 3, c: 4, taps: 3, way: "cudnn", by: "y x sums w"},
		"patches":                  {n: 2, side: 4, c: 4, taps: 2, shape: patches, by: "y x sums w"},
		"stem":                     {n: 2, side: 4, c: 4, taps: 3, shape: stem, by: "x sums"},
		"groups of four channels":  {n: 2, side: 3, c: 8, taps: 3, shape: device.ConvShape{Groups: 2}, by: "x sums"},
	} {
		t.Run(name, func(t *testing.T) {
			v := openVendor(t, "bfloat16")
			v.Choose(cuda.Choices{Way: c.way})
			step := func(n int) int { return max(n, 1) }
			out := func(pad, stride int) int { return (c.side+2*pad-c.taps)/step(stride) + 1 }
			const k = 8
			x := device.New(v, device.BF16, c.n, c.side, c.side, c.c)
			y := device.New(v, device.BF16, c.n, out(c.shape.PadH, c.shape.StrideH), out(c.shape.PadW, c.shape.StrideW), k)
			w := device.New(v, device.BF16, k, c.taps, c.taps, c.c/step(c.shape.Groups))
			dw, sums := device.New(v, device.F32, w.Shape()...), device.New(v, device.F32, c.c)
			for _, a := range []device.Array{x, y, w, dw} {
				v.Fill(a, 1)
			}
			var by []string
			run := func(result string, run func()) {
				products, convolutions := v.queued()
				run()
				if p, c := v.queued(); p+c > products+convolutions {
					by = append(by, result)
				}
			}
			run("y", func() { v.Conv(y, x, w, c.shape, device.Epilogue{}) })
			run("x", func() { v.ConvGradX(x, y, w, c.shape, device.GradEpilogue{}) })
			run("sums", func() { v.ConvGradX(x, y, w, c.shape, device.GradEpilogue{Sums: sums}) })
			v.Fill(x, 1)
			v.Fill(y, 1)
			run("w", func() { v.ConvGradW(dw, y, x, c.shape, 1) })
			if got := strings.Join(by, " "); got != c.by {
				t.Errorf("the library computes %q, want %q", got, c.by)
			}
			// Of ones, the tap in the middle sums the pixels of y that are not in the padding of x: a number of bfloat16.
			middle := c.taps * c.taps / 2 * w.Dims[3] * 4
			for _, acc := range []float32{1, 0} {
				if acc == 0 {
					v.ConvGradW(dw, y, x, c.shape, 0)
				}
				want := numbers(acc + float32(y.Dims[0]*min(y.Dims[1], c.side)*min(y.Dims[2], c.side)))
				if data := download(t, v.Backend, dw); string(data[middle:middle+4]) != string(want) {
					t.Errorf("the gradient of ones added to %v is %v, want %v", acc, data[middle:middle+4], want)
				}
			}
			if len(*v.told) != 0 {
				t.Errorf("told %q: a rule is not a failure", *v.told)
			}
		})
	}
}

// Where cuDNN does not mask gradients, kernels of this package do behind it. The 10th call
// finalizes the first graph.
func TestVendorMasksGradientsThatCuDNNDoesNot(t *testing.T) {
	v := openVendor(t, "all")
	dx, dy, w := device.New(v, device.F32, 1, 1, 3, 1), device.New(v, device.F32, 1, 1, 3, 1),
		device.New(v, device.F32, 1, 1, 1, 1)
	mask, sum := device.New(v, device.F32, 1, 1, 3, 1), device.New(v, device.F32, 1)
	v.Upload(dy, numbers(1, 2, 4))
	v.Upload(mask, numbers(1, 0, 1))
	v.Fill(w, 3)
	v.emulator.Fail("cudnnBackendFinalize:10:3000")
	for i, convolutions := range []int{1, 2} { // the reason is remembered
		v.ConvGradX(dx, dy, w, device.ConvShape{}, device.GradEpilogue{Mask: mask, Sums: sum})
		if got, want := download(t, v.Backend, dx), numbers(3, 0, 12); string(got) != string(want) {
			t.Errorf("masked %v, want %v", got, want)
		}
		if got, want := download(t, v.Backend, sum), numbers(15); string(got) != string(want) {
			t.Errorf("the sum is %v, want %v", got, want)
		}
		if _, n := v.queued(); n != convolutions || len(*v.told) != 0 {
			t.Errorf("call %d: %d convolutions by the library, want %d; told %q", i, n, convolutions, *v.told)
		}
	}
}

// The sums of a product's first factor come from the library with the product, and from our kernel where the library
// has no algorithm for both.
func TestVendorSumsAFactorOfAProduct(t *testing.T) {
	for fail, passes := range map[string]bool{"": false, "cublasLtMatmulAlgoGetHeuristic:1:15": true} {
		t.Run(fmt.Sprint(passes), func(t *testing.T) {
			v := openVendor(t, "bfloat16")
			x, y := device.New(v, device.BF16, 7, 3), device.New(v, device.BF16, 7, 5)
			dst, sums := device.New(v, device.F32, 3, 5), device.New(v, device.F32, 3)
			v.Fill(x, 2)
			v.Fill(y, 1)
			v.emulator.Fail(fail)
			v.MatMul(dst, x, y, device.Mul{TransA: true, Alpha: 1, Sums: sums})
			if got, want := download(t, v.Backend, sums), numbers(14, 14, 14); string(got) != string(want) {
				t.Errorf("the sums are %v, want %v", got, want)
			}
			if products, _ := v.queued(); products != 1 || len(*v.told) > 0 {
				t.Errorf("%d products by the library, want 1; told %q", products, *v.told)
			}
			v.emulator.Fail("cuLaunchKernel:1:1")
			v.MatMul(dst, x, y, device.Mul{TransA: true, Alpha: 1, Sums: sums})
			if err := v.Sync(); (err != nil) != passes {
				t.Errorf("a pass of our kernel that fails gives %v", err)
			}
			v.emulator.Fail("")
			v.Backend.ClearError()
		})
	}
}
