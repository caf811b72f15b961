package page

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// A scanner splits a page into tags, text and the content of scripts. It builds no tree: hgld needs a few rows of a
// page of 107 kB.
type scanner struct {
	tokens *html.Tokenizer

	name string // of a tag, in lower case
	text []byte // text, decoded, or content of a script
	raw  bool   // the last token was the start of an element without tags in its content

	attributes
}

// attributes are the attributes of a start tag that the parser uses, decoded. "" means that the tag does not have the
// attribute.
type attributes struct{ id, class, href, title, lang string }

type kind uint8

const (
	endOfPage kind = iota
	startTag
	endTag
	textToken
	rawText // content of script, style, title and so on
)

// rawElements have text alone as their content.
var rawElements = []string{"script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp"}

func newScanner(body []byte) scanner {
	return scanner{tokens: html.NewTokenizer(bytes.NewReader(body))}
}

// next moves to the next token and returns its kind, or endOfPage after the last one.
func (s *scanner) next() kind {
	for {
		token, raw := s.tokens.Next(), s.raw
		s.raw = false
		switch token {
		case html.ErrorToken:
			return endOfPage
		case html.TextToken:
			if s.text = s.tokens.Text(); raw {
				return rawText
			}
			return textToken
		case html.EndTagToken:
			name, _ := s.tokens.TagName()
			s.name = string(name)
			return endTag
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := s.tokens.TagName()
			s.name, s.attributes = string(name), attributes{}
			s.raw = slices.Contains(rawElements, s.name)
			for more {
				var key, value []byte
				key, value, more = s.tokens.TagAttr()
				s.keep(key, value)
			}
			return startTag
		}
	}
}

// keep stores an attribute that the parser uses. If the name occurs twice, the first one counts.
func (s *scanner) keep(name, value []byte) {
	var place *string
	switch string(name) {
	case "id":
		place = &s.id
	case "class":
		place = &s.class
	case "href":
		place = &s.href
	case "title":
		place = &s.title
	case "lang":
		place = &s.lang
	}
	if place != nil && *place == "" {
		*place = string(value)
	}
}

// hasClass reports whether a class attribute contains a name.
func hasClass(class, name string) bool {
	return strings.Contains(class, name) && slices.Contains(strings.Fields(class), name)
}
