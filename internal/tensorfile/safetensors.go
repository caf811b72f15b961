package tensorfile

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"
)

// The safetensors format (huggingface/safetensors, README) is the length N of the header in eight
// bytes, little endian; N bytes of JSON, which begin with { and may be padded with spaces; and the
// data. The JSON maps each name to
//
//	{"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}
//
// with offsets from the start of the data, and "__metadata__" to a map of strings. The offsets
// cover the data without gap or overlap.

const (
	metadataKey = "__metadata__"

	// headerCap is the limit that the reference implementation sets.
	headerCap = 100_000_000

	// maxDims is NumPy's limit.
	maxDims = 64
)

// WriteSafetensors writes ts in the order given, with meta as "__metadata__"
// unless it is empty. The same arguments give the same bytes. The data begins at
// a multiple of eight bytes.
func WriteSafetensors(w io.Writer, ts []Tensor, meta map[string]string) error {
	header, err := safetensorsHeader(ts, meta)
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for _, t := range ts {
		if _, err := w.Write(t.Data); err != nil {
			return err
		}
	}
	return nil
}

// safetensorsHeader returns everything before the data.
func safetensorsHeader(ts []Tensor, meta map[string]string) ([]byte, error) {
	h := append(make([]byte, 8), '{')
	member := func(key string, value any) error {
		if len(h) > 9 {
			h = append(h, ',')
		}
		k, err := json.Marshal(key)
		if err != nil {
			return err
		}
		v, err := json.Marshal(value)
		if err != nil {
			return err
		}
		h = append(append(append(h, k...), ':'), v...)
		return nil
	}
	if len(meta) > 0 {
		if err := member(metadataKey, meta); err != nil { // json sorts the keys
			return nil, err
		}
	}
	seen := map[string]bool{metadataKey: true}
	offset := 0
	for _, t := range ts {
		if seen[t.Name] || !utf8.ValidString(t.Name) {
			return nil, fmt.Errorf("tensor %.80q: the name is taken, reserved or not UTF-8", t.Name)
		}
		seen[t.Name] = true
		if err := t.check(); err != nil {
			return nil, err
		}
		shape := t.Shape
		if shape == nil {
			shape = []int{}
		}
		err := member(t.Name, struct {
			DType   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}{t.DType, shape, [2]int{offset, offset + len(t.Data)}})
		if err != nil {
			return nil, err
		}
		offset += len(t.Data)
	}
	h = append(h, '}')
	for len(h)%8 != 0 {
		h = append(h, ' ')
	}
	binary.LittleEndian.PutUint64(h, uint64(len(h)-8))
	return h, nil
}

// File is an open safetensors file.
type File struct {
	Metadata map[string]string // __metadata__ of the header

	entries []entry        // in the order of the data
	index   map[string]int // into entries
	data    source
}

// entry is one tensor of a header. Its data are bytes [begin, end) after the header.
type entry struct {
	tensor     Tensor // without data
	begin, end uint64
}

