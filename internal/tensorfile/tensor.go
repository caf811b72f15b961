// Package tensorfile reads and writes named arrays of numbers: safetensors files (weights,
// checkpoints) and NumPy's .npy files (embeddings, labels). It never executes anything in a file, and
// checks every size in a header against the size of the file.
package tensorfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unsafe"

	"hgld/internal/half"
)

// Tensor is a named array. Data holds the elements in row-major order, little
// endian; DType is a name of the safetensors format: F64 F32 F16 BF16, I64 I32
// I16 I8, U64 U32 U16 U8, BOOL. A shape without dimensions is one number.
type Tensor struct {
	Name  string // unique in its file
	DType string // in the words of safetensors: F32, BF16, I64 …
	Shape []int  // row-major
	Data  []byte // little-endian

	texts []string // of NewText, in place of Data
}

// dtypes lists the element types with their sizes in bytes.
var dtypes = map[string]int{
	"F64": 8, "F32": 4, "F16": 2, "BF16": 2,
	"I64": 8, "I32": 4, "I16": 2, "I8": 1,
	"U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}

// FormatError reports a file that violates its format: damaged, truncated or crafted. Errors of
// reading are not of this type.
type FormatError struct {
	Format string // "safetensors" or "npy"
	Tensor string // the tensor at fault, if it is one
	Reason string // what is wrong, and what was expected

	// Unsupported says that the file is sound, but not of a kind that is read.
	Unsupported bool
}

// Error names the format, the tensor if it is of one, and what is wrong.
func (e *FormatError) Error() string {
	if e.Tensor == "" {
		return e.Format + ": " + e.Reason
	}
	return fmt.Sprintf("%s: tensor %.80q: %s", e.Format, e.Tensor, e.Reason)
}

// NewF32 returns a tensor of float32 values.
func NewF32(name string, shape []int, values []float32) Tensor {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
	}
	return Tensor{Name: name, DType: "F32", Shape: shape, Data: data}
}

// NewI64 returns a tensor of int64 values.
func NewI64(name string, shape []int, values []int64) Tensor {
	data := make([]byte, 8*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint64(data[8*i:], uint64(v))
	}
	return Tensor{Name: name, DType: "I64", Shape: shape, Data: data}
}

// Len returns the number of elements.
func (t Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Float32 returns the elements as float32. F16 and BF16 widen exactly; F64 and
// integers beyond 2^24 are rounded to the nearest; BOOL gives 0 and 1.
func (t Tensor) Float32() ([]float32, error) {
	dst := make([]float32, t.Len())
	return dst, widen(dst, t.DType, t.Data)
}

// Float64 returns the elements as float64, rounding integers beyond 2^53.
func (t Tensor) Float64() ([]float64, error) {
	dst := make([]float64, t.Len())
	return dst, widen(dst, t.DType, t.Data)
}

// Int64 returns the elements of a tensor of integers.
func (t Tensor) Int64() ([]int64, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if strings.Contains(t.DType, "F") {
		return nil, fmt.Errorf("tensor %.80q: %s where integers are expected", t.Name, t.DType)
	}
	dst := make([]int64, t.Len())
	convert(dst, t.DType, t.Data)
	if i := slices.IndexFunc(dst, func(v int64) bool { return v < 0 }); i >= 0 && t.DType == "U64" {
		return nil, fmt.Errorf("tensor %.80q: %d at %d does not fit int64", t.Name, uint64(dst[i]), i)
	}
	return dst, nil
}

// NotFinite returns the index of the first element that is NaN or infinite, or −1.
func (t Tensor) NotFinite() int {
	le := binary.LittleEndian
	for i := range t.Len() {
		var exponent, all uint64
		switch t.DType { // the exponent of a value that is not finite has all bits set
		case "F64":
			exponent, all = le.Uint64(t.Data[8*i:]), 0x7ff0_0000_0000_0000
		case "F32":
			exponent, all = uint64(le.Uint32(t.Data[4*i:])), 0x7f80_0000
		case "BF16":
			exponent, all = uint64(le.Uint16(t.Data[2*i:])), 0x7f80
		case "F16":
			exponent, all = uint64(le.Uint16(t.Data[2*i:])), 0x7c00
		default:
			return -1
		}
		if exponent&all == all {
			return i
		}
	}
	return -1
}

// check reports whether type, shape and data fit together.
func (t Tensor) check() error {
	size, ok := dtypes[t.DType]
	if !ok {
		return fmt.Errorf("tensor %.80q: unknown type %.80q", t.Name, t.DType)
	}
	dims := make([]uint64, len(t.Shape))
	for i, d := range t.Shape {
		if d < 0 {
			return fmt.Errorf("tensor %.80q: negative dimension in %v", t.Name, t.Shape)
		}
		dims[i] = uint64(d)
	}
	if want, ok := byteSize(dims, size); !ok || want != uint64(len(t.Data)) {
		return fmt.Errorf("tensor %.80q: %d bytes for %s%v", t.Name, len(t.Data), t.DType, t.Shape)
	}
	return nil
}

// byteSize returns the size of an array in bytes, or false if it exceeds int64. An array without
// elements must have sizable other dimensions too, as in NumPy: readers multiply some of them.
func byteSize(dims []uint64, size int) (uint64, bool) {
	n, empty := uint64(size), false
	for _, d := range dims {
		empty = empty || d == 0
		hi, lo := bits.Mul64(n, max(d, 1))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		n = lo
	}
	if empty {
		return 0, true
	}
	return n, true
}

// widen converts len(dst) elements of the given type.
func widen[T float32 | float64](dst []T, dtype string, src []byte) error {
	size, ok := dtypes[dtype]
	if !ok {
		return fmt.Errorf("unknown type %.80q", dtype)
	}
	if len(src) != size*len(dst) {
		return fmt.Errorf("%d bytes for %d elements of %s", len(src), len(dst), dtype)
	}
	narrow, ok := any(dst).([]float32)
	switch little := binary.NativeEndian.Uint16([]byte{1, 0}) == 1; {
	case ok && dtype == "F16":
		half.WidenF16(narrow, src)
	case ok && dtype == "BF16":
		half.WidenBF16(narrow, src)
	case ok && dtype == "F32" && little && len(dst) > 0:
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&narrow[0])), 4*len(narrow)), src)
	default:
		convert(dst, dtype, src)
	}
	return nil
}

// convert converts the elements one by one.
func convert[T float32 | float64 | int64](dst []T, dtype string, src []byte) {
	le := binary.LittleEndian
	switch dtype {
	case "F64":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(math.Float64frombits(le.Uint64(p))) })
	case "F32":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(math.Float32frombits(le.Uint32(p))) })
	case "F16":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(half.F16(le.Uint16(p))) })
	case "BF16":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(half.BF16(le.Uint16(p))) })
	case "I64":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(int64(le.Uint64(p))) })
	case "I32":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(int32(le.Uint32(p))) })
	case "I16":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(int16(le.Uint16(p))) })
	case "I8":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(int8(p[0])) })
	case "U64":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(le.Uint64(p)) })
	case "U32":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(le.Uint32(p)) })
	case "U16":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(le.Uint16(p)) })
	case "U8":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(p[0]) })
	case "BOOL":
		each(dst, src, dtypes[dtype], func(p []byte) T { return T(min(p[0], 1)) })
	}
}

func each[T any](dst []T, src []byte, size int, of func(p []byte) T) {
	for i := range dst {
		dst[i] = of(src[i*size:])
	}
}
