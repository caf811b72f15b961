//go:build browser

package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/internal/testing/must"
)

// Two people curate at once through a proxy with TLS, each by a link of their own. Each sees what the other
// does, and the log has their names.
func TestPeopleCurateThroughAProxy(t *testing.T) {
	dir := smallProject(t)
	names := []string{"Ben", "<img src=x onerror=xss()>"}
	must.Do(t, os.WriteFile(filepath.Join(dir, "people.txt"), []byte(strings.Join(names, "\n")+"\n"), 0o644))
	var to *url.URL
	proxy := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host
		}}).ServeHTTP(w, r)
	}))
	defer proxy.Close()
	s := startServer(t, dir, "--by", "Anna", "--people", "people.txt", "--origin", proxy.URL)
	to = &url.URL{Scheme: "http", Host: "127.0.0.1:" + s.port}
	data := must.Get(os.ReadFile(filepath.Join(dir, "people.txt")))(t)
	var tabs []*page
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		b := newPage(t, 1920, 900, false)
		b.Run(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, security.SetIgnoreCertificateErrors,
				security.SetIgnoreCertificateErrorsParams{Ignore: true})
			return err
		}))
		_, pass, _ := strings.Cut(line, "\t")
		b.Open(proxy.URL + "/#key=" + pass)
		b.Keys(kb.Escape)
		b.Until("the name", fmt.Sprintf(`document.getElementById("who").textContent === %q`, names[i]))
		tabs = append(tabs, b)
	}
	label := tabs[0].card()
	tabs[0].moveTo("elsewhere")
	tabs[0].saved(1)
	tabs[1].saved(1)
	tabs[1].Keys("j", "x")
	tabs[1].take("too generic")
	tabs[1].saved(2)
	tabs[0].saved(2)
	for i, e := range s.edits() {
		if e.By != names[i] {
			t.Errorf("edit %d is by %q, want %q", i+1, e.By, names[i])
		}
	}
	tabs[1].Keys("/", label)
	tabs[1].choose("by", "Ben")
	tabs[1].choose("state", "decided")
	tabs[1].Until("what Ben decided", `document.getElementById("side").innerText.includes("Ben · ")`)
	tabs[0].Reload()
	tabs[0].saved(2)
	s.stop()
}
