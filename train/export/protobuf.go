package export

import (
	"io"

	"hgld/internal/protowire"
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
func (m *message) number(field int, v int64) {
	m.add(protowire.AppendNumber(nil, field, v))
}

// float adds a float32.
func (m *message) float(field int, v float32) {
	m.add(protowire.AppendFloat(nil, field, v))
}

// bytes adds data, which must not change before the message is written.
func (m *message) bytes(field int, data []byte) {
	m.add(protowire.AppendSize(nil, field, len(data)))
	m.add(data)
}

func (m *message) text(field int, s string) { m.bytes(field, []byte(s)) }

// message adds a submessage, which must be complete.
func (m *message) message(field int, sub message) {
	m.add(protowire.AppendSize(nil, field, sub.size))
	m.pieces = append(m.pieces, sub.pieces...)
	m.size += sub.size
}

func (m *message) write(w io.Writer) error {
	for _, p := range m.pieces {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}
