package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// testDraft is a draft of n tags in clusters of ten.
func testDraft(n int) *labels.Draft {
	d := &labels.Draft{Version: labels.DraftVersion}
	for i := range n {
		if i%10 == 0 {
			d.Clusters = append(d.Clusters, labels.Cluster{ID: i / 10, Name: fmt.Sprintf("cluster %d", i/10)})
		}
		c := &d.Clusters[len(d.Clusters)-1]
		c.Members = append(c.Members, labels.Member{Tag: i, Distance: float64(i%10) / 10, Outlier: i%10 == 9})
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: fmt.Sprintf("tag %d", i)}, Landmarks: n - i})
	}
	return d
}

// client is a page: its pass, where it asks, and the draft that it was opened with.
type client struct {
	t     testing.TB
	url   string
	draft string
	pass
}

const testPort = "127.0.0.1:8350"

// newServer serves a draft on a log of its own.
func newServer(t testing.TB, d *labels.Draft, fill func(*Config)) (*Server, *client, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edits.jsonl")
	must.Do(t, curate.CreateLog(path, curate.Header{By: "anna", DraftSHA256: "ab"}))
	s, a := serveLog(t, path, d, fill)
	return s, a, path
}

// serveLog is newServer for a log that is there.
func serveLog(t testing.TB, path string, d *labels.Draft, fill func(*Config)) (*Server, *client) {
	t.Helper()
	log, contents, err := curate.OpenLog(path)
	must.Do(t, err)
	t.Cleanup(func() { log.Close() })
	session := must.Get(curate.NewSession(d, nil))(t)
	if _, err := session.Load(contents.Edits); err != nil {
		t.Fatal(err)
	}
	c := Config{Session: session, Save: log.Append, By: "anna", Log: "edits.jsonl", Hosts: []string{testPort},
		Queue: "log of anna"}
	if fill != nil {
		fill(&c)
	}
	s := must.Get(New(c))(t)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	t.Cleanup(s.Stop)
	a := &client{t: t, url: web.URL, draft: s.draft}
	a.enter(s)
	return s, a
}

// enter opens the one-time link.
func (a *client) enter(s *Server) {
	a.t.Helper()
	if code := a.post(openPath, map[string]string{"key": s.Key()}, &a.pass); code != http.StatusOK {
		a.t.Fatalf("the link gives %d", code)
	}
	if len(a.Token) != 64 || len(a.Secret) < 26 || a.Token == a.Secret {
		a.t.Fatalf("the link gives the pass %+v", a.pass)
	}
}

// do asks as the page does; change may make the request another one.
func (a *client) do(method, path, body string, change func(*http.Request)) (*http.Response, string) {
	a.t.Helper()
	resp, text, err := a.try(method, path, body, change)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp, text
}

// try is do for goroutines beside the test's own. An order that names no draft is
// made on the client's.
func (a *client) try(method, path, body string, change func(*http.Request)) (*http.Response, string, error) {
	body = strings.Replace(body, `"draft":""`, fmt.Sprintf(`"draft":%q`, a.draft), 1)
	r, err := http.NewRequest(method, a.url+path, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Host = testPort
	r.Header.Set(TokenHeader, a.Token)
	if method == "POST" {
		r.Header.Set("Origin", "http://"+testPort)
		r.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(r)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err
}

// post sends v and decodes the answer.
func (a *client) post(path string, v any, answer any) int {
	a.t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		a.t.Fatal(err)
	}
	resp, text := a.do("POST", path, string(body), nil)
	if answer != nil {
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			a.t.Fatalf("%s: %s: %q: %v", path, resp.Status, text, err)
		}
	}
	return resp.StatusCode
}

func (a *client) get(path string, answer any) {
	a.t.Helper()
	resp, text := a.do("GET", path, "", nil)
	if err := json.Unmarshal([]byte(text), answer); err != nil || resp.StatusCode != http.StatusOK {
		a.t.Fatalf("%s: %s: %.200q: %v", path, resp.Status, text, err)
	}
}

