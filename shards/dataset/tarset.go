package dataset

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hgld/internal/regular"
	"hgld/labels"
	"hgld/shards"
)

// tarSet reads the images of GLDv2, split/a/b/c/<id>.jpg, from the TARs of a split or,
// without TARs, from its folder. It keeps only the id and position of each of the five
// million members.
type tarSet struct {
	name   string
	folder store
	tars   []*gldv2TAR
	splits map[labels.Split]map[shards.ImageID]place // nil map: a folder
}

// gldv2TAR is a TAR with its published MD5 sum. Images are read from it only if it has
// this sum.
type gldv2TAR struct {
	*tarStore
	check func() error // reads the TAR whole, once
}

// place is the position of a member.
type place struct {
	tar int32
	extent
}

func openTarSet(ctx context.Context, name string, splits []labels.Split) (*tarSet, error) {
	folder, err := openFolder(name)
	if err != nil {
		return nil, fmt.Errorf("%w; want a folder of images with one folder per split, %v", err, splits)
	}
	s := &tarSet{name: name, folder: folder, splits: map[labels.Split]map[shards.ImageID]place{}}
	for _, split := range splits {
		if err := s.index(ctx, split); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// index lists the members of a split's TARs.
func (s *tarSet) index(ctx context.Context, split labels.Split) error {
	dir := filepath.Join(s.name, string(split))
	entries, err := os.ReadDir(dir) // filepath.Glob would not tell an error, and the images seem missing
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var files []string
	for _, e := range entries {
		if ok, _ := path.Match("images_*.tar", e.Name()); ok {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil
	}
	members := map[shards.ImageID]place{}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := openGLDv2TAR(ctx, file)
		if err != nil {
			return err
		}
		s.tars = append(s.tars, t)
		for name, at := range t.members {
			id, ok := shards.ParseImageID(strings.TrimSuffix(path.Base(name), ".jpg"))
			if !ok {
				continue
			}
			if first, twice := members[id]; twice {
				return fmt.Errorf("%s: image %s is also in %s", file, id, s.tars[first.tar].name)
			}
			members[id] = place{int32(len(s.tars) - 1), at}
		}
		t.members = nil
	}
	s.splits[split] = members
	return nil
}

// openGLDv2TAR stamps the members with the published sum or, without one, with the
// TAR's own.
func openGLDv2TAR(ctx context.Context, file string) (*gldv2TAR, error) {
	t, err := indexTar(ctx, file)
	if err != nil {
		return nil, err
	}
	published, err := publishedMD5(file)
	if published == "" && err == nil {
		err = t.stampByHash()
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	if published != "" {
		t.stamp = "tar md5:" + published
	}
	return &gldv2TAR{t, sync.OnceValue(func() error { return t.compareMD5(published) })}, nil
}

// compareMD5 compares the TAR with its published sum, "" if there is none.
func (s *tarStore) compareMD5(published string) error {
	if published == "" {
		return nil
	}
	got, err := s.sums()
	if err != nil || got.md5 == published {
		return err
	}
	return &shards.InputError{Err: fmt.Errorf("%s: its MD5 is %s, but the published one is %s; download it again, "+
		"then build again", s.name, got.md5, published)}
}

// position returns the position of an image. tar is false for an image in a folder.
func (s *tarSet) position(name string) (p place, tar bool, err error) {
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
	p, tar, err := s.position(name)
	if !tar {
		return s.folder.find(name)
	}
	if err != nil {
		return entry{}, err
	}
	return entry{path: name, size: p.size, stamp: s.tars[p.tar].stamp}, nil
}

func (s *tarSet) open(name string) (io.ReadCloser, error) {
	p, tar, err := s.position(name)
	if !tar {
		return s.folder.open(name)
	}
	if err != nil {
		return nil, err
	}
	t := s.tars[p.tar]
	if err := t.check(); err != nil {
		return nil, err
	}
	return io.NopCloser(io.NewSectionReader(t.file, p.extent.at, p.size)), nil
}

func (s *tarSet) list(ctx context.Context) ([]entry, error) {
	var all []entry
	for split, members := range s.splits {
		for id, p := range members {
			t := id.String()
			name := path.Join(string(split), t[:1], t[1:2], t[2:3], t+".jpg")
			all = append(all, entry{path: name, size: p.size, stamp: s.tars[p.tar].stamp})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	return all, ctx.Err()
}

func (s *tarSet) folders() ([]string, error) { return s.folder.folders() }

// input hashes the lines "train/images_000.tar<tab>bytes<tab>sha256" of the TARs or,
// without TARs, the folder. It returns a *shards.InputError if a TAR differs from its
// md5.images_000.txt, or has changed since it was opened.
func (s *tarSet) input(ctx context.Context, used []byte) (shards.Input, error) {
	if len(s.tars) == 0 {
		return s.folder.input(ctx, used)
	}
	var lines []byte
	total := int64(0)
	for _, t := range s.tars {
		if err := t.check(); err != nil {
			return shards.Input{}, err
		}
		in, err := t.input(ctx, nil)
		if err != nil {
			return shards.Input{}, err
		}
		name := path.Join(filepath.Base(filepath.Dir(t.name)), in.Name)
		lines = fmt.Appendf(lines, "%s\t%d\t%s\n", name, in.Bytes, in.SHA256)
		total += in.Bytes
	}
	return shards.Input{Name: filepath.Base(s.name) + "/", Bytes: total, SHA256: sha256.Sum256(lines)}, nil
}

// publishedMD5 returns the published sum of a TAR, "" if there is none.
func publishedMD5(tar string) (string, error) {
	dir, base := filepath.Split(tar)
	name := "md5." + strings.TrimSuffix(base, ".tar") + ".txt"
	split := filepath.Base(dir)
	for _, file := range []string{filepath.Join(dir, name), filepath.Join(dir, "..", "md5sum", split, name)} {
		text, err := regular.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		fields := strings.Fields(string(text))
		if len(fields) == 0 || len(fields[0]) != 2*md5.Size {
			return "", fmt.Errorf("%s: %.80q is not an MD5 sum; download the file again", file, strings.TrimSpace(string(text)))
		}
		return strings.ToLower(fields[0]), nil
	}
	return "", nil
}

// Close closes the TARs and the folder.
func (s *tarSet) Close() error {
	err := s.folder.Close()
	for _, t := range s.tars {
		err = errors.Join(err, t.Close())
	}
	return err
}
