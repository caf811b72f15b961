package objectstore

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"

	"hgld/internal/testing/fakes3"
	"hgld/internal/testing/must"
)

// stalling makes a server leave reads of one object without an answer, or with the beginning of one. A request that
// stalls is announced.
func stalling(server *fakes3.Server, after int) <-chan struct{} {
	stalled := make(chan struct{}, 10)
	server.SetFault(func(r *http.Request, _ int) fakes3.Fault {
		if r.Method != http.MethodGet || r.Header.Get("Range") == "" {
			return fakes3.Fault{}
		}
		return fakes3.Fault{Stall: stalled, After: after}
	})
	return stalled
}

func TestAReadInFlightEndsWithItsContext(t *testing.T) {
	for _, cache := range []string{"0", "20MB"} {
		for _, after := range []int{0, 1000} {
			server := fakes3.Start(t)
			t.Setenv(CacheSizeVariable, cache)
			s, data := open(t), noise(3*blockBytes, 1)
			must.Do(t, s.Write(t.Context(), "a", data))
			o := must.Get(s.Open(t.Context(), "a"))(t)
			stalled := stalling(server, after)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := o.ReadAtContext(ctx, make([]byte, blockBytes), 100)
				ended <- err
			}()
			<-stalled
			stop()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("cache of %s, after %d bytes: error %v", cache, after, err)
			}
			// Another reader of the object is not stopped.
			server.SetFault(nil)
			got := make([]byte, blockBytes)
			if n, err := o.ReadAt(got, 100); n != len(got) || err != nil || !bytes.Equal(got, data[100:100+n]) {
				t.Errorf("cache of %s, after %d bytes: %d bytes of another reader, error %v", cache, after, n, err)
			}
		}
	}
}

// A reader that waits for the block of another one is stopped alone, and the block comes.
func TestAReaderThatWaitsForAnotherIsStoppedAlone(t *testing.T) {
	server := fakes3.Start(t)
	s, data := open(t), noise(blockBytes, 1)
	must.Do(t, s.Write(t.Context(), "a", data))
	o := must.Get(s.Open(t.Context(), "a"))(t)
	stalled := stalling(server, 0)
	first, stopFirst := context.WithCancel(t.Context())
	second, stopSecond := context.WithCancel(t.Context())
	read := func(ctx context.Context) <-chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := o.ReadAtContext(ctx, make([]byte, 100), 0)
			ended <- err
		}()
		return ended
	}
	one := read(first)
	<-stalled
	two := read(second)
	stopSecond()
	if err := <-two; !errors.Is(err, context.Canceled) {
		t.Errorf("the second: %v", err)
	}
	select {
	case err := <-one:
		t.Errorf("the first has ended: %v", err)
	default:
	}
	// A third takes over from the first.
	three := read(t.Context())
	server.SetFault(nil)
	stopFirst()
	if err := <-one; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	if err := <-three; err != nil {
		t.Errorf("the third: %v", err)
	}
}