func move(base int, id string, to string, tags ...int) order {
	o := order{ID: "test-id-" + id, Base: base, Op: curate.Move, To: to}
	for _, i := range tags {
		o.From = append(o.From, curate.Ref{Name: fmt.Sprintf("tag %d", i)})
	}
	return o
}

func TestEditIsOnDiskBeforeItsAnswer(t *testing.T) {
	_, a, path := newServer(t, testDraft(30), nil)
	var got answer
	if code := a.post("/api/edit", move(0, "first", "church", 3, 12), &got); code != http.StatusOK || got.Seq != 1 ||
		got.Version != 1 {
		t.Fatalf("%d, %+v", code, got)
	}
	c, err := curate.ReadLog(path)
	if err != nil || len(c.Edits) != 1 || c.Edits[0].By != "anna" || c.Edits[0].To != "church" {
		t.Fatalf("the log has %+v: %v", c, err)
	}
	if want := []int{3, 12}; !reflect.DeepEqual(got.Tags.At, want) || !reflect.DeepEqual(got.Tags.Parent, []int{3, 3}) ||
		!reflect.DeepEqual(got.Tags.Status, []int{1, 1}) {
		t.Errorf("the answer says %+v, want tags %v in the new group 3, decided", got.Tags, want)
	}
	if got.Undo != 1 || got.Redo != 0 {
		t.Errorf("undo %d, redo %d", got.Undo, got.Redo)
	}
}

func TestRepeatedEditIsAppliedOnce(t *testing.T) {
	_, a, path := newServer(t, testDraft(30), nil)
	var first, again answer
	a.post("/api/edit", move(0, "first", "church", 3), &first)
	a.post("/api/edit", move(1, "second", "tower", 4), nil)
	if code := a.post("/api/edit", move(0, "first", "church", 3), &again); code != http.StatusOK || again.Seq != 1 ||
		again.Version != 2 {
		t.Errorf("%d, %+v", code, again)
	}
	if len(again.Tags.At) != 2 {
		t.Errorf("the answer brings the page up to date with tags %v, want 3 and 4", again.Tags.At)
	}
	if c, err := curate.ReadLog(path); err != nil || len(c.Edits) != 2 {
		t.Errorf("%d edits on disk, want 2: %v", len(c.Edits), err)
	}
}

func TestStaleEditGetsTheNewerState(t *testing.T) {
	_, a, _ := newServer(t, testDraft(30), nil)
	a.post("/api/edit", move(0, "mine", "church", 3), nil)
	var got answer
	if code := a.post("/api/edit", move(0, "other", "tower", 5), &got); code != http.StatusConflict || got.Version != 1 ||
		!reflect.DeepEqual(got.Tags.At, []int{3}) {
		t.Errorf("%d, %+v", code, got)
	}
}

// An edit that waited while the server was started on another draft is not made on
// that one, though the log has as many edits as its author saw.
func TestEditOfAnotherDraftIsStale(t *testing.T) {
	_, a, path := newServer(t, testDraft(30), nil)
	for _, draft := range []string{"another", "none"} {
		o := move(0, draft, "church", 3)
		o.Draft = draft
		var got answer
		code := a.post("/api/edit", o, &got)
		if code != http.StatusConflict || got.Error == "" || got.Draft != a.draft || got.Version != 0 {
			t.Errorf("an edit of the draft %q: %d, %+v", draft, code, got)
		}
	}
	saved, again := move(0, "saved", "church", 3), answer{}
	a.post("/api/edit", saved, nil)
	saved.Draft = "another" // its answer was lost, and the next server has another draft
	if code := a.post("/api/edit", saved, &again); code != http.StatusOK || again.Seq != 1 {
		t.Errorf("an edit that is saved: %d, %+v", code, again)
	}
	if c, err := curate.ReadLog(path); err != nil || len(c.Edits) != 1 {
		t.Errorf("%d edits on disk: %v", len(c.Edits), err)
	}
}

