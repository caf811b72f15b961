package page

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"hgld/labels"
	"hgld/scrape"
)

// Header is the text of the header cell for "instance of" in the infobox that readers
// without a language setting see. It is the only key, because rows contain no property
// number. "Subclass of" is a different row and property.
const Header = "Instance of"

// The limits of a page. Real pages have 107 kB on average, and the longest known list has
// ten values.
const (
	maxBody   = 8 << 20
	maxDepth  = 256      // nested elements within the infobox
	maxValues = 256      // values of "instance of"
	maxText   = 64 << 10 // bytes of all values, qualifiers and links together
)

// ErrTruncated means that a page ends before its </html>. Its content is unreliable, and the
// next answer may be complete.
var ErrTruncated = errors.New("the page is truncated: it does not end with </html>")

// Page is the content of a category page.
type Page struct {
	Head // zero where the page says nothing

	Redirect       string            // target of a soft redirect, "" if the page is none
	RedLink        bool              // the target does not exist
	Disambiguation bool              // the page is in Category:Disambiguation categories
	Infobox        bool              // the page has a Wikidata infobox
	HasTag         bool              // the infobox has a row "Instance of"
	Values         []labels.TagValue // of that row, in its order
	About          *labels.About     // what else that infobox says; nil: nothing
}

// Parse reads the HTML of a category page of Wikimedia Commons.
//
// The tag is in the Wikidata infobox, in the row with the header Header:
//
//	table#wdinfobox  tr  th.wikidatainfobox-lcell  "Instance of"
//	                     td  li  one for each value
//
// The cell may be in the same row or, if the header spans both columns, in the next one. If
// a page has several infoboxes, nested or in sequence, the first such row counts.
//
// A value's Raw is its text as printed, byte for byte after decoding entities, without the
// qualifiers in parentheses after it. Link is the target of its link. If the whole value is
// linked, parentheses within the link belong to the value.
//
// Parse returns an error if the body is not a readable category page: it is too large,
// truncated (ErrTruncated), not UTF-8, not from MediaWiki, not in English, in another
// namespace, or exceeds one of the limits above.
func Parse(body []byte) (Page, error) {
	if err := check(body); err != nil {
		return Page{}, err
	}
	p := parser{scanner: newScanner(body)}
	if err := p.run(); err != nil {
		return Page{}, err
	}
	p.page.HasTag, p.page.Values, p.page.About = p.box.found, p.box.values, p.box.about.result()
	p.page.Disambiguation = p.page.Disambiguation || p.page.ambiguous
	switch {
	case !p.content:
		return Page{}, errors.New("not a category page: it lacks MediaWiki's #mw-content-text")
	case p.page.known && p.page.Namespace != categoryNamespace:
		return Page{}, fmt.Errorf("not a category page: its namespace is %d; want 14", p.page.Namespace)
	case p.page.Redirect == "" && p.page.redirects && !p.page.HasTag:
		return Page{}, errors.New("a category redirect without a link to its target")
	}
	return p.page, nil
}

// check checks the body as a whole.
func check(body []byte) error {
	tail := bytes.TrimRight(body, " \t\r\n")
	switch {
	case len(body) > maxBody:
		return fmt.Errorf("the page is longer than %d bytes", maxBody)
	case len(tail) == 0:
		return errors.New("the page is empty")
	case !utf8.Valid(body):
		return errors.New("the page is not UTF-8")
	case bytes.IndexByte(body, 0) >= 0:
		return errors.New("the page contains a NUL byte")
	case bytes.IndexByte(body, '<') < 0:
		return errors.New("the page is not HTML")
	}
	// Wikimedia's caches may add a comment after the end.
	tail = tail[max(0, len(tail)-1024):]
	if !bytes.Contains(tail, []byte("</html")) && !bytes.Contains(bytes.ToLower(tail), []byte("</html")) {
		return ErrTruncated
	}
	return nil
}

// The values that mark items that do not describe a thing.
var (
	disambiguations = []string{"Wikimedia disambiguation page", "Wikimedia disambiguation category"}
	categoryItem    = "Wikimedia category"
)

