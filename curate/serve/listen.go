package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// lastAnswers is how long a server that ends waits for browsers to read their answers.
const lastAnswers = 5 * time.Second

// Serve serves the page to a listener until ctx is cancelled, then stops, and closes the
// listener. It returns ctx.Err() if a browser did not read its answer; no edit is pending
// even then.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	web := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: writeLimit, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
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
