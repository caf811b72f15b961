package page

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/internal/testing/usertime"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/testing/fakecommons"
)

func fixed() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("", 3600)) }

func source(t *testing.T, categories ...fakecommons.Category) (*Source, *fakecommons.Server, *httptest.Server) {
	t.Helper()
	fake := fakecommons.New(categories)
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	s := must.Get(New(server.URL, http.DefaultTransport, fixed))(t)
	return s, fake, server
}

// fetched is what a crawl stores about one title.
type fetched struct {
	labels.Record
	answers []scrape.Answer
	keys    []string // of the answers
}

// fetch fetches a title and what it leads to, as a crawl does.
func fetch(ctx context.Context, s *Source, title string) (f fetched, err error) {
	facts := map[string]scrape.Fact{}
	for {
		rec, lacking := s.Finding(title, func(t scrape.Task) (scrape.Fact, bool) {
			fact, ok := facts[t.Key]
			return fact,
				ok
		})
		if len(lacking) == 0 {
			f.Record = rec
			return f, nil
		}
		answers, err := s.Ask(ctx, lacking[0].Step, []string{lacking[0].Key})
		if err != nil {
			return f, err
		}
		read, err := s.Read(lacking[0].Step, []string{lacking[0].Key}, answers)
		if err != nil {
			return f, err
		}
		facts[lacking[0].Key] = read[lacking[0].Key]
		f.answers, f.keys = append(f.answers, answers...), append(f.keys, lacking[0].Key)
	}
}

func soft(from, to string) fakecommons.Category {
	return fakecommons.Category{Title: from, Target: to, Variant: fakecommons.SoftRedirect}
}

func church(title string) fakecommons.Category {
	return fakecommons.Category{Title: title, Values: []fakecommons.Value{{Text: "church building"}}, Item: "Q42",
		Revision: 900000007}
}

func TestFetchFillsTheRecord(t *testing.T) {
	s, _, server := source(t, church("Category:St. Éloi's, A & B (50%)"))
	f := must.Get(fetch(t.Context(), s, "Category:St. Éloi's, A & B (50%)"))(t)
	yes := true
	want := labels.Record{Infobox: &yes, Outcome: labels.OK,
		Values: []labels.TagValue{{Raw: "church building", Text: "church building"}},
		Item:   "Q42", PageID: 100000007, Revision: 900000007, Status: 200,
		About: &labels.About{Description: "place", Image: "St. Éloi's, A & B (50%).jpg",
			Place: []string{"Somewhere", "Nowhere"}}}
	if !reflect.DeepEqual(f.Record, want) {
		t.Errorf("record %+v\nwant   %+v", f.Record, want)
	}
	if a := f.answers[0]; len(f.answers) != 1 || a.URL != server.URL+"/wiki/Category:St._%C3%89loi's,_A_%26_B_(50%25)" ||
		a.Method != "GET" || !a.Fetched.Equal(time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)) || a.Status != 200 ||
		a.Type != "text/html; charset=UTF-8" || !strings.HasSuffix(string(a.Body), "</html>\n") {
		t.Errorf("answers %+v", f.answers)
	}
}

func TestRedirectsAreFollowed(t *testing.T) {
	s, fake, _ := source(t, church("Category:D"),
		fakecommons.Category{Title: "Category:Red", Target: "Category:Never & \"was\"", Variant: fakecommons.RedRedirect},
		soft("Category:To red", "Category:Red"),
		soft("Category:A", "Category:B"), soft("Category:B", "Category:C"), soft("Category:C", "Category:D"),
		soft("Category:Z", "Category:A"),
		soft("Category:Self", "Category:Self"), soft("Category:P", "Category:Q"), soft("Category:Q", "Category:P"),
		soft("Category:Gone", "Category:Nowhere"),
		fakecommons.Category{Title: "Category:Hard", Target: "Category:D", Variant: fakecommons.HardRedirect},
		fakecommons.Category{Title: "Category:Moved", Target: "Category:D", Variant: fakecommons.HTTPRedirect})
	for title, want := range map[string]struct {
		outcome   labels.Outcome
		redirects string
		err       string
		answers   int
	}{
		"Category:C": {labels.OK, "Category:D", "", 2},
		"Category:A": {labels.OK, "Category:B|Category:C|Category:D", "", 4},
		"Category:Z": {labels.RedirectLoop, "Category:A|Category:B|Category:C|Category:D",
			"Category:Z → Category:A → Category:B → Category:C → Category:D", 4},
		"Category:Self":    {labels.RedirectLoop, "Category:Self", "Category:Self → Category:Self", 1},
		"Category:P":       {labels.RedirectLoop, "Category:Q|Category:P", "Category:P → Category:Q → Category:P", 2},
		"Category:Gone":    {labels.Missing, "Category:Nowhere", "", 2},
		"Category:Hard":    {labels.OK, "Category:D", "", 1},
		"Category:Moved":   {labels.OK, "Category:D", "", 1},
		"Category:Nowhere": {labels.Missing, "", "", 1},
		"Category:Red":     {labels.Missing, "Category:Never & \"was\"", "", 1},
		"Category:To red":  {labels.Missing, "Category:Red|Category:Never & \"was\"", "", 2},
	} {
		f, err := fetch(t.Context(), s, title)
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		if f.Outcome != want.outcome || strings.Join(f.Redirects, "|") != want.redirects || f.Error != want.err ||
			len(f.answers) != want.answers {
			t.Errorf("%s: %s, redirects %q, %q, %d answers\nwant %+v", title, f.Outcome, f.Redirects, f.Error, len(f.answers),
				want)
		}
		if want.outcome == labels.OK && (f.PageID != 100000007 || f.Item != "Q42") {
			t.Errorf("%s: page %d, item %s; want those of the target", title, f.PageID, f.Item)
		}
	}
	if n := fake.Requests()["Category:Never & \"was\""]; n != 0 {
		t.Errorf("the target of a red link was asked for %d times", n)
	}
	if n := fake.Requests()["Category:Self"]; n != 1 {
		t.Errorf("a redirect to itself was asked for %d times", n)
	}
}

