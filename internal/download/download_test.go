package download

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hgld/internal/filelock"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// server serves one file and can misbehave.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	content  []byte
	tag      string
	cutAfter int  // truncates each answer after so many bytes; 0: not at all
	noRange  bool // Range is not supported
	status   int  // status of an answer without the file; 0: the file is sent
	ranges   []string
}

func serve(t *testing.T, content []byte) *server {
	s := &server{content: content, tag: `"one"`}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	if s.status != 0 {
		w.WriteHeader(s.status)
		return
	}
	if s.noRange {
		r.Header.Del("Range")
	}
	testfile.Serve(w, r, s.content, s.tag, s.cutAfter)
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 3)
	}
	return b
}

func (s *server) fetch(t *testing.T, part string) (Result, error) {
	t.Helper()
	return Fetch(t.Context(), Request{URL: s.URL + "/w", Part: part, Sleep: noSleep})
}

func wantFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of sha256 %x, want %d: %v", len(got), sha256.Sum256(got), len(want), err)
	}
}

func TestInterruptedTransferResumes(t *testing.T) {
	s := serve(t, content(1<<20))
	s.cutAfter = 300_000
	part := filepath.Join(t.TempDir(), "part")
	got, err := s.fetch(t, part)
	if err != nil || got.Bytes != 1<<20 {
		t.Fatalf("%+v, %v", got, err)
	}
	wantFile(t, part, s.content)
	if want := "[ bytes=300000- bytes=600000- bytes=900000-]"; fmt.Sprint(s.ranges) != want {
		t.Errorf("asked for %v, want %s", s.ranges, want)
	}
}

// The transfer fails in one process and resumes in another.
func TestNextTransferKeepsTheBytesOfTheLast(t *testing.T) {
	s := serve(t, content(1<<20))
	part := filepath.Join(t.TempDir(), "part")
	s.cutAfter = 400_000
	first := true
	cancelled := Request{URL: s.URL + "/w", Part: part, Sleep: noSleep, Progress: func(done, total int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if first = first && done < 400_000; !first {
			s.status = http.StatusServiceUnavailable
		}
	}}
	var temporary *TemporaryError
	if _, err := Fetch(t.Context(), cancelled); !errors.As(err, &temporary) || temporary.Bytes != 400_000 {
		t.Fatalf("%v, want a temporary error after 400000 bytes", err)
	}
	s.status, s.cutAfter = 0, 0
	if got, err := s.fetch(t, part); err != nil || got.Kept != 400_000 || got.Changed {
		t.Errorf("%+v, %v", got, err)
	}
	wantFile(t, part, s.content)
	if got, err := s.fetch(t, part); err != nil || got.Kept != 1<<20 { // already complete: 416
		t.Errorf("%+v, %v", got, err)
	}
	wantFile(t, part, s.content)
}

// half leaves the first part of the file.
func half(t *testing.T, s *server) (part string) {
	t.Helper()
	part = filepath.Join(t.TempDir(), "part")
	must.Do(t, os.WriteFile(part, s.content[:len(s.content)/2], 0o644))
	record := fmt.Sprintf(`{"url":"%s/w","validator":%q,"done":%d,"total":%d}`, s.URL, s.tag, len(s.content)/2,
		len(s.content))
	must.Do(t, os.WriteFile(StatePath(part), []byte(record), 0o644))
	return part
}

func TestChangedFileOnTheServerIsFetchedWhole(t *testing.T) {
	s := serve(t, content(100_000))
	part := half(t, s)
	s.content, s.tag = bytes.Repeat([]byte("b"), 100_000), `"two"`
	got, err := s.fetch(t, part)
	if err != nil || !got.Changed || got.Kept != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	wantFile(t, part, s.content)
}

// A server that ignores If-Range sends a part of the new file, with its new ETag.
func TestPartOfAChangedFileIsNotAppended(t *testing.T) {
	s := serve(t, content(100_000))
	part := half(t, s)
	s.content, s.tag = bytes.Repeat([]byte("b"), 100_000), `"two"`
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("If-Range")
		s.answer(w, r)
	})
	if got, err := s.fetch(t, part); err != nil || !got.Changed {
		t.Errorf("%+v, %v", got, err)
	}
	wantFile(t, part, s.content)
}

// Such a server answers 416, with a text, if its new file is shorter than what was fetched.
func TestRangeNotSatisfiableIsNotAppended(t *testing.T) {
	s := serve(t, content(100_000))
	part := half(t, s)
	s.content, s.tag = []byte("short"), `"two"`
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("If-Range")
		s.answer(w, r)
	})
	if got, err := s.fetch(t, part); err != nil || !got.Changed || got.Bytes != int64(len(s.content)) {
		t.Errorf("%+v, %v", got, err)
	}
	wantFile(t, part, s.content)
}