func TestImpossibleEditChangesNothing(t *testing.T) {
	_, a, path := newServer(t, testDraft(30), nil)
	for i, o := range []order{
		{Op: curate.Move, To: "church", From: []curate.Ref{{Name: "no such tag"}}},
		{Op: curate.Move, From: []curate.Ref{{Name: "tag 1"}}},
		{Op: curate.Rename, Level: 1, To: "cluster 1", From: []curate.Ref{{Name: "cluster 0"}}},
		{Op: "explode", From: []curate.Ref{{Name: "tag 1"}}},
		{Op: curate.Revert, Of: 7},
		{Op: curate.SetParent, Level: 9, From: []curate.Ref{{Name: "cluster 0"}}, To: "natural"},
		{Op: curate.Move, To: "a\x00b", From: []curate.Ref{{Name: "tag 1"}}},
	} {
		o.ID = fmt.Sprintf("impossible-%d", i)
		var got answer
		if code := a.post("/api/edit", o, &got); code != http.StatusUnprocessableEntity || got.Error == "" ||
			got.Version != 0 {
			t.Errorf("%+v: %d %+v", o, code, got)
		}
	}
	for _, body := range []string{"", "[]", `{"id":"12345678","colour":"red"}`, `{"id":"12345678"}{}`, `{"id":"x"}`,
		strings.Repeat("[", 1000)} {
		if resp, text := a.do("POST", "/api/edit", body, nil); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%.30q: %s %s", body, resp.Status, text)
		}
	}
	if c, err := curate.ReadLog(path); err != nil || len(c.Edits) != 0 {
		t.Errorf("%d edits on disk: %v", len(c.Edits), err)
	}
}

func TestChangesWaitForAnEdit(t *testing.T) {
	s, a, _ := newServer(t, testDraft(30), nil)
	got := make(chan answer, 1)
	ask := func(since int) {
		var x answer
		_, text, err := a.try("GET", fmt.Sprintf("/api/changes?since=%d&wait=1", since), "", nil)
		if err = errors.Join(err, json.Unmarshal([]byte(text), &x)); err != nil {
			t.Error(err)
		}
		got <- x
	}
	go ask(0)
	a.post("/api/edit", move(0, "first", "church", 3), nil)
	if x := <-got; x.View == nil || x.Version != 1 || len(x.Tags.At) != 1 {
		t.Errorf("%+v", x)
	}
	go ask(1)
	s.Stop()
	if x := <-got; x.View == nil || x.Version != 1 || len(x.Tags.At) != 0 {
		t.Errorf("when the server stops: %+v", x)
	}
}

func TestStateAndHistoryListEverything(t *testing.T) {
	_, a, _ := newServer(t, testDraft(30), nil)
	a.post("/api/edit", move(0, "first", "church", 3), nil)
	a.post("/api/edit", order{ID: "undo-it-now", Base: 1, Op: curate.Revert, Of: 1}, nil)
	var all fullState
	a.get("/api/state", &all)
	if len(all.Names) != 30 || len(all.Tags.At) != 30 || all.Tags.Status[9] != statusOutlier || all.Version != 2 ||
		all.Redo != 2 || len(all.Groups) != 3 {
		t.Errorf("%+v", all.View)
	}
	var list []past
	a.get("/api/history", &list)
	if len(list) != 2 || list[0].Active || list[1].Of != 1 || list[0].First != "tag 3" {
		t.Errorf("%+v", list)
	}
}

// nearFake suggests by number: the distance of tag and group is that of their
// numbers.
type nearFake struct {
	of    [30]int
	named map[int][]float32
}

