package export

import (
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protocol buffer under construction. Its fields keep the order in which they
// were added. It keeps tensor bytes by reference, so that a model is in memory only once.
type message struct {
	pieces [][]byte
	size   int
}

func (m *message) add(data []byte) {
	m.pieces = append(m.pieces, data)
	m.size += len(data)
}

// number adds an integer or an enumeration.
func (m *message) number(field protowire.Number, v int64) {
	m.add(protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), uint64(v)))
}

// float adds a float32.
func (m *message) float(field protowire.Number, v float32) {
	m.add(protowire.AppendFixed32(protowire.AppendTag(nil, field, protowire.Fixed32Type), math.Float32bits(v)))
}

// bytes adds data, which must not change before the message is written.
func (m *message) bytes(field protowire.Number, data []byte) {
	m.prefix(field, len(data))
	m.add(data)
}

func (m *message) text(field protowire.Number, s string) { m.bytes(field, []byte(s)) }

// message adds a submessage, which must be complete.
func (m *message) message(field protowire.Number, sub message) {
	m.prefix(field, sub.size)
	m.pieces = append(m.pieces, sub.pieces...)
	m.size += sub.size
}

// prefix adds the tag and the size of a field whose bytes follow.
func (m *message) prefix(field protowire.Number, size int) {
	m.add(protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.BytesType), uint64(size)))
}

func (m *message) write(w io.Writer) error {
	for _, p := range m.pieces {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}
