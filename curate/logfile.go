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

// Log is a log that is open for appending. No other process can open it at the same time: it
// holds a lock file next to the log, and also locks the log itself in case somebody removes
// that file.
type Log struct {
	path     string
	file     appender
	lock     *filelock.Lock
	header   Header
	seq      int
	size     int64
	crc      uint32
	last     count   // of the last line
	unmarked []count // of lines before it, until dashes replace them
	broken   error   // set if the end of the file may be wrong
}

// appender is what Log needs of its file.
type appender interface {
	io.WriterAt
	io.Closer
	Stat() (os.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// logMode is the mode of a new log, which says who decided what. An existing log keeps
// the mode that its owner gave it.
const logMode = 0o600

// CreateLog makes a log with the given header. The error is fs.ErrExist if there is a
// file at path, and a *filelock.LockedError if another process is making it or has it
// open.
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
	line, _ := seal(object, 0, 0)
	return writeNew(path, append(line, '\n'))
}

// writeNew makes a log with the given bytes. The error is fs.ErrExist if there is a
// file at path.
func writeNew(path string, data []byte) error {
	// The lock keeps others from creating the log between the check and the rename.
	lock, err := lockLog(path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(fmt.Errorf("curate: log %s: %w; open it, or choose another name", path,
			errors.Join(os.ErrExist, err)), lock.Close())
	}
	return errors.Join(atomicfile.WriteFileMode(path, data, logMode), lock.Close())
}

// lockLog takes the lock file of a log.
func lockLog(path string) (*filelock.Lock, error) {
	lock, err := filelock.Acquire(path + ".lock")
	if err != nil {
		return nil, lockError(path, err)
	}
	return lock, nil
}

// lockError makes an error of a lock name the log.
func lockError(path string, err error) error {
	var locked *filelock.LockedError
	switch {
	case errors.As(err, &locked):
		locked.Path = path
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("curate: log %s: the folder %s does not exist; create it, or choose another "+
			"name", path, filepath.Dir(path))
	}
	return err
}

// OpenLog opens a log for appending and returns its contents. It cuts off a torn last
// line, which Contents.Torn then describes. The error is a *filelock.LockedError if
// another process has the log open, and a *DamageError if the log is not as it was
// written.
func OpenLog(path string) (*Log, *Contents, error) {
	lock, err := lockLog(path)
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	l := &Log{path: path, file: f, lock: lock}
	c, err := l.readAndRepair(f)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close(), lock.Close())
	}
	return l, c, nil
}

// readAndRepair locks the log itself, reads it and repairs its end.
func (l *Log) readAndRepair(f *os.File) (*Contents, error) {
	if err := filelock.Take(f); err != nil {
		return nil, lockError(l.path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	c, err := parseLog(l.path, data)
	if err != nil {
		return nil, err
	}
	l.header, l.seq, l.size, l.crc, l.last = c.Header, len(c.Edits), c.size, c.crc, c.last
	l.unmarked = c.stale
	if err := l.repairEnd(c); err != nil {
		return nil, fmt.Errorf("curate: log %s: its end: %w", l.path, err)
	}
	return c, nil
}

// repairEnd cuts off a torn line and completes the line end of the last one.
func (l *Log) repairEnd(c *Contents) error {
	if c.Torn != nil {
		if err := l.file.Truncate(c.size); err != nil {
			return err
		}
	}
	if !c.end {
		if _, err := l.file.WriteAt([]byte("\n"), c.size); err != nil {
			return err
		}
		l.size++
	}
	if c.Torn != nil || !c.end {
		if err := l.file.Sync(); err != nil {
			return err
		}
	}
	return l.writeDashes()
}

// writeDashes replaces counts by dashes after the next edit. It is harmless if a power cut
// reverts that.
func (l *Log) writeDashes() error {
	for len(l.unmarked) > 0 {
		if _, err := l.file.WriteAt(dashes(l.unmarked[0].n), l.unmarked[0].at); err != nil {
			return err
		}
		l.unmarked = l.unmarked[1:]
	}
	return nil
}

// Append writes an edit and returns when it is on disk. Its Seq must be the next
// number. After an error the log is as before; if that cannot be ensured, no further
// edit is accepted. Append also fails if the log is no longer the file at its path, or
// if another process has written to it.
func (l *Log) Append(e Edit) error {
	if err := l.append(e); err != nil {
		return fmt.Errorf("log %s: %w", l.path, err)
	}
	return nil
}

func (l *Log) append(e Edit) error {
	if l.broken != nil {
		return fmt.Errorf("no edits are accepted after an earlier failure: %w; close the log and open it again", l.broken)
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
	line, s := seal(object, l.crc, e.Seq)
	line = append(line, '\n')
	if bytes.IndexByte(line, '\n') != len(line)-1 {
		return errors.New("an unknown field contains a line end")
	}
	if err := l.checkFile(); err != nil {
		return err
	}
	if err := l.writeDashes(); err != nil { // some may be due
		return err
	}
	if err := l.write(line); err != nil {
		return err
	}
	l.unmarked = append(l.unmarked, l.last)
	l.last = s.count.from(l.size)
	l.seq, l.crc, l.size = e.Seq, s.crc, l.size+int64(len(line))
	_ = l.writeDashes() // the edit is on disk in any case; the next one tries again
	return nil
}

// write appends a line and waits until it is on disk. After an error it rolls the line
// back.
func (l *Log) write(line []byte) error {
	_, err := l.file.WriteAt(line, l.size)
	if err == nil {
		err = l.file.Sync()
	}
	if err == nil {
		return nil
	}
	undo := l.file.Truncate(l.size)
	if undo == nil {
		undo = l.file.Sync()
	}
	if undo != nil {
		l.broken = errors.Join(err, undo)
	}
	return err
}

// checkFile returns an error unless the open file is still the one at the log's path, with
// the size it had. Edits written to a file that was removed would be lost with it.
func (l *Log) checkFile() error {
	held, err := l.file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(l.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("the file was moved or removed while it was open; move it back")
	case err != nil:
		return err
	case !os.SameFile(held, named):
		return errors.New("the file was replaced by another one while it was open; " +
			"restore it, or start again with the new one")
	case held.Size() != l.size:
		return fmt.Errorf("another program has changed the file: it has %d bytes instead of %d; "+
			"check it with `hgld curate log`, then start again", held.Size(), l.size)
	}
	lockHeld, err := l.lock.Held()
	if err != nil || lockHeld {
		return err
	}
	// The lock file is gone. The lock on the log itself keeps others out; a new lock file
	// tells them who holds it.
	fresh, err := lockLog(l.path)
	if err != nil {
		return err
	}
	gone := l.lock
	l.lock = fresh
	return gone.Close()
}

// Close closes the log and lets others open it.
func (l *Log) Close() error {
	var released error
	if f, ok := l.file.(*os.File); ok {
		released = filelock.Release(f)
	}
	return errors.Join(released, l.file.Close(), l.lock.Close())
}
