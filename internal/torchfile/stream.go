package torchfile

import (
	"encoding/binary"
	"io"
)

// The format before PyTorch 1.6 begins with a magic number and its version.
const (
	streamMagic   = "119547037146038801333356"
	streamVersion = 1001
)

// readStream reads the format before PyTorch 1.6. It is a sequence of pickles (magic number,
// version, facts about the machine, the value, the keys of its storages), followed by each storage
// as a count of elements and their bytes.
func readStream(r io.ReaderAt, size int64) (any, storages, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), data); err != nil {
		return nil, nil, err
	}
	s := &source{data: data}
	values := make([]any, 5)
	for i := range values {
		var err error
		if values[i], err = unpickle(s); err != nil {
			if i == 0 {
				return nil, nil, damaged("neither a zip archive nor a pickle, so torch.save did not write it")
			}
			return nil, nil, err
		}
		switch {
		case i == 0 && values[0] != streamMagic:
			return nil, nil, damaged("a pickle, but not of torch.save")
		case i == 1 && values[1] != int64(streamVersion):
			return nil, nil, damaged("version %v of the old form, expected %d", values[1], streamVersion)
		}
	}
	machine, _ := values[2].(*dict)
	if machine == nil || machine.get("little_endian") != true {
		return nil, nil, damaged("its numbers are not little-endian")
	}
	keys, is := values[4].(*list)
	if !is {
		return nil, nil, damaged("it lists its storages as %s", kindOf(values[4]))
	}
	found := &streamStorages{data: map[string][]byte{}}
	names := make([]string, len(keys.items))
	for i, k := range keys.items {
		if names[i], is = k.(string); !is {
			return nil, nil, damaged("a storage's key is %s", kindOf(k))
		}
	}
	sizes, budget := map[string]int{}, len(data)
	collect(values[3], sizes, &budget, 0)
	for _, name := range names {
		if err := found.read(s, name, sizes[name]); err != nil {
			return nil, nil, err
		}
	}
	return values[3], found, nil
}

// collect finds the element size of each storage. Values may contain themselves, or one another
// many times, so depth and number of values are bounded.
func collect(v any, sizes map[string]int, budget *int, depth int) {
	if *budget--; *budget < 0 || depth > mostDepth {
		return
	}
	switch v := v.(type) {
	case *dict:
		for _, e := range v.entries {
			collect(e.value, sizes, budget, depth+1)
		}
	case *list:
		for _, item := range v.items {
			collect(item, sizes, budget, depth+1)
		}
	case tuple:
		for _, item := range v {
			collect(item, sizes, budget, depth+1)
		}
	case *tensor:
		sizes[v.storage.key] = v.storage.kind.size
	}
}

// streamStorages holds the storages of the old format.
type streamStorages struct{ data map[string][]byte }

// read reads a storage from the stream. The size of a storage that no tensor names is unknown, so
// nothing after it could be found.
func (f *streamStorages) read(s *source, name string, size int) error {
	head, err := s.take(8)
	if err != nil {
		return err
	}
	count := binary.LittleEndian.Uint64(head)
	if size == 0 || count > uint64(len(s.data)) {
		return damaged("storage %s has %d elements of a size that is not known", quoted(name), count)
	}
	f.data[name], err = s.take(int(count) * size)
	return err
}

func (f *streamStorages) bytes(key string, want int64) ([]byte, error) {
	data, found := f.data[key]
	if !found {
		return nil, damaged("the data of storage %s is missing", quoted(key))
	}
	if int64(len(data)) != want {
		return nil, damaged("storage %s has %d bytes, expected %d", quoted(key), len(data), want)
	}
	return data, nil
}
