package page

import (
	"bytes"

	// Unlike the standard library's, it decodes "&#0" at the end of a text.
	"golang.org/x/net/html"
)

// A scanner splits a page into tags, text and the content of scripts. It builds no tree:
// hgld needs a few rows of a page of 107 kB, and a tree costs fifteen times as much. It
// follows the HTML standard (section 13.2.5, tokenization) with one exception: it does not
// implement the script states for "<!--", so a script ends at the first "</script".
// MediaWiki escapes that text in its scripts.
//
// It is written by hand for its speed alone: the tokenizer of golang.org/x/net/html allocates for
// every token and is several times slower, and parsing a whole crawl again reads 300,000 pages.
// docs/dependencies.md has the figures, and a test compares the two.
type scanner struct {
	data []byte
	at   int

	kind kind
	name string // of a tag, in lower case; "" for names that the parser ignores
	text []byte // text or content of a script, not decoded
	raw  []byte // name of the element whose content is the next token

	attributes
}

type kind uint8

const (
	endOfPage kind = iota
	startTag
	endTag
	textToken
	rawText // content of script, style, title and so on: no tags; entities only in title and textarea
)

// attributes are the attributes of a start tag that the parser uses, not decoded. nil means
// that the tag does not have the attribute.
type attributes struct{ id, class, href, title, colspan, lang []byte }

// next moves to the next token and returns its kind, or endOfPage after the last one.
func (s *scanner) next() kind {
	s.kind = s.scan()
	return s.kind
}

func (s *scanner) scan() kind {
	if s.raw != nil {
		name := s.raw
		s.raw = nil
		if s.content(name); len(s.text) > 0 {
			return rawText
		}
	}
	for s.at < len(s.data) {
		rest := s.data[s.at:]
		if rest[0] != '<' {
			end := bytes.IndexByte(rest, '<')
			if end < 0 {
				end = len(rest)
			}
			s.text, s.at = rest[:end], s.at+end
			return textToken
		}
		switch {
		case len(rest) > 1 && letter(rest[1]):
			return s.tag(1)
		case len(rest) > 2 && rest[1] == '/' && letter(rest[2]):
			return s.tag(2)
		case len(rest) > 1 && (rest[1] == '!' || rest[1] == '?'), len(rest) > 2 && rest[1] == '/':
			s.comment(rest)
		default: // a lone "<" is text
			end := bytes.IndexByte(rest[1:], '<') + 1
			if end == 0 {
				end = len(rest)
			}
			s.text, s.at = rest[:end], s.at+end
			return textToken
		}
	}
	return endOfPage
}

// comment skips <!-- … -->, <!doctype …>, <? … > and </ …>.
func (s *scanner) comment(rest []byte) {
	end, after := bytes.IndexByte(rest, '>'), 1
	if bytes.HasPrefix(rest, []byte("<!--")) && !bytes.HasPrefix(rest[4:], []byte(">")) &&
		!bytes.HasPrefix(rest[4:], []byte("->")) {
		end, after = commentEnd(rest[4:])
		end += 4
		if after == 0 {
			end = -1
		}
	}
	if end < 0 {
		s.at = len(s.data)
		return
	}
	s.at += end + after
}

// commentEnd finds "-->" or "--!>". The length is 0 if there is neither.
func commentEnd(b []byte) (at, length int) {
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte("--"))
		if i < 0 {
			return 0, 0
		}
		at = from + i
		switch {
		case bytes.HasPrefix(b[at+2:], []byte(">")):
			return at, 3
		case bytes.HasPrefix(b[at+2:], []byte("!>")):
			return at, 4
		}
		from = at + 1
	}
}

// content reads everything up to the end tag of a raw element as text.
func (s *scanner) content(name []byte) {
	start := s.at
	for {
		i := bytes.Index(s.data[s.at:], []byte("</"))
		if i < 0 {
			s.at = len(s.data)
			break
		}
		s.at += i
		if end := s.at + 2 + len(name); end < len(s.data) && bytes.EqualFold(s.data[s.at+2:end], name) && ends(s.data[end]) {
			break
		}
		s.at += 2
	}
	s.text = s.data[start:s.at]
}

// The classes of the bytes that end a name or a value without quotes.
const (
	isSpace = 1 << iota
	isSlash
	isGreater
	isEqual
)

var class = [256]uint8{' ': isSpace, '\n': isSpace, '\t': isSpace, '\r': isSpace, '\f': isSpace, '/': isSlash,
	'>': isGreater, '=': isEqual}

// ends reports whether c ends the name of a tag.
func ends(c byte) bool { return class[c]&(isSpace|isSlash|isGreater) != 0 }

func space(c byte) bool { return class[c] == isSpace }

func letter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

// tag reads a tag whose name begins at offset skip. If the page ends within the tag, the tag
// is ignored.
func (s *scanner) tag(skip int) kind {
	data, i := s.data, s.at+skip
	start := i
	for i < len(data) && !ends(data[i]) {
		i++
	}
	s.name = known(data[start:i])
	s.attributes = attributes{}
	var closed bool
	if i, closed = s.scanAttributes(i); !closed {
		s.at = len(data)
		return endOfPage
	}
	s.at = i
	if skip == 2 {
		return endTag
	}
	if rawElement(s.name) {
		s.raw = data[start : start+len(s.name)]
	}
	return startTag
}

