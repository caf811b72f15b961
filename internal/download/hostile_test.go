package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// TestPauseIsShortAgainAfterABytes cuts a transfer 17 times. Each attempt brings bytes, so that every
// pause is the first one.
func TestPauseIsShortAgainAfterABytes(t *testing.T) {
	s := serve(t, content(180_000))
	s.cutAfter = 10_000
	part := filepath.Join(t.TempDir(), "part")
	var pauses []time.Duration
	r := Request{URL: s.URL + "/w", Part: part, Sleep: func(ctx context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return ctx.Err()
	}}
	if _, err := Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	wantFile(t, part, s.content)
	if want := slices.Repeat([]time.Duration{time.Second}, 17); !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want 17 of a second", pauses)
	}
	s.status, pauses = http.StatusServiceUnavailable, nil
	r.Part = filepath.Join(t.TempDir(), "part")
	if _, err := Fetch(t.Context(), r); !errors.As(err, new(*TemporaryError)) {
		t.Error(err)
	}
	if want := []time.Duration{1e9, 2e9, 4e9}; !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
}

// TestDishonestAnswersEnd lets servers break the rules. Each is asked a few times only, and its error
// is not one that another try mends.
func TestDishonestAnswersEnd(t *testing.T) {
	file := content(1000)
	part := func(header string, body []byte, length bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"one"`)
			if r.Header.Get("Range") == "" {
				w.Write(file)
				return
			}
			w.Header().Set("Content-Range", header)
			if length {
				w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			}
			w.WriteHeader(http.StatusPartialContent)
			if !length {
				w.(http.Flusher).Flush()
			}
			w.Write(body)
		}
	}
	to := func(address string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", address)
			w.WriteHeader(http.StatusFound)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a part with more bytes": {part("bytes 500-999/1000", content(700), false), "more than the 1000 bytes"},
		"a part and its length":  {part("bytes 500-999/1000", content(700), true), "700 bytes as the part"},
		"a part beyond the file": {part("bytes 500-1000/1000", content(501), true), "501 bytes as the part"},
		"a part backwards":       {part("bytes 500-499/1000", nil, true), "as the part"},
		"no size, no end": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				w.Write(content(1000))
				w.(http.Flusher).Flush()
			}
		}, "more than the 5000 bytes"},
		"an encoded body": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "br") },
			"plain bytes"},
		"a redirect to a file": {to("file:///etc/passwd?token=SECRET"), "a redirect to file:///etc/passwd"},
		"a redirect to ftp":    {to("ftp://user:SECRET@host/w"), "a redirect to ftp://host/w"},
		"a circle":             {to("/w"), "more than 10 redirects"},
		"no address":           {to("http://[SECRET"), "a redirect to no address"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked++; c.answer(w, r) }))
			defer s.Close()
			path := half(t, &server{Server: s, content: file, tag: `"one"`})
			_, err := Fetch(t.Context(), Request{URL: s.URL + "/w", Part: path, Sleep: noSleep, Unsized: 5000})
			if !errors.As(err, new(*AnswerError)) || errors.As(err, new(*TemporaryError)) ||
				!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET") || asked > redirects {
				t.Errorf("%v after %d requests, want %q", err, asked, c.want)
			}
		})
	}
}

func TestRedirectsKeepTheEncryption(t *testing.T) {
	at := func(address string) *http.Request {
		r := must.Get(http.NewRequest(http.MethodGet, address, nil))(t)
		r.Header.Set("Referer", "https://a/w?signature=SECRET")
		return r
	}
	for _, c := range []struct {
		to   string
		via  []string
		good bool
	}{
		{"https://b/w", []string{"https://a/w"}, true},
		{"https://b/w", []string{"http://a/w"}, true},
		{"http://b/w", []string{"http://a/w"}, true},
		{"http://b/w", []string{"https://a/w"}, false},
		{"http://b/w", []string{"http://a/w", "https://a/w"}, false},
	} {
		var via []*http.Request
		for _, address := range c.via {
			via = append(via, at(address))
		}
		to := at(c.to)
		if err := checkRedirect(to, via); (err == nil) != c.good || err != nil && !errors.As(err, new(*AnswerError)) {
			t.Errorf("%v -> %s: %v", c.via, c.to, err)
		}
		if got := to.Header.Get("Referer"); got != "" {
			t.Errorf("the next server is told %s", got)
		}
	}
}

func TestPublicAddressHasNoSecret(t *testing.T) {
	for address, want := range map[string]string{
		"https://h/w.pth":                              "https://h/w.pth",
		"https://h/w.pth?download=true&v=2":            "https://h/w.pth?download=true&v=2",
		"https://me:SECRET@h/w.pth":                    "https://h/w.pth",
		"https://SECRET@h/w.pth#SECRET":                "https://h/w.pth",
		"https://h/w?X-Amz-Signature=SECRET&v=2":       "https://h/w?X-Amz-Signature=…&v=2",
		"https://h/w?SECRET":                           "https://h/w?…",
		"https://h/w?sig=SECRET;token=SECRET":          "https://h/w?sig=…&token=…",
		"https://me:SECRET@h:port/w":                   "…",
		"SECRET:SECRET@h":                              "…",
		"https:me:SECRET@h":                            "…",
		"https://h/w?file=" + strings.Repeat("S", 201): "https://h/w?file=…",
	} {
		got, whole := Public(address)
		if got != want || whole != (got == address) {
			t.Errorf("%s: %s, %v; want %s", address, got, whole, want)
		}
	}
}

// TestSecretsStayOutOfFilesAndErrors fails at every step of a transfer whose address has secrets.
func TestSecretsStayOutOfFilesAndErrors(t *testing.T) {
	s := serve(t, content(100_000))
	secret := strings.Replace(s.URL, "http://", "http://me:SECRET@", 1) + "/w?sig=SECRET#SECRET"
	dir := t.TempDir()
	part := filepath.Join(dir, "part")
	check := func(what string, err error) {
		t.Helper()
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", what, err)
		}
		for _, path := range []string{part, StatePath(part)} {
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte("SECRET")) {
				t.Errorf("%s: %s has a secret: %s", what, path, text)
			}
		}
	}
	fetch := func(address string) error {
		_, err := Fetch(t.Context(), Request{URL: address, Part: part, Sleep: noSleep})
		return err
	}
	for _, code := range []int{403, 404, 429, 503} {
		s.status = code
		check(fmt.Sprint(code), fetch(secret))
	}
	s.status, s.cutAfter = 0, 1
	s.tag = ""
	check("cut", fetch(secret))
	s.cutAfter, s.tag = 0, `"one"`
	must.Do(t, fetch(secret))
	s.Close()
	check("no server", fetch(secret))
	for _, address := range []string{"ftp://me:SECRET@h/w", "http://me:SECRET@h:x/w", "http://me:SECRET@[h/w",
		"http://SECRET@"} {
		check(address, fetch(address))
	}
}

// A server that does not say the size of a file may not fill the disk, and what was accepted is not exceeded.
func TestSizeIsAcceptedAsItArrivesWhereItIsNotStated(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			w.Write(make([]byte, 100_000))
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	const most = 1_000_000
	part, refused := filepath.Join(t.TempDir(), "p"), errors.New("too large")
	_, err := Fetch(t.Context(), Request{URL: server.URL, Part: part, Sleep: noSleep,
		Accept: func(total int64, stated bool) error {
			if total > most || stated {
				return refused
			}
			return nil
		}})
	if info, e := os.Stat(part); err != refused || e != nil || info.Size() > most || info.Size() == 0 {
		t.Errorf("%v, %v, %v, want at most %d bytes", err, info, e, most)
	}
}

// A link in the place of the partial file, or of its record, would be written through.
func TestLinksAreNotWrittenThrough(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(content(100)) }))
	defer server.Close()
	for _, name := range []string{"p", "p.json"} {
		dir := t.TempDir()
		mine := filepath.Join(dir, "mine")
		must.Do(t, os.WriteFile(mine, []byte("mine"), 0o600))
		if err := os.Symlink(mine, filepath.Join(dir, name)); err != nil {
			t.Logf("no links here: %v", err)
			return
		}
		_, err := Fetch(t.Context(), Request{URL: server.URL, Part: filepath.Join(dir, "p"), Sleep: noSleep})
		if err == nil || !strings.Contains(err.Error(), name+" is a link, want a regular file") {
			t.Errorf("%s: %v", name, err)
		}
		wantFile(t, mine, []byte("mine"))
	}
}
