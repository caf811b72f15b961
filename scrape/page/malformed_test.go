package page

import (
	"errors"
	"strings"
	"testing"

	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/testing/fakecommons"
)

const (
	start = `<html><div id="mw-content-text">`
	stop  = `</div></html>`
)

func head(fields string) string {
	return `<html><script>RLCONF={` + fields + `};</script><div id="mw-content-text"></div></html>`
}

// malformed lists pages that must not be taken for a page without a tag. Each has its error, or the
// outcome if the page can be read.
var malformed = map[string]struct {
	body    string
	err     string         // beginning of the error
	outcome labels.Outcome // if there is no error
}{
	"empty":       {"", "the page is empty", ""},
	"white space": {" \r\n\t\n", "the page is empty", ""},
	"JSON error":  {`{"error":{"code":"maxlag"}}`, "the page is not HTML", ""},
	"plain text":  {"upstream connect error or disconnect/reset before headers", "the page is not HTML", ""},
	"error page of a cache": {"<!DOCTYPE html><html><title>Wikimedia Error</title><p>Our servers are currently under " +
		"maintenance</html>", "not a category page: it lacks MediaWiki's #mw-content-text", ""},
	"login page": {"<html><form action=/login><input name=user></form></html>", "not a category page: it lacks",
		""},
	"frameset": {"<html><frameset><frame src=x></frameset></html>", "not a category page: it lacks", ""},
	"content in a comment": {`<html><!-- <div id="mw-content-text"></div> --></html>`, "not a category page: it lacks",
		""},
	"content in a script": {`<html><script>'<div id="mw-content-text">'</script></html>`,
		"not a category page: it lacks", ""},
	"content in an attribute": {`<html><p title='<div id="mw-content-text">'></p></html>`, "not a category page: it lacks",
		""},
	"Latin-1":         {start + "Vi\xf1a" + stop, "the page is not UTF-8", ""},
	"UTF-16":          {"\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00", "the page is not UTF-8", ""},
	"surrogate":       {start + "\xed\xa0\x80" + stop, "the page is not UTF-8", ""},
	"overlong":        {start + "\xc0\xbc" + stop, "the page is not UTF-8", ""},
	"NUL":             {start + "\x00" + stop, "the page contains a NUL byte", ""},
	"gzip":            {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03<html>", "the page is not UTF-8", ""},
	"too large":       {start + strings.Repeat("x", maxBody) + stop, "the page is longer than 8388608 bytes", ""},
	"cut in the head": {`<html><script>RLCONF={"wgArticleId":5`, "the page is truncated", ""},
	"cut in the row": {start + `<table id="wdinfobox">` + th + `<td><ul><li>horse ra`, "the page is truncated",
		""},
	"cut behind the row": {start + `<table id="wdinfobox">` + th + `<td>horse racing venue</td></tr>`,
		"the page is truncated", ""},
	"end in the middle": {start + "</html>" + strings.Repeat("x", 2000), "the page is truncated", ""},
	"end in the text":   {"<html>&lt;/html&gt;", "the page is truncated", ""},
	"gallery": {head(`"wgNamespaceNumber":0,"wgPageName":"香港","wgArticleId":5`),
		"not a category page: its namespace is 0", ""},
	"file page": {head(`"wgNamespaceNumber":6,"wgPageName":"File:A.jpg","wgArticleId":5`),
		"not a category page: its namespace is 6", ""},
	"special page": {head(`"wgNamespaceNumber":-1,"wgPageName":"Special:Search","wgArticleId":0`),
		"not a category page: its namespace is -1", ""},
	"namespace as text": {head(`"wgNamespaceNumber":"14","wgArticleId":5`),
		"wgNamespaceNumber in the page's head: ", ""},
	"id beyond 64 bits": {head(`"wgNamespaceNumber":14,"wgArticleId":99999999999999999999`),
		"wgArticleId in the page's head: ", ""},
	"title cut": {head(`"wgArticleId":5,"wgNamespaceNumber":14,"wgPageName":"Cat`),
		"wgPageName in the page's head: ", ""},
	"title of no page": {head(`"wgArticleId":5,"wgNamespaceNumber":14,"wgPageName":"Category:<b>"`),
		"wgPageName in the page's head: ", ""},
	"no title": {head(`"wgArticleId":5,"wgNamespaceNumber":14`), "wgPageName in the page's head: ", ""},
	"item of no number": {head(`"wgArticleId":5,"wgNamespaceNumber":14,"wgPageName":"Category:A"` +
		`,"wgWikibaseItemId":"Q1<script>"`), "wgWikibaseItemId in the page's head: ", ""},
	"categories as text": {head(`"wgArticleId":5,"wgNamespaceNumber":14,"wgPageName":"Category:A"` +
		`,"wgCategories":"x"`), "wgCategories in the page's head: ", ""},
	"redirect without a link": {head(`"wgArticleId":5,"wgNamespaceNumber":14,"wgPageName":"Category:A"` +
		`,"wgCategories":["Category redirects"]`), "a category redirect without a link", ""},
	"redirect to a file": {start + `<div class="category-redirect-header"><a href="/wiki/File:A.jpg">x</a></div>` +
		stop, "a category redirect: ", ""},
	"redirect to another site": {start +
		`<div class="category-redirect-header"><a href="https://evil.net/wiki/Category:A">x</a></div>` + stop,
		"a category redirect: ", ""},
	"redirect to a script": {start +
		`<div class="category-redirect-header"><a href="javascript:alert(1)">x</a></div>` + stop, "a category redirect: ",
		""},
	"red link to a file": {start +
		`<div class="category-redirect-header"><a href="/w/index.php?title=File:A.jpg&amp;redlink=1">x</a></div>` + stop,
		"a category redirect: ", ""},
	"red link elsewhere": {start +
		`<div class="category-redirect-header"><a href="//evil.net/w/index.php?title=Category:A&amp;redlink=1">x</a></div>` +
		stop, "a category redirect: ", ""},
	"no red link": {start +
		`<div class="category-redirect-header"><a href="/w/index.php?title=Category:A">x</a></div>` + stop,
		"a category redirect: ", ""},
	"in German": {`<html lang="de"><div id="mw-content-text">` + stop, `the page is in the language "de"`,
		""},
	"infobox in German": {box(`<tr><th class="wikidatainfobox-lcell">Ist ein(e)</th><td>Kirche</td></tr>`),
		`the infobox is in the language "de"`, ""},
	"redirect to nothing": {start + `<div class="category-redirect-header"><a href="/wiki/Category:">x</a></div>` +
		stop, "a category redirect: ", ""},
	"deep infobox": {box(strings.Repeat("<div>", 300)), "the infobox nests more than 256 elements", ""},
	"deep value": {box(th + "<td>" + strings.Repeat("<b>", 300) + "x"),
		"the infobox nests more than 256 elements", ""},
	"many values": {box(th + "<td><ul>" + strings.Repeat("<li>x</li>", 300)),
		`"Instance of" has more than 256 values`, ""},
	"long value": {box(th + "<td>" + strings.Repeat("x", 70_000)),
		`the values of "Instance of" have more than 65536 bytes`, ""},
	"long link": {box(th + `<td><a href="` + strings.Repeat("x", 70_000) + `">x</a>`),
		`the values of "Instance of" have more than 65536 bytes`, ""},
	"many parentheses": {box(th + "<td>x" + strings.Repeat("()", 40_000)),
		`the values of "Instance of" have more than 65536 bytes`, ""},
	"deep page": {`<html>` + strings.Repeat("<div>", 100_000) + `<div id="mw-content-text">` + stop, "",
		labels.NoInfobox},
	"infobox without rows": {box(""), "", labels.NoTag},
	"unclosed comment": {start + `<table id="wdinfobox"><!-- ` + th + "<td>x</td></table>" + stop, "",
		labels.NoTag},
	"unclosed attribute": {start + `<table id="wdinfobox>` + th + "<td>x</td></table>" + stop, "", labels.NoInfobox},
	"unclosed script":    {start + `<script>` + box(th+"<td>x</td>"), "", labels.NoInfobox},
}

func TestMalformedPagesHaveNamedErrors(t *testing.T) {
	if len(malformed) < 40 {
		t.Fatalf("%d pages, want 40", len(malformed))
	}
	for name, c := range malformed {
		t.Run(name, func(t *testing.T) {
			p, err := Parse([]byte(c.body))
			switch {
			case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)):
				t.Errorf("error %v, want %q…", err, c.err)
			case c.err == "" && (err != nil || p.Outcome() != c.outcome):
				t.Errorf("outcome %s, error %v, want %s", p.Outcome(), err, c.outcome)
			}
			// A page with an error never has the finding that there is no tag.
			f, err := read(scrape.Answer{Status: 200, Type: "text/html; charset=UTF-8", Body: []byte(c.body)})
			switch {
			case strings.HasPrefix(c.err, "the page is truncated"):
				if !errors.Is(err, ErrTruncated) {
					t.Errorf("finding %+v, error %v, want ErrTruncated", f, err)
				}
			case err != nil:
				t.Errorf("error %v, want a finding", err)
			case c.err != "" && (f.Outcome != labels.Malformed || !strings.HasPrefix(f.Error, c.err)):
				t.Errorf("outcome %s, %q, want malformed", f.Outcome, f.Error)
			case c.err == "" && f.Outcome != c.outcome:
				t.Errorf("outcome %s, want %s", f.Outcome, c.outcome)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range malformed {
		if len(c.body) < 10_000 {
			f.Add([]byte(c.body))
		}
	}
	for v := fakecommons.Plain; v <= fakecommons.MissingButKnown; v++ {
		c := fakecommons.Category{Title: "Category:A", Target: "Category:B", Variant: v, Values: manyValues, Item: "Q1"}
		f.Add(c.HTML(500))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := Parse(body)
		if err != nil {
			return
		}
		if len(p.Values) > maxValues {
			t.Errorf("%d values", len(p.Values))
		}
		if _, err := (labels.Record{Values: p.Values, Title: p.Name,
			Redirects: []string{p.Redirect}}).MarshalJSON(); err != nil {
			t.Errorf("the finding cannot be written: %v", err)
		}
		if p.HasTag && !p.Infobox {
			t.Error("a tag without an infobox")
		}
	})
}