// Outcome returns the outcome of the page for a landmark. It ignores Redirect.
func (p *Page) Outcome() labels.Outcome {
	if p.known && p.ID == 0 {
		return labels.Missing
	}
	tags, categories := 0, 0
	disambiguation := p.Disambiguation
	for _, v := range p.Values {
		if v.Text == "" {
			continue
		}
		tags++
		if v.Text == categoryItem {
			categories++
		}
		disambiguation = disambiguation || v.Text == disambiguations[0] || v.Text == disambiguations[1]
	}
	switch {
	case disambiguation:
		return labels.Disambiguation
	case !p.Infobox:
		return labels.NoInfobox
	case tags == 0:
		return labels.NoTag
	case tags == categories:
		return labels.CategoryItem
	}
	return labels.OK
}

// parser reads the tokens of a page. It stops after the infobox with the row "Instance of" if it has read the head of
// the page by then.
type parser struct {
	scanner
	page    Page
	content bool // #mw-content-text was found

	box infobox

	redirect bool // the next link is the target of a soft redirect
	wikidata bool // the next link leads to the page's item
	catlinks bool // inside the list of the page's categories
}

func (p *parser) run() error {
	for {
		var err error
		switch p.next() {
		case endOfPage:
			return nil
		case startTag:
			err = p.start()
		case endTag:
			err = p.box.truncate(p.box.explicit(p.name))
		case textToken:
			p.box.addText(p.text)
		case rawText:
			if p.name == "script" && !p.page.known {
				err = p.page.Head.read(p.text)
			}
		}
		if err != nil {
			return err
		}
		if p.box.single && p.page.known && p.page.Item != "" {
			return nil
		}
	}
}

func (p *parser) start() error {
	if len(p.box.stack) > 0 {
		return p.startInBox()
	}
	switch p.name {
	case "table":
		if p.id == "wdinfobox" {
			p.page.Infobox = true
			p.box.another()
			p.box.stack = append(p.box.stack, p.name)
		}
	case "html":
		return checkLanguage(p.lang)
	case "li":
		p.wikidata = p.wikidata || p.page.Item == "" && p.id == "t-wikibase"
	case "a":
		return p.link()
	default:
		p.content = p.content || p.id == "mw-content-text"
		p.catlinks = p.catlinks || p.id == "catlinks"
		p.redirect = p.redirect || p.page.Redirect == "" && hasClass(p.class, "category-redirect-header")
	}
	return nil
}

// link handles a link outside the infobox.
func (p *parser) link() error {
	switch {
	case p.redirect && p.href != "":
		p.redirect = false
		target, red, err := targetOf(p.href)
		if err != nil {
			return fmt.Errorf("a category redirect: %w", err)
		}
		p.page.Redirect, p.page.RedLink = target, red
	case p.wikidata && p.href != "":
		p.wikidata = false
		p.page.Item = itemOf(p.href)
	case p.catlinks && p.title == "Category:"+disambiguationCategory:
		p.page.Disambiguation = true
	case p.catlinks && p.title == "Category:"+redirectCategory:
		p.page.redirects = true
	}
	return nil
}

// targetOf returns the category that a link leads to. MediaWiki writes links to pages that do
// not exist (red links) as /w/index.php?title=…&redlink=1.
func targetOf(href string) (title string, red bool, err error) {
	href, _, _ = strings.Cut(href, "#")
	path, query, _ := strings.Cut(href, "?")
	if host, ok := strings.CutSuffix(path, "/w/index.php"); ok {
		values, err := url.ParseQuery(query)
		if err == nil && values.Get("redlink") == "1" {
			path, red = host+"/wiki/"+url.PathEscape(values.Get("title")), true
		}
	}
	title, err = scrape.Title(path)
	return title, red, err
}

// itemLink matches both forms of an item's URL.
var itemLink = regexp.MustCompile(`//(?:www\.|m\.)?wikidata\.org/wiki/(?:Special:EntityPage/)?(Q[1-9][0-9]*)$`)

func itemOf(href string) string {
	if m := itemLink.FindStringSubmatch(href); m != nil {
		return m[1]
	}
	return ""
}
