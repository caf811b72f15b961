// Package page is a scrape.Source over the HTML of category pages on Wikimedia
// Commons, as the paper used them. It fetches single pages with colly. Parsing (Parse) is
// separate from fetching, so that stored pages can be parsed again.
//
// A page contains the text of a class but not its Wikidata item, because the infobox does
// not print it. TagValue.QID stays empty.
package page

import (
	"context"
	"encoding/json"
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

// maxRedirects limits the soft redirects followed from one title.
const maxRedirects = 3

// maxHTTPRedirects limits the HTTP redirects of one request.
const maxHTTPRedirects = 5

// Source fetches and parses category pages.
type Source struct {
	base      *url.URL
	collector *colly.Collector
	now       func() time.Time
}

// New returns a source for the site at base, "https://commons.wikimedia.org".
// transport must follow the site's rules, as scrape/polite does: Source itself does not
// wait, retry or read robots.txt. now provides Answer.Fetched.
func New(base string, transport http.RoundTripper, now func() time.Time) (*Source, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" {
		return nil, fmt.Errorf("page: %.80q is not the URL of a site; want one such as https://commons.wikimedia.org", base)
	}
	return &Source{base: u, collector: newCollector(transport), now: now}, nil
}

// newCollector sets every field after colly has read the COLLY_* environment variables, so
// that none of them can enable a cache that replays errors, or change the user agent.
func newCollector(transport http.RoundTripper) *colly.Collector {
	c := colly.NewCollector()
	c.Async = false
	c.AllowURLRevisit = true // otherwise a failed page could never be requested again
	c.CacheDir = ""          // the cache stores 404 and 429, and panics on a truncated file
	c.MaxBodySize = maxBody + 1
	c.ParseHTTPErrorResponse = true // 404 is an answer
	c.IgnoreRobotsTxt = true        // polite reads it; colly would treat a 5xx as "all forbidden" forever
	c.DetectCharset = false
	c.CheckHead = false
	c.TraceHTTP = false
	c.MaxDepth, c.MaxRequests = 0, 0
	c.AllowedDomains, c.DisallowedDomains, c.URLFilters, c.DisallowedURLFilters = nil, nil, nil, nil
	c.Headers = nil // no Accept-Language, which would translate the header that Parse looks for
	c.DisableCookies()
	c.WithTransport(transport)
	c.SetRequestTimeout(0) // it would include the transport's pauses
	c.SetRedirectHandler(func(req *http.Request, via []*http.Request) error {
		if len(via) > maxHTTPRedirects {
			return fmt.Errorf("more than %d redirects", maxHTTPRedirects)
		}
		return nil
	})
	return c
}

// Name returns "page".
func (s *Source) Name() string { return "page" }

// step is the only kind of request: the page of a title.
const step = "page"

// Steps returns the only step.
func (s *Source) Steps() []string { return []string{step} }

// BatchSize returns 1.
func (s *Source) BatchSize(string) int { return 1 }

// Ask fetches the page of the title keys[0].
func (s *Source) Ask(ctx context.Context, _ string, keys []string) ([]scrape.Answer, error) {
	answer, err := s.get(ctx, keys[0])
	return []scrape.Answer{answer}, err
}

// fact is the content of the page of a title.
type fact struct {
	Outcome  labels.Outcome    `json:"outcome"`
	Error    string            `json:"error,omitempty"`
	Status   int               `json:"status"`
	Name     string            `json:"name,omitempty"` // title of the page that was shown
	Redirect string            `json:"redirect,omitempty"`
	RedLink  bool              `json:"red_link,omitempty"`
	Infobox  bool              `json:"infobox,omitempty"`
	Values   []labels.TagValue `json:"values,omitempty"`
	Item     string            `json:"item,omitempty"`
	ID       int64             `json:"page_id,omitempty"`
	Revision int64             `json:"revision,omitempty"`
	About    *labels.About     `json:"about,omitempty"`
}

// Read parses the page of the title keys[0]. An error means that the answer is unusable and
// the page has to be requested again.
func (s *Source) Read(_ string, keys []string, answers []scrape.Answer) (map[string]scrape.Fact, error) {
	if len(keys) != 1 || len(answers) != 1 {
		return nil, fmt.Errorf("%d answers about %d titles; want one", len(answers), len(keys))
	}
	f, err := read(answers[0])
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(f)
	return map[string]scrape.Fact{keys[0]: text}, err
}

