// Package conformance holds the tests that every device.Backend must pass. They compare each
// operation with its definition in package reference, for shapes at and next to powers of two.
// The test of a backend calls Run.
//
// Result arrays are initially full of NaN. If an operation accepts views, its matrices have a
// row stride greater than their number of columns, and the gaps between rows must not change.
// Gradients are compared with central differences of the definition, so that no gradient is
// derived twice.
package conformance

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/internal/half"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// Run tests b with every type of activations that it supports. If b is a Failer, it is
// unusable afterwards.
func Run(t *testing.T, b device.Backend) { RunWithin(t, b, Limits{}) }

// RunWithin is Run without the cases that exceed limits.
func RunWithin(t *testing.T, b device.Backend, limits Limits) {
	for _, dtype := range []device.DType{device.F32, device.BF16, device.F16} {
		if b.Supports(dtype) {
			t.Run(dtype.String(), func(t *testing.T) { RunOps(t, b, dtype) })
		}
	}
	t.Run("Rank", func(t *testing.T) { RunRank(t, b) })
	t.Run("Behaviour", func(t *testing.T) { RunBehaviour(t, b, limits) })
}

// Ops is the part of a Backend that RunOps tests.
type Ops interface {
	device.Memory
	device.Dense
	device.Image
	device.Update
}

// RunOps tests the operations of Memory, Dense, Image and Update with one type of activations. only
// selects operations by name; by default it tests all.
func RunOps(t *testing.T, b Ops, dtype device.DType, only ...string) {
	for _, op := range ops {
		if len(only) > 0 && !slices.Contains(only, op.name) {
			continue
		}
		t.Run(op.name, func(t *testing.T) {
			s := &suite{T: t, b: b, dtype: dtype, r: rand.New(rand.NewPCG(1, uint64(len(op.name))))}
			op.test(s)
			if err := b.Sync(); err != nil {
				t.Error(err)
			}
			for _, buf := range s.buffers {
				b.Free(buf)
			}
		})
	}
}

// ops lists the tests. Each covers an operation and its gradient.
var ops = []struct {
	name string
	test func(*suite)
}{
	{"Upload", testUpload},
	{"Copy", testCopy},
	{"Fill", testFill},
	{"MatMul", testMatMul},
	{"Scores", testScores},
	{"Axpby", testAxpby},
	{"Scale", testScale},
	{"Sums", testSums},
	{"Act", testAct},
	{"Normalize", testNormalize},
	{"LayerNorm", testLayerNorm},
	{"Softmax", testSoftmax},
	{"Attention", testAttention},
	{"SoftmaxLoss", testSoftmaxLoss},
	{"Gather", testGather},
	{"ScatterAdd", testScatterAdd},
	{"Random", testRandom},
	{"Adam", testAdam},
	{"SGD", testSGD},
	{"Pace", testPace},
	{"Average", testAverage},
	{"Track", testTrack},
	{"Guard", testGuard},
	{"Conv", testConv},
	{"FoldNorm", testFoldNorm},
	{"Norm", testNorm},
	{"ReluGrad", testReluGrad},
	{"Pool", testPool},
	{"GeM", testGeM},
	{"Interpolate", testInterpolate},
	{"Resample", testResample},
	{"Pixels", testPixels},
	{"Ragged", testRagged},
	{"Pack", testPack},
}

// suite is the test of one operation, with the backend and the arrays allocated on it.
type suite struct {
	*testing.T
	b       Ops
	dtype   device.DType // type of activations
	r       *rand.Rand
	buffers []device.Buffer
	limits  Limits
}

// sizes are at and next to the sizes of warps, vectors and tiles.
var sizes = []int{1, 2, 31, 32, 33, 127, 128, 129, 1023, 1025}

// matrices uses each size as the number of rows and of columns.
var matrices = [][2]int{
	{1, 1}, {1, 2}, {2, 1}, {1, 1025}, {1025, 1}, {31, 33}, {32, 32}, {33, 31}, {127, 2}, {2, 127},
	{128, 129}, {129, 128}, {3, 1023}, {1023, 3}, {65, 257},
}

