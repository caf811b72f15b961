// Package api is a scrape.Source over the APIs of Wikimedia Commons and Wikidata. Each
// request covers fifty titles or items, so GLDv2's 304,391 categories take about 13,000
// requests instead of 300,000 pages. The APIs also return what the pages do not print: the
// item of every class, ranks and qualifiers.
//
// A landmark passes through these steps, each with its own queue:
//
//	title  Commons   which page a title leads to, and that page's item
//	text   Commons   the target in the template of a category redirect
//	item   Wikidata  an item's "instance of" (P31), main topic (P301) and combined topics (P971)
//	class  Wikidata  the labels of classes, and of items in qualifiers; with Options.Items also what
//	                 classes and places link to: "subclass of" (P279), "located in" (P131), country (P17),
//	                 continent (P30)
//	log    Commons   why a category is missing; only with Options.TraceMissing
//
// The target of a soft redirect goes back to the step title. If the item of a category has
// a main topic, the values are those of the main topic, as in the infobox.
package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"hgld/scrape"
	"hgld/scrape/polite"
)

// The steps.
const (
	stepTitle = "title"
	stepText  = "text"
	stepItem  = "item"
	stepClass = "class"
	stepLog   = "log"
)

// The sizes of a batch. The API accepts 50 titles or ids from clients without special
// rights.
const (
	mostKeys  = 50
	leastKeys = 5
)

// maxURL is the longest URL sent, in bytes. Servers reject URLs not much longer than this, so
// longer requests become a POST.
const maxURL = 8000

// maxReply limits the size of a reply, in bytes. Fifty sets of claims have 1 to 4 MB.
const maxReply = 32 << 20

// maxReplyBytes limits the replies to one Ask together, in bytes.
const maxReplyBytes = 2 * maxReply

// Limits of what one item or title contributes to the output, in bytes and in values. Wikimedia's
// own are a label of 250 characters and a title of 255 bytes.
const (
	maxName   = 1000     // a label or a title
	maxValues = 256      // values of one property
	maxText   = 64 << 10 // values, qualifiers and labels together
)

// Options configure a Source.
type Options struct {
	Commons      string           // "https://commons.wikimedia.org"
	Wikidata     string           // "https://www.wikidata.org"
	TraceMissing bool             // look up every missing category in the log
	Items        bool             // ask for what classes link to, so that scrape.Linker's items can be followed
	Language     string           // of labels and descriptions; "": English
	Now          func() time.Time // provides Answer.Fetched
	Lagging      func(error)      // called once, when the servers have lagged too long; maxlag is then omitted
}

// Source sends requests to the APIs and parses the replies.
type Source struct {
	options Options
	client  *http.Client
	sizes   batchSize

	mu    sync.Mutex
	noLag bool // omit maxlag
}

// New returns a source. transport must follow the rules of the API, as scrape/polite with
// APIDefaults does: Source itself does not wait or retry.
func New(o Options, transport http.RoundTripper) (*Source, error) {
	for _, base := range []*string{&o.Commons, &o.Wikidata} {
		u, err := url.Parse(*base)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
			u.RawQuery != "" {
			return nil, fmt.Errorf("api: %.80q is not the URL of a site; want one such as https://commons.wikimedia.org", *base)
		}
		*base = u.Scheme + "://" + u.Host
	}
	if o.Language != "" && !languageCode.MatchString(o.Language) {
		return nil, fmt.Errorf("api: %.80q is not the code of a language; want one such as en or pt-br", o.Language)
	}
	return &Source{options: o, client: &http.Client{Transport: transport, CheckRedirect: noRedirect},
		sizes: batchSize{size: mostKeys}}, nil
}

// languageCode matches the codes of Wikimedia's languages.
var languageCode = regexp.MustCompile(`^[a-z]{2,12}(-[a-z0-9]{2,12}){0,3}$`)

// noRedirect rejects redirects: the API does not send any.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Name returns "api".
func (s *Source) Name() string { return "api" }

// Steps lists the steps.
func (s *Source) Steps() []string {
	steps := []string{stepTitle, stepText, stepItem, stepClass}
	if s.options.TraceMissing {
		steps = append(steps, stepLog)
	}
	return steps
}

