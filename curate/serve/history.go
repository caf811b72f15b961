package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"hgld/curate"
)

// past is an edit as the history shows it.
type past struct {
	Seq    int       `json:"seq"`
	At     time.Time `json:"at"`
	Op     curate.Op `json:"op"`
	Level  int       `json:"level"`
	N      int       `json:"n"` // names in From, or in the parts of a proposal
	First  string    `json:"first"`
	Item   string    `json:"item"` // of First
	To     string    `json:"to"`
	Note   string    `json:"note"`
	Of     int       `json:"of"`
	Active bool      `json:"active"`
}

// history lists all edits.
func (s *Server) history(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	edits := s.session.Edits()
	s.mu.Unlock()
	list := make([]past, len(edits))
	active := curate.Active(edits)
	for i, e := range edits {
		list[i] = describe(e, active[i])
	}
	write(w, http.StatusOK, list)
}

// describe returns an edit as the history shows it.
func describe(e curate.Edit, active bool) past {
	p := past{Seq: e.Seq, At: e.At, Op: e.Op, Level: e.Level, N: len(e.From), To: e.To, Note: e.Note, Of: e.Of,
		Active: active}
	if len(e.From) > 0 {
		p.First, p.Item = e.From[0].Name, e.From[0].QID
	}
	for k, part := range e.Parts {
		if k > 0 {
			p.To += ", "
		}
		p.To += part.To
		if e.Op == curate.Propose || e.Op == curate.Confirm {
			p.N += len(part.Members)
			p.First, p.Item = cmp.Or(p.First, part.Members[0].Name), cmp.Or(p.Item, part.Members[0].QID)
		}
	}
	return p
}

// successor answers which group took the place of the one that has, or had, a name.
func (s *Server) successor(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	s.mu.Lock()
	now, known := s.session.Successor(1, name)
	s.mu.Unlock()
	if !known {
		write(w, http.StatusNotFound, answer{Error: fmt.Sprintf("no group is called “%s”, and none was", name)})
		return
	}
	write(w, http.StatusOK, map[string]string{"name": now})
}
