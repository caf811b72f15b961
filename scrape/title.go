package scrape

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"hgld/labels"
)

// Namespace is the prefix of every title that this package handles.
const Namespace = "Category:"

// ValidItem reports whether an id is that of an item: "Q" and a number without leading
// zeros.
func ValidItem(id string) bool {
	if len(id) < 2 || len(id) > 20 || id[0] != 'Q' || id[1] == '0' {
		return false
	}
	for _, c := range []byte(id[1:]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// Title returns the canonical title of a category. It accepts a URL, the path
// "/wiki/Category:…" of a link, or a title in any spelling. In addition to labels.Title it
// applies Unicode normal form C, as MediaWiki does, and rejects what MediaWiki does not
// accept as a title: left-over escapes and entities, signatures, path steps, a leading
// colon. All spellings of a category give the same title, so it is fetched once.
func Title(category string) (string, error) {
	url := category
	switch {
	case strings.HasPrefix(category, "/wiki/"):
		url = "//commons.wikimedia.org" + category
	case strings.HasPrefix(category, Namespace):
		url = labels.CategoryURL(norm.NFC.String(category))
	}
	title, err := labels.Title(url)
	if err != nil {
		return "", err
	}
	// An NFC title may still differ from its spelling by a capital letter.
	title = norm.NFC.String(title)
	if bad := illegal.FindString(strings.TrimPrefix(title, Namespace)); bad != "" {
		return "", fmt.Errorf("category %.80q: a title cannot contain %.80q in this place", category, bad)
	}
	return title, nil
}

// illegal matches what a title may not contain, apart from what labels.Title rejects.
var illegal = regexp.MustCompile(`^:|\x{FFFD}|%[0-9A-Fa-f]{2}|&#?[0-9A-Za-z]+;|~~~|(^|/)\.\.?(/|$)`)

// Normal returns the text in the form in which people compare it: Unicode normal form C, a
// single space for each run of white space, no space at the ends.
func Normal(raw string) string {
	return norm.NFC.String(strings.Join(strings.Fields(raw), " "))
}
