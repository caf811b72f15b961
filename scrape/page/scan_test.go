package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"hgld/scrape/fakecommons"
)

// scanned lists the tags and texts that the scanner finds.
func scanned(body []byte) (all []string) {
	s := scanner{data: body}
	for {
		switch s.next() {
		case endOfPage:
			return all
		case startTag:
			all = append(all, fmt.Sprintf("<%s id=%q class=%q href=%q title=%q colspan=%q>", s.name,
				decodeAttribute(s.id), decodeAttribute(s.class), decodeAttribute(s.href), decodeAttribute(s.title),
				decodeAttribute(s.colspan)))
		case endTag:
			all = append(all, "</"+s.name+">")
		case textToken:
			all = appendText(all, decode(s.text))
		case rawText:
			if s.name == "title" || s.name == "textarea" {
				all = appendText(all, decode(s.text))
			} else {
				all = appendText(all, string(s.text))
			}
		}
	}
}

// tokenized lists those of the tokenizer of golang.org/x/net/html.
func tokenized(body []byte) (all []string) {
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return all
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			attr := map[string]string{}
			for _, a := range t.Attr {
				if _, twice := attr[a.Key]; !twice {
					attr[a.Key] = a.Val
				}
			}
			all = append(all, fmt.Sprintf("<%s id=%q class=%q href=%q title=%q colspan=%q>", known([]byte(t.Data)), attr["id"],
				attr["class"], attr["href"], attr["title"], attr["colspan"]))
		case html.EndTagToken:
			all = append(all, "</"+known([]byte(z.Token().Data))+">")
		case html.TextToken:
			all = appendText(all, z.Token().Data)
		}
	}
}

// appendText joins adjacent texts, which the two may split differently.
func appendText(all []string, text string) []string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if n := len(all); n > 0 && strings.HasPrefix(all[n-1], "text ") {
		all[n-1] += text
		return all
	}
	if text == "" {
		return all
	}
	return append(all, "text "+text)
}

var awkward = []string{
	"", "<", "<<", "< p>", "a<b", "a < b > c", "<>", "</>", "</ p>x", "<p", "<p x", "<p x='", "</p", "<p/>", "<p / x>",
	"<!-->x", "<!--->x", "<!---->x", "<!-- a -- b -->x", "<!-- a --!>x", "<!-- a --", "<!doctype html>x", "<?xml ?>x",
	"<!x>y", "<![CDATA[a]]>b",
	"<div id=a class='b' href=\"c\">", "<div id = a  class = 'b>c'>", "<div id=a id=b>", "<div =id=a>", "<div id>",
	"<div id=>x", "<div id='a'class=b>", "<DIV ID=A>",
	"<a href=x/y/z>", "<a href=/wiki/>", "<a href=x/>", "<div id=\"a\nb\">", "<div/id=a>", "<div id=a/>",
	"<div id=a&amp;b>", "<p title=&eacute>",
	"<a id=&amp0>", "<a id=&ampere;>", "<a id=&semi;>", "<a id='&semi;&'>", "<a href=?a=1&copy=2&copy;=3>",
	"<a id='&copy x&notit;&not;it&&amp;&;&#38;&#x26=&#38x&#;'>", "<a id='&fjlig;&nvlt;'>",
	"<script>a<b></script>c", "<script></script>", "<script>a</SCRIPT >b", "<script>a</scriptx></script/>b",
	"<style>a</p></style>b", "<script>a",
	"<title>a&amp;b</title>c", "<textarea><p></textarea>x", "<iframe><p></iframe>x", "<xmp></p></xmp>", "&lt;p&gt;",
	"a&ampb", "&notit;", "&#0", "x\r\ny\rz",
}

func TestScannerAgreesWithATokenizer(t *testing.T) {
	for v := fakecommons.Plain; v <= fakecommons.MissingButKnown; v++ {
		c := fakecommons.Category{Title: "Category:A", Target: "Category:B", Variant: v, Values: manyValues, Item: "Q1"}
		compareScans(t, c.HTML(3000))
	}
	compareScans(t, savedInfobox(t))
	for _, text := range awkward {
		compareScans(t, []byte(text))
	}
}

func compareScans(t *testing.T, body []byte) {
	t.Helper()
	got, want := scanned(body), tokenized(body)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%.200q: token %d differs:\n%.300q\nwant\n%.300q", body, i, got[min(i, len(got)):],
				want[min(i, len(want)):])
			return
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range awkward {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		// The scanner does not handle NUL, "<!--" within a script, or <plaintext>.
		lower := bytes.ToLower(body)
		if check(append(bytes.Clone(body), "<html></html>"...)) != nil || bytes.Contains(lower, []byte("plaintext")) ||
			bytes.Contains(lower, []byte("<script")) && bytes.Contains(lower, []byte("<!--")) {
			return
		}
		compareScans(t, body)
	})
}