// array is a host array in float64. Its values are exact in the type of the uploaded array.
type array = reference.Array

func zeros(dims ...int) *array { return reference.Zeros(dims...) }

// random draws normal numbers that are exact in type t.
func (s *suite) random(t device.DType, dims ...int) *array {
	return filled(func(int) float64 { return rounded(t, s.r.NormFloat64()) }, dims...)
}

// activation draws random numbers in the type of activations; master draws them in F32.
func (s *suite) activation(dims ...int) *array { return s.random(s.dtype, dims...) }

func (s *suite) master(dims ...int) *array { return s.random(device.F32, dims...) }

// rounded returns v rounded to type t.
func rounded(t device.DType, v float64) float64 {
	switch t {
	case device.F32:
		return float64(float32(v))
	case device.BF16:
		return float64(half.BF16(half.ToBF16(float32(v))))
	case device.F16:
		return float64(half.F16(half.ToF16(float32(v))))
	}
	return math.Trunc(v)
}

// encode returns the elements of a in the format of type t.
func encode(t device.DType, v []float64) []byte {
	var out []byte
	for _, x := range v {
		switch t {
		case device.F32:
			out = binary.NativeEndian.AppendUint32(out, math.Float32bits(float32(x)))
		case device.BF16:
			out = binary.NativeEndian.AppendUint16(out, half.ToBF16(float32(x)))
		case device.F16:
			out = binary.NativeEndian.AppendUint16(out, half.ToF16(float32(x)))
		case device.I32:
			out = binary.NativeEndian.AppendUint32(out, uint32(int32(x)))
		case device.U8:
			out = append(out, uint8(x))
		}
	}
	return out
}

func decode(t device.DType, data []byte) []float64 {
	v := make([]float64, len(data)/t.Size())
	for i := range v {
		switch t {
		case device.F32:
			v[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(data[4*i:])))
		case device.BF16:
			v[i] = float64(half.BF16(binary.NativeEndian.Uint16(data[2*i:])))
		case device.F16:
			v[i] = float64(half.F16(binary.NativeEndian.Uint16(data[2*i:])))
		case device.I32:
			v[i] = float64(int32(binary.NativeEndian.Uint32(data[4*i:])))
		case device.U8:
			v[i] = float64(data[i])
		}
	}
	return v
}

// alloc returns a contiguous array filled with NaN (integers: −1 or 255).
func (s *suite) alloc(t device.DType, dims ...int) device.Array {
	n := t.Size()
	for _, d := range dims {
		n *= d
	}
	buf := s.b.Alloc(n)
	s.buffers = append(s.buffers, buf)
	all := device.Make(buf, 0, device.U8, n)
	s.b.Upload(all, slices.Repeat([]byte{0xFF}, n))
	return device.Make(buf, 0, t, dims...)
}

// gap is the number of elements between the rows of a view. It is odd, so that rows are not
// aligned.
const gap = 3

// view is alloc for a matrix with gaps between the rows and before the first.
func (s *suite) view(t device.DType, rows, cols int) device.Array {
	return s.alloc(t, rows, cols+gap).ColRange(1, 1+cols)
}

// put uploads a contiguously.
func (s *suite) put(t device.DType, a *array) device.Array {
	d := s.alloc(t, a.Dims...)
	s.b.Upload(d, encode(t, a.V))
	return d
}

// putView uploads the matrix a as a view.
func (s *suite) putView(t device.DType, a *array) device.Array {
	d := s.view(t, a.Rows(), a.Cols())
	s.b.Upload(d, encode(t, a.V))
	return d
}

// forms returns the functions that upload and allocate a matrix, as a view or without gaps.
func (s *suite) forms(views bool) (put func(device.DType, *array) device.Array,
	alloc func(t device.DType, rows, cols int) device.Array) {
	if views {
		return s.putView, s.view
	}
	return s.put, func(t device.DType, rows, cols int) device.Array { return s.alloc(t, rows, cols) }
}

