// Package torchfile reads the tensors and arrays of a file of torch.save (.pth, .pt, .bin, .ckpt) or of
// pickle.dump (.pkl) without running code from it.
//
// Such a file is a pickle, a program for a small stack machine, and the bytes of the tensors. A
// pickle can call any function of Python. This package knows only the opcodes and the few names that
// dictionaries of tensors and NumPy arrays need. It builds plain values from these and rejects all
// others. It reads the zip archive that PyTorch writes since 1.6, the older stream of pickles, and a
// pickle alone. It checks every size in the file against the size of the file.
package torchfile

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/budget"
	"hgld/internal/regular"
	"hgld/internal/tensorfile"
)

// FormatError reports a file that cannot be read: it is damaged, it holds more than tensors in
// containers, or torch.save did not write it.
type FormatError struct {
	// Reason is what is wrong.
	Reason string
	// Refused names the code that the file asks to run, such as "numpy.core.multiarray.scalar". It
	// is "" if there is none.
	Refused string
}

// Error returns the reason.
func (e *FormatError) Error() string { return "torch.save: " + e.Reason }

func damaged(format string, args ...any) error {
	return &FormatError{Reason: fmt.Sprintf(format, args...)}
}

// Named reports whether a path has one of the usual endings of files of torch.save. Other programs
// also write .pkl; Read distinguishes them.
func Named(path string) bool {
	endings := []string{".pth", ".pt", ".bin", ".ckpt", ".pkl", ".pickle"}
	return slices.Contains(endings, strings.ToLower(filepath.Ext(path)))
}

// Limits on what a file may claim.
const (
	mostLong  = 255 // bytes of an integer: what LONG1 can hold
	mostRank  = 8   // dimensions of a tensor
	mostTimes = 4   // bytes of all tensors as a multiple of the file's: tensors may share memory
)

// ReadValues returns the single tensor that the file at path holds, without a name, or the tensors of its
// dictionary with their names, or those of its list, named by their places. Lists of numbers or texts
// become arrays of texts. It skips other values. The tensors are contiguous, in the file's order, and separate if they
// shared memory. An error in the contents is a *FormatError.
func ReadValues(path string) ([]tensorfile.Tensor, error) {
	return readFile(path, func(r io.ReaderAt, size int64) ([]tensorfile.Tensor, error) {
		root, data, err := load(r, size)
		if err != nil {
			return nil, err
		}
		found, lists, err := valuesOf(root)
		if err != nil {
			return nil, err
		}
		all, err := gather(found, data, mostTimes*size)
		return append(all, lists...), err
	})
}

// readFile calls read for a regular file.
func readFile[T any](path string, read func(io.ReaderAt, int64) (T, error)) (none T, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return none, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return none, err
	}
	if !info.Mode().IsRegular() {
		return none, fmt.Errorf("%s is not a regular file", path)
	}
	return read(f, info.Size())
}

// Choice is the dictionary of weights that Select chose from a file.
type Choice struct {
	// Tensors are those of the dictionary, as [ReadValues] returns them.
	Tensors []tensorfile.Tensor
	// Key leads to the dictionary, such as "state_dict" or "checkpoint.model". It is "" for the file's own.
	Key string
	// Others are the keys of the other dictionaries of weights in the file.
	Others []string
}

// Select returns the tensors of the dictionary of weights under a key, whose parts are separated by dots, in the
// size bytes at r. For the key "" it is the first of those that training programs use.
func Select(r io.ReaderAt, size int64, key string) (Choice, error) {
	root, data, err := load(r, size)
	if err != nil {
		return Choice{}, err
	}
	weights, err := findWeights(root, key)
	if err != nil {
		return Choice{}, err
	}
	c := Choice{Key: weights[0].key}
	for _, other := range weights[1:] {
		c.Others = append(c.Others, other.key)
	}
	c.Tensors, err = gather(weights[0].entries, data, mostTimes*size)
	return c, err
}

// load reads a file of either format. It returns the saved value and the memory of its tensors.
func load(r io.ReaderAt, size int64) (root any, data storages, err error) {
	magic := make([]byte, 4)
	if _, err := r.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if string(magic) == "PK\x03\x04" {
		return readZip(r, size)
	}
	return readStream(r, size)
}

// storages reads the bytes of a storage by its key.
type storages interface {
	// bytes returns the whole storage, which must have want bytes.
	bytes(key string, want int64) ([]byte, error)
}

