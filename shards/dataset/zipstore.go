package dataset

import (
	"archive/zip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
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
	note    string // how names were read that are not UTF-8
	odd     oddMembers
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
	base := filepath.Base(s.name)
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(s.file, info.Size())
	if errors.Is(err, zip.ErrFormat) {
		err = fmt.Errorf("the list of members at its end is missing or damaged: it was cut short, or is no zip; "+
			"copy or download it again: %w", err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	names, err := readZipNames(archive.File)
	if err != nil {
		return fmt.Errorf("%s: %w", base, err)
	}
	s.note = names.note
	links := map[string]string{}
	for i, f := range archive.File {
		name := names.names[i]
		if name == "" {
			continue
		}
		bad := func(why string) error { return fmt.Errorf("%s: member %.80q %s", base, f.Name, why) }
		if err := checkMember(s.name, name); err != nil {
			if name != f.Name {
				err = fmt.Errorf("%w (in the archive %.80q)", err, f.Name)
			}
			return err
		}
		mode := f.Mode()
		switch {
		case mode.IsDir(), strings.HasSuffix(name, "/"):
			continue
		case mode&fs.ModeSymlink != 0:
			if links[memberPath(name)], err = linkIn(f); err != nil {
				return bad(err.Error())
			}
			continue
		case !mode.IsRegular():
			s.odd.add(name)
			continue
		case f.Flags&1 != 0:
			return bad("is encrypted")
		case f.Method != zip.Store && f.Method != zip.Deflate:
			return bad("is packed by " + methodName(f.Method) + "; pack it again, stored or deflated")
		}
		p := memberPath(name)
		if s.members[p] != nil {
			return bad("occurs twice")
		}
		s.members[p] = f
	}
	followLinks(s.members, links, &s.odd)
	return s.checkStart(archive.File)
}

// linkIn returns where a symbolic link leads: its content.
func linkIn(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	const longest = 4096
	to, err := io.ReadAll(io.LimitReader(r, longest))
	return string(to), err
}

// methodName names a method of packing by its number.
func methodName(method uint16) string {
	name := map[uint16]string{9: "Deflate64, as Windows packs large files", 12: "bzip2", 14: "LZMA", 93: "Zstandard",
		95: "xz", 98: "PPMd", 99: "AES encryption"}[method]
	if name == "" {
		return fmt.Sprintf("method %d", method)
	}
	return fmt.Sprintf("method %d (%s)", method, name)
}

// checkStart returns an error if the file begins with a member that the archive does not list, as it does
// if it was appended to another.
func (s *zipStore) checkStart(members []*zip.File) error {
	const header = 30 // bytes before a name
	start := make([]byte, header+math.MaxUint16)
	n, err := s.file.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if start = start[:n]; n < header || string(start[:4]) != "PK\x03\x04" {
		return nil
	}
	name, extra := int(binary.LittleEndian.Uint16(start[26:])), int(binary.LittleEndian.Uint16(start[28:]))
	for _, member := range members {
		if header+name <= n && member.Name == string(start[header:header+name]) {
			if at, err := member.DataOffset(); err == nil && at == int64(header+name+extra) {
				return nil
			}
		}
	}
	return fmt.Errorf("%s: begins with a file that its list of %d files lacks, as if it had been appended to another "+
		"archive; unpack both, and name the folder", filepath.Base(s.name), len(members))
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

func (s *zipStore) notes() []string {
	notes := s.odd.notes(s.name)
	if s.note != "" {
		notes = append(notes, filepath.Base(s.name)+": "+s.note)
	}
	return notes
}

func (s *zipStore) Close() error { return s.file.Close() }
