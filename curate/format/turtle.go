package format

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"hgld/internal/budget"
)

// The parser reads Turtle (W3C Recommendation, 2014) as far as SKOS files use it:
// directives, prefixed names, predicate and object lists, blank nodes, collections and
// all literals. Relative IRIs are kept as they are if the file gives no base.

const rdfNS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

// term is a node of the graph. A literal is not a resource; blank nodes are "_:n".
type term struct {
	value    string
	literal  bool
	language string
}

type triple struct {
	subject, predicate string
	object             term
	line               int
}

type turtleParser struct {
	text     string
	at       int
	line     int
	base     *url.URL // without fragment; nil: relative IRIs stay as they are
	prefixes map[string]string
	blanks   int
	depth    int // of brackets
	budget   *budget.Budget
	names    map[string]string // prefixed names → IRIs, so that equal ones share their memory
	emit     func(triple)
}

// parseTurtle calls emit for the triples of a file, in order.
func parseTurtle(data []byte, name string, emit func(triple)) error {
	if !utf8.Valid(data) {
		return fmt.Errorf("%s: is not UTF-8; save the file as UTF-8", name)
	}
	limit, err := budget.Of(int64(len(data)))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p := &turtleParser{text: strings.TrimPrefix(string(data), "\ufeff"), line: 1, prefixes: map[string]string{},
		budget: limit, names: map[string]string{}, emit: emit}
	for {
		p.space()
		if p.at == len(p.text) {
			return nil
		}
		if err := p.statement(); err != nil {
			return fmt.Errorf("%s:%d: %w", name, p.line, err)
		}
	}
}

// space skips white space and comments.
func (p *turtleParser) space() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '\n':
			p.line++
			p.at++
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

// take skips white space and then s, if it comes next, and reports whether it did.
func (p *turtleParser) take(s string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

// word takes a keyword in any case if a space or an IRI follows it.
func (p *turtleParser) word(w string) bool {
	p.space()
	rest := p.text[p.at:]
	if len(rest) <= len(w) || !strings.EqualFold(rest[:len(w)], w) ||
		!strings.ContainsRune(" \t\r\n<", rune(rest[len(w)])) {
		return false
	}
	p.at += len(w)
	return true
}

func (p *turtleParser) want(s, where string) error {
	if p.take(s) {
		return nil
	}
	return fmt.Errorf("%.20q; want %.80q %s", p.text[p.at:], s, where)
}

func (p *turtleParser) statement() error {
	switch {
	case p.word("@prefix"):
		return p.prefix(true)
	case p.word("PREFIX"):
		return p.prefix(false)
	case p.word("@base"):
		return p.setBase(true)
	case p.word("BASE"):
		return p.setBase(false)
	}
	p.space()
	blank := strings.HasPrefix(p.text[p.at:], "[")
	subject, err := p.object()
	if err != nil {
		return err
	}
	if subject.literal {
		return fmt.Errorf("the text %.40q is the subject of a statement; want an IRI", subject.value)
	}
	if p.space(); !blank || p.at < len(p.text) && p.text[p.at] != '.' {
		if err := p.predicates(subject.value); err != nil {
			return err
		}
	}
	return p.want(".", "behind a statement")
}

func (p *turtleParser) prefix(dot bool) error {
	p.space()
	n := strings.IndexByte(p.text[p.at:], ':')
	if n < 0 || strings.ContainsAny(p.text[p.at:p.at+n], " \n<") {
		return fmt.Errorf("%.20q; want a prefix with a colon", p.text[p.at:])
	}
	prefix := p.text[p.at : p.at+n]
	p.at += n + 1
	iri, err := p.iri()
	if err != nil {
		return err
	}
	p.prefixes[prefix] = iri
	clear(p.names) // some may stand for others now
	if dot {
		return p.want(".", "behind @prefix")
	}
	return nil
}

func (p *turtleParser) setBase(dot bool) error {
	iri, err := p.iri()
	if err != nil {
		return err
	}
	iri, _, _ = strings.Cut(iri, "#")
	if p.base, err = url.Parse(iri); err != nil {
		return fmt.Errorf("the base: %w", err)
	}
	if !p.base.IsAbs() {
		p.base = nil
	}
	if dot {
		return p.want(".", "behind @base")
	}
	return nil
}

// iri reads <…>.
func (p *turtleParser) iri() (string, error) {
	if err := p.want("<", "before an IRI"); err != nil {
		return "", err
	}
	n := strings.IndexAny(p.text[p.at:], "> \n")
	if n < 0 || p.text[p.at+n] != '>' {
		return "", fmt.Errorf("the IRI %.40q is not closed; want <…> without spaces", p.text[p.at:])
	}
	text, err := unescape(p.text[p.at : p.at+n])
	if err != nil {
		return "", err
	}
	p.at += n + 1
	return p.resolve(text)
}

var (
	scheme       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)
	escapedRunes = regexp.MustCompile(`(%[89A-F][0-9A-F])+`)
)

// resolve makes an IRI absolute by RFC 3986. Characters beyond ASCII stay as they are, as in an
// IRI that is absolute already.
func (p *turtleParser) resolve(iri string) (string, error) {
	if p.base == nil || scheme.MatchString(iri) {
		return iri, nil
	}
	path, fragment, fragmented := strings.Cut(iri, "#")
	ref, err := url.Parse(path)
	if err != nil {
		return "", fmt.Errorf("the IRI: %w", err)
	}
	if err := p.budget.Expand("relative IRIs stand for", len(p.base.String())+len(iri)); err != nil {
		return "", err
	}
	whole := escapedRunes.ReplaceAllStringFunc(p.base.ResolveReference(ref).String(), func(text string) string {
		if runes, err := url.PathUnescape(text); err == nil && utf8.ValidString(runes) {
			return runes
		}
		return text
	})
	if fragmented {
		whole += "#" + fragment
	}
	return whole, nil
}

