package dataset

import (
	"archive/tar"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hgld/internal/regular"
	"hgld/shards"
)

// tarStore reads members of an uncompressed tar file. One pass over the headers finds
// the position of each. Members have no checksums, so the checksum of the whole file
// stands for each.
type tarStore struct {
	name    string
	file    *os.File
	was     fs.FileInfo // when it was opened
	members map[string]extent
	stamp   string                  // of every member
	sums    func() (tarSums, error) // of the whole file, which is read once
	odd     oddMembers
}

type extent struct{ at, size int64 }

// tarSums identify a tar file.
type tarSums struct {
	md5   string       // as the files of GLDv2 were published with
	input shards.Input // without folder
}

func openTar(ctx context.Context, name string) (store, error) {
	s, err := indexTar(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := s.stampByHash(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// indexTar opens a tar file and lists its members. They have no stamp yet.
func indexTar(ctx context.Context, name string) (*tarStore, error) {
	s, err := openTarFile(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := s.index(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openTarFile opens a tar file without a look at its members.
func openTarFile(ctx context.Context, name string) (*tarStore, error) {
	f, err := regular.Open(name)
	if err != nil {
		return nil, err
	}
	s := &tarStore{name: name, file: f, members: map[string]extent{}}
	s.sums = sync.OnceValues(func() (tarSums, error) { return s.hash(ctx) })
	if s.was, err = f.Stat(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

func (s *tarStore) stampByHash() error {
	sums, err := s.sums()
	s.stamp = "tar sha256:" + sums.input.SHA256.String()
	return err
}

// hash reads the whole file.
func (s *tarStore) hash(ctx context.Context) (tarSums, error) {
	whole := &hashed{ctx: ctx, sum: sha256.New()}
	check := md5.New()
	in := io.NewSectionReader(s.file, 0, s.was.Size())
	if _, err := io.CopyBuffer(io.MultiWriter(whole, check), struct{ io.Reader }{in}, make([]byte, 1<<20)); err != nil {
		return tarSums{}, fmt.Errorf("%s: %w", s.name, err)
	}
	return tarSums{hex.EncodeToString(check.Sum(nil)), whole.input(filepath.Base(s.name))}, nil
}

// unchanged returns an error if the file has changed since it was opened, by size and
// time.
func (s *tarStore) unchanged() error {
	now, err := s.file.Stat()
	if err != nil {
		return err
	}
	if now.Size() != s.was.Size() || !now.ModTime().Equal(s.was.ModTime()) {
		return changedTAR(s.name)
	}
	return nil
}

func changedTAR(name string) error {
	return &shards.InputError{Err: fmt.Errorf("%s was changed while it was read; run the same command again", name)}
}

func (s *tarStore) index() error {
	base := filepath.Base(s.name)
	r := tar.NewReader(s.file)
	var end int64 // of the last member, in whole blocks
	links := map[string]string{}
	for n := 0; ; n++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			followLinks(s.members, links, &s.odd)
			return s.checkEnd(end)
		}
		if errors.Is(err, tar.ErrHeader) && n > 0 {
			if first, other := s.content(end); other == nil && first >= end+tarBlock {
				return s.secondArchive(first)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: member %d: %w", base, n, err)
		}
		at, err := s.file.Seek(0, io.SeekCurrent) // the reader takes whole blocks, so here its data begin
		if err != nil {
			return err
		}
		end = wholeBlocks(at)
		if h.Typeflag == tar.TypeXGlobalHeader { // its name is of its writer's own choice
			continue
		}
		if err := checkMember(s.name, h.Name); err != nil {
			return err
		}
		bad := func(why string) error { return fmt.Errorf("%s: member %.80q %s", base, h.Name, why) }
		switch h.Typeflag {
		case tar.TypeDir:
			continue
		case tar.TypeReg:
		case tar.TypeSymlink:
			links[memberPath(h.Name)] = h.Linkname
			continue
		case tar.TypeLink:
			of, known := s.members[memberPath(h.Linkname)]
			if !known {
				return bad(fmt.Sprintf("is a hard link to %.80q, which is no file before it", h.Linkname))
			}
			if err := s.add(memberPath(h.Name), of); err != nil {
				return bad(err.Error())
			}
			continue
		case tar.TypeGNUSparse:
		default:
			s.odd.add(h.Name)
			continue
		}
		sparse := h.Typeflag == tar.TypeGNUSparse
		for key := range h.PAXRecords {
			sparse = sparse || strings.HasPrefix(key, "GNU.sparse.")
		}
		if sparse {
			return bad("is a sparse file; pack it as a plain one")
		}
		if h.Size < 0 || h.Size > s.was.Size()-at {
			return bad(fmt.Sprintf("has %d bytes, but the archive ends %d bytes after its header", h.Size, s.was.Size()-at))
		}
		if err := s.add(memberPath(h.Name), extent{at, h.Size}); err != nil {
			return bad(err.Error())
		}
		end = wholeBlocks(at + h.Size)
	}
}

// tarBlock is the size of a block of a tar file.
const tarBlock = 512

func wholeBlocks(size int64) int64 { return (size + tarBlock - 1) / tarBlock * tarBlock }

// add lists a member.
func (s *tarStore) add(name string, at extent) error {
	if _, twice := s.members[name]; twice {
		return errors.New("occurs twice")
	}
	s.members[name] = at
	return nil
}

// checkEnd returns an error unless the reader has found an empty block after the last
// member, and nothing but empty blocks behind it. Without it the archive was cut between two
// members and lacks some. (The format requires two empty blocks; some writers write one.) What
// follows it is another archive, of which nothing was listed.
func (s *tarStore) checkEnd(end int64) error {
	at, err := s.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if at <= end {
		return fmt.Errorf("%s: ends after member %d, without the empty blocks that end an archive: it was cut short; "+
			"copy or download it again", filepath.Base(s.name), len(s.members))
	}
	first, err := s.content(end)
	if err == nil && first >= 0 {
		err = s.secondArchive(first)
	}
	return err
}

// secondArchive is the error for bytes behind the end of the archive.
func (s *tarStore) secondArchive(at int64) error {
	return fmt.Errorf("%s: the archive ends after %d files, but more follows at byte %d, as if another had been "+
		"appended; unpack both, and name the folder", filepath.Base(s.name), len(s.members),
		at/tarBlock*tarBlock)
}

// content returns the position of the first byte from a position on that is not zero, −1 if there is none.
func (s *tarStore) content(from int64) (int64, error) {
	part := make([]byte, 1<<16)
	for {
		n, err := s.file.ReadAt(part, from)
		for i, c := range part[:n] {
			if c != 0 {
				return from + int64(i), nil
			}
		}
		from += int64(n)
		if errors.Is(err, io.EOF) {
			return -1, nil
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", s.name, err)
		}
	}
}

func (s *tarStore) list(context.Context) ([]entry, error) {
	all := make([]entry, 0, len(s.members))
	for p, e := range s.members {
		if !hidden(p) {
			all = append(all, entry{path: p, size: e.size, stamp: s.stamp})
		}
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
	return entry{path: name, size: e.size, stamp: s.stamp}, nil
}

func (s *tarStore) open(name string) (io.ReadCloser, error) {
	e, ok := s.members[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(io.NewSectionReader(s.file, e.at, e.size)), nil
}

func (s *tarStore) input(context.Context, []byte) (shards.Input, error) {
	sums, err := s.sums()
	return sums.input, errors.Join(err, s.unchanged())
}

func (s *tarStore) notes() []string { return s.odd.notes(s.name) }

func (s *tarStore) Close() error { return s.file.Close() }
