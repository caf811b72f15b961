package dataset

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"

	"hgld/internal/spelling"
)

// spelled is a store that finds a file whose name it has in another form of Unicode: programs on macOS
// write an accent behind its letter, and tables mostly have both as one character.
type spelled struct {
	store
	once  sync.Once
	forms map[string]string // a name for each form C
	keys  map[string]string // a name for each key
}

// names lists the files, once the first is missing.
func (s *spelled) names() {
	s.once.Do(func() {
		s.forms, s.keys = map[string]string{}, map[string]string{}
		all, err := s.store.list(context.Background())
		if err != nil {
			return // the file is missing, as the store said
		}
		for _, e := range all {
			form := spelling.Form(e.path)
			if _, twice := s.forms[form]; twice {
				s.forms[form] = "" // two files look alike
			} else {
				s.forms[form] = e.path
			}
			s.keys[spelling.Key(e.path)] = e.path
		}
	})
}

// other returns the file that has a name in another form; "" if there is none.
func (s *spelled) other(name string) string {
	s.names()
	return s.forms[spelling.Form(name)]
}

// near returns a file whose name is spelled almost like another; "" if there is none.
func (s *spelled) near(name string) string {
	s.names()
	return s.keys[spelling.Key(name)]
}

func (s *spelled) find(name string) (entry, error) {
	e, err := s.store.find(name)
	if errors.Is(err, fs.ErrNotExist) {
		if other := s.other(name); other != "" {
			return s.store.find(other)
		}
	}
	return e, err
}

func (s *spelled) open(name string) (io.ReadCloser, error) {
	r, err := s.store.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if other := s.other(name); other != "" {
			return s.store.open(other)
		}
	}
	return r, err
}

func (s *spelled) notes() []string { return notesOf(s.store) }