// predicates reads "p o, o; p o" up to the dot or bracket.
func (p *turtleParser) predicates(subject string) error {
	for {
		predicate := term{value: rdfNS + "type"}
		if !p.word("a") {
			var err error
			if predicate, err = p.object(); err != nil {
				return err
			}
		}
		for {
			p.space()
			line := p.line
			object, err := p.object()
			if err != nil {
				return err
			}
			p.emit(triple{subject, predicate.value, object, line})
			if !p.take(",") {
				break
			}
		}
		if !p.take(";") {
			return nil
		}
		for p.take(";") {
		}
		if p.space(); p.at == len(p.text) || strings.IndexByte(".]", p.text[p.at]) >= 0 {
			return nil
		}
	}
}

// object reads any node.
func (p *turtleParser) object() (term, error) {
	p.space()
	rest := p.text[p.at:]
	switch {
	case rest == "":
		return term{}, fmt.Errorf("the file ends in the middle of a statement")
	case rest[0] == '<':
		iri, err := p.iri()
		return term{value: iri}, err
	case rest[0] == '"' || rest[0] == '\'':
		return p.quoted()
	case p.depth > budget.Depth:
		return term{}, budget.Deep("brackets are open on", p.depth)
	case rest[0] == '[':
		p.depth++
		defer func() { p.depth-- }()
		p.at++
		node := p.blank()
		if p.take("]") {
			return node, nil
		}
		if err := p.predicates(node.value); err != nil {
			return term{}, err
		}
		return node, p.want("]", "behind a blank node")
	case rest[0] == '(':
		p.depth++
		defer func() { p.depth-- }()
		p.at++
		return p.collection()
	case strings.IndexByte("+-.0123456789", rest[0]) >= 0:
		n := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("+-.0123456789eE", r) })
		if n < 0 {
			n = len(rest)
		}
		number := strings.TrimRight(rest[:n], ".")
		if !strings.ContainsAny(number, "0123456789") {
			return term{}, fmt.Errorf("%.20q; want an IRI, a number or text", rest)
		}
		p.at += len(number)
		return term{value: number, literal: true}, nil
	}
	return p.name()
}

func (p *turtleParser) blank() term {
	p.blanks++
	return term{value: fmt.Sprintf("_:%d", p.blanks)}
}

// collection reads "( … )" into rdf:first and rdf:rest.
func (p *turtleParser) collection() (term, error) {
	head := term{value: rdfNS + "nil"}
	last := ""
	for !p.take(")") {
		line := p.line
		object, err := p.object()
		if err != nil {
			return term{}, err
		}
		node := p.blank()
		if last == "" {
			head = node
		} else {
			p.emit(triple{last, rdfNS + "rest", node, line})
		}
		p.emit(triple{node.value, rdfNS + "first", object, line})
		last = node.value
	}
	return head, nil
}

// name reads a prefixed name, the label of a blank node, or a truth value.
func (p *turtleParser) name() (term, error) {
	rest := p.text[p.at:]
	n := 0
	for n < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[n:])
		if r == '\\' && n+1 < len(rest) {
			size = 2
		} else if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_:-.%", r) {
			break
		}
		n += size
	}
	text := strings.TrimRight(rest[:n], ".")
	prefix, local, colon := strings.Cut(text, ":")
	if text == "true" || text == "false" {
		p.at += len(text)
		return term{value: text, literal: true}, nil
	}
	if !colon {
		return term{}, fmt.Errorf("%.20q; want an IRI, a name with a prefix, or text in quotes", rest)
	}
	p.at += len(text)
	if prefix == "_" {
		return term{value: "_:named-" + local}, nil
	}
	ns, known := p.prefixes[prefix]
	if !known {
		return term{}, fmt.Errorf("prefix %.80q is not declared; want @prefix %.80s: <…> above", prefix, prefix)
	}
	whole, known := p.names[text]
	if !known {
		whole = ns + strings.ReplaceAll(local, `\`, "")
		p.names[text] = whole
		if err := p.budget.Expand("names with prefixes stand for", len(whole)); err != nil {
			return term{}, err
		}
	}
	return term{value: whole}, nil
}

// quoted reads a text with its language or type.
func (p *turtleParser) quoted() (term, error) {
	mark := p.text[p.at : p.at+1]
	if long := strings.Repeat(mark, 3); strings.HasPrefix(p.text[p.at:], long) {
		mark = long
	}
	p.at += len(mark)
	start := p.at
	for !strings.HasPrefix(p.text[min(p.at, len(p.text)):], mark) {
		if p.at >= len(p.text) || len(mark) == 1 && p.text[p.at] == '\n' {
			return term{}, fmt.Errorf("the text %.40q is not closed; want %s after it", p.text[start:], mark)
		}
		if p.text[p.at] == '\n' {
			p.line++
		}
		if p.text[p.at] == '\\' {
			p.at++
		}
		p.at++
	}
	for len(mark) == 3 && strings.HasPrefix(p.text[p.at+1:], mark) {
		p.at++ // a long text may itself end in quotes
	}
	text, err := unescape(p.text[start:p.at])
	if err != nil {
		return term{}, err
	}
	p.at += len(mark)
	t := term{value: text, literal: true}
	rest := p.text[p.at:]
	switch {
	case strings.HasPrefix(rest, "@"):
		n := strings.IndexFunc(rest[1:], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' })
		if n < 0 {
			n = len(rest) - 1
		}
		t.language = rest[1 : n+1]
		p.at += n + 1
	case strings.HasPrefix(rest, "^^"):
		p.at += 2
		if _, err := p.object(); err != nil {
			return term{}, err
		}
	}
	return t, nil
}
