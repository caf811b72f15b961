package dataset

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/shards"
)

// tarStore reads members of an uncompressed tar file: one pass over the headers
// finds where each lies.
type tarStore struct {
	name    string
	file    *os.File
	members map[string]extent
}

type extent struct{ at, size int64 }

func openTar(name string) (store, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	s := &tarStore{name: name, file: f, members: map[string]extent{}}
	if err := s.index(); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

func (s *tarStore) index() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	base := filepath.Base(s.name)
	r := tar.NewReader(s.file)
	var end int64 // of the last member, in whole blocks
	for n := 0; ; n++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s.ended(end)
		}
		if err != nil {
			return fmt.Errorf("%s: member %d: %w", base, n, err)
		}
		at, err := s.file.Seek(0, io.SeekCurrent) // the reader takes whole blocks, so here its data begin
		if err != nil {
			return err
		}
		end = wholeBlocks(at)
		if err := checkMember(s.name, h.Name); err != nil {
			return err
		}
		bad := func(why string) error { return fmt.Errorf("%s: member %q %s", base, h.Name, why) }
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
		case tar.TypeLink:
			return bad("is a hard link, not a plain file")
		case tar.TypeGNUSparse:
			return bad("is a sparse file; pack it without --sparse")
		default:
			if mode := h.FileInfo().Mode(); !mode.IsRegular() {
				return bad("is " + kindOf(mode) + ", not a plain file")
			}
			return bad(fmt.Sprintf("is of unknown type %q", h.Typeflag))
		}
		for key := range h.PAXRecords {
			if strings.HasPrefix(key, "GNU.sparse.") {
				return bad("is a sparse file; pack it without --sparse")
			}
		}
		if h.Size < 0 || h.Size > info.Size()-at {
			return bad(fmt.Sprintf("has %d bytes, but the archive ends %d bytes behind its header", h.Size, info.Size()-at))
		}
		p := memberPath(h.Name)
		if _, twice := s.members[p]; twice {
			return bad("stands twice")
		}
		s.members[p] = extent{at, h.Size}
		end = wholeBlocks(at + h.Size)
	}
}

// tarBlock is the size of a block of a tar file.
const tarBlock = 512

func wholeBlocks(size int64) int64 { return (size + tarBlock - 1) / tarBlock * tarBlock }

// ended is an error unless the reader has found an empty block behind the last
// member. Without it the archive was cut between two members, and lacks some. (The
// format asks for two empty blocks; some writers leave one.)
func (s *tarStore) ended(end int64) error {
	at, err := s.file.Seek(0, io.SeekCurrent)
	if err == nil && at <= end {
		err = fmt.Errorf("%s: breaks off behind member %d, without the empty blocks that end an archive: it was cut short; "+
			"copy or download it again", filepath.Base(s.name), len(s.members))
	}
	return err
}

func (s *tarStore) list(context.Context) ([]entry, error) {
	all := make([]entry, 0, len(s.members))
	for p, e := range s.members {
		all = append(all, entry{path: p, size: e.size})
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

func (s *tarStore) folders() ([]string, error) { return topsOf(s.members), nil }

func (s *tarStore) find(name string) (entry, error) {
	e, ok := s.members[name]
	if !ok {
		return entry{}, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return entry{path: name, size: e.size}, nil
}

func (s *tarStore) open(name string) (io.ReadCloser, error) {
	e, ok := s.members[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(io.NewSectionReader(s.file, e.at, e.size)), nil
}

func (s *tarStore) input(ctx context.Context, _ []byte) (shards.Input, error) {
	return FileInput(ctx, s.name)
}

func (s *tarStore) Close() error { return s.file.Close() }
