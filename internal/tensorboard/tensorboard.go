// Package tensorboard writes scalars in the format of TensorBoard: event files, whose records are
// TensorFlow's protocol buffer Event.
//
// A record is the length of its data (8 bytes, little-endian), a checksum of these 8 bytes, the
// data, and a checksum of the data. A checksum is CRC-32C, rotated right by 15 bits, plus
// 0xa282ead8. This package writes four fields of Event: wall_time (1, double), step (2, int64), and
// one of file_version (3, string), summary (5, values with tag and simple_value) and session_log
// (7, status START).
package tensorboard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"hgld/internal/atomicfile"
)

// Scalar is a value of a curve.
type Scalar struct {
	Tag   string  // such as "train/loss"; the part before the slash groups the curves
	Value float64 // finite
}

// Writer appends to an event file. Each call is one write, so a killed process leaves at most one
// incomplete record at the end, which readers skip.
type Writer struct {
	file *os.File
	buf  []byte
}

// filePrefix begins the names of event files. TensorBoard reads the files of a folder in the order
// of their names.
const filePrefix = "events.out.tfevents."

// Create starts a new event file in dir, named to sort after the existing ones. It tells readers to
// discard all values after step that earlier files hold, because those steps are run again. at is
// the current time.
func Create(dir string, step int, at time.Time) (*Writer, error) {
	if err := atomicfile.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	old, err := fs.Glob(os.DirFS(dir), filePrefix+"*")
	if err != nil {
		return nil, err
	}
	next := 0
	for _, name := range old {
		var n int
		if _, err := fmt.Sscanf(name, filePrefix+"%d", &n); err == nil {
			next = max(next, n+1)
		}
	}
	file, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("%s%06d", filePrefix, next)),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: file}
	const start = 1 // SessionLog.START
	err = w.event(at, 0, protowire.AppendString(tag(nil, 3, protowire.BytesType), "brain.Event:2"))
	if err == nil {
		// Readers discard values of this step and of later ones.
		status := protowire.AppendVarint(tag(nil, 1, protowire.VarintType), start)
		err = w.event(at, step+1, protowire.AppendBytes(tag(nil, 7, protowire.BytesType), status))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return w, nil
}

// Add writes the values of a step.
func (w *Writer) Add(at time.Time, step int, values ...Scalar) error {
	var summary []byte
	for _, v := range values {
		value := protowire.AppendString(tag(nil, 1, protowire.BytesType), v.Tag)
		value = protowire.AppendFixed32(tag(value, 2, protowire.Fixed32Type), math.Float32bits(float32(v.Value)))
		summary = protowire.AppendBytes(tag(summary, 1, protowire.BytesType), value)
	}
	return w.event(at, step, protowire.AppendBytes(tag(nil, 5, protowire.BytesType), summary))
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// event writes a record with one field besides time and step.
func (w *Writer) event(at time.Time, step int, field []byte) error {
	w.buf = append(w.buf[:0], make([]byte, 12)...)
	w.buf = protowire.AppendFixed64(tag(w.buf, 1, protowire.Fixed64Type), math.Float64bits(float64(at.UnixNano())/1e9))
	if step != 0 { // protocol buffers omit zeros
		w.buf = protowire.AppendVarint(tag(w.buf, 2, protowire.VarintType), uint64(step))
	}
	w.buf = append(w.buf, field...)
	data := w.buf[12:]
	binary.LittleEndian.PutUint64(w.buf, uint64(len(data)))
	binary.LittleEndian.PutUint32(w.buf[8:], masked(w.buf[:8]))
	w.buf = binary.LittleEndian.AppendUint32(w.buf, masked(data))
	_, err := w.file.Write(w.buf)
	return err
}

// tag appends the number of a field and the type of its value.
var tag = protowire.AppendTag

// masked returns the checksum of a record. TensorFlow masks the CRC because a CRC of data that
// contains CRCs is weak.
func masked(data []byte) uint32 {
	crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (crc>>15 | crc<<17) + 0xa282ead8
}