// OpenSafetensors opens a file, memory-mapped if the system supports it. Tensors are read when they
// are accessed. The caller closes the file, which must not be truncated while it is open.
func OpenSafetensors(path string) (*File, error) {
	src, err := openSource(path)
	if err != nil {
		return nil, err
	}
	f, err := readSafetensors(src)
	if err != nil {
		src.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// ReadSafetensors reads the header of a file of the given size. Tensors are read from r when they
// are accessed.
func ReadSafetensors(r io.ReaderAt, size int64) (*File, error) {
	return readSafetensors(source{at: r, size: size})
}

// ParseSafetensors reads the header of a file in memory, which its tensors share.
func ParseSafetensors(data []byte) (*File, error) {
	return readSafetensors(source{mem: data, size: int64(len(data))})
}

func readSafetensors(src source) (*File, error) {
	bad := func(format string, args ...any) error {
		return &FormatError{Format: "safetensors", Reason: fmt.Sprintf(format, args...)}
	}
	if src.size < 8 {
		return nil, bad("%d bytes, too short for the length of a header", src.size)
	}
	first, err := src.slice(0, 8)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(first)
	if n > headerCap {
		return nil, bad("a header of %d bytes (at most %d); not a safetensors file?", n, headerCap)
	}
	if n > uint64(src.size)-8 {
		return nil, bad("a header of %d bytes in a file of %d: cut off?", n, src.size)
	}
	header, err := src.slice(8, int64(n))
	if err != nil {
		return nil, err
	}
	f := &File{data: src}
	if err := f.parse(header); err != nil {
		return nil, err
	}
	f.data.base = 8 + int64(n)
	if err := f.layOut(uint64(src.size) - 8 - n); err != nil {
		return nil, err
	}
	return f, nil
}

// layOut checks that the tensors cover the data, and sorts them by offset.
func (f *File) layOut(size uint64) error {
	slices.SortStableFunc(f.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	f.index = make(map[string]int, len(f.entries))
	at := uint64(0)
	for i, e := range f.entries {
		if e.begin != at {
			return &FormatError{Format: "safetensors", Tensor: e.tensor.Name, Reason: fmt.Sprintf(
				"begins at byte %d of the data where the one before ends at %d", e.begin, at)}
		}
		if e.end > size {
			return &FormatError{Format: "safetensors", Tensor: e.tensor.Name, Reason: fmt.Sprintf(
				"ends at byte %d of %d: cut off?", e.end, size)}
		}
		at = e.end
		f.index[e.tensor.Name] = i
	}
	if at != size {
		return &FormatError{Format: "safetensors", Reason: fmt.Sprintf(
			"there are %d bytes after the last tensor", size-at)}
	}
	return nil
}

// Close closes the file. The data of its tensors must not be used afterwards.
func (f *File) Close() error { return f.data.Close() }

// Names returns the names of the tensors in the order of their data.
func (f *File) Names() []string {
	names := make([]string, len(f.entries))
	for i, e := range f.entries {
		names[i] = e.tensor.Name
	}
	return names
}

// Has reports whether there is a tensor called name.
func (f *File) Has(name string) bool { _, ok := f.index[name]; return ok }

// Shape returns the type and the dimensions of a tensor without reading it.
func (f *File) Shape(name string) (dtype string, shape []int, err error) {
	i, ok := f.index[name]
	if !ok {
		return "", nil, f.unknown(name)
	}
	t := f.entries[i].tensor
	return t.DType, slices.Clone(t.Shape), nil
}

// Tensor returns a tensor with its data, which is valid until Close and must not be modified.
func (f *File) Tensor(name string) (Tensor, error) {
	i, ok := f.index[name]
	if !ok {
		return Tensor{}, f.unknown(name)
	}
	e := f.entries[i]
	data, err := f.data.slice(int64(e.begin), int64(e.end-e.begin))
	if err != nil {
		return Tensor{}, fmt.Errorf("safetensors: tensor %.80q: %w", name, err)
	}
	t := e.tensor
	t.Shape, t.Data = slices.Clone(t.Shape), data
	return t, nil
}

// Float32 returns a tensor's elements widened or rounded to float32.
func (f *File) Float32(name string) ([]float32, error) {
	t, err := f.Tensor(name)
	if err != nil {
		return nil, err
	}
	return t.Float32()
}

// ReadRows converts rows [lo, lo + len(dst)/cols) of a matrix to float32.
func (f *File) ReadRows(dst []float32, name string, lo int) error {
	i, ok := f.index[name]
	if !ok {
		return f.unknown(name)
	}
	e := f.entries[i]
	shape, size := e.tensor.Shape, dtypes[e.tensor.DType]
	if len(shape) != 2 || lo < 0 || len(dst)%max(shape[1], 1) != 0 || lo*shape[1]+len(dst) > shape[0]*shape[1] {
		panic(fmt.Sprintf("tensorfile: %d elements from row %d of %v", len(dst), lo, shape))
	}
	from := int64(e.begin) + int64(lo)*int64(shape[1]*size)
	if err := f.data.rows(dst, e.tensor.DType, from, int64(len(dst)*size)); err != nil {
		return fmt.Errorf("safetensors: tensor %.80q: %w", name, err)
	}
	return nil
}

// GiveBack lets the system take back the memory of rows [lo, hi) of a matrix, which ReadRows has
// brought in from the mapped file. They can be read again.
func (f *File) GiveBack(name string, lo, hi int) {
	e := f.entries[f.index[name]]
	row := int64(e.tensor.Shape[1] * dtypes[e.tensor.DType])
	f.data.giveBack(int64(e.begin)+int64(lo)*row, int64(hi-lo)*row)
}

// Float64 returns a tensor's elements as float64.
func (f *File) Float64(name string) ([]float64, error) {
	t, err := f.Tensor(name)
	if err != nil {
		return nil, err
	}
	return t.Float64()
}

func (f *File) unknown(name string) error {
	names := f.Names()
	return fmt.Errorf("safetensors: no tensor %.80q among %d, the first of which are %.80q", name, len(names),
		names[:min(3, len(names))])
}

// ReadAll returns every tensor of a file, in the order of the data, and its
// metadata.
func ReadAll(path string) ([]Tensor, map[string]string, error) {
	f, err := OpenSafetensors(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	ts := make([]Tensor, 0, len(f.entries))
	for _, name := range f.Names() {
		t, err := f.Tensor(name)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		t.Data = slices.Clone(t.Data)
		ts = append(ts, t)
	}
	return ts, maps.Clone(f.Metadata), nil
}
