// Package matfile reads the variables of MATLAB files of level 5 (.mat, versions 5 to 7): numbers, texts, cells and
// structures, as annotations of data sets use them. Other classes, such as sparse matrices, are read as
// nothing. Files of version 7.3 are HDF5 and are refused.
package matfile

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf16"

	"hgld/internal/budget"
)

// Value is a variable, or an element of a cell or structure: []float64, string, []Value (a cell), []map[string]Value
// (an array of structures), or nil for a class that is not read. Arrays are in column-major order.
type Value any

// The types of data elements, and the classes of arrays.
const (
	typeInt8       = 1
	typeUint8      = 2
	typeInt16      = 3
	typeUint16     = 4
	typeInt32      = 5
	typeUint32     = 6
	typeSingle     = 7
	typeDouble     = 9
	typeInt64      = 12
	typeUint64     = 13
	typeMatrix     = 14
	typeCompressed = 15
	typeUTF8       = 16
	typeUTF16      = 17

	classCell   = 1
	classStruct = 2
	classChar   = 4
	classDouble = 6
	classUint64 = 15
)

// Read reads the variables of a file by name.
func Read(r io.Reader) (map[string]Value, error) {
	data, err := io.ReadAll(io.LimitReader(r, budget.Bytes+1))
	if err != nil {
		return nil, err
	}
	limit, err := budget.Of(int64(len(data)))
	if err != nil {
		return nil, err
	}
	f := &file{budget: limit}
	const header = 128
	switch {
	case bytes.HasPrefix(data, []byte("MATLAB 7.3")) || bytes.HasPrefix(data, []byte("\x89HDF")):
		return nil, errors.New("it is of MATLAB 7.3, want version 5 to 7: save(FILE, '-v7')")
	case len(data) < header || string(data[126:128]) != "IM" && string(data[126:128]) != "MI":
		return nil, errors.New("it is not a MATLAB file of version 5")
	}
	f.order = binary.ByteOrder(binary.LittleEndian)
	if string(data[126:128]) == "MI" {
		f.order = binary.BigEndian
	}
	all := map[string]Value{}
	for rest := data[header:]; len(rest) > 0; {
		var e element
		if e, rest, err = f.next(rest); err != nil {
			return nil, err
		}
		if e.kind == typeCompressed {
			if e, err = f.inflate(e.data); err != nil {
				return nil, err
			}
		}
		if e.kind != typeMatrix {
			continue
		}
		name, v, err := f.matrix(e.data, 0)
		if err != nil {
			return nil, err
		}
		all[name] = v
	}
	return all, nil
}

// file is a file that is being read.
type file struct {
	order  binary.ByteOrder
	budget *budget.Budget // counts what compressed variables have
}

// element is a data element.
type element struct {
	kind uint32
	data []byte
}

var errCut = errors.New("it ends in the middle of a value: cut off?")

// next splits the first element from data.
func (f *file) next(data []byte) (e element, rest []byte, err error) {
	if len(data) < 8 {
		return e, nil, errCut
	}
	e.kind = f.order.Uint32(data)
	if small := e.kind >> 16; small != 0 { // up to four bytes in the tag itself
		if e.kind &= 0xffff; small > 4 {
			return e, nil, fmt.Errorf("a small element of %d bytes", small)
		}
		e.data = data[4 : 4+small]
		return e, data[8:], nil
	}
	n := int64(f.order.Uint32(data[4:]))
	if n > int64(len(data)-8) {
		return e, nil, errCut
	}
	e.data = data[8 : 8+n]
	end := 8 + n
	if e.kind != typeCompressed {
		end = min((end+7)/8*8, int64(len(data))) // elements are aligned
	}
	return e, data[end:], nil
}

// inflate returns the element in a compressed one.
func (f *file) inflate(data []byte) (element, error) {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return element{}, err
	}
	plain, err := io.ReadAll(io.LimitReader(z, f.budget.Left()+1))
	if err == nil {
		err = f.budget.Expand("its variables have", len(plain))
	}
	if err != nil {
		return element{}, err
	}
	e, _, err := f.next(plain)
	return e, err
}

// matrix reads the parts of an array.
func (f *file) matrix(data []byte, depth int) (name string, v Value, err error) {
	if err := budget.Deep("cells and structures have", depth); err != nil {
		return "", nil, err
	}
	if len(data) == 0 {
		return "", []float64{}, nil // an empty field
	}
	var head [3]element // flags, dimensions, name
	for i := range head {
		if head[i], data, err = f.next(data); err != nil {
			return "", nil, err
		}
	}
	if len(head[0].data) < 4 {
		return "", nil, errCut
	}
	count, err := f.count(head[1].data)
	if err != nil {
		return "", nil, err
	}
	name = string(head[2].data)
	switch class := f.order.Uint32(head[0].data) & 0xff; {
	case class == classCell:
		v, _, err = f.cells(data, count, depth)
	case class == classStruct:
		v, err = f.structures(data, count, depth)
	case class == classChar:
		var e element
		if e, _, err = f.next(data); err == nil {
			v, err = f.text(e)
		}
	case class >= classDouble && class <= classUint64:
		var e element
		if e, _, err = f.next(data); err == nil {
			v, err = f.numbers(e)
		}
	}
	return name, v, err
}

