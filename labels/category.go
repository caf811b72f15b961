package labels

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// categoryURL is the start of every URL in a GLDv2 file.
const categoryURL = "http://commons.wikimedia.org/wiki/Category:"

// Title returns the canonical title of a Commons category page from its URL in a
// GLDv2 file. It decodes percent escapes, replaces runs of underscores and spaces of any
// width by one space, trims the ends, puts the first letter in title case and prefixes
// "Category:".
//
//	http://commons.wikimedia.org/wiki/Category:Fort_Warren_%26_Co -> Category:Fort Warren & Co
//
// A % that does not start an escape is kept. Unlike MediaWiki, Title does not convert to
// Unicode normal form C. It fails for a URL of another site or page, with a
// query or a fragment, or with content that is not allowed in titles (# < > [ ] { } |,
// control characters, bytes that are not UTF-8, more than 255 bytes).
func Title(category string) (string, error) {
	_, rest, ok := strings.Cut(category, "://")
	if !ok {
		rest, ok = strings.CutPrefix(category, "//")
	}
	host, page, _ := strings.Cut(rest, "/")
	name, isCategory := strings.CutPrefix(page, "wiki/Category:")
	if !ok || host != "commons.wikimedia.org" && host != "commons.m.wikimedia.org" || !isCategory {
		return "", fmt.Errorf("category %.80q: want a URL such as %sEiffel_Tower", category, categoryURL)
	}
	if i := strings.IndexAny(name, "?#"); i >= 0 {
		return "", fmt.Errorf("category %.80q: %.80q begins a query or fragment; in a title, write it as %%%02X", category,
			name[i], name[i])
	}
	name = strings.Join(strings.FieldsFunc(unescape(name),
		func(r rune) bool { return r == '_' || unicode.Is(unicode.Z, r) }), " ")
	switch i := strings.IndexFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f ||
			strings.ContainsRune("#<>[]{}|", r)
	}); {
	case name == "":
		return "", fmt.Errorf("category %.80q: the title is empty", category)
	case !utf8.ValidString(name):
		return "", fmt.Errorf("category %.80q: the decoded escapes are not UTF-8", category)
	case i >= 0:
		return "", fmt.Errorf("category %.80q: a title cannot contain %.80q", category, name[i])
	case len(name) > 255:
		return "", fmt.Errorf("category %.80q: the title has %d bytes; want at most 255", category, len(name))
	}
	first, size := utf8.DecodeRuneInString(name)
	return "Category:" + string(unicode.ToTitle(first)) + name[size:], nil
}

// unescape decodes percent escapes and keeps a stray %.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	var b strings.Builder
	for len(s) > 0 {
		if len(s) >= 3 && s[0] == '%' {
			if c, err := url.PathUnescape(s[:3]); err == nil {
				b.WriteString(c)
				s = s[3:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

// CategoryURL returns the URL of a category page as GLDv2's files write it: http,
// underscores for spaces, and upper-case escapes for every byte except ASCII letters,
// digits and - _ . , ' ( ) ! * : / ~ ; @ $. The last eight do not occur in the known
// rows; they follow MediaWiki. It is the inverse of Title for the URLs of GLDv2.
func CategoryURL(title string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteString(categoryURL)
	for _, c := range []byte(strings.TrimPrefix(title, "Category:")) {
		switch {
		case c == ' ':
			b.WriteByte('_')
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.,'()!*:/~;@$", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