// A page behind a redirect belongs to the title that was requested. If a later parser finds another
// redirect target, another page must be fetched.
func TestPageAnswersOnlyItsRequestedTitle(t *testing.T) {
	s, _, _ := source(t, church("Category:D"), soft("Category:A", "Category:B"), soft("Category:B", "Category:D"))
	f, err := fetch(t.Context(), s, "Category:A")
	if err != nil || strings.Join(f.keys, "|") != "Category:A|Category:B|Category:D" {
		t.Fatal(f.keys, err)
	}
	facts := must.Get(s.Read(step, []string{"Category:A"}, f.answers[:1]))(t)
	_, lacking := s.Finding("Category:A", func(t scrape.Task) (scrape.Fact, bool) {
		fact, ok := facts[t.Key]
		return fact,
			ok
	})
	if len(lacking) != 1 || lacking[0] != (scrape.Task{Step: step, Key: "Category:B"}) {
		t.Errorf("lacking %v, want the target alone", lacking)
	}
}

func TestUnusableAnswersAreErrors(t *testing.T) {
	for name, fault := range map[string]fakecommons.Fault{
		"429":        {Status: 429, RetryAfter: "5"},
		"403":        {Status: 403},
		"503":        {Status: 503},
		"broken off": {Cut: 300},
		"cut page":   {Body: "<html><div id=\"mw-content-text\"><table id=\"wdinfobox\">"},
	} {
		c := church("Category:A")
		c.Faults = []fakecommons.Fault{fault}
		s, _, _ := source(t, c)
		if f, err := fetch(t.Context(), s, c.Title); err == nil {
			t.Errorf("%s: finding %+v, want an error", name, f.Record)
		}
		if f, err := fetch(t.Context(), s, c.Title); err != nil || f.Outcome != labels.OK {
			t.Errorf("%s: the next answer gives %+v, %v", name, f.Record, err)
		}
	}
}

func TestUnexpectedAnswersGetTheirOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		fault   fakecommons.Fault
		outcome labels.Outcome
		err     string
	}{
		"JSON": {fakecommons.Fault{Type: "application/json", Body: "{}"}, labels.Malformed,
			`Content-Type "application/json"; want text/html`},
		"Latin-1": {fakecommons.Fault{Type: "text/html; charset=ISO-8859-1", Body: "<html>Vi\xf1a</html>"},
			labels.Malformed, `Content-Type "text/html; charset=ISO-8859-1"`},
		"no UTF-8": {fakecommons.Fault{Body: "<html>Vi\xf1a</html>"}, labels.Malformed, "the page is not UTF-8"},
		"too large": {fakecommons.Fault{Body: "<html>" + strings.Repeat("x", maxBody) + "</html>"}, labels.Malformed,
			"the page is longer than"},
		"400":        {fakecommons.Fault{Status: 400}, labels.Failed, "HTTP 400 Bad Request"},
		"414":        {fakecommons.Fault{Status: 414}, labels.Failed, "HTTP 414"},
		"404":        {fakecommons.Fault{Status: 404}, labels.Missing, ""},
		"410":        {fakecommons.Fault{Status: 410}, labels.Missing, ""},
		"login wall": {fakecommons.Fault{Body: "<html><form></form></html>"}, labels.Malformed, "not a category page"},
	} {
		category := church("Category:A")
		category.Faults = []fakecommons.Fault{c.fault}
		s, _, _ := source(t, category)
		f, err := fetch(t.Context(), s, category.Title)
		if err != nil || f.Outcome != c.outcome || !strings.HasPrefix(f.Error, c.err) {
			t.Errorf("%s: %s, %q, %v; want %s, %q", name, f.Outcome, f.Error, err, c.outcome, c.err)
		}
	}
}

