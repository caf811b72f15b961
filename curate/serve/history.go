package serve

import (
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

	Resolved bool `json:"resolved,omitempty"`

	Score  *float64 `json:"score,omitempty"`  // of a tag in a proposal
	Reason string   `json:"reason,omitempty"` // of a tag in a proposal
}

// history lists all edits, or with since=N those after edit N.
func (s *Server) history(w http.ResponseWriter, r *http.Request) {
	since := 0
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = strconv.Atoi(text); err != nil || since < 0 {
			http.Error(w, "since is the number of an edit", http.StatusBadRequest)
			return
		}
	}
	s.mu.Lock()
	edits := s.session.Edits()
	s.mu.Unlock()
	active := curate.Active(edits)
	list := []past{}
	for i := min(since, len(edits)); i < len(edits); i++ {
		list = append(list, describe(edits[i], active[i]))
	}
	writeJSON(w, http.StatusOK, list)
}

// stats answers with what each curator did on each day, of the zone of this machine.
func (s *Server) stats(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	edits := s.session.Edits()
	s.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{"days": curate.Statistics(edits, time.Local)})
}

// snapshots answers with the snapshots of the log and, with of=N, the tags that differ from edit N.
func (s *Server) snapshots(w http.ResponseWriter, r *http.Request) {
	var a struct {
		Snapshots []curate.Named     `json:"snapshots"`
		Changes   []curate.TagChange `json:"changes"`
		Details   []curate.Detail    `json:"details"`
	}
	s.mu.Lock()
	a.Snapshots = curate.Snapshots(s.session.Edits())
	var err error
	if text := r.URL.Query().Get("of"); text != "" {
		var of int
		if of, err = strconv.Atoi(text); err == nil {
			a.Changes, err = s.session.ChangesSince(of)
		}
		if err == nil {
			a.Details, err = s.session.DetailsBetween(of, s.session.Version())
		}
	}
	s.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, http.StatusOK, a)
}

// askedTag returns the tag that a request names. If it returns false, it has answered.
func (s *Server) askedTag(w http.ResponseWriter, r *http.Request) (tag int, ok bool) {
	tag, err := strconv.Atoi(r.URL.Query().Get("tag"))
	if err != nil {
		tag = -1
	}
	return tag, s.checkTags(w, []int{tag})
}

// tagEdits answers with the edits of a tag: who proposed and decided it, and why.
func (s *Server) tagEdits(w http.ResponseWriter, r *http.Request) {
	tag, ok := s.askedTag(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	edits := s.session.TagEdits(tag)
	s.mu.Unlock()
	list := make([]past, len(edits))
	for i, e := range edits {
		p := describe(*e.Edit, true)
		p.To, p.Score, p.Reason = e.To, e.Score, e.Reason
		list[i] = p
	}
	writeJSON(w, http.StatusOK, map[string]any{"edits": list})
}

// threads answers with what was written about a tag, or with level=1 about a group, by whom and when: of its flag,
// with replies, and its notes.
func (s *Server) threads(w http.ResponseWriter, r *http.Request) {
	level, errLevel := strconv.Atoi(r.URL.Query().Get("level"))
	at, errAt := strconv.Atoi(r.URL.Query().Get("at"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if errLevel != nil || errAt != nil || level < 0 || level >= len(s.session.Levels()) || at < 0 ||
		at >= s.session.Size(level) {
		http.Error(w, "level and at are the place of a label or group", http.StatusBadRequest)
		return
	}
	flags, notes := s.session.Flags(level, at), s.session.Notes(level, at)
	writeJSON(w, http.StatusOK, map[string]any{"flags": describeAll(flags), "notes": describeAll(notes)})
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
		Active: active, Resolved: e.Resolved}
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
		names = append(names, part.To)
	}
	text := strings.Join(names, ", ")
	if more := len(parts) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// successor answers which group took the place of the one that has, or had, a name.
func (s *Server) successor(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	s.mu.Lock()
	now, known := s.session.Successor(1, name)
	s.mu.Unlock()
	if !known {
		writeJSON(w, http.StatusNotFound, answer{Error: fmt.Sprintf("no group is called “%s”, and none was", name)})
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"name": now})
}