func TestServerWithoutRangesSendsTheFileWhole(t *testing.T) {
	s := serve(t, content(100_000))
	part := half(t, s)
	s.noRange = true
	if got, err := s.fetch(t, part); err != nil || got.Changed || !got.Whole {
		t.Errorf("%+v, %v", got, err)
	}
	wantFile(t, part, s.content)
}

// Without a validator, the rest may not belong to the beginning.
func TestTransferWithoutValidatorRestarts(t *testing.T) {
	s := serve(t, content(100_000))
	s.tag = ""
	part := half(t, s)
	if got, err := s.fetch(t, part); err != nil || got.Kept != 0 || s.ranges[0] != "" {
		t.Errorf("%+v, %v, %q", got, err, s.ranges)
	}
	wantFile(t, part, s.content)
}

// A record that claims more bytes than are on disk, or that is damaged, guarantees nothing.
func TestDamagedStateRestartsTheTransfer(t *testing.T) {
	for _, record := range []string{`{"url":"URL/w","validator":"\"one\"","done":60000}`, "{", ""} {
		s := serve(t, content(100_000))
		part := half(t, s)
		must.Do(t, os.WriteFile(StatePath(part), []byte(strings.ReplaceAll(record, "URL", s.URL)), 0o644))
		if got, err := s.fetch(t, part); err != nil || got.Kept != 0 {
			t.Errorf("%q: %+v, %v", record, got, err)
		}
		wantFile(t, part, s.content)
	}
}

func TestClientErrorsAreNotRetried(t *testing.T) {
	s := serve(t, nil)
	for _, code := range []int{404, 403, 401} {
		s.status, s.ranges = code, nil
		var status *StatusError
		if _, err := s.fetch(t, filepath.Join(t.TempDir(), "part")); !errors.As(err, &status) || status.Status != code ||
			len(s.ranges) != 1 {
			t.Errorf("%d: %v after %d requests", code, err, len(s.ranges))
		}
	}
	s.status, s.ranges = 503, nil
	if _, err := s.fetch(t, filepath.Join(t.TempDir(), "part")); !errors.As(err, new(*TemporaryError)) ||
		len(s.ranges) != attempts {
		t.Errorf("503: %v after %d requests", err, len(s.ranges))
	}
	for _, address := range []string{"ftp://host/w", "weights.pth", "http://"} {
		if _, err := Fetch(t.Context(), Request{URL: address, Part: filepath.Join(t.TempDir(), "p")}); err == nil ||
			!strings.Contains(err.Error(), "is not an address") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestSecondProcessDoesNotWriteTheSameFile(t *testing.T) {
	s := serve(t, content(10))
	part := filepath.Join(t.TempDir(), "part")
	f := must.Get(os.Create(part))(t)
	defer f.Close()
	must.Do(t, filelock.Take(f))
	if _, err := s.fetch(t, part); !errors.As(err, new(*filelock.LockedError)) {
		t.Errorf("%v", err)
	}
}

// The hash of a file covers what earlier transfers left, and nothing of a file that the server no longer has.
func TestSumIsOfTheWholeFile(t *testing.T) {
	s := serve(t, content(1<<20))
	s.cutAfter = 300_000
	part := half(t, s)
	sum := sha256.New()
	fetch := func(what string, p string) {
		t.Helper()
		got, err := Fetch(t.Context(), Request{URL: s.URL + "/w", Part: p, Sleep: noSleep, Sum: sum})
		if want := sha256.Sum256(s.content); err != nil || !bytes.Equal(sum.Sum(nil), want[:]) {
			t.Errorf("%s: %+v, %v, sha256 %x, want %x", what, got, err, sum.Sum(nil), want)
		}
	}
	fetch("resumed", part)
	fetch("complete already", part)
	part = half(t, s)
	s.content, s.tag = bytes.Repeat([]byte("b"), 500_000), `"two"`
	fetch("changed", part)
	refused := errors.New("too large")
	_, err := Fetch(t.Context(), Request{URL: s.URL + "/w", Part: filepath.Join(t.TempDir(), "p"), Sleep: noSleep,
		Accept: func(total int64, stated bool) error {
			if total != 500_000 || !stated {
				t.Errorf("asked about %d bytes", total)
			}
			return refused
		}})
	if !errors.Is(err, refused) {
		t.Error(err)
	}
}
