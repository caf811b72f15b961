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

// Head is what MediaWiki's configuration script in the head of a page says about it:
// RLCONF={"wgNamespaceNumber":14,"wgArticleId":…}.
type Head struct {
	Name      string // title of the page; after a hard redirect, not the requested one
	Namespace int    // 14: category
	ID        int64  // 0: the page does not exist
	Revision  int64  // of the text shown
	Item      string // Wikidata item linked to the page, "" if there is none

	known     bool // the script was found
	redirects bool // the page is in Category:Category redirects
	ambiguous bool
}

// read extracts the fields from a script, if it is the configuration script.
//
// The object is not JSON, because it is minified to !0 and !1, so read searches for the
// names of the fields. Text written by a user cannot imitate a field: quotation marks
// inside a JSON string are escaped, and the search includes the unescaped ones around the
// name.
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
	if h.Item != "" && !scrape.ValidItem(h.Item) {
		return fmt.Errorf("wgWikibaseItemId in the page's head: %.80q is not an item", h.Item)
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
