// Package page is a scrape.Source over the HTML of category pages on Wikimedia
// Commons: the route that the paper took. It fetches with colly, one page at a
// time and nothing else, and parses apart from fetching (Parse), so that kept
// pages can be read again.
//
// A page gives the text of the class, never its Wikidata item: the infobox does
// not print it. TagValue.QID stays empty.
package page

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"

	"hgld/labels"
	"hgld/scrape"
)

// maxRedirects bounds the soft redirects that are followed from one title.
const maxRedirects = 3

// maxHTTPRedirects bounds the redirects of one request.
const maxHTTPRedirects = 5

// Source reads category pages.
type Source struct {
	base      *url.URL
	collector *colly.Collector
	now       func() time.Time
}

// New returns a source for the site at base, "https://commons.wikimedia.org".
// transport has to keep to the site's rules (scrape/polite does): nothing here
// waits, tries again or reads robots.txt. now stamps the answers.
func New(base string, transport http.RoundTripper, now func() time.Time) (*Source, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("page: %q is no address of a site; want https://commons.wikimedia.org", base)
	}
	return &Source{base: u, collector: newCollector(transport), now: now}, nil
}

// newCollector sets every field after colly has read the COLLY_* variables of the
// environment, so that none of them can turn on a cache that replays errors, or
// another user agent.
func newCollector(transport http.RoundTripper) *colly.Collector {
	c := colly.NewCollector()
	c.Async = false
	c.AllowURLRevisit = true // else a failed page could never be asked for again
	c.CacheDir = ""          // it keeps 404 and 429, and a cut file makes it panic
	c.MaxBodySize = maxBody + 1
	c.ParseHTTPErrorResponse = true // 404 is an answer
	c.IgnoreRobotsTxt = true        // polite reads it: colly keeps a 5xx as "all forbidden" for ever
	c.DetectCharset = false
	c.CheckHead = false
	c.TraceHTTP = false
	c.MaxDepth, c.MaxRequests = 0, 0
	c.AllowedDomains, c.DisallowedDomains, c.URLFilters, c.DisallowedURLFilters = nil, nil, nil, nil
	c.Headers = nil // no Accept-Language: it would change the header that Parse looks for
	c.DisableCookies()
	c.WithTransport(transport)
	c.SetRequestTimeout(0) // it would count the transport's waits too
	c.SetRedirectHandler(func(req *http.Request, via []*http.Request) error {
		if len(via) > maxHTTPRedirects {
			return fmt.Errorf("more than %d redirects", maxHTTPRedirects)
		}
		return nil
	})
	return c
}

// Name is "page".
func (s *Source) Name() string { return "page" }

// Fetch asks for a page and the pages that it redirects to.
func (s *Source) Fetch(ctx context.Context, title string) (scrape.Finding, error) {
	return follow(title, func(_ int, title string) (scrape.Answer, error) { return s.get(ctx, title) })
}

// Reparse reads kept pages. Behind a redirect, a page counts if it was asked for
// under the title that the redirect names.
func (s *Source) Reparse(title string, answers []scrape.Answer) (scrape.Finding, error) {
	return follow(title, func(hop int, title string) (scrape.Answer, error) {
		if hop >= len(answers) || hop > 0 && titleOf(answers[hop].URL) != title {
			return scrape.Answer{}, scrape.ErrMoreNeeded
		}
		return answers[hop], nil
	})
}

// titleOf returns the title that a page was asked for under, "" if its address has
// none.
func titleOf(address string) string {
	_, path, found := strings.Cut(address, "/wiki/")
	if !found {
		return ""
	}
	title, err := scrape.Title("/wiki/" + path)
	if err != nil {
		return ""
	}
	return title
}

// URL is the address of a title, written as in the files of GLDv2.
func (s *Source) URL(title string) string {
	_, path, _ := strings.Cut(labels.CategoryURL(title), "/wiki/")
	return s.base.Scheme + "://" + s.base.Host + "/wiki/" + path
}