// BatchSize returns 50, or less after slow answers. It returns 1 for the step log.
func (s *Source) BatchSize(step string) int {
	if step == stepLog {
		return 1
	}
	return s.sizes.get()
}

// Took tells the source how long an answer took. Slow answers shrink the batches; fast ones
// let them grow again.
func (s *Source) Took(d time.Duration) { s.sizes.took(d) }

// Forecast estimates the requests by step. It assumes the proportions of GLDv2: of a hundred
// titles, 93 have an item, 12 of these have a main topic, and five are category redirects.
func (s *Source) Forecast(titles int) []scrape.Stage {
	batches := func(n int) int { return (n + mostKeys - 1) / mostKeys }
	redirects := titles / 20
	stages := []scrape.Stage{
		{Step: stepTitle, Requests: batches(titles + redirects), About: "which page a title leads to"},
		{Step: stepText, Requests: batches(redirects), About: "targets of category redirects"},
		{Step: stepItem, Requests: batches(titles*93/100) + batches(titles*12/100), About: "items and their main topics"},
		{Step: stepClass, Requests: batches(min(titles, 10_000)), About: "labels of classes"},
	}
	if s.options.Items {
		stages = append(stages, scrape.Stage{Step: stepClass, Requests: batches(min(titles, 3_000) + titles/5),
			About: "a guess: classes above them, and places"})
	}
	if s.options.TraceMissing {
		stages = append(stages, scrape.Stage{Step: stepLog, Requests: titles / 20, About: "log of missing categories"})
	}
	return stages
}

// batchSize is the number of keys in a request.
type batchSize struct {
	mu   sync.Mutex
	size int
}

func (b *batchSize) get() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

func (b *batchSize) took(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case d > time.Second:
		b.size = max(leastKeys, b.size/2)
	case d < time.Second/2:
		b.size = min(mostKeys, b.size+5)
	}
}

// Ask sends one request and its continuations. If the API rejects the request because of one
// id, Ask repeats it without that id.
func (s *Source) Ask(ctx context.Context, step string, keys []string) ([]scrape.Answer, error) {
	host := s.options.Commons
	if step == stepItem || step == stepClass {
		host = s.options.Wikidata
	}
	var answers []scrape.Answer
	asked, size := keys, 0
	more := url.Values{}
	seen := map[string]bool{}
	for range maxReplies {
		answer, err := s.send(ctx, host, step, asked, more)
		if err != nil {
			return nil, err
		}
		if size += len(answer.Body); size > maxReplyBytes {
			return nil, fmt.Errorf("the API's replies to one request are longer than %d bytes together", maxReplyBytes)
		}
		answers = append(answers, answer)
		next, err := followUp(answer.Body, asked)
		if err != nil {
			return nil, err
		}
		if next.done {
			return answers, nil
		}
		if len(next.keys) == 0 {
			return answers, nil
		}
		at := fmt.Sprint(len(next.keys), " ", next.more.Encode()) // with fewer keys it begins anew
		if seen[at] {
			return nil, fmt.Errorf("the API continues its answer where it was before: %.80q", at)
		}
		seen[at] = true
		asked, more = next.keys, next.more
	}
	return nil, fmt.Errorf("the API continues its answer more than %d times", maxReplies)
}

// maxReplies limits the replies to one Ask. Each rejected id and each continuation costs
// one.
const maxReplies = 2 * mostKeys

// send sends one request. It omits maxlag once the servers have lagged for too long.
func (s *Source) send(ctx context.Context, host, step string, keys []string, more url.Values) (scrape.Answer, error) {
	for {
		values := s.parameters(step, keys)
		for name, value := range more {
			values[name] = value
		}
		s.mu.Lock()
		patient := !s.noLag
		s.mu.Unlock()
		if patient {
			values.Set("maxlag", "5")
		}
		answer, err := s.fetch(ctx, host, values)
		if !errors.As(err, new(*polite.LagError)) || errors.As(err, new(*polite.StopError)) || !patient {
			return answer, err
		}
		s.mu.Lock()
		s.noLag = true
		s.mu.Unlock()
		if s.options.Lagging != nil {
			s.options.Lagging(err)
		}
	}
}

