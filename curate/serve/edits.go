package serve

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hgld/curate"
)

// order is an edit as the page sends it. ID is made up by the page: an edit that was
// saved but whose answer was lost is sent again with the same ID, and not made twice.
// Draft is that of the View its author saw, because the same edit number can belong to
// two drafts.
type order struct {
	ID    string        `json:"id"`
	Draft string        `json:"draft"`
	Base  int           `json:"base"`
	Op    curate.Op     `json:"op"`
	Level int           `json:"level"`
	From  []curate.Ref  `json:"from"`
	To    string        `json:"to"`
	Parts []curate.Part `json:"parts"`
	Of    int           `json:"of"`
	Note  string        `json:"note"`
	Rule  string        `json:"rule"`

	Resolved bool `json:"resolved"`
}

// idField is the field of the log that holds an order's ID.
const idField = "id"

func editID(e curate.Edit) string {
	var id string
	if json.Unmarshal(e.Extra[idField], &id) != nil {
		return ""
	}
	return id
}

// answer is sent for an edit, and for a request for changes.
type answer struct {
	Seq      int    `json:"seq,omitempty"` // the edit's number
	Error    string `json:"error,omitempty"`
	Reverted *past  `json:"reverted,omitempty"` // for a revert: the edit that it undid, or restored if it is active
	Undone   []past `json:"undone,omitempty"`   // edits of this curator that somebody else has undone, by whom

	Others map[string]string `json:"others,omitempty"` // group that each other person looks at, by name
	*View
}

// edit takes one edit. The status is 200 if the edit is on disk; 409 if it was made on
// an older state, which the answer brings up to date, or on another draft; 422 if it is
// impossible; 500 if the log could not be written, and 507 if the disk is full. The
// page then keeps the edit. Nothing has changed unless the status is 200.
func (s *Server) edit(w http.ResponseWriter, r *http.Request) {
	var o order
	if !readJSON(w, r, &o) {
		return
	}
	if len(o.ID) < 8 || len(o.ID) > 64 {
		http.Error(w, "an edit has an id of 8 to 64 letters", http.StatusBadRequest)
		return
	}
	id, err := json.Marshal(o.ID)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	code, a := s.applyOrder(o, id, s.author(r))
	writeJSON(w, code, a)
}

// applyOrder applies an order of an author and returns the status and the answer.
func (s *Server) applyOrder(o order, id json.RawMessage, by string) (int, answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq, twice := s.ids[o.ID]; twice {
		return http.StatusOK, answer{Seq: seq, View: s.viewSince(o.Base, by)}
	}
	if o.Draft != s.draft {
		why := "the edit was made on another draft; reload the page"
		return http.StatusConflict, answer{Error: why, View: s.viewSince(o.Base, by)}
	}
	var unsaved error
	save := func(e curate.Edit) error {
		unsaved = s.c.Save(e)
		return unsaved
	}
	e, err := s.session.Apply(curate.Edit{Base: o.Base, At: s.c.Now(), By: by, Op: o.Op, Level: o.Level, From: o.From,
		To: o.To, Parts: o.Parts, Of: o.Of, Note: o.Note, Rule: o.Rule, Resolved: o.Resolved,
		Extra: map[string]json.RawMessage{idField: id}}, save)
	if err != nil {
		var stale *curate.StaleError
		code := http.StatusUnprocessableEntity
		switch {
		case errors.Is(unsaved, syscall.ENOSPC):
			code = http.StatusInsufficientStorage
		case unsaved != nil:
			code = http.StatusInternalServerError
		case errors.As(err, &stale):
			code = http.StatusConflict
		}
		return code, answer{Error: err.Error(), View: s.viewSince(o.Base, by)}
	}
	s.ids[o.ID] = e.Seq
	s.update(s.session.Changed())
	return http.StatusOK, answer{Seq: e.Seq, Reverted: s.reverted(e), View: s.viewSince(o.Base, by)}
}

// undoneOf lists the edits of a curator that others have undone after a version. Their By is who undid them.
func (s *Server) undoneOf(by string, since int) (list []past) {
	edits := s.session.Edits()
	for _, e := range edits[min(max(since, 0), len(edits)):] {
		if e.Op == curate.Revert && e.By != by && edits[e.Of-1].By == by {
			p := describe(edits[e.Of-1], false)
			p.By = e.By
			list = append(list, p)
		}
	}
	return list
}

