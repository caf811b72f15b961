package shards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hgld/internal/objectstore"
	"hgld/internal/regular"
)

// openPlain opens a file of the data set in dir and returns its size. It opens only
// regular files within dir and returns a *DamageError for others: a named pipe would
// block, a device may do anything, and a link out of the folder leads to a file that
// nobody has hashed. Other errors are the system's.
func openPlain(dir, name string) (*os.File, int64, error) {
	if err := regular.CheckPath(dir); err != nil {
		return nil, 0, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	size, err := plainSize(root, name)
	if err != nil {
		return nil, 0, err
	}
	f, err := regular.OpenIn(root, name)
	return f, size, err
}

// plainSize returns the size of a regular file within root.
func plainSize(root *os.Root, name string) (int64, error) {
	info, err := root.Stat(filepath.FromSlash(name))
	if leadsOut(err) {
		return 0, &DamageError{name, -1, "is a link that leads out of the folder; want the file itself"}
	}
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, &DamageError{name, -1, fmt.Sprintf("is not a regular file (%s)", info.Mode())}
	}
	return info.Size(), nil
}

// checkPlace checks that files of a data set can be written: each is missing, or is a
// regular file within dir. Writing to a named pipe would block, and a link out of the
// folder would write elsewhere.
func checkPlace(dir string, names ...string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		if _, err := plainSize(root, name); errors.As(err, new(*DamageError)) {
			return fmt.Errorf("%w; remove it", err)
		}
	}
	return nil
}

// checkSize compares the size of a file with the expected one.
func checkSize(dir folder, name string, want int64) error {
	size, err := dir.size(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &DamageError{name, -1, "missing"}
	}
	if err == nil && size != want {
		err = &DamageError{name, -1, fmt.Sprintf("%d bytes, want %d", size, want)}
	}
	return err
}

// leadsOut reports whether an os.Root refused a path that leads out of it. This is its
// only error that does not come from the system.
func leadsOut(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && !errors.As(at.Err, new(syscall.Errno))
}

// readPlain reads a file of at most limit bytes, whatever size the system reports.
func readPlain(dir, name string, limit int64) ([]byte, error) {
	f, size, err := openPlain(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > limit {
		return nil, &DamageError{name, -1, fmt.Sprintf("%d bytes; want at most %d", size, limit)}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &DamageError{name, -1, fmt.Sprintf("more than %d bytes", limit)}
	}
	return data, err
}

// asDamage turns an error in reading a file into a *DamageError. It returns nil if the
// reading was cancelled, or if an object store or this machine failed.
func asDamage(name string, err error) *DamageError {
	var damage *DamageError
	var at *fs.PathError
	switch {
	case errors.As(err, &damage):
		return damage
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.EMFILE),
		errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM),
		errors.As(err, new(*objectstore.Error)), errors.As(err, new(*objectstore.LocalError)):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &DamageError{name, -1, "missing"}
	case errors.As(err, &at):
		err = at.Err
	}
	return &DamageError{name, -1, fmt.Sprintf("cannot be read: %v", err)}
}