func (f *nearFake) Place(_ int, _ map[int]string, tags, in []int, _ []bool) {
	for i, tag := range tags {
		f.of[tag] = in[i]
	}
}
func (f *nearFake) Name(group int, v []float32) {
	if f.named == nil {
		f.named = map[int][]float32{}
	}
	if f.named[group] = v; v == nil {
		delete(f.named, group)
	}
}
func (f *nearFake) Proposals(tags []int, _ int) func(context.Context) ([][]int, []float64, error) {
	return func(context.Context) (groups [][]int, leads []float64, err error) {
		for _, tag := range tags {
			groups, leads = append(groups, []int{tag % 2}), append(leads, float64(tag)/30)
		}
		return groups, leads, nil
	}
}
func (f *nearFake) Distance(tag int) float64 { return float64(tag) }
func (f *nearFake) Nearest(tags []int, n int, skip func(int) bool) (groups []int, distances []float64) {
	for g := 0; len(groups) < n && g < 3; g++ {
		if !skip(g) {
			groups, distances = append(groups, g), append(distances, float64(g))
		}
	}
	return groups, distances
}
func (f *nearFake) Candidates(group, n int, take func(int) bool) (tags []int, distances []float64) {
	for i := range f.of {
		if take(i) && len(tags) < n {
			tags, distances = append(tags, i), append(distances, float64(i))
		}
	}
	return tags, distances
}
func (f *nearFake) Like(tags []int, n int, take func(int) bool) (like []int, distances []float64) {
	return f.Candidates(0, n, take)
}
func (f *nearFake) Split(_ context.Context, tags []int, k int, seed uint64) ([][]int, error) {
	parts := make([][]int, k)
	for i, t := range tags {
		parts[i%k] = append(parts[i%k], t)
	}
	return parts, nil
}

func TestSuggestionsFollowTheEdits(t *testing.T) {
	fake := &nearFake{}
	_, a, _ := newServer(t, testDraft(30), func(c *Config) { c.Suggester, c.Splitter = fake, fake })
	var got struct{ Near []near }
	a.post("/api/suggest", map[string]any{"tags": []int{1, 2}}, &got)
	if want := []near{{1, 1}, {2, 2}}; !reflect.DeepEqual(got.Near, want) {
		t.Errorf("near two tags of group 0: %v, want %v", got.Near, want)
	}
	a.post("/api/edit", move(0, "first", "cluster 2", 1), nil)
	if fake.of[1] != 2 {
		t.Error("the suggester was not told of the move")
	}
	a.post("/api/suggest", map[string]any{"tags": []int{2}}, &got)
	if want := []near{{2, 2}, {1, 1}}; !reflect.DeepEqual(got.Near, want) {
		t.Errorf("after an edit has named group 2: %v, want it first: %v", got.Near, want)
	}
	a.post("/api/candidates", map[string]any{"group": 0}, &got)
	if len(got.Near) != 20 { // all of the other groups but tag 1, which is decided
		t.Errorf("%d candidates, want 20", len(got.Near))
	}
	var parts struct{ Parts [][]int }
	a.post("/api/split", map[string]any{"tags": []int{1, 2, 3}, "k": 2, "seed": 1}, &parts)
	if want := [][]int{{1, 3}, {2}}; !reflect.DeepEqual(parts.Parts, want) {
		t.Errorf("%v, want %v", parts.Parts, want)
	}
	for _, k := range []int{0, 1, 4, 9} {
		if code := a.post("/api/split", map[string]any{"tags": []int{1, 2, 3}, "k": k, "seed": 1},
			nil); code != http.StatusUnprocessableEntity {
			t.Errorf("a split into %d: %d", k, code)
		}
	}
	if code := a.post("/api/suggest", map[string]any{"tags": []int{30}}, nil); code != 0 && code != http.StatusBadRequest {
		t.Errorf("a tag that is not there: %d", code)
	}
}

