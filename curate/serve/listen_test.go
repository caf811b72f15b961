package serve

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"
)

func TestServeEndsWithItsContext(t *testing.T) {
	s, _, _ := newServer(t, testDraft(3), nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	answer, err := http.Get("http://" + listener.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
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
