package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

func TestServeEndsWithItsContext(t *testing.T) {
	s, _, _ := newServer(t, testDraft(3), nil)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	answer := must.Get(http.Get("http://" + listener.Addr().String() + "/"))(t)
	must.Do(t, answer.Body.Close())
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("the port is still open")
	}
}

// TestIdleConnectionsAreBounded opens more connections than may wait. The oldest are closed, and those
// with a request under way are not.
func TestIdleConnectionsAreBounded(t *testing.T) {
	w := &waiting{most: 3}
	var conns, ends []net.Conn
	for range 6 {
		c, end := net.Pipe()
		defer end.Close()
		conns, ends = append(conns, c), append(ends, end)
	}
	for i, c := range conns {
		w.note(c, http.StateNew)
		if i == 0 {
			w.note(c, http.StateActive)
		}
	}
	w.note(conns[0], http.StateIdle) // now the newest
	w.note(conns[5], http.StateClosed)
	for i, end := range ends {
		closed := errors.Is(end.SetDeadline(time.Time{}), io.ErrClosedPipe)
		if want := i >= 1 && i <= 3; closed != want {
			t.Errorf("connection %d: closed %v, want %v", i, closed, want)
		}
	}
	if len(w.list) != 2 {
		t.Errorf("%d wait, want 2", len(w.list))
	}
}
