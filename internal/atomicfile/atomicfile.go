// Package atomicfile writes files that appear under their name only when they
// are complete and on disk: temporary file, fsync, rename, fsync of the
// directory. A reader, a second process or a kill -9 never sees half a file.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file in the making. Commit gives it its name; Close without Commit
// removes it, so `defer f.Close()` is right after every Create.
type File struct {
	*os.File
	path string
	done bool
}

// Create starts a file that will be called path. The temporary file lies beside
// it, so that the rename stays on one file system.
func Create(path string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o644); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return &File{File: f, path: path}, nil
}

// Commit flushes the file to disk and renames it to its final name. After an
// error the old file, if there was one, is untouched.
func (f *File) Commit() error {
	if f.done {
		return errors.New("atomicfile: committed twice")
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.File.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	return SyncDir(filepath.Dir(f.path))
}

// Close drops the file unless it was committed.
func (f *File) Close() error {
	if f.done {
		return nil
	}
	f.done = true
	f.File.Close()
	return os.Remove(f.Name())
}

// Write replaces path by what fill writes.
func Write(path string, fill func(io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := fill(f); err != nil {
		return err
	}
	return f.Commit()
}

// WriteFile replaces path by data.
func WriteFile(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Sweep removes the files and folders below dir that a pattern of io/fs names: what
// a process that was killed left half-written.
func Sweep(dir, pattern string) error {
	left, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}
