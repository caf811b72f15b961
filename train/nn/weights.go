package nn

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/train/device"
)

// dtypes names the element types as tensor files do.
var dtypes = map[device.DType]string{
	device.F32: "F32", device.BF16: "BF16", device.F16: "F16", device.I32: "I32", device.U8: "U8",
}

// MismatchError says how tensors differ from what a store holds. Nothing has been
// changed.
type MismatchError struct {
	Missing    []string // in the store, not among the tensors
	Unexpected []string // the other way round
	Shapes     []string // name, found and wanted shape or type
}

func (e *MismatchError) Error() string {
	var parts []string
	for _, list := range []struct {
		what  string
		names []string
	}{{"missing", e.Missing}, {"unexpected", e.Unexpected}, {"of another shape", e.Shapes}} {
		if n := len(list.names); n > 0 {
			shown := strings.Join(list.names[:min(n, 8)], ", ")
			if n > 8 {
				shown += fmt.Sprintf(" and %d more", n-8)
			}
			parts = append(parts, list.what+": "+shown)
		}
	}
	return "nn: the weights do not fit the network: " + strings.Join(parts, "; ")
}

// Export copies everything out under the names of files and in their layout.
func (s *Store) Export(b device.Backend) ([]tensorfile.Tensor, error) {
	tensors := make([]tensorfile.Tensor, len(s.entries))
	data := make([][]byte, len(s.entries))
	for i, e := range s.entries {
		data[i] = make([]byte, e.array.Len()*e.array.Type.Size())
		b.Download(data[i], e.array)
	}
	if err := b.Sync(); err != nil {
		return nil, fmt.Errorf("nn: export: %w", err)
	}
	for i, e := range s.entries {
		if e.layout.transposed {
			file := make([]float32, size(e.layout.file))
			e.layout.toFile(file, floats(data[i]))
			data[i] = bytesOf(file)
		}
		tensors[i] = tensorfile.Tensor{
			Name: e.name, DType: dtypes[e.array.Type], Shape: e.layout.file, Data: data[i],
		}
	}
	return tensors, nil
}

// Import fills everything whose name begins with prefix from tensors, of which
// each must have its place and nothing may be missing: else a *MismatchError. With
// a prefix, tensors that do not begin with it are left alone. Floats of any width
// go to F32 arrays.
func (s *Store) Import(b device.Backend, tensors []tensorfile.Tensor, prefix string) error {
	var bad MismatchError
	found := map[string]tensorfile.Tensor{}
	for _, t := range tensors {
		if !strings.HasPrefix(t.Name, prefix) || s.ignored[t.Name] {
			continue
		}
		found[t.Name] = t
		switch e := s.byName[t.Name]; {
		case e == nil:
			bad.Unexpected = append(bad.Unexpected, t.Name)
		case !fits(e, t):
			bad.Shapes = append(bad.Shapes, fmt.Sprintf("%s (is %s%v, want %v%v)",
				t.Name, t.DType, t.Shape, e.array.Type, e.layout.file))
		}
	}
	for _, e := range s.entries {
		if _, ok := found[e.name]; !ok && strings.HasPrefix(e.name, prefix) {
			bad.Missing = append(bad.Missing, e.name)
		}
	}
	if len(bad.Missing)+len(bad.Unexpected)+len(bad.Shapes) > 0 {
		return &bad
	}
	for _, e := range s.entries {
		if t, ok := found[e.name]; ok {
			if err := e.upload(b, t); err != nil {
				return fmt.Errorf("nn: import: %w", err)
			}
		}
	}
	return b.Sync()
}

// fits reports whether t can be put into e.
func fits(e *entry, t tensorfile.Tensor) bool {
	if e.array.Type == device.F32 {
		switch t.DType {
		case "F32", "F64", "F16", "BF16":
		default:
			return false
		}
	} else if t.DType != dtypes[e.array.Type] {
		return false
	}
	if len(t.Shape) != len(e.layout.file) {
		return false
	}
	for i, d := range t.Shape {
		if d != e.layout.file[i] {
			return false
		}
	}
	return true
}

func (e *entry) upload(b device.Backend, t tensorfile.Tensor) error {
	if e.array.Type != device.F32 {
		b.Upload(e.array, t.Data)
		return nil
	}
	values, err := t.Float32()
	if err != nil {
		return err
	}
	if e.layout.transposed {
		file := values
		values = make([]float32, size(e.layout.device))
		e.layout.toDevice(values, file)
	}
	b.Upload(e.array, bytesOf(values))
	return nil
}

// floats reads little-endian F32.
func floats(data []byte) []float32 {
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}
