package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
)

const testOrigin = "https://curate.example.org"

// throughProxy makes a request one of a page at the proxy's origin.
func throughProxy(r *http.Request) {
	r.Host = "curate.example.org"
	if r.Method == http.MethodPost {
		r.Header.Set("Origin", testOrigin)
	}
}

// People come through a proxy, each with a link of their own that works again. Their edits have their names, and
// neither the other's pass nor the name in an order changes that.
func TestPeopleEditInTheirOwnNames(t *testing.T) {
	people := []Person{{"Ben", strings.Repeat("b", leastPass)}, {"Carla", strings.Repeat("c", leastPass)}}
	s, a, path := newServer(t, testDraft(30), func(c *Config) { c.Origin, c.People = testOrigin, people })
	enter := func(key string) *client {
		c := &client{t: t, url: a.url, draft: a.draft}
		resp, text := c.do("POST", openPath, `{"key":"`+key+`"}`, throughProxy)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("a personal link gives %s", resp.Status)
		}
		decode(t, text, &c.pass)
		return c
	}
	ben, again, carla := enter(people[0].Pass), enter(people[0].Pass), enter(people[1].Pass)
	if ben.pass != again.pass || ben.Token == carla.Token || ben.Secret == carla.Secret ||
		ben.Queue == carla.Queue || ben.Secret == a.Secret {
		t.Errorf("the passes are %+v, %+v and %+v", ben.pass, carla.pass, a.pass)
	}
	for i, c := range []*client{ben, carla} {
		e := `{"id":"edit-of-` + people[i].Name + `","draft":"","base":` +
			[]string{"0", "1"}[i] + `,"op":"accept","to":"cluster 0","from":[{"name":"tag ` + []string{"1", "2"}[i] + `"}]}`
		resp, text := c.do("POST", "/api/edit", e, throughProxy)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("an edit of %s: %s %s", people[i].Name, resp.Status, text)
		}
		resp, text = c.do("GET", "/api/state", "", func(r *http.Request) { throughProxy(r); r.Header.Set(NonceHeader, "n") })
		if !strings.Contains(text, `"by":"`+people[i].Name+`"`) ||
			resp.Header.Get(ProofHeader) != derive(c.Secret, "proof n") {
			t.Errorf("the state of %s is by another, or proved by another secret", people[i].Name)
		}
	}
	a.post("/api/edit", move(2, "of the owner", "cluster 1", 5), nil)
	log := must.Get(curate.ReadLog(path))(t)
	for i, want := range []string{"Ben", "Carla", "anna"} {
		if by := log.Edits[i].By; by != want {
			t.Errorf("edit %d is by %q, want %q", i+1, by, want)
		}
	}
	for what, f := range map[string]func(*http.Request){
		"another page": func(r *http.Request) {
			throughProxy(r)
			r.Header.Set("Origin", "https://evil.example")
		},
		"without TLS": func(r *http.Request) {
			throughProxy(r)
			r.Header.Set("Origin", "http://curate.example.org")
		},
		"the origin at this host":  func(r *http.Request) { r.Header.Set("Origin", testOrigin) },
		"another host":             func(r *http.Request) { throughProxy(r); r.Host = "evil.example" },
		"no token":                 func(r *http.Request) { throughProxy(r); r.Header.Del(TokenHeader) },
		"the pass as a token":      func(r *http.Request) { throughProxy(r); r.Header.Set(TokenHeader, people[0].Pass) },
		"the secret as a token":    func(r *http.Request) { throughProxy(r); r.Header.Set(TokenHeader, ben.Secret) },
		"another site of the host": func(r *http.Request) { throughProxy(r); r.Header.Set("Sec-Fetch-Site", "same-site") },
	} {
		if resp, _ := ben.do("POST", "/api/edit", `{"id":"forged-edit","draft":"","base":3,"op":"move","to":"x","from":[{"name":"tag 1"}]}`,
			f); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s, want it refused", what, resp.Status)
		}
	}
	code := a.post(openPath, map[string]string{"key": strings.Repeat("x", leastPass)}, nil)
	if code != http.StatusForbidden {
		t.Errorf("a guessed pass gives %d", code)
	}
	if s.Key() == people[0].Pass {
		t.Error("the owner's link is a person's pass")
	}
}

// hgld adds passes to names, and refuses a file that others can read, or passes that could be guessed.
func TestReadPeopleMakesPasses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "people.txt")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(text), mode))
		must.Do(t, os.Chmod(path, mode))
	}
	write("# who curates\n\nBen\nCarla Ruiz\n", 0o644)
	first, err := ReadPeople(path)
	if err != nil || len(first) != 2 || first[1].Name != "Carla Ruiz" ||
		len(first[0].Pass) < leastPass || first[0].Pass == first[1].Pass {
		t.Fatalf("%+v, %v", first, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with passes has mode %v, %v", info.Mode(), err)
	}
	if again, err := ReadPeople(path); err != nil || again[0] != first[0] || again[1] != first[1] {
		t.Errorf("read again: %+v, %v", again, err)
	}
	long := strings.Repeat("p", leastPass)
	for text, want := range map[string]string{
		"Ben\tshort\n": "at least 20",
		"Ben\t" + long + "\nBen\t" + long + "q\n":  "twice",
		"Ben\t" + long + "\nCarla\t" + long + "\n": "somebody else",
		"# nobody\n":                             "names nobody",
		"Ben\t" + strings.Repeat("#", leastPass): "letters and digits",
		"Ben\x01\t" + long + "\n":                "not text",
	} {
		write(text, 0o600)
		if _, err := ReadPeople(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	write("Ben\t"+long+"\n", 0o640)
	if _, err := ReadPeople(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that the group can read: %v", err)
	}
	for origin, good := range map[string]bool{testOrigin: true,
		"https://curate.lan:8443": true, "http://curate.lan": false,
		"https://curate.lan/": false,
		"https://":            false, "https://Curate.lan": false, "https://a@b": false} {
		if _, err := HostOf(origin); (err == nil) != good {
			t.Errorf("the origin %q: %v", origin, err)
		}
	}
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(text), v))
}
