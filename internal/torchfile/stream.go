package torchfile

import (
	"encoding/binary"
	"io"
)

// The format before PyTorch 1.6 begins with a magic number and its version.
const (
	streamMagic   = "119547037146038801333356"
	streamVersion = 1001

	pickleStart = 0x80 // the opcode PROTO, with which every pickle since protocol 2 begins
)

// readStream reads a pickle, or the format before PyTorch 1.6. That is a sequence of pickles (magic
// number, version, facts about the machine, the value, the keys of its storages), followed by each
// storage as a count of elements and their bytes.
func readStream(r io.ReaderAt, size int64) (any, storages, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), data); err != nil {
		return nil, nil, err
	}
	s := &source{data: data}
	values, kinds := make([]any, 5), make([]map[string]storageKind, 5)
	for i := range values {
		var err error
		if values[i], kinds[i], err = unpickle(s); err != nil {
			if i == 0 && (size == 0 || data[0] != pickleStart) {
				return nil, nil, damaged("neither a zip archive nor a pickle, so torch.save did not write it")
			}
			return nil, nil, err
		}
		switch {
		case i == 0 && values[0] != streamMagic:
			if rest := len(s.data) - s.at; rest > 0 {
				return nil, nil, damaged("%d bytes follow its pickle", rest)
			}
			return values[0], &streamStorages{}, nil
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
	for _, name := range names {
		if err := found.read(s, name, kinds[3][name].size); err != nil {
			return nil, nil, err
		}
	}
	return values[3], found, nil
}

// streamStorages holds the storages of the old format.
type streamStorages struct{ data map[string][]byte }

// read reads a storage from the stream. The size of a storage that the value does not name is unknown, so
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
