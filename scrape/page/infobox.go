package page

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hgld/labels"
	"hgld/scrape"
)

// infobox follows the rows of the Wikidata infobox up to the end of the row with the tag. It
// keeps a stack of the open elements and follows the rules of HTML for omitted tags, so
// that a page with a missing </li> or a stray </div> is read as a browser shows it. The
// level of an element is the length of the stack when the element is on top.
type infobox struct {
	stack []string // names of the open elements, the table first; empty outside the infobox

	state row
	cell  int // level of the open header or cell
	item  int // level of the open li, 0: none
	a     int // level of the open link, 0: none
	skip  int // level of an element whose text is ignored, 0: none

	text   strings.Builder
	links  []link
	values []labels.TagValue
	size   int
	found  bool // the header has been seen
	done   bool // and its row is over

	about  about
	single bool // no further infobox may say more about the landmark
}

type row uint8

const (
	between  row = iota // outside header and cell
	inHeader            // in a header cell
	matched             // after the header Instance of
	inCell              // in the cell of that header
)

// link is a linked range of a value's text.
type link struct {
	start, end int
	href       string
}

// decoration reports whether an element of the infobox is not data: the pencils that link to
// Wikidata, and the list of authority files.
func (p *parser) decoration() bool {
	return hasClass(p.class, "wdinfobox-edit") || hasClass(p.class, "wikidata-link") || p.id == "wdinfo_ac"
}

// startInBox handles a start tag within the infobox.
func (p *parser) startInBox() error {
	b := &p.box
	if p.name == "a" && p.page.Item == "" && (b.skip > 0 || p.decoration() ||
		p.title == "Edit infobox data on Wikidata") {
		p.page.Item = itemOf(p.href)
	}
	if void(p.name) {
		if p.name == "br" {
			b.addText([]byte("\n"))
		}
		return nil
	}
	if err := b.truncate(b.implied(p.name)); err != nil {
		return err
	}
	if b.stack = append(b.stack, p.name); len(b.stack) > maxDepth {
		return fmt.Errorf("the infobox nests more than %d elements", maxDepth)
	}
	level := len(b.stack)
	if p.name == "table" && p.id == "wdinfobox" {
		b.another()
	}
	if b.skip == 0 && !b.single && !p.decoration() {
		b.about.start(p, level)
	}
	switch {
	case b.skip > 0:
	case p.decoration():
		b.skip = level
	case b.done:
	case b.state == inCell && p.name == "li" && b.item == 0:
		b.item = level
		b.text.Reset() // drop white space before the value
		b.links = nil
	case b.state == inCell && p.name == "a" && b.a == 0:
		b.a = level
		b.links = append(b.links, link{start: b.text.Len(), href: p.href})
	case b.state == inCell:
	case b.state == matched && p.name == "td":
		b.state, b.cell = inCell, level
		b.text.Reset()
	case p.name == "th" && hasClass(p.class, "wikidatainfobox-lcell"):
		if b.state == matched { // the row Instance of has no cell
			b.state, b.done = between, true
			return nil
		}
		b.state, b.cell = inHeader, level
		b.text.Reset()
	}
	return nil
}

// another begins an infobox. What the page says about the landmark is what the infobox with the tag says.
func (b *infobox) another() {
	if b.done {
		b.single = true
	} else {
		b.about = about{}
	}
}

// truncate closes the elements above a level.
func (b *infobox) truncate(level int) error {
	if level >= len(b.stack) {
		return nil
	}
	b.stack = b.stack[:level]
	if b.about.end(level); level == 0 && b.done {
		b.single = true
	}
	if b.skip > level {
		b.skip = 0
	}
	if b.a > level {
		b.links[len(b.links)-1].end = b.text.Len()
		b.a = 0
	}
	if b.item > level {
		b.item = 0
		if err := b.endValue(true); err != nil {
			return err
		}
	}
	switch {
	case b.state == inHeader && b.cell > level:
		b.state = between
		if b.done {
			break
		}
		header := scrape.Normal(b.text.String())
		if header == Header {
			b.state, b.found = matched, true
		} else if code := languageOf(header); code != "" {
			return fmt.Errorf("the infobox is in the language %.80q: it has the header %.80q for %.80q", code, header, Header)
		}
	case b.state == inCell && b.cell > level:
		b.state, b.done = between, true
		if len(b.values) == 0 {
			return b.endValue(false)
		}
	case b.state == matched && level == 0:
		b.state, b.done = between, true
	}
	return nil
}

// addText collects the text of the header or the cell.
func (b *infobox) addText(text []byte) {
	if b.skip == 0 && !b.single {
		b.about.addText(text)
	}
	if b.skip == 0 && (b.state == inHeader || b.state == inCell) {
		b.text.Write(text)
	}
}

// endValue turns the collected text into a value. It keeps empty list items, because the page
// prints them.
func (b *infobox) endValue(listed bool) error {
	text := b.text.String()
	v := valueOf(text, b.links)
	b.text.Reset()
	b.links = nil
	if v.Text == "" && !listed {
		return nil
	}
	if b.size += len(text) + len(v.Link); b.size > maxText {
		return fmt.Errorf("the values of %.80q have more than %d bytes", Header, maxText)
	}
	if b.values = append(b.values, v); len(b.values) > maxValues {
		return fmt.Errorf("%.80q has more than %d values", Header, maxValues)
	}
	return nil
}

// valueOf splits a printed value into the value itself, the qualifiers in parentheses after
// it, and the link.
//
// If the text begins with a link, the link is the value, and groups of parentheses after it
// are qualifiers. Otherwise all groups at the end of the text are qualifiers:
// "county hall (Washington)". One character of white space before a group belongs to it.
func valueOf(text string, links []link) labels.TagValue {
	var v labels.TagValue
	fixed := 0 // no qualifier begins before this offset
	i := slices.IndexFunc(links, func(l link) bool { return strings.TrimSpace(text[l.start:l.end]) != "" })
	if i >= 0 && strings.TrimSpace(text[:links[i].start]) == "" {
		fixed = links[i].end
	}
	rest := text
	for {
		head, inner, ok := lastGroup(rest)
		if !ok || len(head) < fixed || strings.TrimSpace(head) == "" {
			break
		}
		v.Qualifiers = append(v.Qualifiers, inner)
		rest = head
	}
	slices.Reverse(v.Qualifiers)
	v.Raw = rest
	if fixed > 0 && strings.TrimSpace(rest[fixed:]) == "" {
		v.Raw = text[links[i].start:fixed]
	}
	if i >= 0 && links[i].start < len(rest) {
		v.Link = links[i].href
	}
	v.Text = scrape.Normal(v.Raw)
	return v
}

// lastGroup splits "head (inner)" at the last group of parentheses.
func lastGroup(s string) (head, inner string, ok bool) {
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	if !strings.HasSuffix(s, ")") {
		return "", "", false
	}
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth > 0 {
				continue
			}
			head, inner = s[:i], s[i+1:len(s)-1]
			if r, size := utf8.DecodeLastRuneInString(head); unicode.IsSpace(r) {
				head = head[:len(head)-size]
			}
			return head, inner, true
		}
	}
	return "", "", false
}
