// Package regular opens files that other people name: in a table, a setting, an archive of a data
// set, or by a link. Opening a named pipe waits for a writer, opening a device may do anything, and
// some files below /proc are read for ever. This package opens none of these.
package regular

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hgld/internal/budget"
)

// Error reports that a path does not lead to a regular file.
type Error struct {
	Path string // as it was asked for
	What string // what is there instead: "a named pipe"
}

// Error says what is there.
func (e *Error) Error() string { return fmt.Sprintf("%s is %s, want a regular file", e.Path, e.What) }

// Open opens a regular file for reading, following links. It opens folders too: reading one fails
// with an error of the system. For anything else it returns an [*Error] and opens nothing.
// The error for an address is an [*AddressError].
func Open(path string) (*os.File, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	return open(path, os.Stat, func(name string) (*os.File, error) {
		return os.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	})
}

// OpenIn is [Open] within a folder; name has slashes. The error for a link that leads out of the
// folder is that of [os.Root].
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return open(filepath.FromSlash(name), root.Stat, func(name string) (*os.File, error) {
		return root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	})
}

// open looks before it opens, because opening can already wait or do harm, and looks again at what
// it opened, because the path may lead elsewhere by then.
func open(path string, stat func(string) (fs.FileInfo, error), open func(string) (*os.File, error)) (*os.File, error) {
	info, err := stat(path)
	if err != nil {
		return nil, asOpen(err)
	}
	if err := Check(path, info); err != nil {
		return nil, err
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = Check(path, info)
	}
	if err == nil && info.Size() == 0 && ofKernel(f) {
		err = &Error{path, "a file that the kernel makes as it is read"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// asOpen gives an error of stat the words of open, which callers and messages know.
func asOpen(err error) error {
	if at, ok := err.(*fs.PathError); ok {
		return &fs.PathError{Op: "open", Path: at.Path, Err: at.Err}
	}
	return err
}

// Check returns an [*Error] for what is neither a regular file nor a folder.
func Check(path string, info fs.FileInfo) error {
	what := ""
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode.IsDir():
		return nil
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		what = "no file"
	}
	return &Error{path, what}
}

// ReadFile returns the contents of a regular file of at most [budget.Bytes].
func ReadFile(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, budget.Bytes+1))
	if err == nil {
		if _, err = budget.Of(int64(len(text))); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return text, err
}

// ReadAtMost is [ReadFile] of a file of at most limit bytes. It reads nothing of a larger one.
func ReadAtMost(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, want at most %d", path, info.Size(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s grew to more than %d bytes", path, limit)
	}
	return data, err
}
