package dataset

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/regular"
	"hgld/shards"
)

// zipStore reads members of a zip file.
type zipStore struct {
	name    string
	file    *os.File
	members map[string]*zip.File
}

func openZip(name string) (store, error) {
	f, err := regular.Open(name)
	if err != nil {
		return nil, err
	}
	s := &zipStore{name: name, file: f, members: map[string]*zip.File{}}
	if err := s.index(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

func (s *zipStore) index() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(s.file, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	for _, f := range archive.File {
		if err := checkMember(s.name, f.Name); err != nil {
			return err
		}
		bad := func(why string) error { return fmt.Errorf("%s: member %.80q %s", filepath.Base(s.name), f.Name, why) }
		mode := f.Mode()
		switch {
		case mode.IsDir():
			continue
		case !mode.IsRegular():
			return bad("is " + kindOf(mode) + ", not a plain file")
		case f.Flags&1 != 0:
			return bad("is encrypted")
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return bad(fmt.Sprintf("is packed by method %d; want stored or deflated", f.Method))
		}
		p := memberPath(f.Name)
		if s.members[p] != nil {
			return bad("occurs twice")
		}
		s.members[p] = f
	}
	return nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "something irregular"
}

func (s *zipStore) list(context.Context) ([]entry, error) {
	all := make([]entry, 0, len(s.members))
	for p := range s.members {
		if hidden(p) {
			continue
		}
		e, err := s.find(p)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

func (s *zipStore) folders() ([]string, error) { return topsOf(s.members), nil }

func (s *zipStore) find(name string) (entry, error) {
	f := s.members[name]
	if f == nil {
		return entry{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	const most = 1 << 62 // a forged size does not become negative
	return entry{path: name, size: int64(min(f.UncompressedSize64, most)), stamp: fmt.Sprintf("crc32:%08x", f.CRC32)}, nil
}

func (s *zipStore) open(name string) (io.ReadCloser, error) {
	f := s.members[name]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	return f.Open()
}

func (s *zipStore) input(ctx context.Context, _ []byte) (shards.Input, error) {
	return FileInput(ctx, s.name)
}

func (s *zipStore) Close() error { return s.file.Close() }
