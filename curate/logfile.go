package curate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hgld/internal/atomicfile"
	"hgld/internal/filelock"
)

// Log is a log that is open for appending. No other process can open it
// meanwhile.
type Log struct {
	path   string
	file   appender
	lock   io.Closer
	header Header
	seq    int
	size   int64
	crc    uint32
	broken error // set when the end of the file is in doubt
}

// appender is what Log needs of its file.
type appender interface {
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
}

// CreateLog makes a log with the given header, which must not exist yet. The error
// is a *filelock.LockedError if another process makes it or has it open.
func CreateLog(path string, h Header) error {
	h.Version = LogVersion
	if len(h.Levels) == 0 {
		h.Levels = DefaultLevels
	}
	if err := h.check(); err != nil {
		return fmt.Errorf("curate: log %s: %w", path, err)
	}
	object, err := h.MarshalJSON()
	if err != nil {
		return fmt.Errorf("curate: log %s: %w", path, err)
	}
	// Between the look and the rename nobody else may make the log and append to it.
	lock, err := lockLog(path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("curate: log %s: %w; open it, or choose another name", path, errors.Join(os.ErrExist, err)), lock.Close())
	}
	line, _ := seal(object, 0)
	return errors.Join(atomicfile.WriteFile(path, append(line, '\n')), lock.Close())
}

// lockLog takes the lock of a log.
func lockLog(path string) (io.Closer, error) {
	lock, err := filelock.Acquire(path + ".lock")
	if err != nil {
		var locked *filelock.LockedError
		switch {
		case errors.As(err, &locked):
			locked.Path = path
		case errors.Is(err, os.ErrNotExist):
			err = fmt.Errorf("curate: log %s: there is no folder %s; make it, or choose another name", path, filepath.Dir(path))
		}
		return nil, err
	}
	return lock, nil
}

// OpenLog opens a log for appending and returns what it holds. A torn last line
// is cut off, and Contents.Torn says what it was. The error is a
// *filelock.LockedError if
// another process has the log open and a *DamageError if the log is not as it was
// written.
func OpenLog(path string) (*Log, *Contents, error) {
	lock, err := lockLog(path)
	if err != nil {
		return nil, nil, err
	}
	l, c, err := openLocked(path)
	if err != nil {
		lock.Close()
		return nil, nil, err
	}
	l.lock = lock
	return l, c, nil
}

func openLocked(path string) (*Log, *Contents, error) {
	c, err := ReadLog(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	l := &Log{path: path, file: f, header: c.Header, seq: len(c.Edits), size: c.size, crc: c.crc}
	if c.Torn != nil {
		err = f.Truncate(c.size)
	}
	if err == nil && !c.end {
		_, err = f.WriteAt([]byte("\n"), c.size)
		l.size++
	}
	if err == nil && (c.Torn != nil || !c.end) {
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("curate: log %s: its end: %w", path, err)
	}
	return l, c, nil
}

// Append writes an edit and returns when it is on disk. Its Seq must be the next
// number. After an error the log is as before; if even that cannot be ensured, no
// further edit is taken.
func (l *Log) Append(e Edit) error {
	if err := l.append(e); err != nil {
		return fmt.Errorf("log %s: %w", l.path, err)
	}
	return nil
}

func (l *Log) append(e Edit) error {
	if l.broken != nil {
		return fmt.Errorf("no edit is taken since %w; close the log and open it again", l.broken)
	}
	if e.Seq != l.seq+1 {
		return fmt.Errorf("edit %d cannot follow edit %d", e.Seq, l.seq)
	}
	if err := e.Check(len(l.header.Levels)); err != nil {
		return err
	}
	object, err := e.MarshalJSON()
	if err != nil {
		return err
	}
	line, crc := seal(object, l.crc)
	line = append(line, '\n')
	if bytes.IndexByte(line, '\n') != len(line)-1 {
		return errors.New("a field that hgld does not know holds a line end")
	}
	if _, err = l.file.WriteAt(line, l.size); err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		undo := l.file.Truncate(l.size)
		if undo == nil {
			undo = l.file.Sync()
		}
		if undo != nil {
			l.broken = errors.Join(err, undo)
		}
		return err
	}
	l.seq, l.crc, l.size = e.Seq, crc, l.size+int64(len(line))
	return nil
}

// Close closes the log and lets others open it.
func (l *Log) Close() error {
	return errors.Join(l.file.Close(), l.lock.Close())
}
