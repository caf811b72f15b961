package serve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hgld/curate"
)

// TestForgedRequestsAreRefused sends what other pages, other users and names that
// point at this machine could send. None is answered, GETs included.
func TestForgedRequestsAreRefused(t *testing.T) {
	_, a, path := newServer(t, testDraft(30), func(c *Config) { c.Examples = exampleFake{} })
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
	cookie := func(value string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del("Cookie")
			if value != "" {
				r.AddCookie(&http.Cookie{Name: a.cookie.Name, Value: value})
			}
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
		{"GET", "/image/good", header("Host", "evil.example:8350")},
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
		{"GET", "/image/good", header("Sec-Fetch-Site", "cross-site")},
		{"POST", "/api/edit", header(TokenHeader, "")},
		{"POST", "/api/edit", header(TokenHeader, strings.Repeat("0", 64))},
		{"GET", "/api/state", header(TokenHeader, "")},
		{"GET", "/api/history", header(TokenHeader, strings.Repeat("f", 64))},
		{"POST", "/api/edit", cookie("")},
		{"POST", "/api/edit", cookie("guess")},
		{"GET", "/", cookie("")},
		{"GET", "/page/app.js", cookie("")},
		{"GET", "/image/good", cookie("guess")},
		{"GET", "/api/state", cookie(a.token)},
		{"POST", "/api/edit", header("Content-Type", "text/plain")},
		{"POST", "/api/edit", header("Content-Type", "application/x-www-form-urlencoded")},
		{"POST", "/api/edit", header("Content-Type", "")},
		{"PUT", "/api/edit", nil}, {"DELETE", "/api/edit", nil}, {"PATCH", "/api/edit", nil}, {"OPTIONS", "/api/edit", nil}, {"HEAD", "/", nil},
		{"POST", "/?key=guess", cookie("")},
		{"GET", "/?key=guess", cookie("")},
		{"GET", "/?key=", cookie("")},
	} {
		body := ""
		if f.method == "POST" {
			body = edit
		}
		resp, text := a.do(f.method, f.path, body, f.change)
		if resp.StatusCode != http.StatusForbidden || strings.Contains(text, "tag 1") || strings.Contains(text, a.token) || len(resp.Cookies()) > 0 {
			t.Errorf("%d. %s %s: %s %.80q", i+1, f.method, f.path, resp.Status, text)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'self'") {
			t.Errorf("%d. %s %s: headers %v", i+1, f.method, f.path, resp.Header)
		}
	}
	for _, get := range []string{"/api/edit", "/api/split", "/api/suggest", "/api/finish"} {
		if resp, text := a.do("GET", get+"?id=forged-edit&base=0&op=move", "", nil); resp.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("GET %s: %s %s", get, resp.Status, text)
		}
	}
	if c, err := curate.ReadLog(path); err != nil || len(c.Edits) != 0 {
		t.Errorf("forged requests made %d edits: %v", len(c.Edits), err)
	}
}

func TestTheLinkWorksOnce(t *testing.T) {
	var next []string
	s, a, _ := newServer(t, testDraft(10), func(c *Config) { c.Linked = func(key string) { next = append(next, key) } })
	if len(next) != 1 || next[0] != s.Key() {
		t.Fatalf("the next links are %v, the key is %s", next, s.Key())
	}
	stranger := &client{t: t, url: a.url}
	used := "/?key=" + s.Key()
	(&client{t: t, url: a.url}).enter(s)
	if resp, text := stranger.do("GET", used, "", nil); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a used link: %s %s", resp.Status, text)
	}
	if resp, _ := a.do("GET", used, "", nil); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("a used link in a browser that was let in: %s, want the page", resp.Status)
	}
	stranger.enter(s)
	if stranger.token != a.token || len(next) != 3 || next[0] == next[1] || next[1] == next[2] {
		t.Errorf("the second browser has another token, or the links %v are one", next)
	}
}

func TestThePageIsOnlyItsOwnFiles(t *testing.T) {
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
	entries, err := files.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := files.ReadFile("page/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser"} {
			if strings.Contains(string(data), bad) {
				t.Errorf("%s uses %s: text is set as text", e.Name(), bad)
			}
		}
	}
}

func TestABodyHasALimit(t *testing.T) {
	_, a, _ := newServer(t, testDraft(10), nil)
	resp, text := a.do("POST", "/api/edit", fmt.Sprintf(`{"id":"%s"}`, strings.Repeat("x", bodyLimit)), nil)
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(text, "too large") {
		t.Errorf("%s %s", resp.Status, text)
	}
}
