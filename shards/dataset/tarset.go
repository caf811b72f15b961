package dataset

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hgld/labels"
	"hgld/shards"
)

// tarSet reads the images of GLDv2, split/a/b/c/<id>.jpg, from the TARs of a split
// or, where there are none, from its folder. Of a member, only its id and its place
// are kept: there are five millions.
type tarSet struct {
	name   string
	folder store
	tars   []*tarStore
	splits map[labels.Split]map[shards.ImageID]place // nil map: a folder
}

// place is where a member lies.
type place struct {
	tar int32
	extent
}

func openTarSet(ctx context.Context, name string, splits []labels.Split) (*tarSet, error) {
	folder, err := openFolder(name)
	if err != nil {
		return nil, fmt.Errorf("%w; the images are in a folder with one of each split, %v", err, splits)
	}
	s := &tarSet{name: name, folder: folder, splits: map[labels.Split]map[shards.ImageID]place{}}
	for _, split := range splits {
		if err := s.index(ctx, split); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// index finds the members of a split's TARs.
func (s *tarSet) index(ctx context.Context, split labels.Split) error {
	files, err := filepath.Glob(filepath.Join(s.name, string(split), "images_*.tar"))
	if err != nil || len(files) == 0 {
		return err
	}
	members := map[shards.ImageID]place{}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		st, err := openTar(file)
		if err != nil {
			return err
		}
		t := st.(*tarStore)
		s.tars = append(s.tars, t)
		for name, at := range t.members {
			id, ok := shards.ParseImageID(strings.TrimSuffix(path.Base(name), ".jpg"))
			if !ok {
				continue
			}
			if first, twice := members[id]; twice {
				return fmt.Errorf("%s: image %s stands in %s too", file, id, s.tars[first.tar].name)
			}
			members[id] = place{int32(len(s.tars) - 1), at}
		}
		t.members = nil
	}
	s.splits[split] = members
	return nil
}

// at returns where an image lies; tar is false for one in a folder.
func (s *tarSet) at(name string) (p place, tar bool, err error) {
	split, _, _ := strings.Cut(name, "/")
	members := s.splits[labels.Split(split)]
	if members == nil {
		return p, false, nil
	}
	id, _ := shards.ParseImageID(strings.TrimSuffix(path.Base(name), ".jpg"))
	p, ok := members[id]
	if !ok {
		return p, true, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return p, true, nil
}

func (s *tarSet) find(name string) (entry, error) {
	p, tar, err := s.at(name)
	if !tar {
		return s.folder.find(name)
	}
	return entry{path: name, size: p.size}, err
}

func (s *tarSet) open(name string) (io.ReadCloser, error) {
	p, tar, err := s.at(name)
	if !tar {
		return s.folder.open(name)
	}
	if err != nil {
		return nil, err
	}
	return io.NopCloser(io.NewSectionReader(s.tars[p.tar].file, p.extent.at, p.size)), nil
}

func (s *tarSet) list(ctx context.Context) ([]entry, error) {
	var all []entry
	for split, members := range s.splits {
		for id, p := range members {
			t := id.String()
			all = append(all, entry{path: path.Join(string(split), t[:1], t[1:2], t[2:3], t+".jpg"), size: p.size})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	return all, ctx.Err()
}

func (s *tarSet) folders() ([]string, error) { return s.folder.folders() }

// input is a hash of the lines "train/images_000.tar<tab>bytes<tab>sha256" of the
// TARs and, without TARs, that of the folder. A TAR that differs from its
// md5.images_000.txt is an error.
func (s *tarSet) input(ctx context.Context, used []byte) (shards.Input, error) {
	if len(s.tars) == 0 {
		return s.folder.input(ctx, used)
	}
	var lines []byte
	total := int64(0)
	for _, t := range s.tars {
		sum := &hashed{ctx: ctx, sum: sha256.New()}
		check := md5.New()
		if _, err := io.CopyBuffer(io.MultiWriter(sum, check), io.NewSectionReader(t.file, 0, 1<<62), make([]byte, 1<<20)); err != nil {
			return shards.Input{}, fmt.Errorf("%s: %w", t.name, err)
		}
		if err := compareMD5(t.name, hex.EncodeToString(check.Sum(nil))); err != nil {
			return shards.Input{}, err
		}
		in := sum.input(path.Join(filepath.Base(filepath.Dir(t.name)), filepath.Base(t.name)))
		lines = fmt.Appendf(lines, "%s\t%d\t%s\n", in.Name, in.Bytes, in.SHA256)
		total += in.Bytes
	}
	return shards.Input{Name: filepath.Base(s.name) + "/", Bytes: total, SHA256: sha256.Sum256(lines)}, nil
}

// compareMD5 compares a TAR with the sum that was published for it, if that is there.
func compareMD5(tar, got string) error {
	dir, base := filepath.Split(tar)
	name := "md5." + strings.TrimSuffix(base, ".tar") + ".txt"
	split := filepath.Base(dir)
	for _, file := range []string{filepath.Join(dir, name), filepath.Join(dir, "..", "md5sum", split, name)} {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		fields := strings.Fields(string(text))
		if len(fields) == 0 || len(fields[0]) != 2*md5.Size {
			return fmt.Errorf("%s: %q is no MD5 sum; load the file again", file, strings.TrimSpace(string(text)))
		}
		if fields[0] != got {
			return fmt.Errorf("%s: its MD5 is %s, published is %s; load it again, with `hgld shards build` continuing afterwards", tar, got, fields[0])
		}
		return nil
	}
	return nil
}

// Close closes the TARs and the folder.
func (s *tarSet) Close() error {
	err := s.folder.Close()
	for _, t := range s.tars {
		err = errors.Join(err, t.Close())
	}
	return err
}
