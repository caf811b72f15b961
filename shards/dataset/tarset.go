package dataset

import (
	"cmp"
	"context"
	"crypto/md5"
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
	"sync"

	"hgld/internal/regular"
	"hgld/labels"
	"hgld/shards"
)

// tarSet has the images of GLDv2, split/a/b/c/<id>.jpg: in the TARs of a split or, without TARs, in its folder. It
// keeps 24 bytes for each of the five million members, and opens a TAR when the first image is read from it.
type tarSet struct {
	name   string
	folder store
	tars   []*gldv2TAR
	tarred map[labels.Split]int // number of the last TAR of a split, from 1; a split without TARs is a folder
	places []place              // by id; those of a split are together
	splits map[labels.Split][2]int
}

// place is the position of a member.
type place struct {
	id   shards.ImageID
	tar  int32 // from 0
	size int32
	at   int64
}

// gldv2TAR is a TAR with its published MD5 sum. Images are read from it only if it has this sum.
type gldv2TAR struct {
	name, stamp string
	open        func() (*tarStore, error) // once, and after a look whether the members are those that were listed
	check       func() error              // reads the TAR whole, once
	opened      *tarStore
}

func openTarSet(ctx context.Context, name string, splits []labels.Split) (*tarSet, error) {
	folder, err := openFolder(name)
	if err != nil {
		return nil, fmt.Errorf("%w; want a folder of images with one folder per split, %v", err, splits)
	}
	s := &tarSet{name: name, folder: folder, tarred: map[labels.Split]int{}, splits: map[labels.Split][2]int{}}
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
	first := len(s.places)
	for _, e := range entries {
		if ok, _ := path.Match("images_*.tar", e.Name()); !ok {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.add(ctx, filepath.Join(dir, e.Name())); err != nil {
			return err
		}
		s.tarred[split] = len(s.tars)
	}
	mine := s.places[first:]
	slices.SortFunc(mine, func(a, b place) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.tar, b.tar)) })
	for i := 1; i < len(mine); i++ {
		if mine[i].id == mine[i-1].id {
			return fmt.Errorf("%s: image %s is also in %s", s.tars[mine[i].tar].name, mine[i].id, s.tars[mine[i-1].tar].name)
		}
	}
	s.splits[split] = [2]int{first, len(s.places)}
	return nil
}

// add lists the members of a TAR: from the list that `fetch` has left beside it or, without one, by its headers. It
// stamps them with the published sum or, without one, with the TAR's own.
func (s *tarSet) add(ctx context.Context, file string) error {
	published, err := publishedMD5(file)
	if err != nil {
		return err
	}
	t := &gldv2TAR{name: file}
	listed := readMembers(file, published)
	var was fs.FileInfo
	if listed == nil {
		st, err := indexTar(ctx, file)
		if err != nil {
			return err
		}
		listed, was = st.places(), st.was
		if published == "" {
			err = st.stampByHash()
			t.stamp = st.stamp
		}
		if err := errors.Join(err, st.Close()); err != nil {
			return err
		}
	}
	if published != "" {
		t.stamp = "tar md5:" + published
	}
	for _, p := range listed {
		p.tar = int32(len(s.tars))
		s.places = append(s.places, p)
	}
	t.open = sync.OnceValues(func() (*tarStore, error) {
		st, err := openTarFile(ctx, file)
		if err == nil && was != nil && (st.was.Size() != was.Size() || !st.was.ModTime().Equal(was.ModTime())) {
			err = errors.Join(changedTAR(file), st.Close())
		}
		if err == nil {
			t.opened = st
		}
		return st, err
	})
	t.check = sync.OnceValue(func() error {
		st, err := t.open()
		if err != nil {
			return err
		}
		return st.compareMD5(published)
	})
	s.tars = append(s.tars, t)
	return nil
}

// places lists the images of a TAR.
func (s *tarStore) places() []place {
	var list []place
	for name, at := range s.members {
		if id, ok := shards.ParseImageID(strings.TrimSuffix(path.Base(name), ".jpg")); ok {
			list = append(list, place{id: id, size: int32(min(at.size, shards.MaxImageBytes+1)), at: at.at})
		}
	}
	return list
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

// find returns the place of an image of a split that has TARs, −1 if no TAR has it.
func (s *tarSet) find(split labels.Split, id shards.ImageID) int32 {
	in := s.splits[split]
	at, found := slices.BinarySearchFunc(s.places[in[0]:in[1]], id, func(p place, id shards.ImageID) int {
		return cmp.Compare(p.id, id)
	})
	if !found {
		return -1
	}
	return int32(in[0] + at)
}

// image opens the image at a place.
func (s *tarSet) image(at int32) (io.ReadCloser, error) {
	p := s.places[at]
	t := s.tars[p.tar]
	if err := t.check(); err != nil {
		return nil, err
	}
	st, err := t.open()
	if err != nil {
		return nil, err
	}
	return io.NopCloser(io.NewSectionReader(st.file, p.at, int64(p.size))), nil
}

// inputs describes the TARs that are wanted, by their numbers from 0. It returns a *shards.InputError if one differs
// from its md5.images_000.txt, or has changed since it was opened.
func (s *tarSet) inputs(ctx context.Context, wanted func(int) bool) ([]shards.Input, error) {
	list := make([]shards.Input, len(s.tars))
	for i, t := range s.tars {
		if !wanted(i) {
			continue
		}
		if err := t.check(); err != nil {
			return nil, err
		}
		st, err := t.open()
		if err != nil {
			return nil, err
		}
		if list[i], err = st.input(ctx, nil); err != nil {
			return nil, err
		}
		list[i].Name = path.Join(filepath.Base(filepath.Dir(t.name)), list[i].Name)
	}
	return list, nil
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
		sum, err := parseMD5(text)
		if err != nil {
			return "", fmt.Errorf("%s: %w; remove it, and download it again", file, err)
		}
		return sum, nil
	}
	return "", nil
}

// parseMD5 returns the sum at the start of a file that md5sum writes.
func parseMD5(text []byte) (string, error) {
	sum, _, _ := strings.Cut(string(text), " ")
	sum = strings.TrimSpace(sum)
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != md5.Size {
		return "", fmt.Errorf("%.80q is not an MD5 sum", strings.TrimSpace(string(text)))
	}
	return strings.ToLower(sum), nil
}

// Close closes the TARs and the folder.
func (s *tarSet) Close() error {
	err := s.folder.Close()
	for _, t := range s.tars {
		if t.opened != nil {
			err = errors.Join(err, t.opened.Close())
		}
	}
	return err
}