// before uploads what an operation adds to with acc, or allocates it if nothing is added.
func (s *suite) before(t device.DType, old *array, acc float32) device.Array {
	if acc == 0 {
		return s.alloc(t, old.Dims...)
	}
	return s.put(t, old)
}

// filled returns an array of f of each index.
func filled(f func(i int) float64, dims ...int) *array {
	a := zeros(dims...)
	for i := range a.V {
		a.V[i] = f(i)
	}
	return a
}

// vector returns an array of one dimension.
func vector(v ...float64) *array { return &array{Dims: []int{len(v)}, V: v} }

// total returns the sum of numbers.
func total(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

// get downloads d.
func (s *suite) get(d device.Array) []float64 {
	s.Helper()
	data := make([]byte, d.Len()*d.Type.Size())
	if err := s.b.Wait(s.b.Download(data, d)); err != nil {
		s.Fatal(err)
	}
	return decode(d.Type, data)
}

// unit returns the relative rounding error of the type of activations.
func (s *suite) unit(t device.DType) float64 {
	switch t {
	case device.BF16:
		return 0x1p-8
	case device.F16:
		return 0x1p-11
	}
	return 0x1p-24
}

// same compares in relative L2: ‖got − want‖ ≤ tolerance·‖want‖ + a denormal. The tolerance
// applies to F32. A result in a shorter type may additionally differ by that type's rounding.
func (s *suite) same(what string, got device.Array, want []float64, tolerance float64) {
	s.Helper()
	v := s.get(got)
	s.near(what, v, want, max(tolerance, 2*s.unit(got.Type)), leastError(got.Type)*math.Sqrt(float64(len(v))))
	s.gapsAreKept(what, got)
}

// denormal is an absolute error that matters only for results below the normal range of
// float32.
const denormal = 1e-37

// leastError is the absolute error of an element that matters only below the normal range of
// its type.
func leastError(t device.DType) float64 {
	if t == device.F16 {
		return 0x1p-25 // half the least number
	}
	return denormal
}

// near compares in relative L2 and allows an additional absolute error.
func (s *suite) near(what string, got, want []float64, tolerance, absolute float64) {
	s.Helper()
	if len(got) != len(want) {
		s.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	diff, norm := 0.0, 0.0
	for i, w := range want {
		if math.IsInf(w, 0) && got[i] == w {
			continue
		}
		if math.IsNaN(got[i]) && !math.IsNaN(w) {
			s.Fatalf("%s: element %d is NaN, want %g", what, i, w)
		}
		diff += (got[i] - w) * (got[i] - w)
		norm += w * w
	}
	if diff, norm = math.Sqrt(diff), math.Sqrt(norm); !(diff <= tolerance*norm+absolute) {
		s.Fatalf("%s: error %.3g of %.3g, relative %.2g, allowed %.2g", what, diff, norm, diff/norm, tolerance)
	}
}

// equal compares exactly; NaN equals NaN.
func (s *suite) equal(what string, got device.Array, want []float64) {
	s.Helper()
	for i, v := range s.get(got) {
		if v != want[i] && (v == v || want[i] == want[i]) {
			s.Fatalf("%s: element %d is %g, want %g", what, i, v, want[i])
		}
	}
	s.gapsAreKept(what, got)
}

// gapsAreKept checks that the elements between the rows of a view are still NaN.
func (s *suite) gapsAreKept(what string, d device.Array) {
	s.Helper()
	if d.Contiguous() {
		return
	}
	raw := make([]byte, d.Buf.Size())
	if err := s.b.Wait(s.b.Download(raw, device.Make(d.Buf, 0, device.U8, len(raw)))); err != nil {
		s.Fatal(err)
	}
	size := d.Type.Size()
	for i := range len(raw) / size {
		if col := (i - d.Off) % d.Ld; i >= d.Off && col < d.Dims[1] && i < d.Off+d.Dims[0]*d.Ld {
			continue
		}
		for _, v := range raw[i*size : (i+1)*size] {
			if v != 0xFF {
				s.Fatalf("%s: wrote between the rows, at element %d", what, i)
			}
		}
	}
}

// absent is a missing array.
var absent device.Array
