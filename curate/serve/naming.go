package serve

import (
	"context"

	"hgld/curate"
	"hgld/internal/crash"
)

// naming gives groups the vectors of their names. Encoding a name may take a second, so
// it runs in the background, and a suggestion does not wait for it.
type naming struct {
	vectors map[string][]float32 // by name; nil for a name that cannot be encoded
	wanted  []string             // to encode next
	running bool
}

// updateNames gives the suggester the vectors of changed groups that have a name of their own, and
// encodes the names that are new. The lock is held.
func (s *Server) updateNames(changed []curate.Place) {
	if s.c.Namer == nil {
		return
	}
	for _, p := range changed {
		if p.Level != 1 {
			continue
		}
		name := s.session.OwnName(p.At)
		vector, known := s.naming.vectors[name]
		if name != "" && !known {
			s.naming.vectors[name] = nil
			s.naming.wanted = append(s.naming.wanted, name)
		}
		s.c.Suggester.Name(p.At, vector)
	}
	if len(s.naming.wanted) > 0 && !s.naming.running {
		s.naming.running = true
		go func() {
			defer crash.Guard()
			s.encodeNames()
		}()
	}
}

// encodeNames encodes the wanted names until there are none. Names that fail stay without a
// vector: suggestions then go by the tags of the group alone.
func (s *Server) encodeNames() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer crash.Guard()
		select {
		case <-s.closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		s.mu.Lock()
		names := s.naming.wanted
		s.naming.wanted = nil
		if len(names) == 0 || ctx.Err() != nil {
			s.naming.running = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		if vectors, err := s.c.Namer.Names(ctx, names); err == nil {
			s.setVectors(names, vectors)
		}
	}
}

// setVectors stores the vectors of names and gives them to the groups with these names.
func (s *Server) setVectors(names []string, vectors [][]float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := map[string]bool{}
	for i, name := range names {
		s.naming.vectors[name] = vectors[i]
		fresh[name] = vectors[i] != nil
	}
	for group := range s.session.Size(1) {
		if name := s.session.OwnName(group); fresh[name] {
			s.c.Suggester.Name(group, s.naming.vectors[name])
		}
	}
}
