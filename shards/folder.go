package shards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"hgld/internal/atomicfile"
	"hgld/internal/filelock"
	"hgld/internal/objectstore"
	"hgld/internal/objectstore/address"
)

// folder is where a data set lies: a folder of this machine, or a place in an object store (see remote.go). Names are
// below it, with slashes. Files that do not exist are fs.ErrNotExist.
type folder interface {
	fmt.Stringer

	// open opens a file for reading and returns its size. read returns a file of at most limit bytes.
	open(name string) (file, int64, error)
	read(name string, limit int64) ([]byte, error)
	size(name string) (int64, error)
	// list returns the names of the files directly in a folder.
	list(of string) ([]string, error)
	// mayExist reports whether a file or folder exists, or might: it is true if looking failed.
	mayExist(name string) bool
	// snapshot returns a view that reads every file once, whole and past all caches, until it is released.
	snapshot() (view folder, release func())

	// checkPlace checks that files can be written.
	checkPlace(names ...string) error
	// write writes a file that appears whole. writeNew does the same for a file that does not exist; where the folder
	// has no lock, it is an error if another process was faster with other contents.
	write(name string, data []byte) error
	writeNew(name string, data []byte) error
	// create starts a file. If scratch is not empty, the file lies in that folder of this machine until it is complete.
	create(name, scratch string) (unfinished, error)
	move(from, to string) error
	remove(names ...string) error
	removeFolder(name string) error
	makeFolder(name string) error
	// sync makes the names in a folder durable; "" is the folder itself.
	sync(of string) error
	// tidy removes what killed processes have left of files that were being written, in folders and of files.
	tidy(folders, files []string)

	lock(ctx context.Context, name string) (lock, error)
	// checkLock checks that nobody holds a lock, and leaves its file.
	checkLock(name string) error
}

// file is a file of a data set, open for reading.
type file interface {
	io.ReaderAt
	io.Closer
	// ReadAtContext is ReadAt; a request to a store ends with ctx.
	ReadAtContext(ctx context.Context, p []byte, at int64) (int, error)
	// stamp changes with the contents: the time of a file, a part of a hash of an object's version.
	stamp() (int64, error)
	// sum returns the SHA-256 of the contents if the store has recorded it.
	sum() (Hash, bool)
	// forget makes a cache read a range again.
	forget(at, length int64)
}

// lock is held by one process at a time. Remove gives it back and removes its file.
type lock interface {
	Close() error
	Remove() error
}

// folderAt returns the folder with a name, or the place in an object store with an address. Its requests end with ctx.
func folderAt(ctx context.Context, dir string) (folder, error) {
	if !address.Is(dir) {
		return disk(dir), nil
	}
	s, err := objectstore.Open(dir)
	if err != nil {
		return nil, err
	}
	return &remote{ctx: ctx, store: s}, nil
}

// disk is a folder of this machine.
type disk string

func (d disk) String() string             { return string(d) }
func (d disk) path(name string) string    { return filepath.Join(string(d), filepath.FromSlash(name)) }
func (d disk) snapshot() (folder, func()) { return d, func() {} }

func (d disk) open(name string) (file, int64, error) {
	f, size, err := openPlain(string(d), name)
	if err != nil {
		return nil, 0, err
	}
	return diskFile{f}, size, nil
}

func (d disk) read(name string, limit int64) ([]byte, error) {
	return readPlain(string(d), name, limit)
}

func (d disk) size(name string) (int64, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return 0, err
	}
	defer root.Close()
	return plainSize(root, name)
}

func (d disk) list(of string) ([]string, error) {
	entries, err := os.ReadDir(d.path(of)) // fs.Glob would hide errors, and files be overlooked
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (d disk) mayExist(name string) bool {
	_, err := os.Stat(d.path(name))
	return !errors.Is(err, fs.ErrNotExist)
}

func (d disk) checkPlace(names ...string) error        { return checkPlace(string(d), names...) }
func (d disk) write(name string, data []byte) error    { return atomicfile.WriteFile(d.path(name), data) }
func (d disk) writeNew(name string, data []byte) error { return d.write(name, data) } // under the lock
func (d disk) move(from, to string) error              { return os.Rename(d.path(from), d.path(to)) }
func (d disk) removeFolder(name string) error          { return os.RemoveAll(d.path(name)) }
func (d disk) makeFolder(name string) error            { return atomicfile.MkdirAll(d.path(name), 0o755) }
func (d disk) sync(of string) error                    { return atomicfile.SyncDir(d.path(of)) }
func (d disk) checkLock(name string) error             { return filelock.Check(d.path(name)) }

func (d disk) remove(names ...string) error {
	for _, name := range names {
		if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (d disk) tidy(folders, files []string) {
	for _, name := range folders {
		atomicfile.RemoveLeftovers(d.path(name))
	}
	for _, name := range files {
		atomicfile.RemoveLeftoversOf(d.path(name))
	}
}

func (d disk) lock(ctx context.Context, name string) (lock, error) {
	l, err := filelock.AcquireOrWait(ctx, d.path(name))
	if err != nil {
		return nil, err
	}
	return l, nil
}

// diskFile is a file of this machine.
type diskFile struct{ *os.File }

// ReadAtContext implements file.
func (f diskFile) ReadAtContext(ctx context.Context, p []byte, at int64) (int, error) {
	return f.ReadAt(p, at)
}

func (f diskFile) stamp() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.ModTime().UnixNano(), nil
}

func (f diskFile) sum() (Hash, bool)   { return Hash{}, false }
func (f diskFile) forget(int64, int64) {}

// reading is a file as a reader with a context sees it. It keeps the error of a store that does not answer, or of a
// reader that is stopped: neither is damage, which is what readers of a format call every error.
type reading struct {
	file
	ctx    context.Context
	failed atomic.Pointer[error]
}

// ReadAt implements io.ReaderAt.
func (r *reading) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.ReadAtContext(r.ctx, p, at)
	if err != nil && (r.ctx.Err() != nil || errors.As(err, new(*objectstore.Error))) {
		r.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// damage returns what stopped the reader, or else the given error.
func (r *reading) damage(e *DamageError) error {
	if failed := r.failed.Load(); failed != nil {
		return *failed
	}
	return e
}
