package shards

import (
	"errors"
	"io"
	"os"

	"hgld/internal/atomicfile"
)

// unfinished is a file that is being written. Commit gives it its name, Close without Commit removes it.
type unfinished interface {
	io.Writer
	io.ReaderAt
	io.Closer
	// Commit takes the SHA-256 of what was written.
	Commit(sum Hash) error
}

// inPlace is an unfinished file beside its name.
type inPlace struct{ *atomicfile.File }

func (f inPlace) Commit(Hash) error { return f.File.Commit() }

// staged is an unfinished file in a folder for scratch files. Commit sends it to where it belongs, where it appears
// whole.
type staged struct {
	*atomicfile.ScratchFile
	send func(f *os.File, size int64, sum Hash) error
}

// Close may follow Commit, as in an atomicfile.File.
func (s *staged) Close() error {
	if err := s.ScratchFile.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func (s *staged) Commit(sum Hash) error {
	defer s.Close()
	size, err := s.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := s.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return s.send(s.File, size, sum)
}

// create starts a file. If a folder for scratch files is given, the file is copied from there when it is complete.
func (d disk) create(name, scratch string) (unfinished, error) {
	if scratch == "" {
		f, err := atomicfile.Create(d.path(name))
		if err != nil {
			return nil, err
		}
		return inPlace{f}, nil
	}
	f, err := atomicfile.Scratch(scratch)
	if err != nil {
		return nil, err
	}
	return &staged{f, func(f *os.File, _ int64, _ Hash) error {
		return atomicfile.Write(d.path(name), func(w io.Writer) error {
			_, err := io.Copy(w, f)
			return err
		})
	}}, nil
}
