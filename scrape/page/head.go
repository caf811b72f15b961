package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"hgld/scrape"
)

const (
	categoryNamespace      = 14
	redirectCategory       = "Category redirects"
	disambiguationCategory = "Disambiguation categories"
)

// Head is what the script in a page's head says of the page: MediaWiki's
// configuration, RLCONF={"wgNamespaceNumber":14,"wgArticleId":…}.
type Head struct {
	Name      string // the page's own title; differs from the one asked for after a hard redirect
	Namespace int
	ID        int64  // 0: the page does not exist
	Revision  int64  // that was shown
	Item      string // the Wikidata item that links to the page

	known     bool // the script was there
	redirects bool // among the category redirects
	ambiguous bool
}

// read takes the fields from a script, if it is the one with the configuration.
//
// The object is not quite JSON, because it is minified to !0 and !1, so fields
// are looked up by their names. Text that a user has written cannot pass for a
// field: a quotation mark within a JSON string is escaped, and the names that are
// looked for begin and end with one that is not.
func (h *Head) read(script []byte) error {
	if !bytes.Contains(script, []byte(`"wgArticleId":`)) {
		return nil
	}
	h.known = true
	var categories []string
	for _, f := range []struct {
		name string
		to   any
	}{
		{"wgPageName", &h.Name}, {"wgNamespaceNumber", &h.Namespace}, {"wgArticleId", &h.ID}, {"wgRevisionId", &h.Revision},
		{"wgWikibaseItemId", &h.Item}, {"wgCategories", &categories},
	} {
		i := bytes.Index(script, []byte(strconv.Quote(f.name)+":"))
		if i < 0 {
			continue
		}
		value := script[i+len(f.name)+3:]
		if err := json.NewDecoder(bytes.NewReader(value)).Decode(f.to); err != nil {
			return fmt.Errorf("%s in the page's head: %w", f.name, err)
		}
	}
	if h.Item != "" && !validItem(h.Item) {
		return fmt.Errorf("wgWikibaseItemId in the page's head: %.80q is no item", h.Item)
	}
	for _, c := range categories {
		h.redirects = h.redirects || c == redirectCategory
		h.ambiguous = h.ambiguous || c == disambiguationCategory
	}
	if h.Namespace != categoryNamespace {
		return nil
	}
	title, err := scrape.Title(h.Name)
	if err != nil {
		return fmt.Errorf("wgPageName in the page's head: %w", err)
	}
	h.Name = title
	return nil
}

func validItem(id string) bool {
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
