package serve

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"hgld/curate"
	"hgld/internal/testing/must"
)

// TestForgedRequestsAreRefused sends requests that other pages, other users and names that point at
// this machine could send. None is answered, GETs included.
func TestForgedRequestsAreRefused(t *testing.T) {
	s, a, path := newServer(t, testDraft(30), func(c *Config) { c.Examples = exampleFake{} })
	good := "/image/" + s.guard.stamp("good")
	edit := `{"id":"forged-edit","base":0,"op":"move","to":"x","from":[{"name":"tag 1"}]}`
	header := func(key, value string) func(*http.Request) {
		return func(r *http.Request) {
			if key == "Host" {
				r.Host = value
			} else if value == "" {
				r.Header.Del(key)
			} else {
				r.Header.Set(key, value)
			}
		}
	}
	// What a browser sends of its own accord opens nothing.
	cookie := func(value string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del(TokenHeader)
			r.AddCookie(&http.Cookie{Name: "hgld-8350", Value: value})
		}
	}
	for i, f := range []struct {
		method, path string
		change       func(*http.Request)
	}{
		{"GET", "/", header("Host", "evil.example")},
		{"GET", "/", header("Host", "evil.example:8350")},
		{"GET", "/api/state", header("Host", "evil.example:8350")},
		{"GET", "/api/state", header("Host", "127.0.0.1")},
		{"GET", "/api/state", header("Host", "127.0.0.1:8351")},
		{"GET", "/api/state", header("Host", "127.0.0.1.evil.example:8350")},
		{"GET", "/api/state", header("Host", "localhost.evil.example")},
		{"GET", good, header("Host", "evil.example:8350")},
		{"GET", "/page/app.js", header("Host", "evil.example:8350")},
		{"POST", "/api/edit", header("Host", "evil.example:8350")},
		{"POST", "/api/edit", header("Origin", "http://evil.example")},
		{"POST", "/api/edit", header("Origin", "null")},
		{"POST", "/api/edit", header("Origin", "https://"+testPort)},
		{"POST", "/api/edit", header("Origin", "http://127.0.0.1:9999")},
		{"POST", "/api/edit", header("Origin", "http://localhost:8350")},
		{"POST", "/api/edit", header("Origin", "")},
		{"GET", "/api/state", header("Origin", "http://evil.example")},
		{"GET", "/api/changes?since=0", header("Origin", "http://127.0.0.1:9999")},
		{"GET", "/api/state", header("Sec-Fetch-Site", "cross-site")},
		{"GET", "/api/state", header("Sec-Fetch-Site", "same-site")},
		{"GET", "/api/state", header("Sec-Fetch-Site", "none")},
		{"GET", "/", header("Sec-Fetch-Site", "cross-site")},
		{"GET", good, header("Sec-Fetch-Site", "cross-site")},
		{"POST", "/api/edit", header(TokenHeader, "")},
		{"POST", "/api/edit", header(TokenHeader, strings.Repeat("0", 64))},
		{"GET", "/api/state", header(TokenHeader, "")},
		{"GET", "/api/history", header(TokenHeader, strings.Repeat("f", 64))},
		{"GET", "/api/changes?since=0", header(TokenHeader, "")},
		{"GET", "/api/map", header(TokenHeader, "")},
		{"GET", "/api/examples?tag=1", header(TokenHeader, a.Secret)},
		{"GET", "/api/agreement", header(TokenHeader, "")},
		{"POST", "/api/edit", cookie(a.Token)},
		{"GET", "/api/state", cookie(a.Token)},
		{"GET", "/api/state", cookie(a.Secret)},
		{"GET", "/api/state?token=" + a.Token, header(TokenHeader, "")},
		{"GET", "/image/good", nil},
		{"GET", "/image/" + strings.Repeat("0", imageStamp) + "good", nil},
		{"GET", "/image/" + s.guard.stamp("page")[:imageStamp] + "good", nil},
		{"GET", "/image/", nil},
		{"GET", "/elsewhere", header(TokenHeader, "")},
		{"POST", "/api/edit", header("Content-Type", "text/plain")},
		{"POST", "/api/edit", header("Content-Type", "application/x-www-form-urlencoded")},
		{"POST", "/api/edit", header("Content-Type", "")},
		{"PUT", "/api/edit", nil}, {"DELETE", "/api/edit", nil}, {"PATCH", "/api/edit", nil}, {"OPTIONS", "/api/edit", nil},
		{"HEAD", "/", nil},
		{"POST", openPath, header("Origin", "http://127.0.0.1:9999")},
		{"POST", openPath, header("Sec-Fetch-Site", "same-site")},
		{"POST", openPath, header("Content-Type", "text/plain")},
	} {
		body := ""
		if f.method == "POST" {
			body = edit
		}
		resp, text := a.do(f.method, f.path, body, f.change)
		if resp.StatusCode != http.StatusForbidden || strings.Contains(text, "tag 1") || strings.Contains(text, a.Token) ||
			len(resp.Cookies()) > 0 {
			t.Errorf("%d. %s %s: %s %.80q", i+1, f.method, f.path, resp.Status, text)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" ||
			!strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'self'") {
			t.Errorf("%d. %s %s: headers %v", i+1, f.method, f.path, resp.Header)
		}
	}
	for _, get := range []string{"/api/edit", "/api/split", "/api/suggest", "/api/finish"} {
		if resp, text := a.do("GET", get+"?id=forged-edit&base=0&op=move", "",
			nil); resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %s %s", get, resp.Status, text)
		}
	}
	if c, err := curate.ReadLog(path); err != nil || len(c.Edits) != 0 {
		t.Errorf("forged requests made %d edits: %v", len(c.Edits), err)
	}
}