// Finding builds the record of a title. It follows soft redirects.
func (s *Source) Finding(title string, facts scrape.Facts) (rec labels.Record, lacking []scrape.Task) {
	chain := []string{title}
	for hop := 0; ; hop++ {
		task := scrape.Task{Step: step, Key: chain[hop]}
		text, known := facts(task)
		if !known {
			return rec, []scrape.Task{task}
		}
		var f fact
		if err := json.Unmarshal(text, &f); err != nil {
			rec.Outcome, rec.Error = labels.Malformed, "the stored fact of the page: "+err.Error()
			return rec, nil
		}
		rec.Status, rec.Outcome, rec.Error = f.Status, f.Outcome, f.Error
		if f.Outcome == labels.Malformed || f.Outcome == labels.Failed {
			return rec, nil
		}
		if f.Name != "" && f.Name != chain[hop] && f.Redirect == "" { // a hard redirect
			rec.Redirects = append(rec.Redirects, f.Name)
		}
		if f.Redirect == "" {
			rec.Values, rec.Item, rec.PageID, rec.Revision, rec.About = f.Values, f.Item, f.ID, f.Revision, f.About
			if f.Outcome != labels.Missing {
				rec.Infobox = &f.Infobox
			}
			return rec, nil
		}
		rec.Redirects = append(rec.Redirects, f.Redirect)
		if f.RedLink {
			rec.Outcome = labels.Missing
			return rec, nil
		}
		seen := slices.Contains(chain, f.Redirect)
		chain = append(chain, f.Redirect)
		if seen || hop >= maxRedirects {
			rec.Outcome = labels.RedirectLoop
			rec.Error = strings.Join(chain, " → ")
			return rec, nil
		}
	}
}

// URL returns the URL of a title, spelled as in the files of GLDv2.
func (s *Source) URL(title string) string {
	_, path, _ := strings.Cut(labels.CategoryURL(title), "/wiki/")
	return s.base.Scheme + "://" + s.base.Host + "/wiki/" + path
}

// get fetches one page. It clones the collector, because a collector has one context and one
// set of callbacks. The clones share the HTTP client.
func (s *Source) get(ctx context.Context, title string) (scrape.Answer, error) {
	c := s.collector.Clone()
	c.Context = ctx
	address := s.URL(title)
	var answer scrape.Answer
	var headers string
	c.OnResponseHeaders(func(r *colly.Response) {
		// With this header colly does not convert the body to UTF-8.
		headers = r.Headers.Get("Content-Type")
		r.Headers.Set("Content-Type", "text/html; charset=utf-8")
	})
	c.OnResponse(func(r *colly.Response) {
		answer = scrape.Answer{Method: http.MethodGet, URL: address, Status: r.StatusCode, Type: headers,
			Fetched: s.now().UTC().Truncate(time.Second), Body: r.Body}
	})
	if err := c.Visit(address); err != nil {
		return scrape.Answer{}, err
	}
	if answer.Status == 0 {
		return scrape.Answer{}, errors.New("colly returned no answer")
	}
	return answer, nil
}

// read parses one answer into a fact. An error means that the answer is unusable and the
// page has to be requested again.
func read(a scrape.Answer) (fact, error) {
	f := fact{Status: a.Status}
	switch {
	case a.Status == http.StatusNotFound || a.Status == http.StatusGone:
		// The body is a complete page that may even list files, but the category does not exist.
		f.Outcome = labels.Missing
		return f, nil
	case a.Status >= 500 || a.Status == http.StatusTooManyRequests || a.Status == http.StatusForbidden ||
		a.Status == http.StatusUnauthorized || a.Status == http.StatusRequestTimeout:
		return f, fmt.Errorf("%s: HTTP %d %s", a.URL, a.Status, http.StatusText(a.Status))
	case a.Status != http.StatusOK:
		f.Outcome, f.Error = labels.Failed, fmt.Sprintf("HTTP %d %s", a.Status, http.StatusText(a.Status))
		return f, nil
	}
	media, parameters, err := mime.ParseMediaType(a.Type)
	if charset := parameters["charset"]; err != nil || media != "text/html" || charset != "" &&
		!strings.EqualFold(charset, "utf-8") {
		f.Outcome, f.Error = labels.Malformed, fmt.Sprintf("Content-Type %.80q; want text/html in UTF-8", a.Type)
		return f, nil
	}
	p, err := Parse(a.Body)
	if errors.Is(err, ErrTruncated) {
		return f, fmt.Errorf("%s: %w", a.URL, err)
	}
	if err != nil {
		f.Outcome, f.Error = labels.Malformed, err.Error()
		return f, nil
	}
	f.Outcome, f.Name, f.Redirect, f.RedLink, f.Infobox = p.Outcome(), p.Name, p.Redirect, p.RedLink, p.Infobox
	f.Values, f.Item, f.ID, f.Revision, f.About = p.Values, p.Item, p.ID, p.Revision, p.About
	return f, nil
}