// get fetches one page with a collector of its own, because a collector has one
// context and one set of callbacks. What they share is the HTTP client.
func (s *Source) get(ctx context.Context, title string) (scrape.Answer, error) {
	c := s.collector.Clone()
	c.Context = ctx
	address := s.URL(title) // not the one that HTTP redirects led to: Reparse looks for the title
	var answer scrape.Answer
	var headers string
	c.OnResponseHeaders(func(r *colly.Response) {
		// colly would convert what is not UTF-8; we keep what was sent.
		headers = r.Headers.Get("Content-Type")
		r.Headers.Set("Content-Type", "text/html; charset=utf-8")
	})
	c.OnResponse(func(r *colly.Response) {
		answer = scrape.Answer{URL: address, Status: r.StatusCode, Type: headers,
			Fetched: s.now().UTC().Truncate(time.Second), Body: r.Body}
	})
	if err := c.Visit(address); err != nil {
		return scrape.Answer{}, err
	}
	if answer.Status == 0 {
		return scrape.Answer{}, errors.New("colly gave no answer")
	}
	return answer, nil
}

// follow reads the page of a title and, where it is a soft redirect, the next.
// get returns the answer for the hop with the given number.
func follow(title string, get func(hop int, title string) (scrape.Answer, error)) (scrape.Finding, error) {
	var f scrape.Finding
	chain := []string{title}
	for hop := 0; ; hop++ {
		answer, err := get(hop, chain[hop])
		if err != nil {
			return f, err
		}
		p, err := read(answer, &f)
		if err != nil {
			return f, err
		}
		f.Answers = append(f.Answers, answer)
		f.Status, f.Fetched = answer.Status, answer.Fetched
		if f.Outcome == labels.Malformed || f.Outcome == labels.Failed {
			return f, nil
		}
		if p.Name != "" && p.Name != chain[hop] && p.Redirect == "" { // a hard redirect
			f.Redirects = append(f.Redirects, p.Name)
		}
		if p.Redirect == "" {
			f.Values, f.Item, f.PageID, f.Revision = p.Values, p.Item, p.ID, p.Revision
			return f, nil
		}
		f.Redirects = append(f.Redirects, p.Redirect)
		if p.RedLink {
			f.Outcome = labels.Missing
			return f, nil
		}
		seen := slices.Contains(chain, p.Redirect)
		chain = append(chain, p.Redirect)
		if seen || hop >= maxRedirects {
			f.Outcome = labels.RedirectLoop
			f.Error = strings.Join(chain, " → ")
			return f, nil
		}
	}
}

// read turns one answer into a page and sets the outcome. An error means that the
// answer says nothing: another one may.
func read(a scrape.Answer, f *scrape.Finding) (Page, error) {
	switch {
	case a.Status == http.StatusNotFound || a.Status == http.StatusGone:
		// The body is a whole page, which may even list files; it is no category.
		f.Outcome = labels.Missing
		return Page{}, nil
	case a.Status >= 500 || a.Status == http.StatusTooManyRequests || a.Status == http.StatusForbidden ||
		a.Status == http.StatusUnauthorized || a.Status == http.StatusRequestTimeout:
		return Page{}, fmt.Errorf("%s: HTTP %d %s", a.URL, a.Status, http.StatusText(a.Status))
	case a.Status != http.StatusOK:
		f.Outcome, f.Error = labels.Failed, fmt.Sprintf("HTTP %d %s", a.Status, http.StatusText(a.Status))
		return Page{}, nil
	}
	media, parameters, err := mime.ParseMediaType(a.Type)
	if charset := parameters["charset"]; err != nil || media != "text/html" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		f.Outcome, f.Error = labels.Malformed, fmt.Sprintf("Content-Type %.80q; want text/html in UTF-8", a.Type)
		return Page{}, nil
	}
	p, err := Parse(a.Body)
	if errors.Is(err, ErrTruncated) {
		return Page{}, fmt.Errorf("%s: %w", a.URL, err)
	}
	if err != nil {
		f.Outcome, f.Error = labels.Malformed, err.Error()
		return Page{}, nil
	}
	f.Outcome = p.Outcome()
	return p, nil
}