// count returns the number of elements of an array.
func (f *file) count(dims []byte) (int, error) {
	n := int64(1)
	for ; len(dims) >= 4; dims = dims[4:] {
		d := int64(int32(f.order.Uint32(dims)))
		if d < 0 || n > 0 && d > budget.Bytes/n {
			return 0, errors.New("an array has dimensions that do not fit the file")
		}
		n *= d
	}
	return int(n), nil
}

// cells reads arrays that follow one another.
func (f *file) cells(data []byte, count, depth int) (list []Value, rest []byte, err error) {
	if count > len(data)/8 { // each has at least a tag
		return nil, nil, errCut
	}
	list = make([]Value, count)
	for i := range list {
		var e element
		if e, data, err = f.next(data); err != nil {
			return nil, nil, err
		}
		if _, list[i], err = f.matrix(e.data, depth+1); err != nil {
			return nil, nil, err
		}
	}
	return list, data, nil
}

// structures reads the names of the fields, and their values for each structure.
func (f *file) structures(data []byte, count, depth int) ([]map[string]Value, error) {
	length, data, err := f.next(data)
	if err != nil {
		return nil, err
	}
	names, data, err := f.next(data)
	if err != nil {
		return nil, err
	}
	if len(length.data) < 4 {
		return nil, errCut
	}
	width := int(f.order.Uint32(length.data))
	if width < 1 || width > 1<<16 || len(names.data)%width != 0 {
		return nil, fmt.Errorf("%d bytes of names of fields of %d bytes each", len(names.data), width)
	}
	var fields []string
	for n := names.data; len(n) > 0; n = n[width:] {
		name, _, _ := strings.Cut(string(n[:width]), "\x00")
		fields = append(fields, name)
	}
	if len(fields) > 0 && count > budget.Bytes/len(fields) {
		return nil, errCut
	}
	values, _, err := f.cells(data, count*len(fields), depth)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		count = 0
	}
	list := make([]map[string]Value, count)
	for i := range list {
		list[i] = make(map[string]Value, len(fields))
		for k, field := range fields {
			list[i][field] = values[i*len(fields)+k]
		}
	}
	return list, nil
}

// text decodes characters.
func (f *file) text(e element) (string, error) {
	switch e.kind {
	case typeInt8, typeUint8, typeUTF8:
		return string(e.data), nil
	case typeUint16, typeUTF16:
		units := make([]uint16, len(e.data)/2)
		for i := range units {
			units[i] = f.order.Uint16(e.data[2*i:])
		}
		return string(utf16.Decode(units)), nil
	}
	return "", fmt.Errorf("a text of type %d", e.kind)
}

// numbers widens numbers of any type.
func (f *file) numbers(e element) ([]float64, error) {
	sizes := map[uint32]int{typeInt8: 1, typeUint8: 1, typeInt16: 2, typeUint16: 2, typeInt32: 4, typeUint32: 4,
		typeSingle: 4, typeDouble: 8, typeInt64: 8, typeUint64: 8}
	size := sizes[e.kind]
	if size == 0 || len(e.data)%size != 0 {
		return nil, fmt.Errorf("%d bytes of numbers of type %d", len(e.data), e.kind)
	}
	list := make([]float64, len(e.data)/size)
	for i := range list {
		b := e.data[i*size:]
		switch e.kind {
		case typeInt8:
			list[i] = float64(int8(b[0]))
		case typeUint8:
			list[i] = float64(b[0])
		case typeInt16:
			list[i] = float64(int16(f.order.Uint16(b)))
		case typeUint16:
			list[i] = float64(f.order.Uint16(b))
		case typeInt32:
			list[i] = float64(int32(f.order.Uint32(b)))
		case typeUint32:
			list[i] = float64(f.order.Uint32(b))
		case typeSingle:
			list[i] = float64(math.Float32frombits(f.order.Uint32(b)))
		case typeDouble:
			list[i] = math.Float64frombits(f.order.Uint64(b))
		case typeInt64:
			list[i] = float64(int64(f.order.Uint64(b)))
		case typeUint64:
			list[i] = float64(f.order.Uint64(b))
		}
	}
	return list, nil
}
