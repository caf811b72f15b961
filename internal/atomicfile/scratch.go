package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ScratchFile is a file that only this process uses. It disappears with Close, or with the process.
type ScratchFile struct {
	*os.File
	named bool // the system keeps the name of an open file
}

// Scratch creates a scratch file in a folder. Where an open file can lose its name, none is seen there. Elsewhere
// Scratch removes the files that killed processes left.
func Scratch(dir string) (*ScratchFile, error) {
	path := filepath.Join(dir, "hgld")
	RemoveLeftoversOf(path)
	f, err := temporary(path, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "create a file in", Path: dir, Err: errors.Unwrap(err)}
	}
	s := &ScratchFile{File: f, named: os.Remove(f.Name()) != nil}
	if !s.named {
		s.forget()
	}
	return s, nil
}

func (s *ScratchFile) forget() { unfinished.Delete(filepath.Base(s.Name())) }

// Close discards the file.
func (s *ScratchFile) Close() error {
	err := s.File.Close()
	if s.named {
		os.Remove(s.Name())
		s.forget()
	}
	return err
}