// fetch sends the parameters by GET, or by POST if the URL would be too long.
func (s *Source) fetch(ctx context.Context, host string, values url.Values) (scrape.Answer, error) {
	a := scrape.Answer{Method: http.MethodGet, URL: host + "/w/api.php?" + values.Encode()}
	if len(a.URL) > maxURL {
		a = scrape.Answer{Method: http.MethodPost, URL: host + "/w/api.php", Form: values.Encode()}
	}
	req, err := http.NewRequestWithContext(ctx, a.Method, a.URL, strings.NewReader(a.Form))
	if err != nil {
		return a, err
	}
	if a.Form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	resp, err := s.client.Do(req)
	// The URL contains fifty titles and would leave no room for the reason in the record.
	if whole := (*url.Error)(nil); errors.As(err, &whole) {
		err = fmt.Errorf("%s %s/w/api.php: %w", a.Method, host, whole.Err)
	}
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if a.Body, err = io.ReadAll(io.LimitReader(resp.Body, maxReply+1)); err != nil {
		return a, err
	}
	a.Status, a.Type, a.Fetched = resp.StatusCode, resp.Header.Get("Content-Type"),
		s.options.Now().UTC().Truncate(time.Second)
	switch {
	case len(a.Body) > maxReply:
		return a, fmt.Errorf("the API's reply is longer than %d bytes", maxReply)
	case a.Status != http.StatusOK:
		return a, fmt.Errorf("HTTP %d %s from the API", a.Status, http.StatusText(a.Status))
	}
	return a, nil
}

// stepQuery is the first request of a step, without its keys.
type stepQuery struct {
	keys  string            // parameter that takes the keys
	fixed map[string]string // the other parameters
}

var stepQueries = map[string]stepQuery{
	stepTitle: {"titles", map[string]string{
		"action": "query", "redirects": "1",
		"prop": "pageprops|categories|revisions", "ppprop": "wikibase_item|disambiguation",
		"cllimit": "max", "clcategories": infoboxCategory + "|" + redirectCategory + "|" + disambiguationCategory,
		"rvprop": "ids|timestamp",
	}},
	stepText: {"titles", map[string]string{
		"action": "query", "prop": "revisions", "rvprop": "content|ids", "rvslots": "main",
	}},
	stepItem: {"ids", map[string]string{
		"action": "wbgetentities", "props": "claims|descriptions|info", "languagefallback": "1",
	}},
	stepClass: {"ids", map[string]string{
		"action": "wbgetentities", "props": "labels|info", "languagefallback": "1",
	}},
	stepLog: {"letitle", map[string]string{
		"action": "query", "list": "logevents", "leprop": "type|title|timestamp|details", "lelimit": "20",
	}},
}

// parameters returns the parameters of the first request for some keys. The log is asked for one
// title at a time.
func (s *Source) parameters(step string, keys []string) url.Values {
	q := stepQueries[step]
	v := url.Values{"format": {"json"}, "formatversion": {"2"}}
	for name, value := range q.fixed {
		v.Set(name, value)
	}
	if step == stepLog {
		v.Set(q.keys, keys[0])
	} else {
		v.Set(q.keys, joined(keys))
	}
	if step == stepItem || step == stepClass {
		v.Set("languages", joined(s.languages()))
	}
	if step == stepClass && s.options.Items {
		v.Set("props", "labels|descriptions|claims|info")
	}
	return v
}

// languages lists the languages of labels and descriptions, the preferred one first.
func (s *Source) languages() []string {
	if s.options.Language == "" || s.options.Language == "en" {
		return []string{"en", "mul"}
	}
	return []string{s.options.Language, "en", "mul"}
}

// joined joins a list of values. Titles cannot contain "|", but a URL of GLDv2 might. joined
// then uses the API's alternative separator.
func joined(keys []string) string {
	if slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(k, "|") }) {
		return "\x1f" + strings.Join(keys, "\x1f")
	}
	return strings.Join(keys, "|")
}
