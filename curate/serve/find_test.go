package serve

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"hgld/curate"
)

// An expression on which a backtracking search takes for ever is answered, one that is wrong is refused, and case is
// ignored.
func TestFindSearchesByExpression(t *testing.T) {
	d := testDraft(30)
	d.Tags[4].Name = strings.Repeat("abcdefghi ", 18) + "!"
	_, a, _ := newServer(t, d, nil)
	for expression, want := range map[string][]int{`^([a-z]+ ?)+:$`: {}, `^TAG (1|22)$`: {1, 22}, `h(i) !$`: {4}} {
		var got struct{ Tags []int }
		if code := a.post("/api/find", map[string]string{"expression": expression}, &got); code != http.StatusOK ||
			!slices.Equal(got.Tags, want) {
			t.Errorf("%q: %d, %v; want %v", expression, code, got.Tags, want)
		}
	}
	if code := a.post("/api/find", map[string]string{"expression": "(a"}, nil); code != http.StatusUnprocessableEntity {
		t.Errorf("a wrong expression: %d", code)
	}
	if code := a.post("/api/find", map[string]string{"expression": strings.Repeat("a", curate.LongestExpression+1)},
		nil); code != http.StatusUnprocessableEntity {
		t.Errorf("a long expression: %d", code)
	}
}

// Whoever made an edit is told that somebody else has undone it, and by whom. Undo itself is one's own.
func TestUndoneEditsAreTold(t *testing.T) {
	people := []Person{{"Ben", strings.Repeat("b", leastPass)}}
	_, a, _ := newServer(t, testDraft(30), func(c *Config) { c.Origin, c.People = testOrigin, people })
	ben := &client{t: t, url: a.url, draft: a.draft}
	_, text := ben.do("POST", openPath, `{"key":"`+people[0].Pass+`"}`, throughProxy)
	decode(t, text, &ben.pass)
	a.post("/api/edit", move(0, "anna's", "church", 3), nil)
	_, text = ben.do("GET", "/api/changes?since=0", "", throughProxy)
	var got answer
	decode(t, text, &got)
	if got.Undo != 0 || got.Last == nil || got.Last.By != "anna" || got.Last.Seq != 1 {
		t.Errorf("ben, who has made no edit, could undo %d; the last edit is %+v", got.Undo, got.Last)
	}
	ben.do("POST", "/api/edit", `{"id":"of-anna's","draft":"`+a.draft+`","base":1,"op":"revert","of":1}`, throughProxy)
	got = answer{}
	a.get("/api/changes?since=1", &got)
	if len(got.Undone) != 1 || got.Undone[0].By != "Ben" || got.Undone[0].Op != curate.Move ||
		got.Undone[0].First != "tag 3" {
		t.Errorf("anna is told %+v, want that Ben has undone the move of tag 3", got.Undone)
	}
}

// People are told which groups the others look at.
func TestOthersAreSeenInTheirGroup(t *testing.T) {
	people := []Person{{"Ben", strings.Repeat("b", leastPass)}}
	_, a, _ := newServer(t, testDraft(30), func(c *Config) { c.Origin, c.People = testOrigin, people })
	ben := &client{t: t, url: a.url, draft: a.draft}
	_, text := ben.do("POST", openPath, `{"key":"`+people[0].Pass+`"}`, throughProxy)
	decode(t, text, &ben.pass)
	_, text = ben.do("GET", "/api/changes?since=0&at=church", "", throughProxy)
	var got, own answer
	decode(t, text, &own)
	a.get("/api/changes?since=0&at=lake", &got)
	if len(own.Others) > 0 || len(got.Others) != 1 || got.Others["Ben"] != "church" {
		t.Errorf("ben is told %v and anna %v, want nobody and Ben in church", own.Others, got.Others)
	}
}

// The access of a person outlives a restart of the server, as their link does. That of another person is another.
func TestAccessOfAPersonOutlivesTheServer(t *testing.T) {
	pass := func(p Person) (got pass) {
		_, a, _ := newServer(t, testDraft(30), func(c *Config) { c.Origin, c.People = testOrigin, []Person{p} })
		c := &client{t: t, url: a.url, draft: a.draft}
		_, text := c.do("POST", openPath, `{"key":"`+p.Pass+`"}`, throughProxy)
		decode(t, text, &got)
		return got
	}
	ben := Person{"Ben", strings.Repeat("b", leastPass)}
	first, again := pass(ben), pass(ben)
	if first != again || first.Person != "Ben" {
		t.Errorf("after a restart Ben has %+v, before it %+v", again, first)
	}
	if other := pass(Person{"Ben", strings.Repeat("d", leastPass)}); other.Secret == first.Secret ||
		other.Token == first.Token {
		t.Error("another key gives the same access")
	}
}
