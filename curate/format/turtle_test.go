package format

import (
	"strings"
	"testing"
)

// The examples of RFC 3986, section 5.4, and characters that only an IRI has.
func TestRelativeIRIsAreResolvedAgainstTheBase(t *testing.T) {
	for _, c := range []struct{ base, iri, want string }{
		{"http://x/a/b", "c", "http://x/a/c"},
		{"http://x/a/b#frag", "", "http://x/a/b"},
		{"http://a/b/c/d;p?q", "g:h", "g:h"},
		{"http://a/b/c/d;p?q", "./g", "http://a/b/c/g"},
		{"http://a/b/c/d;p?q", "/g", "http://a/g"},
		{"http://a/b/c/d;p?q", "//g", "http://g"},
		{"http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"},
		{"http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q#s"},
		{"http://a/b/c/d;p?q", "g;x=1/../y", "http://a/b/c/y"},
		{"http://a/b/c/d;p?q", "../../../g", "http://a/g"},
		{"http://x/köln/b", "dom/ü%20#é", "http://x/köln/dom/ü%20#é"},
		{"http://x/a#", "#", "http://x/a#"},
	} {
		triples, err := triplesOf("@base <" + c.base + "> . <" + c.iri + "> a <http://y> .")
		if err != nil || triples[0].subject != c.want {
			t.Errorf("<%s> on <%s>: %+v, %v; want <%s>", c.iri, c.base, triples, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"@base <http://x/a/> . @base <b/> . @prefix : <#> . :c a <y> .": "http://x/a/b/#c",
		"<c> a <y> .": "c",
	} {
		if triples, err := triplesOf(text); err != nil || triples[0].subject != want {
			t.Errorf("%s: %+v, %v; want <%s>", text, triples, err, want)
		}
	}
	_, err := triplesOf("@base <http://x/> .\n<%zz> a <y> .")
	if err == nil || !strings.HasPrefix(err.Error(), "x:2: ") {
		t.Errorf("<%%zz> is no IRI: %v", err)
	}
}

func triplesOf(text string) (all []triple, err error) {
	err = parseTurtle([]byte(text), "x", func(t triple) { all = append(all, t) })
	return all, err
}
