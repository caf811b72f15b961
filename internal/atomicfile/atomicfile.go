// Package atomicfile writes files that appear under their names only when they are complete and on
// disk: temporary file, fsync, rename, fsync of the directory. No reader ever sees part of a file,
// even after kill -9 or a power cut.
package atomicfile

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"hgld/internal/filelock"
	"hgld/internal/regular"
)

// File is an unfinished file. Commit gives it its name. Close without Commit removes it, so `defer
// f.Close()` is right after every Create.
type File struct {
	*os.File
	path   string // as Create was asked for it, for errors
	target string // what Commit replaces; "" where the file is written straight
	done   bool
}

// errFolder is the error for writing to a folder.
var errFolder = errors.New("is a folder; want the name of a file")

// errNoReader is the error for writing to a pipe.
var errNoReader = errors.New("is a pipe that nobody reads; want a reader before the writer")

// Create starts a file that Commit renames to path. The temporary file is in the same folder, so
// that the rename stays on one file system. Create removes temporary files of the same path that
// killed processes left.
//
// An existing file keeps its kind and mode. If path is a symbolic link, the file that it points to
// is replaced. A device or a pipe cannot be replaced, so it is written directly, and an error does
// not undo what was written. A folder is an error.
func Create(path string) (*File, error) { return create(path, 0o644) }

func create(path string, perm fs.FileMode) (*File, error) {
	if err := regular.CheckPath(path); err != nil {
		return nil, err
	}
	old, err := os.Stat(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err == nil && old.IsDir():
		return nil, &fs.PathError{Op: "write", Path: path, Err: errFolder}
	case err == nil && !old.Mode().IsRegular():
		flags := os.O_WRONLY
		if old.Mode()&fs.ModeNamedPipe != 0 {
			flags |= syscall.O_NONBLOCK // opening it would wait for a reader, and no signal would end that
		}
		f, err := os.OpenFile(path, flags, 0)
		if errors.Is(err, syscall.ENXIO) {
			return nil, &fs.PathError{Op: "write", Path: path, Err: errNoReader}
		}
		if err != nil {
			return nil, err
		}
		return &File{File: f, path: path}, nil
	}
	target, err := resolveLinks(path)
	if err != nil {
		return nil, err
	}
	RemoveLeftoversOf(target)
	f, err := temporary(target, perm)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: errors.Unwrap(err)}
	}
	made := &File{File: f, path: path, target: target}
	if old != nil {
		if err := f.Chmod(old.Mode().Perm()); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return nil, errors.Join(made.nameTarget(err), made.Close())
		}
	}
	return made, nil
}

// maxLinks is the longest chain of symbolic links that is followed, as on Linux.
const maxLinks = 40

// resolveLinks returns the file that symbolic links at path lead to, even if it does not exist.
func resolveLinks(path string) (string, error) {
	target := path
	for range maxLinks {
		to, err := os.Readlink(target)
		if err != nil {
			return target, nil // not a link, or missing
		}
		if !filepath.IsAbs(to) { // not cleaned: .. after a link is not the folder before the link
			dir, _ := filepath.Split(target)
			to = dir + to
		}
		target = to
	}
	return "", &fs.PathError{Op: "write", Path: path, Err: errors.New("is part of a loop of symbolic links")}
}

// temporary creates a file beside path with the mode perm before umask, and locks it. Its error is
// a *fs.PathError, as in package os.
func temporary(path string, perm fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	for {
		name := temporaryName(base) + temporarySuffix + writer()
		unfinished.Store(name, true)
		f, err := os.OpenFile(dir+name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if err == nil && lockTemporary(f) {
			return f, nil
		}
		unfinished.Delete(name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// longestName is the length in bytes of a file name up to which a temporary name contains all of it. A name
// may have 255 bytes on most file systems.
const longestName = 200

// temporaryName begins the names of the temporary files of a file: its name behind a dot. A long name
// is cut, and a hash tells it from others.
func temporaryName(base string) string {
	if len(base) <= longestName {
		return "." + base
	}
	h := fnv.New64a()
	io.WriteString(h, base)
	return fmt.Sprintf(".%s-%016x", strings.ToValidUTF8(base[:longestName], ""), h.Sum64())
}

// lockTemporary locks a new temporary file so that no other process removes it as a leftover. It
// returns false if a process removed it before it was locked.
func lockTemporary(f *os.File) bool {
	if errors.As(filelock.TakeItself(f), new(*filelock.LockedError)) {
		return false
	}
	named, err := filelock.Named(f, f.Name())
	return named || err != nil
}

// nameTarget replaces the temporary file's name in an error by the target's.
func (f *File) nameTarget(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		if e.Path == f.Name() {
			return &fs.PathError{Op: e.Op, Path: f.path, Err: e.Err}
		}
	case *os.LinkError:
		return &fs.PathError{Op: e.Op, Path: f.path, Err: e.Err}
	}
	return err
}

// Write is os.File's Write. Its errors name the target.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.nameTarget(err)
}

// WriteString is Write for a string.
func (f *File) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// ReadFrom is os.File's ReadFrom. Its errors name the target.
func (f *File) ReadFrom(r io.Reader) (int64, error) {
	n, err := f.File.ReadFrom(r)
	return n, f.nameTarget(err)
}

// Commit flushes the file to disk and renames it to its final name. If it fails, an old file is
// unchanged.
func (f *File) Commit() error {
	if f.done {
		return errors.New("atomicfile: committed twice")
	}
	if f.target == "" { // a device: nothing to flush or to rename
		f.done = true
		return f.File.Close()
	}
	if err := f.Sync(); err != nil {
		return f.nameTarget(err)
	}
	if err := f.note(); err != nil {
		return err
	}
	if !renamesOpen {
		if err := f.File.Close(); err != nil {
			return f.nameTarget(err)
		}
	}
	if err := os.Rename(f.Name(), f.target); err != nil {
		return f.nameTarget(err)
	}
	f.done = true
	defer f.forget()
	if err := f.release(); err != nil {
		return f.nameTarget(err)
	}
	return SyncDir(filepath.Dir(f.target))
}

// release releases the lock and closes the file, unless Commit has done so.
func (f *File) release() error {
	if !renamesOpen {
		return nil
	}
	// A process that is being started shares the lock until it executes its program.
	_ = filelock.Release(f.File) // fails on file systems without locks
	return f.File.Close()
}

// forget notes that this process no longer writes the file.
func (f *File) forget() { unfinished.Delete(filepath.Base(f.Name())) }

// Close discards the file unless it was committed.
func (f *File) Close() error {
	if f.done {
		return nil
	}
	f.done = true
	if f.target == "" {
		return f.File.Close()
	}
	defer f.forget()
	if !renamesOpen {
		f.File.Close()
		return os.Remove(f.Name())
	}
	defer f.release() // after the removal: while the lock is held, no other process removes the file
	return os.Remove(f.Name())
}

// Write replaces the file at path with what fill writes.
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

// WriteFile replaces the file at path with data.
func WriteFile(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteFileMode is WriteFile with the mode perm, before umask, for a new file. The file never has
// another mode.
func WriteFileMode(path string, data []byte, perm fs.FileMode) error {
	f, err := create(path, perm)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// Sweep removes the files and folders below dir that match a pattern of io/fs. They are what a
// killed process left incomplete.
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