// reverted describes the edit that a revert finally undoes or restores; it returns nil
// for other edits.
func (s *Server) reverted(e curate.Edit) *past {
	if e.Op != curate.Revert {
		return nil
	}
	edits := s.session.Edits()
	for e.Op == curate.Revert {
		e = edits[e.Of-1]
	}
	p := describe(e, curate.Active(edits)[e.Seq-1])
	return &p
}

// mostRecent is the number of changed places that are kept in order. For a page that is
// further behind, the whole state is searched.
const mostRecent = 1 << 14

// update notes what an edit changed and wakes waiting requests.
func (s *Server) update(changed []curate.Place) {
	version := int32(s.session.Version())
	for l := range s.seen {
		s.resizeSeen(l)
	}
	for _, p := range changed {
		s.seen[p.Level][p.At] = version
	}
	if s.recent = append(s.recent, changed...); len(s.recent) > mostRecent {
		s.recent, s.recentFrom = nil, int(version)
	}
	s.updatePlaces(changed)
	close(s.changed)
	s.changed = make(chan struct{})
}

// longPoll is how long a request for changes waits.
const longPoll = 20 * time.Second

// presence is the group that a person looked at, and when they said so last.
type presence struct {
	group string
	at    time.Time
}

// others notes the group that somebody looks at, "" for none, and lists those of the others who asked since two polls.
func (s *Server) others(by, group string) map[string]string {
	now, list := s.c.Now(), map[string]string{}
	s.present[by] = presence{group, now}
	for name, p := range s.present {
		if name != by && name != "" && p.group != "" && now.Sub(p.at) < 2*longPoll {
			list[name] = p.group
		}
	}
	return list
}

// changes answers with what is newer than a version, and with where other people are. With wait=1 it waits until
// something is newer, but at most longPoll.
func (s *Server) changes(r *http.Request) (any, error) {
	since, err := strconv.Atoi(r.URL.Query().Get("since"))
	if err != nil {
		return nil, badRequest("since is the number of an edit")
	}
	by, at := s.author(r), r.URL.Query().Get("at")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.others(by, at)
	if changed := s.changed; r.URL.Query().Get("wait") == "1" && since == s.session.Version() {
		s.mu.Unlock()
		timer := time.NewTimer(longPoll)
		select {
		case <-changed:
		case <-timer.C:
		case <-s.closing:
		case <-r.Context().Done():
		}
		timer.Stop()
		s.mu.Lock()
	}
	return answer{View: s.viewSince(since, by), Undone: s.undoneOf(by, since), Others: s.others(by, at)}, nil
}

// ReplaceError says that the files to write would replace what other logs made, or what somebody changed.
type ReplaceError struct {
	// Text says which, and what would be lost.
	Text string
}

// Error is the text.
func (e *ReplaceError) Error() string { return e.Text }

// writeHierarchy writes the hierarchy.
func (s *Server) writeHierarchy(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Replace bool `json:"replace"` // the curator has seen what is replaced
	}
	if !readJSON(w, r, &q) {
		return
	}
	s.mu.Lock()
	text, err := s.c.WriteHierarchy(q.Replace)
	s.mu.Unlock()
	if replaces := (*ReplaceError)(nil); errors.As(err, &replaces) {
		writeJSON(w, http.StatusConflict, unfinished{Error: err.Error(), Replaces: replaces.Text})
		return
	}
	if err != nil {
		writeJSON(w, http.StatusUnprocessableEntity, unfinishedAnswer(err))
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Text string `json:"text"`
	}{text})
}

// unfinished says why no hierarchy was written.
type unfinished struct {
	Error   string   `json:"error"`
	Orphans []string `json:"orphans,omitempty"` // groups of Level without a Parent
	Level   string   `json:"level,omitempty"`
	Parent  string   `json:"parent,omitempty"`

	Replaces string `json:"replaces,omitempty"` // what would be lost of the result of other logs
}

// unfinishedAnswer makes the answer for an error of WriteHierarchy. If groups lack a parent, it
// lists them, so that the page can lead to them.
func unfinishedAnswer(err error) unfinished {
	a := unfinished{Error: strings.TrimPrefix(err.Error(), "curate: ")}
	if orphans := (*curate.OrphansError)(nil); errors.As(err, &orphans) {
		a.Orphans, a.Level, a.Parent = orphans.Groups, orphans.Level, orphans.Parent
	}
	return a
}
