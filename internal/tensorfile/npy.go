package tensorfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The .npy format (NumPy enhancement proposal 1) is \x93NUMPY, two bytes of version, the length of
// the header (two bytes, or four from version 2 on), and the header, a Python dictionary that is
// padded with spaces and ends with a line feed:
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (5, 512), }
//
// The elements follow. This package reads versions 1 to 3 with the types below, in either order of bytes
// and of dimensions, and arrays of texts. It rejects arrays of Python objects, which would be pickles.

const (
	npyMagic = "\x93NUMPY"

	// npyHeaderCap bounds the header of a file. NumPy writes about 120 bytes, and reads at most
	// 10,000 from an untrusted file.
	npyHeaderCap = 10_000
)

// npyTypes maps NumPy's descriptions, without the order of bytes, to types.
var npyTypes = map[string]string{
	"f8": "F64", "f4": "F32", "f2": "F16", "i8": "I64", "i4": "I32", "i2": "I16", "i1": "I8",
	"u8": "U64", "u4": "U32", "u2": "U16", "u1": "U8", "b1": "BOOL",
}

// npyWritten are the types that are written, with NumPy's descriptions.
var npyWritten = map[string]string{"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "|u1"}

// WriteNPY writes t as a .npy file of version 1. Types: F64 F32 F16 I64 I32 U8.
func WriteNPY(w io.Writer, t Tensor) error {
	if err := t.check(); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	header, err := NPYHeader(t.DType, t.Shape)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err = w.Write(t.Data)
	return err
}

// NPYHeader returns the start of a .npy file, for writers that stream the elements in row-major
// order and little endian. Headers of shapes with the same number of dimensions, all below 2^60,
// have the same length. A header can therefore be rewritten in place once the number of rows is
// known.
func NPYHeader(dtype string, shape []int) ([]byte, error) {
	descr := npyWritten[dtype]
	if descr == "" {
		return nil, fmt.Errorf("npy: type %s cannot be written (known: F64 F32 F16 I64 I32 U8)", dtype)
	}
	var dims strings.Builder
	for i, d := range shape {
		if i > 0 {
			dims.WriteByte(' ')
		}
		dims.WriteString(strconv.Itoa(d) + ",")
	}
	list := dims.String()
	if len(shape) > 1 {
		list = strings.TrimSuffix(list, ",") // (5,) but (5, 512), as NumPy writes it
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, list)
	const start = len(npyMagic) + 2 + 2
	const digits = 20 // room in each dimension, and the line feed
	n := start + len(dict) - len(list) + digits*len(shape) + 1
	n = (n + 63) / 64 * 64 // NumPy aligns the elements to 64 bytes
	h := make([]byte, 0, n)
	h = append(h, npyMagic...)
	h = append(h, 1, 0)
	h = binary.LittleEndian.AppendUint16(h, uint16(n-start))
	h = append(h, dict...)
	for len(h) < n-1 {
		h = append(h, ' ')
	}
	return append(h, '\n'), nil
}

// NPY is an open .npy file.
type NPY struct {
	DType string // as in Tensor, or Text or Bytes
	Shape []int  // row-major

	data source
	size int // bytes of an element

	bigEndian, columnMajor bool // as in the file, until arrange
}

// OpenNPY opens a file, memory-mapped if the system supports it. The caller closes it. The file
// must not be truncated while it is open.
func OpenNPY(path string) (*NPY, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	a, err := readNPY(src)
	if err == nil {
		err = a.arrange()
	}
	if err != nil {
		src.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// Close closes the file.
func (a *NPY) Close() error { return a.data.Close() }

// Rows returns the size of the first dimension, and the number of elements in each row.
func (a *NPY) Rows() (rows, cols int) {
	if len(a.Shape) == 0 {
		return 1, 1
	}
	return a.Shape[0], Tensor{Shape: a.Shape[1:]}.Len()
}

// ReadRows converts rows [lo, lo + len(dst)/cols) to float32.
func (a *NPY) ReadRows(dst []float32, lo int) error {
	rows, cols := a.Rows()
	if n := len(dst) / max(cols, 1); lo < 0 || n*cols != len(dst) || lo+n > rows {
		panic(fmt.Sprintf("tensorfile: %d elements from row %d of %v", len(dst), lo, a.Shape))
	}
	if err := a.data.rows(dst, a.DType, int64(lo)*int64(cols*a.size), int64(len(dst)*a.size)); err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	return nil
}

// GiveBack lets the system take back the memory of rows [lo, hi), which ReadRows has brought in
// from the mapped file. They can be read again.
func (a *NPY) GiveBack(lo, hi int) {
	_, cols := a.Rows()
	a.data.giveBack(int64(lo)*int64(cols*a.size), int64(hi-lo)*int64(cols*a.size))
}

// Tensor returns the array with its data, which is valid until Close and must not be modified.
func (a *NPY) Tensor() (Tensor, error) {
	t := Tensor{DType: a.DType, Shape: a.Shape}
	data, err := a.data.slice(0, int64(t.Len())*int64(a.size))
	if err != nil {
		return Tensor{}, fmt.Errorf("npy: %w", err)
	}
	t.Data = data
	return t, nil
}

func readNPY(src source) (*NPY, error) {
	bad := func(format string, args ...any) error {
		return &FormatError{Format: "npy", Reason: fmt.Sprintf(format, args...)}
	}
	if src.size < int64(len(npyMagic))+4 {
		return nil, bad("%d bytes, too short for a header", src.size)
	}
	first, err := src.slice(0, min(12, src.size))
	if err != nil {
		return nil, err
	}
	if string(first[:6]) != npyMagic {
		return nil, bad("does not begin with \\x93NUMPY")
	}
	start, n := int64(10), int64(binary.LittleEndian.Uint16(first[8:]))
	switch major := first[6]; {
	case major < 1 || major > 3:
		return nil, bad("version %d.%d (known: 1.0, 2.0, 3.0)", major, first[7])
	case major > 1 && len(first) < 12:
		return nil, bad("%d bytes, too short for a header", src.size)
	case major > 1:
		start, n = 12, int64(binary.LittleEndian.Uint32(first[8:]))
	}
	if n > npyHeaderCap {
		return nil, bad("a header of %d bytes (at most %d)", n, npyHeaderCap)
	}
	if n > src.size-start {
		return nil, bad("a header of %d bytes in a file of %d: cut off?", n, src.size)
	}
	header, err := src.slice(start, n)
	if err != nil {
		return nil, err
	}
	a := &NPY{data: src}
	dims, err := a.parse(string(header))
	if err != nil {
		return nil, &FormatError{Format: "npy", Reason: "header: " + err.Error(), Unsupported: errors.As(err, new(unread))}
	}
	want, ok := byteSize(dims, a.size)
	switch have := uint64(src.size - start - n); {
	case !ok || want > have:
		return nil, bad("%d bytes of elements do not make %s%v: cut off?", have, a.DType, dims)
	case want < have:
		return nil, &FormatError{Format: "npy", Unsupported: true, Reason: fmt.Sprintf("%d bytes follow the array %s%v; "+
			"NumPy ignores them: to keep this array alone, use np.save(FILE, np.load(FILE))", have-want, a.DType, dims)}
	}
	for _, d := range dims {
		if a.Shape = append(a.Shape, int(d)); int(d) < 0 {
			return nil, bad("dimension %d is too large", d)
		}
	}
	a.data.base = start + n
	return a, nil
}
