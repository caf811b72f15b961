package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hgld/internal/budget"
)

// The types of Thrift's compact protocol, as encoded in the low half of a field's first byte.
const (
	thriftTrue = 1 + iota
	thriftFalse
	thriftI8
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
	thriftUUID
)

// goSize bounds the size in memory of one list element of each type. The largest
// struct of the library's package format has less than 1 KiB.
func goSize(kind byte) int64 {
	switch kind {
	case thriftStruct, thriftList, thriftSet, thriftMap:
		return 1 << 10
	case thriftBinary:
		return 24
	default:
		return 8
	}
}

// errTruncated reports a structure that ends within a value.
var errTruncated = errors.New("its header is cut short")

// walker walks over one struct in Thrift's compact protocol without decoding it. A decoder would
// allocate the declared length of a list or text before reading it. The walk first checks that the
// data are long enough.
type walker struct {
	data []byte
	at   int

	// budget is the number of bytes that the decoded form may still take.
	budget int64

	// number is called for integers and booleans in the struct and in its direct members. The key
	// is the field's id, or parent<<8 | id.
	number func(key int, v int64)
}

// walk skips a struct.
func (w *walker) walk() error { return w.structure(0, 0) }

func (w *walker) structure(depth, parent int) error {
	if err := budget.Deep("its header has", depth); err != nil {
		return err
	}
	for id := 0; ; {
		b, err := w.byte()
		if err != nil {
			return err
		}
		kind := b & 15
		if kind == 0 {
			return nil
		}
		if delta := int(b >> 4); delta > 0 {
			id += delta
		} else {
			v, err := w.zigzag()
			if err != nil {
				return err
			}
			id = int(int16(v))
		}
		key := -1
		if depth < 2 && id > 0 && id < 256 {
			key = parent<<8 | id
		}
		if err := w.value(kind, depth, key); err != nil {
			return err
		}
	}
}

// value skips a value. A key of −1 means that its number is not reported.
func (w *walker) value(kind byte, depth, key int) error {
	switch kind {
	case thriftTrue, thriftFalse:
		w.report(key, int64(thriftFalse-kind))
		return nil
	case thriftI8:
		b, err := w.byte()
		w.report(key, int64(int8(b)))
		return err
	case thriftI16, thriftI32, thriftI64:
		v, err := w.zigzag()
		w.report(key, v)
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftUUID:
		return w.skip(16)
	case thriftBinary:
		n, err := w.uvarint()
		if err != nil {
			return err
		}
		if err := w.take(int64(min(n, 1<<40))); err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		return w.list(depth)
	case thriftMap:
		return w.pairs(depth)
	case thriftStruct:
		return w.structure(depth+1, max(key, 0))
	}
	return fmt.Errorf("its header has a value of the unknown type %d", kind)
}

func (w *walker) list(depth int) error {
	b, err := w.byte()
	if err != nil {
		return err
	}
	n, kind := uint64(b>>4), b&15
	if n == 15 {
		if n, err = w.uvarint(); err != nil {
			return err
		}
	}
	return w.elements(n, depth, kind)
}

func (w *walker) pairs(depth int) error {
	n, err := w.uvarint()
	if err != nil || n == 0 {
		return err
	}
	kinds, err := w.byte()
	if err != nil {
		return err
	}
	return w.elements(n, depth, kinds>>4, kinds&15)
}

// elements skips n elements, each of one value of every kind. An element has at least one byte.
func (w *walker) elements(n uint64, depth int, kinds ...byte) error {
	if n > uint64(len(w.data)-w.at) {
		return fmt.Errorf("its header declares a list of %d in %d bytes", n, len(w.data)-w.at)
	}
	for _, kind := range kinds {
		if err := w.take(int64(n) * goSize(kind)); err != nil {
			return err
		}
	}
	for range n {
		for _, kind := range kinds {
			if kind == thriftTrue || kind == thriftFalse { // a boolean in a list has a byte
				kind = thriftI8
			}
			if err := w.value(kind, depth+1, -1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walker) report(key int, v int64) {
	if key >= 0 && w.number != nil {
		w.number(key, v)
	}
}

// take subtracts n bytes from the budget.
func (w *walker) take(n int64) error {
	if w.budget -= n; w.budget < 0 {
		return errors.New("its header declares more than hgld reads")
	}
	return nil
}

func (w *walker) byte() (byte, error) {
	if w.at >= len(w.data) {
		return 0, errTruncated
	}
	w.at++
	return w.data[w.at-1], nil
}

func (w *walker) skip(n uint64) error {
	if n > uint64(len(w.data)-w.at) {
		return errTruncated
	}
	w.at += int(n)
	return nil
}

func (w *walker) uvarint() (uint64, error) {
	v, n := binary.Uvarint(w.data[w.at:])
	if n <= 0 {
		return 0, errTruncated
	}
	w.at += n
	return v, nil
}

func (w *walker) zigzag() (int64, error) {
	u, err := w.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}
