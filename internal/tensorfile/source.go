package tensorfile

import (
	"io"
	"os"

	"hgld/internal/regular"
)

// source provides the bytes of a file, either memory-mapped or read on demand.
type source struct {
	at   io.ReaderAt
	mem  []byte // the file, if it is mapped or was read
	size int64
	base int64    // added to the offsets of slice
	file *os.File // to be closed
}

// openSource opens path, memory-mapped if the system supports it.
func openSource(path string) (source, error) {
	f, err := regular.Open(path)
	if err != nil {
		return source{}, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return source{}, err
	}
	s := source{at: f, size: info.Size(), file: f}
	if info.Mode().IsRegular() {
		s.mem = mapFile(f, s.size)
	}
	return s, nil
}

// slice returns n bytes from offset on, which must not be modified. The caller has checked that
// they are within the file.
func (s *source) slice(offset, n int64) ([]byte, error) {
	offset += s.base
	if s.mem != nil {
		return s.mem[offset : offset+n : offset+n], nil
	}
	buf := make([]byte, n)
	if got, err := s.at.ReadAt(buf, offset); int64(got) < n {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return buf, nil
}

// rows converts n bytes from offset on to dst. It releases the pages of a large part, so that a
// file that is read once from start to end does not stay in memory.
func (s *source) rows(dst []float32, dtype string, offset, n int64) error {
	data, err := s.slice(offset, n)
	if err != nil {
		return err
	}
	err = widen(dst, dtype, data)
	const large = 1 << 20
	if n >= large {
		s.giveBack(offset, n)
	}
	return err
}

// giveBack tells the system that the pages of n bytes from offset on may be released.
func (s *source) giveBack(offset, n int64) {
	if s.mem != nil && s.file != nil {
		givePagesBack(s.mem, s.base+offset, s.base+offset+n)
	}
}

func (s *source) Close() error {
	if s.file == nil {
		return nil
	}
	if s.mem != nil {
		unmapFile(s.mem)
		s.mem = nil
	}
	return s.file.Close()
}
