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

// Title returns the canonical title of a category, as labels.Title does, from a
// URL, the path "/wiki/Category:…" of a link, or a title in any spelling. On top
// it applies Unicode normal form C, as MediaWiki does, and refuses what MediaWiki
// takes for no title: left-over escapes and entities, signatures, path steps, a
// colon in front. Two spellings of one category give the same title, so that it
// is fetched once.
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
		return "", fmt.Errorf("category %.80q: no title can hold %.80q there", category, bad)
	}
	return title, nil
}

// illegal matches what no title may hold, beside what labels.Title refuses.
var illegal = regexp.MustCompile(`^:|\x{FFFD}|%[0-9A-Fa-f]{2}|&#?[0-9A-Za-z]+;|~~~|(^|/)\.\.?(/|$)`)

// Normal is the text that people compare: NFC, runs of white space made one
// space, none at the ends.
func Normal(raw string) string {
	return norm.NFC.String(strings.Join(strings.Fields(raw), " "))
}
