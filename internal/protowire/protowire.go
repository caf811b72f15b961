// Package protowire appends fields of protocol buffers: a tag, which is the number of
// the field and how its value is written, and the value. ONNX models and the event
// files of TensorBoard are made of them.
package protowire

import (
	"encoding/binary"
	"math"
)

// How a value is written.
const (
	varint  = 0
	fixed64 = 1
	bytes   = 2
	fixed32 = 5
)

func tag(dst []byte, field int, kind uint64) []byte {
	return binary.AppendUvarint(dst, uint64(field)<<3|kind)
}

// AppendNumber appends an integer or an enumeration; a negative one is its two's
// complement.
func AppendNumber(dst []byte, field int, v int64) []byte {
	return binary.AppendUvarint(tag(dst, field, varint), uint64(v))
}

// AppendFloat appends a float.
func AppendFloat(dst []byte, field int, v float32) []byte {
	return binary.LittleEndian.AppendUint32(tag(dst, field, fixed32), math.Float32bits(v))
}

// AppendDouble appends a double.
func AppendDouble(dst []byte, field int, v float64) []byte {
	return binary.LittleEndian.AppendUint64(tag(dst, field, fixed64), math.Float64bits(v))
}

// AppendBytes appends a string, bytes or a message.
func AppendBytes[T ~string | ~[]byte](dst []byte, field int, v T) []byte {
	return append(AppendSize(dst, field, len(v)), v...)
}

// AppendSize appends what stands before a string, bytes or a message of so many
// bytes, which are to follow.
func AppendSize(dst []byte, field, size int) []byte {
	return binary.AppendUvarint(tag(dst, field, bytes), uint64(size))
}
