package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"hgld/curate"
)

// The page discards an impossible edit (422) and keeps every other. An edit that the log could not
// save must therefore have another status.
func TestUnsavedEditIsAServerError(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{{syscall.ENOSPC, http.StatusInsufficientStorage}, {syscall.EIO, http.StatusInternalServerError},
		{errors.New("no edit is taken since"), http.StatusInternalServerError}} {
		_, a, _ := newServer(t, testDraft(10), func(conf *Config) {
			conf.Save = func(curate.Edit) error { return fmt.Errorf("log: %w", c.err) }
		})
		var got answer
		if code := a.post("/api/edit", move(0, "first", "church", 3), &got); code != c.code || got.Version != 0 ||
			got.Error == "" {
			t.Errorf("%v: %d %+v, want %d and nothing changed", c.err, code, got, c.code)
		}
	}
}

// freeWriter records whether the server is locked while an answer is written.
type freeWriter struct {
	httptest.ResponseRecorder
	s      *Server
	locked bool
}

func (w *freeWriter) Write(data []byte) (int, error) {
	if w.s.mu.TryLock() {
		w.s.mu.Unlock()
	} else {
		w.locked = true
	}
	return len(data), nil
}

// A browser that does not read its answer does not block others.
func TestAnswersAreWrittenWithoutTheLock(t *testing.T) {
	fake := &nearFake{}
	s, _, _ := newServer(t, testDraft(30), func(c *Config) {
		c.Suggester = fake
		c.WriteHierarchy = func(bool) (string, error) { return "written", nil }
	})
	for _, c := range []struct {
		name, body string
		answer     http.HandlerFunc
	}{
		{"state", "", get(s.state)}, {"changes?since=-1", "", get(s.changes)}, {"history", "", get(s.history)},
		{"finish", "{}", s.writeHierarchy},
		{"suggest", `{"tags":[1]}`, post(s.suggest)}, {"candidates", `{"group":0}`, post(s.candidates)},
		{"candidates", `{"group":99}`, post(s.candidates)},
		{"edit", `{"id":"12345678","base":0,"op":"move","to":"x","from":[{"name":"tag 1"}]}`, s.edit},
		{"edit", `{"id":"12345678","base":0,"op":"move","to":"x","from":[{"name":"tag 1"}]}`, s.edit},
		{"edit", `{"id":"87654321","base":0,"op":"move","to":"x","from":[{"name":"tag 2"}]}`, s.edit},
	} {
		w := &freeWriter{s: s}
		c.answer(w, httptest.NewRequest("POST", "/api/"+c.name, strings.NewReader(c.body)))
		if w.locked {
			t.Errorf("%s writes its answer while the server is locked", c.name)
		}
		if !s.mu.TryLock() {
			t.Fatalf("%s leaves the server locked", c.name)
		}
		s.mu.Unlock()
	}
}

// Unsaved edits in a browser belong to one log. The page learns its name before it sends any.
func TestPassAndStateNameTheQueue(t *testing.T) {
	_, a, _ := newServer(t, testDraft(10), nil)
	var all fullState
	a.get("/api/state", &all)
	if all.Queue != "log of anna" || a.Queue != all.Queue {
		t.Errorf("the queue is called %q, and %q in the pass", all.Queue, a.Queue)
	}
}
