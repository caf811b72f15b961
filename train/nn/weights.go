package nn

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/internal/tensorfile"
	"hgld/train/device"
)

// dtypes maps element types to their names in tensor files.
var dtypes = map[device.DType]string{
	device.F32: "F32", device.BF16: "BF16", device.F16: "F16", device.I32: "I32", device.U8: "U8",
}

// Shape is the name and the dimensions of an array in files.
type Shape struct {
	Name    string // in files
	Dims    []int  // in files
	Trained bool   // a parameter, not running statistics or state
}

// Layout lists the contents of s in the order of declaration. It does not need Build.
func (s *Store) Layout() []Shape {
	trained := map[string]bool{}
	for _, g := range s.Groups {
		for _, p := range g.Params {
			trained[p.entry.name] = true
		}
	}
	list := make([]Shape, len(s.entries))
	for i, e := range s.entries {
		list[i] = Shape{e.name, slices.Clone(e.layout.file), trained[e.name]}
	}
	return list
}

// MismatchError says how tensors differ from the contents of a store. Nothing has been changed.
type MismatchError struct {
	Missing    []string // in the store but not among the tensors
	Unexpected []string // among the tensors but not in the store
	Shapes     []string // name, found and expected shape or type
}

// listed is how many names of each kind an error prints.
const listed = 8

// Error lists the names on both sides, pairing similar ones.
func (e *MismatchError) Error() string {
	unexpected := slices.Clone(e.Unexpected[:min(len(e.Unexpected), listed)])
	for i, name := range unexpected {
		if near := registry.Nearest(name, e.Missing); near != "" {
			unexpected[i] += " (for " + near + "?)"
		}
	}
	var parts []string
	for _, list := range []struct {
		what  string
		names []string
		count int
	}{
		{"missing", e.Missing, len(e.Missing)},
		{"unexpected", unexpected, len(e.Unexpected)},
		{"of another shape", e.Shapes, len(e.Shapes)},
	} {
		if list.count == 0 {
			continue
		}
		shown := strings.Join(list.names[:min(list.count, listed)], ", ")
		if list.count > listed {
			shown += fmt.Sprintf(" and %d more", list.count-listed)
		}
		parts = append(parts, fmt.Sprintf("%d %s: %s", list.count, list.what, shown))
	}
	return "nn: the weights do not fit the network: " + strings.Join(parts, "; ")
}

// Arrays returns the arrays of the store.
func (s *Store) Arrays() []device.Array {
	list := make([]device.Array, len(s.entries))
	for i, e := range s.entries {
		list[i] = e.array
	}
	return list
}

// Export downloads everything, with the names and the layout of files.
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
		if !e.layout.equal() {
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

// Counters returns the batch counters that torch keeps beside running statistics, by name. The
// store does not need them; a file that torch loads with strict names does. All are 0.
func (s *Store) Counters() []tensorfile.Tensor {
	var list []tensorfile.Tensor
	for _, name := range slices.Sorted(maps.Keys(s.ignored)) {
		list = append(list, tensorfile.NewI64(name, nil, []int64{0}))
	}
	return list
}

// Compare reports how tensors differ from what Import with the same prefix expects, or nil if
// they fit. It does not need Build.
func (s *Store) Compare(tensors []tensorfile.Tensor, prefix string) *MismatchError {
	var bad MismatchError
	found := map[string]bool{}
	for _, t := range tensors {
		if !strings.HasPrefix(t.Name, prefix) || s.ignored[t.Name] {
			continue
		}
		found[t.Name] = true
		switch e := s.byName[t.Name]; {
		case e == nil:
			bad.Unexpected = append(bad.Unexpected, t.Name)
		case !fits(e, t):
			bad.Shapes = append(bad.Shapes, fmt.Sprintf("%s (is %s%v, want %v%v)",
				t.Name, t.DType, t.Shape, e.array.Type, e.layout.file))
		}
	}
	for _, e := range s.entries {
		if !found[e.name] && strings.HasPrefix(e.name, prefix) {
			bad.Missing = append(bad.Missing, e.name)
		}
	}
	if len(bad.Missing)+len(bad.Unexpected)+len(bad.Shapes) == 0 {
		return nil
	}
	return &bad
}

// Import fills everything whose name begins with prefix from tensors. It returns a *MismatchError
// if a tensor has no place or one is missing. With a prefix, it ignores tensors that do not begin
// with it. It converts floats of any width to F32, and ignores the batch counter of a BatchNorm.
// A value that is not finite is an error. Nothing has changed if there is an error.
func (s *Store) Import(b device.Backend, tensors []tensorfile.Tensor, prefix string) error {
	if bad := s.Compare(tensors, prefix); bad != nil {
		return bad
	}
	values := map[*entry][]byte{}
	for _, t := range tensors {
		if e := s.byName[t.Name]; e != nil && strings.HasPrefix(t.Name, prefix) {
			data, err := e.fromFile(t)
			if err != nil {
				return fmt.Errorf("nn: import: %w", err)
			}
			values[e] = data
		}
	}
	for _, e := range s.entries {
		if data, given := values[e]; given {
			b.Upload(e.array, data)
		}
	}
	return b.Sync()
}

// fits reports whether t can fill e.
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
	return slices.Equal(t.Shape, e.layout.file)
}

// fromFile returns the contents of t in the type and the layout of the device.
func (e *entry) fromFile(t tensorfile.Tensor) ([]byte, error) {
	if t.DType != dtypes[e.array.Type] {
		values, err := t.Float32()
		if err != nil {
			return nil, err
		}
		t = tensorfile.NewF32(t.Name, t.Shape, values)
	}
	if i := t.NotFinite(); i >= 0 {
		return nil, fmt.Errorf("element %d of %s is not finite", i, t.Name)
	}
	if e.layout.equal() {
		return t.Data, nil
	}
	values := make([]float32, size(e.layout.device))
	e.layout.toDevice(values, floats(t.Data))
	return bytesOf(values), nil
}

// floats decodes little-endian F32.
func floats(data []byte) []float32 {
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}