// valuesOf returns the entries of root that are tensors, and its lists of numbers or texts. If root itself
// is a tensor or such a list, it has no name.
func valuesOf(root any) (found []entry, lists []tensorfile.Tensor, err error) {
	var entries []entry
	switch root := root.(type) {
	case *tensor, *array:
		return []entry{{"", root}}, nil, nil
	case *dict:
		entries = root.entries
	case *list, tuple:
		items := itemsOf(root)
		if texts := textsOf(root); texts != nil {
			return nil, []tensorfile.Tensor{tensorfile.NewText("", texts)}, nil
		}
		for i, item := range items {
			entries = append(entries, entry{strconv.Itoa(i), item})
		}
	default:
		return nil, nil, damaged("it holds %s, expected a tensor or a dictionary of tensors", kindOf(root))
	}
	most := budget.Items // items of lists: each takes a step, unless a crafted file has a list under many keys
	for _, e := range entries {
		if isTensor(e.value) {
			found = append(found, e)
			continue
		}
		if most -= len(itemsOf(e.value)); most < 0 {
			return nil, nil, damaged("its lists have more than %d items", budget.Items)
		}
		name, named := e.key.(string)
		if texts := textsOf(e.value); named && texts != nil {
			lists = append(lists, tensorfile.NewText(name, texts))
		}
	}
	return found, lists, nil
}

// itemsOf returns the items of a list or tuple, none of another value.
func itemsOf(v any) []any {
	switch v := v.(type) {
	case *list:
		return v.items
	case tuple:
		return v
	}
	return nil
}

// textsOf returns a list of numbers, texts and None as texts, or nil for another value.
func textsOf(v any) []string {
	var texts []string
	for _, item := range itemsOf(v) {
		switch item := item.(type) {
		case string:
			texts = append(texts, item)
		case int64, float64, bool:
			texts = append(texts, fmt.Sprint(item))
		case nil:
			texts = append(texts, "None")
		default:
			return nil
		}
	}
	return texts
}

// quoted formats a key for a message, cut to a bounded length.
func quoted(v any) string {
	text, is := v.(string)
	if !is {
		return kindOf(v)
	}
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	return fmt.Sprintf("%.80q", text)
}

// gather reads tensors, of at most most bytes together. It takes those of one storage together, and
// so reads each storage once.
func gather(entries []entry, data storages, most int64) ([]tensorfile.Tensor, error) {
	list, order := make([]tensorfile.Tensor, len(entries)), make([]int, len(entries))
	first := map[string]int{} // entry by key of its storage
	place := func(i int) int {
		if t, is := entries[i].value.(*tensor); is {
			return first[t.storage.key]
		}
		return i
	}
	for i, e := range entries {
		order[i] = i
		if t, is := e.value.(*tensor); is {
			if _, seen := first[t.storage.key]; !seen {
				first[t.storage.key] = i
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(place(a), place(b)) })
	for _, i := range order {
		e := entries[i]
		name, is := e.key.(string)
		if !is {
			return nil, damaged("a tensor's name is %s, expected a text", kindOf(e.key))
		}
		var err error
		if list[i], err = read(e.value, data); err != nil {
			return nil, fmt.Errorf("%w (tensor %s)", err, quoted(name))
		}
		list[i].Name = name
		if most -= int64(len(list[i].Data)); most < 0 {
			return nil, damaged("its tensors have more than %d times the bytes of the file", mostTimes)
		}
	}
	return list, nil
}

// read returns a tensor or an array with its elements.
func read(value any, data storages) (tensorfile.Tensor, error) {
	t, is := value.(*tensor)
	if !is {
		return value.(*array).Tensor, nil
	}
	raw, err := t.read(data)
	return tensorfile.Tensor{DType: t.storage.kind.dtype, Shape: slices.Clone(t.shape), Data: raw}, err
}

// storage is the memory of one or more tensors.
type storage struct {
	key   string
	kind  storageKind
	count int64 // elements
}

// tensor is a view of a storage: element (i, j, …) is at offset + i·stride[0] + j·stride[1] + ….
type tensor struct {
	storage *storage
	offset  int64
	shape   []int
	stride  []int64
}

// check compares the view with its storage. An empty tensor reads no element, but its numbers are
// checked like those of all others.
func (t *tensor) check() error {
	if len(t.shape) > mostRank || len(t.shape) != len(t.stride) {
		return damaged("a tensor has %d dimensions and %d strides", len(t.shape), len(t.stride))
	}
	count, empty := t.storage.count, slices.Contains(t.shape, 0)
	if t.offset < 0 || t.offset > count {
		return damaged("a tensor begins at %d of %d elements", t.offset, count)
	}
	elements, last := int64(1), t.offset // both of an empty tensor as if its dimensions of 0 were 1
	for i, n := range t.shape {
		if n < 0 || t.stride[i] < 0 || int64(n) > count && n > 1 && !empty {
			return damaged("a tensor has the shape %v and the strides %v in %d elements", t.shape, t.stride, count)
		}
		n := int64(max(n, 1))
		if elements > math.MaxInt64/8/n || t.stride[i] > math.MaxInt64/16/n {
			return damaged("a tensor has the shape %v and the strides %v", t.shape, t.stride)
		}
		elements *= n
		last += (n - 1) * t.stride[i]
	}
	// An expanded tensor, with stride 0, could claim more elements than the storage has.
	if !empty && (last >= count || elements > count) {
		return damaged("a tensor of shape %v at %d reaches beyond its %d elements", t.shape, t.offset, count)
	}
	return nil
}

// read returns the elements in row-major order.
func (t *tensor) read(data storages) ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	size := int64(t.storage.kind.size)
	raw, err := data.bytes(t.storage.key, t.storage.count*size)
	if err != nil {
		return nil, err
	}
	if t.contiguous() {
		elements := tensorfile.Tensor{Shape: t.shape}.Len()
		return slices.Clone(raw[t.offset*size:][:int64(elements)*size]), nil
	}
	return tensorfile.Gather(raw, t.offset, t.shape, t.stride, int(size)), nil
}

