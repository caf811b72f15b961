package dataset

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"hgld/internal/regular"
	"hgld/shards"
)

// folderStore reads files below a folder. An os.Root confines it: neither a path nor a
// symbolic link leads out.
type folderStore struct {
	name string
	root *os.Root
}

func openFolder(name string) (store, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &folderStore{name, root}, nil
}

// list walks the folder and leaves out hidden files and folders. A link that leads nowhere or
// in a circle is listed as a file without bytes. A link that leads out of the folder is an error.
func (s *folderStore) list(ctx context.Context) ([]entry, error) {
	return s.below(ctx, ".")
}

// below lists the files in one of its folders, which may be the target of a link.
func (s *folderStore) below(ctx context.Context, top string) ([]entry, error) {
	var all []entry
	err := fs.WalkDir(s.root.FS(), top, func(p string, d fs.DirEntry, err error) error {
		if err != nil && !utf8.ValidString(p) { // package fs takes no such folder
			return &NameError{p}
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if hiddenName(path.Base(p)) && p != "." {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		info, err := s.stat(p)
		if gone := errors.Is(err, fs.ErrNotExist); gone || shards.Unreadable(err) {
			all = append(all, entry{path: p, gone: gone}) // opening it says why
			return nil
		}
		if err != nil {
			return err
		}
		if info.IsDir() {
			linked, err := s.follow(ctx, p, info)
			all = append(all, linked...)
			return err
		}
		if info.Mode().IsRegular() {
			all = append(all, entry{path: p, size: info.Size()})
		}
		return nil
	})
	return all, err
}

// stat looks at a file. A path that goes out of the folder is an error, unless the file is in a store around it.
func (s *folderStore) stat(name string) (fs.FileInfo, error) {
	info, err := s.root.Stat(filepath.FromSlash(name))
	if err == nil || !escapes(err) {
		return info, err
	}
	if at := s.stored(name); at != "" {
		return os.Lstat(at)
	}
	return nil, s.leadsOut(name, err)
}

// escapes reports whether an os.Root refused a path that leads out of it.
func escapes(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && strings.Contains(at.Err.Error(), "escapes") // package os exports no such error
}

// stored returns where a link leads if that is a store of files around the folder, in which a program keeps the
// contents of files and names them by links: the blobs of a cache of the Hugging Face Hub, or the objects of git-annex.
// It returns "" for any other link: a folder from a stranger must not show files of this machine.
func (s *folderStore) stored(name string) string {
	root, err := resolved(s.name)
	if err != nil {
		return ""
	}
	link := filepath.Join(root, filepath.FromSlash(name))
	dir, err := filepath.EvalSymlinks(filepath.Dir(link))
	if err != nil {
		return ""
	}
	to, err := os.Readlink(link)
	if err != nil {
		return ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	if info, err := os.Lstat(to); err == nil && !info.Mode().IsRegular() {
		return ""
	}
	within := func(folder, path string) bool {
		rel, err := filepath.Rel(folder, path)
		return err == nil && filepath.IsLocal(rel)
	}
	for around := root; ; around = filepath.Dir(around) {
		hub := within(filepath.Join(around, "snapshots"), root) && within(filepath.Join(around, "blobs"), to)
		if hub || within(filepath.Join(around, ".git", "annex", "objects"), to) {
			return to
		}
		if around == filepath.Dir(around) {
			return ""
		}
	}
}

// leadsOut describes the error of looking at a file: whether its path goes out of the folder.
func (s *folderStore) leadsOut(name string, err error) error {
	if escapes(err) {
		return fmt.Errorf("%s goes through a symbolic link that leads out of %s; hgld follows links only inside it: "+
			"name a folder that contains both, or copy the target of the link (cp -rL): %w", name, s.name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// follow lists the target of a link, a folder within the store, under the link's name.
// A link to a folder that contains it is an error.
func (s *folderStore) follow(ctx context.Context, link string, to fs.FileInfo) ([]entry, error) {
	for around := path.Dir(link); ; around = path.Dir(around) {
		info, err := s.root.Stat(filepath.FromSlash(around))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", around, err)
		}
		if os.SameFile(info, to) {
			return nil, fmt.Errorf("%s is a symbolic link to %s, which contains it; remove the link", link, around)
		}
		if around == "." {
			return s.below(ctx, link)
		}
	}
}

func (s *folderStore) folders() ([]string, error) {
	all, err := fs.ReadDir(s.root.FS(), ".")
	var names []string
	for _, d := range all {
		if d.IsDir() && !hiddenName(d.Name()) {
			names = append(names, d.Name())
		}
	}
	return names, err
}

func (s *folderStore) find(name string) (entry, error) {
	info, err := s.stat(name)
	if err != nil {
		return entry{}, s.leadsOut(name, err)
	}
	if !info.Mode().IsRegular() {
		return entry{}, fmt.Errorf("%s is not a regular file: %w", name, fs.ErrNotExist)
	}
	return entry{path: name, size: info.Size()}, nil
}

func (s *folderStore) open(name string) (io.ReadCloser, error) {
	f, err := regular.OpenIn(s.root, name)
	if err == nil || !escapes(err) {
		return f, err
	}
	if at := s.stored(name); at != "" {
		return regular.Open(at)
	}
	return nil, err
}

func (s *folderStore) input(_ context.Context, used []byte) (shards.Input, error) {
	return shards.Input{Name: filepath.Base(s.name) + "/", Bytes: int64(len(used)), SHA256: sha256.Sum256(used)}, nil
}

func (s *folderStore) Close() error { return s.root.Close() }
