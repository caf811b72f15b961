// Package tensorboard writes scalars as TensorBoard reads them: event files, which
// are records of TensorFlow's protocol buffer Event.
//
// A record is the length of its data (8 bytes, little-endian), a checksum of these
// 8 bytes, the data, and a checksum of the data; a checksum is CRC-32C, rotated
// right by 15 bits, plus 0xa282ead8. Of Event four fields are written: wall_time
// (1, double), step (2, int64) and one of file_version (3, string), summary (5,
// values with tag and simple_value) and session_log (7, status START).
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
	Tag   string  // "train/loss": what stands before the slash groups the curves
	Value float64 // finite
}

// Writer appends to an event file. Every call is one write: a process that is
// killed leaves at most one half record, the last, which readers pass over.
type Writer struct {
	file *os.File
	buf  []byte
}

// filePrefix begins the names by which TensorBoard knows event files; it reads
// those of a folder in the order of their names.
const filePrefix = "events.out.tfevents."

// Create begins a file in dir, behind those that there are. The session goes on
// after step: what earlier files say of later steps, which are taken again, no
// longer counts. at is the time of now.
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
		// Readers forget what has this step or a later one.
		status := protowire.AppendVarint(tag(nil, 1, protowire.VarintType), start)
		err = w.event(at, step+1, protowire.AppendBytes(tag(nil, 7, protowire.BytesType), status))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return w, nil
}

// Add writes values of a step.
func (w *Writer) Add(at time.Time, step int, values ...Scalar) error {
	var summary []byte
	for _, v := range values {
		value := protowire.AppendString(tag(nil, 1, protowire.BytesType), v.Tag)
		value = protowire.AppendFixed32(tag(value, 2, protowire.Fixed32Type), math.Float32bits(float32(v.Value)))
		summary = protowire.AppendBytes(tag(summary, 1, protowire.BytesType), value)
	}
	return w.event(at, step, protowire.AppendBytes(tag(nil, 5, protowire.BytesType), summary))
}

// Close ends the file.
func (w *Writer) Close() error { return w.file.Close() }

// event writes a record of an Event with one more field.
func (w *Writer) event(at time.Time, step int, field []byte) error {
	w.buf = append(w.buf[:0], make([]byte, 12)...)
	w.buf = protowire.AppendFixed64(tag(w.buf, 1, protowire.Fixed64Type), math.Float64bits(float64(at.UnixNano())/1e9))
	if step != 0 { // protocol buffers leave zeros out
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

// masked is the checksum of a record: a CRC of data that holds CRCs would be
// weak, so it is moved.
func masked(data []byte) uint32 {
	crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (crc>>15 | crc<<17) + 0xa282ead8
}
