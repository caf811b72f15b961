package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/internal/testing/usertime"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/polite"
)

// links is a reply in which the title of number i is normalised to that of number i+1.
func links(n int) string {
	var b strings.Builder
	b.WriteString(`{"query":{"normalized":[`)
	for i := range n {
		fmt.Fprintf(&b, `%s{"from":"T%d","to":"T%d"}`, map[bool]string{true: ","}[i > 0], i, i+1)
	}
	fmt.Fprintf(&b, `],"pages":[{"title":"T%d","pageid":1}]}}`, n)
	return b.String()
}

func TestChainsOfTitlesAreBounded(t *testing.T) {
	for n, invalid := range map[int]bool{0: false, 2: false, 32: false, 33: true, 100_000: true} {
		body := links(n)
		began := usertime.Now()
		facts := must.Get(readTitles([]string{"T0"}, answer(body)))(t)
		took := usertime.Now() - began
		if f := decoded[titleFact](t, facts, "T0"); (f.Invalid != "") != invalid || f.Invalid == "" && f.ID != 1 {
			t.Errorf("%d links: %+v", n, f)
		}
		if took > 5*time.Second {
			t.Errorf("%d links take %v", n, took)
		}
	}
	long := `{"query":{"redirects":[{"from":"T0","to":"` + strings.Repeat("x", 1001) + `"}],"pages":[]}}`
	facts := must.Get(readTitles([]string{"T0"}, answer(long)))(t)
	if f := decoded[titleFact](t, facts, "T0"); !strings.Contains(f.Invalid, "1001 bytes") {
		t.Errorf("a title of 1001 bytes: %.300v", f)
	}
}

// TestOpenBracesTakeLinearTime: each of them may begin the template of a redirect.
func TestOpenBracesTakeLinearTime(t *testing.T) {
	text := strings.Repeat("{{", 1<<17) + "category redirect|B}}"
	began := usertime.Now()
	if target, err := redirectTarget(text); err != nil || target != "Category:B" {
		t.Errorf("%q, %v", target, err)
	}
	if took := usertime.Now() - began; took > 5*time.Second {
		t.Errorf("%d bytes take %v", len(text), took)
	}
}

func TestContinuationsOnlyExtendTheRequest(t *testing.T) {
	for body, want := range map[string]string{
		`{"continue":{"clcontinue":"5|A","continue":"||"},"query":{}}`:           "",
		`{"continue":{"lecontinue":7},"query":{}}`:                               "",
		`{"continue":{"action":"purge"},"query":{}}`:                             `"action"`,
		`{"continue":{"titles":"Category:Other","continue":"||"},"query":{}}`:    `"titles"`,
		`{"continue":{"continue":"` + strings.Repeat("x", 2001) + `"}}`:          "2003 bytes",
		`{"continue":{"format":"xml"},"query":{}}`:                               `"format"`,
		`{"continue":{"` + strings.Repeat("x", 5000) + `":"1"},"query":{"a":1}}`: "would change",
	} {
		n, err := followUp([]byte(body), []string{"A"})
		good := err == nil && len(n.more) > 0
		if want != "" {
			good = err != nil && strings.Contains(err.Error(), want) && len(err.Error()) < 400
		}
		if !good {
			t.Errorf("%.80s: %v, %.200v; want %q", body, n.more, err, want)
		}
	}
}

// roundTrip is a transport that answers by itself.
type roundTrip func(*http.Request) string

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"},
		"Retry-After": {"86400"}},
		Body: io.NopCloser(bytes.NewReader([]byte(f(r)))), Request: r}, nil
}

func TestContinuationsEnd(t *testing.T) {
	big := `,"x":"` + strings.Repeat("x", 30<<20) + `"`
	for name, c := range map[string]struct {
		reply func(n int) string
		asked int
		want  string
	}{
		"a loop":        {func(int) string { return `{"continue":{"clcontinue":"1"},"query":{}}` }, 2, "where it was before"},
		"a long circle": {func(n int) string { return fmt.Sprintf(`{"continue":{"continue":"%d"}}`, n%9) }, 10, "before"},
		"no end": {func(n int) string { return fmt.Sprintf(`{"continue":{"continue":"%d"}}`, n) }, 100,
			"more than 100 times"},
		"much": {func(n int) string { return fmt.Sprintf(`{"continue":{"continue":"%d"}%s}`, n, big) }, 3,
			"longer than 67108864 bytes together"},
	} {
		asked := 0
		source, err := New(Options{Commons: "https://c.example", Wikidata: "https://w.example", Now: time.Now},
			roundTrip(func(*http.Request) string { asked++; return c.reply(asked) }))
		must.Do(t, err)
		_, err = source.Ask(t.Context(), stepTitle, []string{"Category:A"})
		if err == nil || !strings.Contains(err.Error(), c.want) || asked != c.asked {
			t.Errorf("%s: %v after %d requests; want %q after %d", name, err, asked, c.want, c.asked)
		}
	}
}