// contiguous reports whether the elements lie in row-major order.
func (t *tensor) contiguous() bool {
	step := int64(1)
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] > 1 && t.stride[i] != step {
			return false
		}
		step *= int64(t.shape[i])
	}
	return true
}

// readZip reads the format since PyTorch 1.6: a zip archive with data.pkl and one uncompressed
// member per storage, all in one folder with any name.
func readZip(r io.ReaderAt, size int64) (any, storages, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, nil, damaged("the zip archive is cut or damaged: %v", err)
	}
	if err := checkOverlap(z); err != nil {
		return nil, nil, err
	}
	archive := &zipStorages{members: map[string]*zip.File{}}
	var pickle *zip.File
	for _, m := range z.File {
		_, name, _ := strings.Cut(m.Name, "/")
		switch {
		case name == "data.pkl":
			pickle = m
		case strings.HasPrefix(name, "data/"):
			archive.members[strings.TrimPrefix(name, "data/")] = m
		case name == "constants.pkl" || strings.HasPrefix(name, "code/"):
			return nil, nil, &FormatError{Reason: "it is a TorchScript archive, which contains a program besides the weights",
				Refused: "TorchScript"}
		}
	}
	if pickle == nil {
		return nil, nil, damaged("the zip archive has no data.pkl, so torch.save did not write it")
	}
	if order := member(z, "byteorder"); order != nil {
		text, err := content(order, 16)
		if err != nil {
			return nil, nil, err
		}
		if strings.TrimSpace(string(text)) != "little" {
			return nil, nil, damaged("its numbers are %.80q-endian, expected little", text)
		}
	}
	text, err := content(pickle, size)
	if err != nil {
		return nil, nil, err
	}
	root, _, err := unpickle(&source{data: text})
	return root, archive, err
}

// checkOverlap returns an error if members share bytes. Otherwise a small archive could hold many
// large members.
func checkOverlap(z *zip.Reader) error {
	type span struct {
		from, upto int64
		name       string
	}
	var spans []span
	for _, m := range z.File {
		from, err := m.DataOffset()
		if err != nil {
			return damaged("member %s: %v", quoted(m.Name), err)
		}
		spans = append(spans, span{from, from + int64(m.CompressedSize64), m.Name})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.upto, b.upto)) })
	for i, s := range spans {
		if s.upto < s.from || i > 0 && s.from < spans[i-1].upto {
			return damaged("the members %s and %s of the zip archive overlap", quoted(spans[max(i-1, 0)].name), quoted(s.name))
		}
	}
	return nil
}

// member finds a member of the archive's folder.
func member(z *zip.Reader, name string) *zip.File {
	i := slices.IndexFunc(z.File, func(m *zip.File) bool { return strings.HasSuffix(m.Name, "/"+name) })
	if i < 0 {
		return nil
	}
	return z.File[i]
}

// content reads a member of at most most bytes. torch.save compresses nothing, so the size of the
// archive bounds the memory.
func content(m *zip.File, most int64) ([]byte, error) {
	if m.Method != zip.Store {
		return nil, damaged("member %s is compressed, but torch.save never compresses", quoted(m.Name))
	}
	if m.UncompressedSize64 > uint64(most) || m.UncompressedSize64 != m.CompressedSize64 {
		return nil, damaged("member %s has %d bytes, expected at most %d", quoted(m.Name), m.UncompressedSize64, most)
	}
	f, err := m.Open()
	if err != nil {
		return nil, damaged("member %s: %v", quoted(m.Name), err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, damaged("member %s: %v", quoted(m.Name), err)
	}
	return data, nil
}

// zipStorages holds the members data/0, data/1, and so on. It keeps the last one read, because
// neighbouring tensors may share it.
type zipStorages struct {
	members map[string]*zip.File
	key     string
	last    []byte
}

func (s *zipStorages) bytes(key string, want int64) ([]byte, error) {
	if s.last != nil && s.key == key && int64(len(s.last)) == want {
		return s.last, nil
	}
	m := s.members[key]
	if m == nil {
		return nil, damaged("the data of storage %s is missing", quoted(key))
	}
	if m.UncompressedSize64 != uint64(want) {
		return nil, damaged("storage %s has %d bytes, expected %d", quoted(key), m.UncompressedSize64, want)
	}
	data, err := content(m, want)
	if err == nil {
		s.key, s.last = key, data
	}
	return data, err
}
