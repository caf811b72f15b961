package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hgld/curate"
)

// past is an edit as the history shows it.
type past struct {
	Seq    int       `json:"seq"`
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"`
	Op     curate.Op `json:"op"`
	Level  int       `json:"level"`
	N      int       `json:"n"`     // names in From, or in the parts of a proposal
	First  string    `json:"first"` // or the name of a snapshot
	Item   string    `json:"item"`  // of First
	To     string    `json:"to"`
	Note   string    `json:"note"`
	Of     int       `json:"of"`
	Active bool      `json:"active"`

	Resolved bool   `json:"resolved,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Against  int    `json:"against,omitempty"` // tags that the rule finds and somebody has decided otherwise

	Score  *float64 `json:"score,omitempty"`  // of a tag in a proposal
	Reason string   `json:"reason,omitempty"` // of a tag in a proposal
}

// history lists all edits, or with since=N those after edit N.
func (s *Server) history(r *http.Request) (any, error) {
	since, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("since"), "0"))
	if err != nil || since < 0 {
		return nil, badRequest("since is the number of an edit")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	edits := s.session.Edits()
	active := curate.Active(edits)
	list := []past{}
	for i := min(since, len(edits)); i < len(edits); i++ {
		p := describe(edits[i], active[i])
		p.Against = len(s.session.Against(&edits[i]))
		list = append(list, p)
	}
	return list, nil
}

// edits returns the edits of the log.
func (s *Server) edits() []curate.Edit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session.Edits()
}

// stats answers with what each curator did on each day, of the zone of this machine.
func (s *Server) stats(*http.Request) (any, error) {
	return map[string]any{"days": curate.Statistics(s.edits(), time.Local)}, nil
}

// snapshots answers with the snapshots of the log and, with of=N, the tags that differ from edit N.
func (s *Server) snapshots(r *http.Request) (any, error) {
	var a struct {
		Snapshots []curate.Named     `json:"snapshots"`
		Changes   []curate.TagChange `json:"changes"`
		Details   []curate.Detail    `json:"details"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.Snapshots = curate.Snapshots(s.session.Edits())
	text := r.URL.Query().Get("of")
	if text == "" {
		return a, nil
	}
	of, err := strconv.Atoi(text)
	if err == nil {
		a.Changes, err = s.session.ChangesBetween(of, s.session.Version())
	}
	if err == nil {
		a.Details, err = s.session.DetailsBetween(of, s.session.Version())
	}
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return a, nil
}

// tagEdits answers with the edits of a tag: who proposed and decided it, and why.
func (s *Server) tagEdits(r *http.Request) (any, error) {
	tags, err := s.tagsIn(r.URL.Query().Get("tag"))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	edits := s.session.TagEdits(tags[0])
	s.mu.Unlock()
	list := make([]past, len(edits))
	for i, e := range edits {
		list[i] = describe(*e.Edit, true)
		list[i].To, list[i].Score, list[i].Reason = e.To, e.Score, e.Reason
	}
	return map[string]any{"edits": list}, nil
}

// threads answers with what was written about a tag, or with level=1 about a group, by whom and when: of its flag,
// with replies, and its notes.
func (s *Server) threads(r *http.Request) (any, error) {
	level, errLevel := strconv.Atoi(r.URL.Query().Get("level"))
	at, errAt := strconv.Atoi(r.URL.Query().Get("at"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if errLevel != nil || errAt != nil || level < 0 || level >= len(s.session.Levels()) || at < 0 ||
		at >= s.session.Size(level) {
		return nil, badRequest("level and at are the place of a label or group")
	}
	flags, notes := s.session.Flags(level, at), s.session.Notes(level, at)
	return map[string]any{"flags": describeAll(flags), "notes": describeAll(notes)}, nil
}

// describeAll returns active edits as the history shows them.
func describeAll(edits []curate.Edit) []past {
	list := make([]past, len(edits))
	for i, e := range edits {
		list[i] = describe(e, true)
	}
	return list
}

// describe returns an edit as the history shows it.
func describe(e curate.Edit, active bool) past {
	p := past{Seq: e.Seq, At: e.At, By: e.By, Op: e.Op, Level: e.Level, N: len(e.From), To: e.To, Note: e.Note, Of: e.Of,
		Active: active, Resolved: e.Resolved, Rule: e.Rule}
	if len(e.From) > 0 {
		p.First, p.Item = e.From[0].Name, e.From[0].QID
	}
	if e.Op == curate.Snapshot || e.Op == curate.Restore {
		p.N, p.First, p.Note = 1, e.Note, ""
	}
	if len(e.Parts) == 0 {
		return p
	}
	if e.Op == curate.Split {
		p.To = groupsOf(e.Parts, len(e.Parts))
		return p
	}
	for _, part := range e.Parts {
		p.N += len(part.Members)
	}
	first := e.Parts[0].Members[0]
	p.First, p.Item, p.To = first.Name, first.QID, groupsOf(e.Parts, mostNamed)
	return p
}

// mostNamed is the number of groups of a proposal that the history names.
const mostNamed = 3

// groupsOf names the first n groups of an edit, and counts the others.
func groupsOf(parts []curate.Part, n int) string {
	var names []string
	for _, part := range parts[:min(n, len(parts))] {
		names = append(names, cmp.Or(part.To, curate.Category{Dropped: true}.String()))
	}
	text := strings.Join(names, ", ")
	if more := len(parts) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// successor answers which group took the place of the one that has, or had, a name.
func (s *Server) successor(r *http.Request) (any, error) {
	name := r.URL.Query().Get("name")
	s.mu.Lock()
	now, known := s.session.Successor(1, name)
	s.mu.Unlock()
	if !known {
		return nil, &refusal{http.StatusNotFound, fmt.Sprintf("no group is called “%s”, and none was", name)}
	}
	return map[string]string{"name": now}, nil
}