func TestEnvironmentCannotChangeTheCollector(t *testing.T) {
	cache := t.TempDir()
	for name, value := range map[string]string{
		"COLLY_CACHE_DIR": cache, "COLLY_USER_AGENT": "Mozilla", "COLLY_MAX_BODY_SIZE": "10",
		"COLLY_DISALLOWED_DOMAINS": "127.0.0.1",
		"COLLY_DETECT_CHARSET":     "yes", "COLLY_MAX_REQUESTS": "1", "COLLY_PARSE_HTTP_ERROR_RESPONSE": "no",
		"COLLY_FOLLOW_REDIRECTS": "no",
		"COLLY_MAX_DEPTH":        "1", "COLLY_IGNORE_ROBOTSTXT": "no",
	} {
		t.Setenv(name, value)
	}
	c := church("Category:A")
	c.Faults = []fakecommons.Fault{{Status: 503}}
	s, _, _ := source(t, c, fakecommons.Category{Title: "Category:Moved", Target: "Category:A",
		Variant: fakecommons.HTTPRedirect})
	if _, err := fetch(t.Context(), s, c.Title); err == nil {
		t.Error("a 503 was no error")
	}
	for _, title := range []string{"Category:A", "Category:Moved", "Category:A"} {
		if f, err := fetch(t.Context(), s, title); err != nil || f.Outcome != labels.OK {
			t.Errorf("%s: %+v, %v", title, f.Record, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(cache, "*")); len(files) > 0 {
		t.Errorf("colly cached %v", files)
	}
}

func TestRequestsCarryNoCookieAndNoLanguage(t *testing.T) {
	var seen []http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header)
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		http.Redirect(w, r, r.URL.Path, http.StatusFound)
	}))
	defer server.Close()
	s := must.Get(New(server.URL, http.DefaultTransport, fixed))(t)
	if _, err := fetch(t.Context(), s, "Category:A"); err == nil ||
		!strings.Contains(err.Error(), "more than 5 redirects") {
		t.Errorf("error %v, want the end of the redirects", err)
	}
	if len(seen) != 6 {
		t.Errorf("%d requests, want 6", len(seen))
	}
	for _, h := range seen {
		if h.Get("Cookie") != "" || h.Get("Accept-Language") != "" {
			t.Errorf("headers %v", h)
		}
	}
}

func TestCancellingEndsAFetch(t *testing.T) {
	c := church("Category:A")
	c.Faults = []fakecommons.Fault{{Delay: time.Minute}}
	s, _, _ := source(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := fetch(ctx, s, c.Title); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 30*time.Second {
		t.Errorf("error %v after %v", err, time.Since(begin))
	}
}

func TestBaseMustBeAnOrigin(t *testing.T) {
	for _, base := range []string{"", "commons.wikimedia.org", "ftp://x", "https://",
		"https://commons.wikimedia.org/wiki/", "http://x/?a=b"} {
		if _, err := New(base, nil, nil); err == nil {
			t.Errorf("New(%q) gave no error", base)
		}
	}
	for _, base := range []string{"https://commons.wikimedia.org", "http://127.0.0.1:8080/"} {
		if s, err := New(base, nil, nil); err != nil || s.URL("Category:A b") != strings.TrimSuffix(base,
			"/")+"/wiki/Category:A_b" {
			t.Errorf("New(%q): %v", base, err)
		}
	}
}

// BenchmarkInfobox reads the saved infobox of 4 kB. lxml reads 23,000 pages/s per core; the goal is
// 60,000.
func BenchmarkInfobox(b *testing.B) {
	benchmarkParse(b, savedInfobox(b))
}

// BenchmarkPage reads a page of 107 kB with the infobox after a third of it. lexbor reads 1,400
// pages/s per core; the goal is 5,000.
func BenchmarkPage(b *testing.B) {
	c := church("Category:A")
	body := c.HTML(104_500)
	if len(body) < 106_000 || len(body) > 108_000 {
		b.Fatalf("%d bytes", len(body))
	}
	benchmarkParse(b, body)
}

// BenchmarkPageWithoutTag reads a page of 107 kB to its end.
func BenchmarkPageWithoutTag(b *testing.B) {
	c := church("Category:A")
	c.Variant = fakecommons.NoTag
	benchmarkParse(b, c.HTML(104_500))
}

func benchmarkParse(b *testing.B, body []byte) {
	usertime.Measure(b, body, func() error { _, err := Parse(body); return err })
}