// awake is a clock on which nobody may wait.
type awake struct{ t *testing.T }

func (awake) Now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func (a awake) Sleep(_ context.Context, d time.Duration) error {
	if d > time.Minute {
		a.t.Errorf("a wait of %v", d)
	}
	return nil
}

// TestLagOfADayStopsTheCrawl: to go on without maxlag would ignore what the servers asked for.
func TestLagOfADayStopsTheCrawl(t *testing.T) {
	settings := polite.APIDefaults()
	settings.Hosts, settings.Clock = []string{"c.example", "w.example"}, awake{t}
	asked := 0
	transport, err := polite.New(settings, roundTrip(func(r *http.Request) string {
		asked++
		return `{"error":{"code":"maxlag","info":"lagged"}}`
	}))
	must.Do(t, err)
	source, err := New(Options{Commons: "https://c.example", Wikidata: "https://w.example", Now: time.Now,
		Lagging: func(err error) { t.Errorf("it would go on: %v", err) }}, transport)
	must.Do(t, err)
	_, err = source.Ask(t.Context(), stepTitle, []string{"Category:A"})
	var stop *polite.StopError
	if !errors.As(err, &stop) || !stop.RetryAt().Equal(awake{}.Now().Add(24*time.Hour)) || asked != 1 {
		t.Errorf("%v after %d requests, want a stop for a day", err, asked)
	}
}

// TestOneItemFillsNoDisk: what is too long for Wikidata is malformed, and alone in its batch.
func TestOneItemFillsNoDisk(t *testing.T) {
	class := func(n int) string {
		return `{"entities":{"Q22698":{"id":"Q22698","labels":{"en":{"language":"en","value":"` +
			strings.Repeat("x", n) + `"}}}}}`
	}
	claims := func(property string, n int) string {
		one := statementOf(parkSnak, "")
		return claim(property, strings.Repeat(one+",", n-1)+one)
	}
	qualified := func(n int) string {
		return claim("P31", statementOf(parkSnak,
			`,"qualifiers-order":[`+strings.Repeat(`"P1",`, n)+`"P1"],"qualifiers":{"P1":[`+
				strings.Repeat(`{"snaktype":"novalue"},`, n)+`{"snaktype":"novalue"}]}`))
	}
	for name, c := range map[string]struct {
		item, class string
		outcome     labels.Outcome
		why         string
	}{
		"a label":       {claims("P31", 1), class(1000), labels.OK, ""},
		"a long label":  {claims("P31", 1), class(1001), labels.Malformed, "its label has 1001 bytes"},
		"values":        {claims("P31", 256), class(100), labels.OK, ""},
		"many values":   {claims("P31", 257), class(9), labels.Malformed, "257 values"},
		"much text":     {claims("P31", 256), class(900), labels.Malformed, "more than 65536 bytes"},
		"qualifiers":    {qualified(200), class(9), labels.OK, ""},
		"too many":      {qualified(10_000), class(9), labels.Malformed, "its qualifiers have"},
		"much combined": {claims("P971", 1000), class(9), labels.Malformed, "1000 values"},
	} {
		facts := map[scrape.Task]scrape.Fact{
			{Step: stepTitle, Key: "Category:A"}: scrape.Fact(`{"title":"Category:A","page_id":1,"item":"Q1"}`)}
		for step, body := range map[string]string{stepItem: c.item, stepClass: c.class} {
			key := map[string]string{stepItem: "Q1", stepClass: "Q22698"}[step]
			read, err := (&Source{}).Read(step, []string{key}, answer(body))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			facts[scrape.Task{Step: step, Key: key}] = read[key]
		}
		rec, lacking := (&Source{}).Finding("Category:A", func(task scrape.Task) (scrape.Fact, bool) {
			fact, known := facts[task]
			return fact, known
		})
		if rec.Outcome != c.outcome || !strings.Contains(rec.Error, c.why) || len(lacking) > 0 {
			t.Errorf("%s: %s, %.200s, lacking %v; want %s, %s", name, rec.Outcome, rec.Error, lacking, c.outcome, c.why)
		}
	}
}