// scanAttributes reads the attributes of a tag and returns the offset after its ">".
func (s *scanner) scanAttributes(i int) (int, bool) {
	data := s.data
	for {
		for i < len(data) && class[data[i]]&(isSpace|isSlash) != 0 {
			i++
		}
		if i >= len(data) {
			return i, false
		}
		if data[i] == '>' {
			return i + 1, true
		}
		start := i
		i++ // an initial "=" belongs to the name
		for i < len(data) && class[data[i]] == 0 {
			i++
		}
		name := data[start:i]
		for i < len(data) && space(data[i]) {
			i++
		}
		var value []byte
		if i < len(data) && data[i] == '=' {
			var ok bool
			if value, i, ok = attributeValue(data, i+1); !ok {
				return i, false
			}
		}
		s.keep(name, value)
	}
}

// attributeValue reads the value that begins at i, after optional white space, and returns
// the offset after it.
func attributeValue(data []byte, i int) (value []byte, end int, ok bool) {
	for i < len(data) && space(data[i]) {
		i++
	}
	if i >= len(data) {
		return nil, i, false
	}
	if quote := data[i]; quote == '"' || quote == '\'' {
		n := bytes.IndexByte(data[i+1:], quote)
		if n < 0 {
			return nil, len(data), false
		}
		return data[i+1 : i+1+n], i + n + 2, true
	}
	start := i
	for i < len(data) && class[data[i]]&(isSpace|isGreater) == 0 {
		i++
	}
	return data[start:i], i, true
}

// keep stores an attribute that the parser uses. If the name occurs twice, the first one
// counts.
func (s *scanner) keep(name, value []byte) {
	if len(name) < 2 || len(name) > 7 {
		return
	}
	place := s.place(name)
	if place == nil || *place != nil {
		return
	}
	if value == nil {
		value = []byte{}
	}
	*place = value
}

// place returns where an attribute is stored, or nil if the parser does not use it.
func (s *scanner) place(name []byte) *[]byte {
	switch string(name) {
	case "id":
		return &s.id
	case "class":
		return &s.class
	case "href":
		return &s.href
	case "title":
		return &s.title
	case "colspan":
		return &s.colspan
	case "lang":
		return &s.lang
	}
	if capital(name) {
		return s.place(bytes.ToLower(name))
	}
	return nil
}

// capital reports whether b contains a capital letter.
func capital(b []byte) bool {
	for _, c := range b {
		if 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
}

// known returns the name of an element in lower case, or "" if neither the parser nor the
// scanner treats the element specially.
func known(b []byte) string {
	switch string(b) {
	case "a":
		return "a"
	case "div":
		return "div"
	case "span":
		return "span"
	case "li":
		return "li"
	case "td":
		return "td"
	case "tr":
		return "tr"
	case "th":
		return "th"
	case "img":
		return "img"
	case "ul":
		return "ul"
	case "table":
		return "table"
	}
	if name, ok := names[string(b)]; ok {
		return name
	}
	if capital(b) {
		return known(bytes.ToLower(b))
	}
	return ""
}

// names are the less frequent elements for known.
var names = func() map[string]string {
	all := map[string]string{}
	for _, name := range []string{"tbody", "br", "script", "link", "input", "style", "html", "title", "meta", "ol", "hr",
		"wbr", "textarea", "source", "track", "iframe",
		"noembed", "noframes", "xmp", "area", "base", "col", "embed", "param", "caption", "thead", "tfoot"} {
		all[name] = name
	}
	return all
}()

func rawElement(name string) bool {
	switch name {
	case "script", "style", "textarea", "title", "iframe", "noembed", "noframes", "xmp":
		return true
	}
	return false
}

// decode decodes the character references in a text.
func decode(b []byte) string {
	if bytes.IndexByte(b, '&') < 0 {
		return string(b)
	}
	return html.UnescapeString(string(b))
}

// decodeAttribute decodes the character references in the value of an attribute. Unlike in
// a text, the name of a reference is all letters and digits that follow the ampersand, and
// nothing is decoded before an equals sign, so that "?a=1&copy=2" and "&ampere" stay as they
// are (HTML, "named character reference state").
func decodeAttribute(b []byte) string {
	at := bytes.IndexByte(b, '&')
	if at < 0 {
		return string(b)
	}
	out := append(make([]byte, 0, len(b)), b[:at]...)
	for at < len(b) {
		end := at + 1
		for end < len(b) && alphanumeric(b[end]) {
			end++
		}
		switch {
		case end < len(b) && b[end] == '=':
			out = append(out, b[at:end]...)
		case end == at+1: // a numeric reference, or an ampersand alone
			for end < len(b) && b[end] != '&' {
				end++
			}
			out = append(out, html.UnescapeString(string(b[at:end]))...)
		default:
			if end < len(b) && b[end] == ';' {
				end++
			}
			out = append(out, decodeWhole(string(b[at:end]))...)
		}
		for at = end; at < len(b) && b[at] != '&'; at++ {
			out = append(out, b[at])
		}
	}
	return string(out)
}

// decodeWhole decodes a named reference, or returns it unchanged if only the beginning of
// its name is known. In that case the decoded text ends like the reference. The text of a
// known name never does: without a semicolon no reference decodes to ASCII letters, and
// with one only "&semi;" decodes to a semicolon.
func decodeWhole(reference string) string {
	text := html.UnescapeString(reference)
	if last := reference[len(reference)-1]; text != ";" && text[len(text)-1] == last {
		return reference
	}
	return text
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
