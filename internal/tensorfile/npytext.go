package tensorfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The types of arrays of texts, which only .npy files have.
const (
	Text  = "TEXT"  // characters of four bytes, padded with NUL
	Bytes = "BYTES" // bytes, padded with NUL
)

// npyTextCap bounds the characters of a text.
const npyTextCap = 1 << 20

// Texts returns the elements of an array of texts. Text outside Unicode becomes U+FFFD.
func (t Tensor) Texts() ([]string, error) {
	n := t.Len()
	if t.DType != Text && t.DType != Bytes {
		return nil, fmt.Errorf("tensor %.80q: %s where texts are expected", t.Name, t.DType)
	}
	if t.texts != nil {
		return t.texts, nil
	}
	list := make([]string, n)
	for i := range list {
		size := len(t.Data) / n
		element := t.Data[i*size:][:size]
		if t.DType == Bytes {
			list[i] = string(bytes.TrimRight(element, "\x00"))
			continue
		}
		var text strings.Builder
		for ; len(element) > 0; element = element[4:] {
			text.WriteRune(rune(binary.LittleEndian.Uint32(element)))
		}
		list[i] = strings.TrimRight(text.String(), "\x00")
	}
	return list, nil
}

// arrange brings the elements into memory, row-major and little-endian, if the file has them otherwise.
func (a *NPY) arrange() error {
	if !a.bigEndian && !a.columnMajor {
		return nil
	}
	elements := Tensor{Shape: a.Shape}.Len()
	data, err := a.data.slice(0, int64(elements)*int64(a.size))
	if err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	var out []byte
	if a.columnMajor {
		out = Gather(data, 0, a.Shape, columnMajor(a.Shape), a.size)
	} else {
		out = slices.Clone(data)
	}
	if unit := min(a.size, 8); a.bigEndian && a.DType != Bytes {
		if a.DType == Text {
			unit = 4
		}
		for i := 0; i < len(out); i += unit {
			slices.Reverse(out[i : i+unit])
		}
	}
	a.bigEndian, a.columnMajor = false, false
	file := a.data
	a.data = source{at: bytes.NewReader(out), size: int64(len(out)), file: file.file}
	if file.file != nil && file.mem != nil {
		unmapFile(file.mem)
	}
	return nil
}

// columnMajor returns the distances between the elements of an array in column-major order, by dimension.
func columnMajor(shape []int) (stride []int64) {
	step := int64(1)
	for _, n := range shape {
		stride = append(stride, step)
		step *= int64(n)
	}
	return stride
}

// Gather returns the elements of a view in row-major order. They have size bytes each, and element (i, j, …) is number
// offset + i·stride[0] + j·stride[1] + … of src.
func Gather(src []byte, offset int64, shape []int, stride []int64, size int) []byte {
	elements := Tensor{Shape: shape}.Len()
	out := make([]byte, 0, elements*size)
	at, from := make([]int, len(shape)), offset
	for range elements {
		out = append(out, src[from*int64(size):][:size]...)
		for d := len(shape) - 1; d >= 0; d-- {
			from += stride[d]
			if at[d]++; at[d] < shape[d] {
				break
			}
			from -= int64(at[d]) * stride[d]
			at[d] = 0
		}
	}
	return out
}

// NewText returns an array of texts.
func NewText(name string, values []string) Tensor {
	return Tensor{Name: name, DType: Text, Shape: []int{len(values)}, texts: values}
}

// NewArray returns an array that NumPy describes by a type such as "<f4" or ">U10", the order of its
// dimensions, its shape and its elements. An error of a type that is not read is an Unsupported
// *FormatError.
func NewArray(descr string, columnMajor bool, shape []int, data []byte) (Tensor, error) {
	a := &NPY{Shape: shape, data: source{mem: data, size: int64(len(data))}}
	p := &literal{rest: strconv.Quote(descr)}
	if a.dtype(p); p.err != nil {
		return Tensor{}, &FormatError{Format: "NumPy", Reason: p.err.Error(), Unsupported: errors.As(p.err, new(unread))}
	}
	dims := make([]uint64, len(shape))
	for i, d := range shape {
		dims[i] = uint64(d)
	}
	if want, ok := byteSize(dims, a.size); !ok || want != uint64(len(data)) {
		return Tensor{}, &FormatError{Format: "NumPy", Reason: fmt.Sprintf("%d bytes of elements do not make %s%v",
			len(data), a.DType, shape)}
	}
	a.columnMajor = columnMajor
	if err := a.arrange(); err != nil {
		return Tensor{}, err
	}
	return a.Tensor()
}
