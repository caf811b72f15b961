package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"hgld/internal/crash"
)

// lastAnswers is how long a server that ends waits for browsers to read their answers.
const lastAnswers = 5 * time.Second

// Serve serves the page to a listener until ctx is cancelled, then stops, and closes the
// listener. It returns ctx.Err() if a browser did not read its answer; no edit is pending
// even then.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	web := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: writeLimit, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ConnState:   (&waiting{most: mostWaiting}).note,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	failed := make(chan error, 1)
	go func() {
		defer crash.Guard()
		failed <- web.Serve(listener)
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.Stop()
	last, cancel := context.WithTimeout(context.Background(), lastAnswers)
	defer cancel()
	if err := web.Shutdown(last); err != nil {
		if err := web.Close(); err != nil {
			return fmt.Errorf("ending the server: %w", err)
		}
		return ctx.Err()
	}
	return nil
}

// mostWaiting is the number of connections that may wait for a request. A browser keeps six.
const mostWaiting = 256

// waiting lists the connections on which no request has begun, oldest first. It closes the oldest if
// there are too many. A request that has begun is limited in time by the server and the guard.
type waiting struct {
	most int

	mu   sync.Mutex
	list []net.Conn
}

// note is an http.Server's ConnState.
func (w *waiting) note(c net.Conn, state http.ConnState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := slices.Index(w.list, c); at >= 0 {
		w.list = slices.Delete(w.list, at, at+1)
	}
	if state != http.StateNew && state != http.StateIdle {
		return
	}
	if len(w.list) >= w.most {
		w.list[0].Close() // its goroutine notices
		w.list = slices.Delete(w.list, 0, 1)
	}
	w.list = append(w.list, c)
}