func TestLinkWorksOnce(t *testing.T) {
	var next []string
	s, a, _ := newServer(t, testDraft(10), func(c *Config) { c.Linked = func(key string) { next = append(next, key) } })
	if len(next) != 1 || next[0] != s.Key() {
		t.Fatalf("the next links are %v, the key is %s", next, s.Key())
	}
	stranger := &client{t: t, url: a.url}
	used := s.Key()
	(&client{t: t, url: a.url}).enter(s)
	for _, key := range []string{used, "", "guess", used + "x"} {
		if code := stranger.post(openPath, map[string]string{"key": key}, nil); code != http.StatusForbidden {
			t.Errorf("the key %q, used or guessed: %d", key, code)
		}
	}
	stranger.enter(s)
	if stranger.Token != a.Token || len(next) != 3 || next[0] == next[1] || next[1] == next[2] {
		t.Errorf("the second browser has another token, or the links %v are one", next)
	}
}

// Nothing that was sent to a server, and nothing that its page knows, opens the next server of the
// same log.
func TestSecretsEndWithTheServer(t *testing.T) {
	first, a, _ := newServer(t, testDraft(10), func(c *Config) { c.Examples = exampleFake{} })
	_, b, path := newServer(t, testDraft(10), func(c *Config) { c.Examples = exampleFake{} })
	for _, token := range []string{a.Token, a.Secret, first.Key(), a.Queue} {
		for _, req := range [][2]string{{"GET", "/api/state"}, {"POST", "/api/edit"}} {
			resp, text := b.do(req[0], req[1], "{}", func(r *http.Request) { r.Header.Set(TokenHeader, token) })
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s with what opened the first server: %s %s", req[0], req[1], resp.Status, text)
			}
		}
		if code := b.post(openPath, map[string]string{"key": token}, nil); code != http.StatusForbidden {
			t.Errorf("%q is the key of the next server: %d", token, code)
		}
	}
	if resp, _ := b.do("GET", "/image/"+first.guard.stamp("good"), "", nil); resp.StatusCode != http.StatusForbidden {
		t.Errorf("an image by its name of the first server: %s", resp.Status)
	}
	if c, err := curate.ReadLog(path); err != nil || len(c.Edits) != 0 {
		t.Errorf("the log: %d edits, %v", len(c.Edits), err)
	}
}