func TestOnlyImagesAreSentAsImages(t *testing.T) {
	s, a, _ := newServer(t, testDraft(10), func(c *Config) { c.Examples = exampleFake{} })
	for name, want := range map[string]int{"good": 200, "page": 415, "gone": 404} {
		resp, _ := a.do("GET", "/image/"+s.guard.stamp(name), "", nil)
		if resp.StatusCode != want || want == 200 && resp.Header.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %s, %s", name, resp.Status, resp.Header.Get("Content-Type"))
		}
	}
	var found struct{ Examples []Example }
	for range 2 { // what the page is told does not change what is known
		a.get("/api/examples?tag=1", &found)
	}
	if resp, _ := a.do("GET", "/image/"+found.Examples[0].Images[0], "", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("an image by the name that the page is told: %s", resp.Status)
	}
}

func TestThumbnailsNameOneImagePerLabel(t *testing.T) {
	_, a, _ := newServer(t, testDraft(10), func(c *Config) { c.Examples = exampleFake{} })
	var found struct{ Thumbnails []string }
	if a.get("/api/thumbnails?tags=3,1", &found); len(found.Thumbnails) != 2 {
		t.Fatalf("%q, want two names", found.Thumbnails)
	}
	resp, text := a.do("GET", "/image/"+found.Thumbnails[0]+"?small", "", nil)
	if resp.Header.Get("Content-Type") != "image/jpeg" || !strings.HasSuffix(text, "good") {
		t.Errorf("%s, %q, want the thumbnail", resp.Status, text)
	}
	for _, tags := range []string{"", "x", "10", "-1", "1,,2", strings.Repeat("1,", mostThumbnails) + "1"} {
		if resp, _ := a.do("GET", "/api/thumbnails?tags="+tags, "", nil); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("tags=%.20s: %s", tags, resp.Status)
		}
	}
}

type exampleFake struct{}

var fakeImages = []string{"good"}

func (exampleFake) Examples(tag, n int, show func(title, link string, images []string)) error {
	show("x", "", fakeImages)
	return nil
}
func (exampleFake) HasImages() bool { return true }
func (exampleFake) Thumbnail(_ context.Context, name string) ([]byte, error) {
	return []byte("\xff\xd8\xff" + name), nil
}
func (exampleFake) Image(_ context.Context, name string) ([]byte, error) {
	switch name {
	case "good":
		return []byte("\x89PNG\r\n\x1a\n...."), nil
	case "page":
		return bytes.Repeat([]byte("<script>alert(1)</script>"), 3), nil
	}
	return nil, fmt.Errorf("there is no image %q", name)
}

// A tag says which edit placed it, and history takes up where the page stands. A tag that is withdrawn or
// whose edit is reverted has no such edit.
func TestStateNamesTheEditThatPlacedATag(t *testing.T) {
	_, a, _ := newServer(t, testDraft(30), func(c *Config) { c.Suggester = &nearFake{} })
	placed := func(tag int) int {
		var v View
		a.get("/api/changes?since=-1", &v)
		return v.Tags.Placed[tag]
	}
	a.post("/api/edit", move(0, "the first", "cluster 2", 1), nil)
	a.post("/api/edit", move(1, "the second", "cluster 2", 3), nil)
	if placed(1) != 1 || placed(3) != 2 || placed(5) != 0 {
		t.Errorf("placed by %d, %d and %d; want 1, 2 and 0", placed(1), placed(3), placed(5))
	}
	var list []past
	a.get("/api/history?since=1", &list)
	if len(list) != 1 || list[0].Seq != 2 {
		t.Errorf("after edit 1 the history has %+v", list)
	}
	a.post("/api/edit", order{ID: "the third", Draft: a.draft, Base: 2, Op: curate.Revert, Of: 2}, nil)
	if placed(3) != 0 {
		t.Errorf("after the revert it is placed by %d", placed(3))
	}
	var like struct{ Near []near }
	a.post("/api/like", map[string]any{"tags": []int{0, 1}}, &like)
	if len(like.Near) != 28 || like.Near[0].At != 2 {
		t.Errorf("like two of 30 tags: %v", like.Near)
	}
}