// The secret, which no request carries, proves an answer. A refusal has no proof, so that a page
// never takes it for an answer of its server.
func TestAnswersCarryAProof(t *testing.T) {
	s, a, _ := newServer(t, testDraft(10), nil)
	ask := func(method, path, body, nonce, token string) (int, string) {
		t.Helper()
		resp, _ := a.do(method, path, body, func(r *http.Request) {
			r.Header.Set(NonceHeader, nonce)
			r.Header.Set(TokenHeader, token)
		})
		return resp.StatusCode, resp.Header.Get(ProofHeader)
	}
	want := (&guard{secret: a.Secret}).derive("proof one")
	for _, c := range []struct {
		method, path, body, nonce, token string
		code                             int
		proof                            string
	}{
		{"GET", "/api/state", "", "one", a.Token, 200, want},
		{"POST", "/api/edit", `{"id":"12345678","draft":"","op":"move"}`, "one", a.Token, 422, want},
		{"POST", "/api/edit", `{`, "one", a.Token, 400, want},
		{"GET", "/api/nothing", "", "one", a.Token, 404, want},
		{"GET", "/api/state", "", "", a.Token, 200, ""},
		{"GET", "/api/state", "", strings.Repeat("x", longestNonce+1), a.Token, 200, ""},
		{"GET", "/api/state", "", "one", "", 403, ""},
		{"POST", "/api/edit", `{}`, "one", s.Key(), 403, ""},
	} {
		if code, proof := ask(c.method, c.path, c.body, c.nonce, c.token); code != c.code || proof != c.proof {
			t.Errorf("%s %s, nonce %.9q: %d and the proof %.9q, want %d and %.9q", c.method, c.path, c.nonce, code, proof,
				c.code, c.proof)
		}
	}
	if want == (&guard{secret: a.Token}).derive("proof one") {
		t.Error("the token, which is sent, makes the proof")
	}
}

// The files of the page are the same for everybody and contain nothing of the log.
func TestPageFilesHoldNoData(t *testing.T) {
	s, a, _ := newServer(t, testDraft(10), nil)
	stranger := &client{t: t, url: a.url}
	for _, path := range []string{"/", "/page/app.js", "/page/net.js"} {
		resp, text := stranger.do("GET", path, "", nil)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
		for _, secret := range []string{a.Token, a.Secret, s.Key(), a.Queue, "anna", "edits.jsonl", "tag 1"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q", path, secret)
			}
		}
	}
}

func TestPageServesOnlyItsOwnFiles(t *testing.T) {
	_, a, _ := newServer(t, testDraft(10), nil)
	_, page := a.do("GET", "/", "", nil)
	for _, bad := range []string{"<style", "style=", " onclick", "http://", "https://", "<script>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, name := range []string{"page.html", "..%2fserve.go", "%2e%2e/serve.go", "none.js", ""} {
		if resp, _ := a.do("GET", "/page/"+name, "", nil); resp.StatusCode == http.StatusOK {
			t.Errorf("/page/%s is answered", name)
		}
	}
	if resp, _ := a.do("GET", "/page/dom.js", "", nil); resp.StatusCode != http.StatusOK {
		t.Error("the parts that pages share are not served")
	}
	entries := must.Get(files.ReadDir("page"))(t)
	for _, e := range entries {
		data := must.Get(files.ReadFile("page/" + e.Name()))(t)
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
			"new Function", "DOMParser"} {
			if strings.Contains(string(data), bad) {
				t.Errorf("%s uses %s: text is set as text", e.Name(), bad)
			}
		}
	}
}

// TestStrangersFillNoMemory sends large and slow bodies without the token, to the path that takes the
// key of a link and to one that refuses them.
func TestStrangersFillNoMemory(t *testing.T) {
	s, a, _ := newServer(t, testDraft(10), nil)
	a.Token = ""
	for size, want := range map[int]int{900: http.StatusForbidden, 1100: http.StatusRequestEntityTooLarge,
		bodyLimit / 2: http.StatusRequestEntityTooLarge} {
		body := fmt.Sprintf(`{"key":"%s"}`, strings.Repeat("x", size))
		if resp, text, err := a.try("POST", openPath, body, nil); err == nil && resp.StatusCode != want {
			t.Errorf("%d bytes: %s %.80s, want %d", size, resp.Status, text, want)
		} else if err != nil && size < bodyLimit/2 { // the server may close while the rest is sent
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	s.guard.wait = 50 * time.Millisecond
	for _, path := range []string{openPath, "/api/edit"} {
		c := must.Get(net.Dial("tcp", strings.TrimPrefix(a.url, "http://")))(t)
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\n"+
			"Content-Length: 1000\r\n\r\n{", path, testPort, testPort)
		must.Do(t, c.SetReadDeadline(time.Now().Add(5*time.Minute)))
		if _, err := io.Copy(io.Discard, c); err != nil { // until the server closes
			t.Errorf("%s with a body that never ends: %v", path, err)
		}
	}
}

func TestBodySizeIsLimited(t *testing.T) {
	_, a, _ := newServer(t, testDraft(10), nil)
	resp, text := a.do("POST", "/api/edit", fmt.Sprintf(`{"id":"%s"}`, strings.Repeat("x", bodyLimit)), nil)
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text, "too large") {
		t.Errorf("%s %s", resp.Status, text)
	}
}
