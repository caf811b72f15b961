package tensorfile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// parse reads the dictionary of a .npy header: three keys, each once, in any order.
func (a *NPY) parse(header string) (dims []uint64, err error) {
	p := &literal{rest: header}
	seen := map[string]bool{}
	p.want("{")
	for p.err == nil && !p.accept("}") {
		key := p.str()
		p.want(":")
		if seen[key] {
			p.fail("%.80q is there twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			if p.accept("[") {
				p.refuse("records are not supported; write each field as an array of its own")
				break
			}
			a.dtype(p)
		case "fortran_order":
			if a.columnMajor = p.accept("True"); !a.columnMajor {
				p.want("False")
			}
		case "shape":
			dims = p.tuple()
		default:
			p.fail("unknown key %.80q", key)
		}
		if !p.accept(",") {
			p.want("}")
			break
		}
	}
	if p.skip(); p.err == nil && p.rest != "" {
		p.fail("there are %d bytes after the dictionary", len(p.rest))
	}
	if p.err == nil && len(seen) != 3 {
		p.fail("needs descr, fortran_order and shape")
	}
	return dims, p.err
}

// literal parses Python literals from the start of rest. It keeps the first error.
type literal struct {
	rest string
	err  error
}

func (p *literal) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

func (p *literal) skip() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// accept consumes s if it comes next.
func (p *literal) accept(s string) bool {
	if p.err != nil {
		return false
	}
	p.skip()
	rest, ok := strings.CutPrefix(p.rest, s)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *literal) want(s string) {
	if p.err == nil && !p.accept(s) {
		p.fail("%.80q expected before %.20q", s, p.rest)
	}
}

// str reads a quoted string, which must not contain escapes.
func (p *literal) str() string {
	for _, quote := range []string{"'", `"`} {
		if p.accept(quote) {
			s, rest, ok := strings.Cut(p.rest, quote)
			if !ok || strings.ContainsAny(s, "\\\n") {
				p.fail("a string without end")
			}
			p.rest = rest
			return s
		}
	}
	p.fail("a string expected before %.20q", p.rest)
	return ""
}

// unread is the error for a sound header of an array that is not read.
type unread struct{ reason string }

func (e unread) Error() string { return e.reason }

// refuse is fail for an [unread] array.
func (p *literal) refuse(format string, args ...any) {
	if p.err == nil {
		p.err = unread{fmt.Sprintf(format, args...)}
	}
}

// descriptions are those of NumPy: the order of bytes, the kind, the size and perhaps a unit.
var descriptions = regexp.MustCompile(`^[<>|=]?[?bBiufcmMOSUVaegFDG][0-9]*(\[.*\])?$`)

// dtype reads the description of the elements.
func (a *NPY) dtype(p *literal) {
	s := p.str()
	if p.err != nil {
		return
	}
	kind := strings.TrimLeft(s, "<>|")
	a.bigEndian = strings.HasPrefix(s, ">")
	width, err := strconv.Atoi(strings.TrimLeft(kind, "US"))
	text := err == nil && width > 0 && width <= npyTextCap
	switch {
	case len(s) == len(kind)+1 && npyTypes[kind] != "":
		a.DType = npyTypes[kind]
		a.size = dtypes[a.DType]
	case text && strings.HasPrefix(kind, "U"):
		a.DType, a.size = Text, 4*width
	case text && strings.HasPrefix(kind, "S"):
		a.DType, a.size = Bytes, width
	case strings.Contains(s, "O"):
		p.refuse("type %.80q: Python objects are pickles, which are never read; write numbers or texts (arr.astype(str))", s)
	case descriptions.MatchString(s):
		p.refuse("type %.80q is not read; write it again with .astype and a type of floats, integers or texts", s)
	default:
		p.fail("unknown type %.80q", s)
	}
}

// tuple reads (), (3,) or (3, 4).
func (p *literal) tuple() []uint64 {
	p.want("(")
	dims := []uint64{}
	for p.err == nil && !p.accept(")") {
		end := 0
		for p.skip(); end < len(p.rest) && '0' <= p.rest[end] && p.rest[end] <= '9'; end++ {
		}
		d, err := strconv.ParseUint(p.rest[:end], 10, 63)
		if err != nil {
			p.fail("shape: a whole number below 2^63 expected before %.20q", p.rest)
			break
		}
		p.rest = p.rest[end:]
		if dims = append(dims, d); len(dims) > maxDims {
			p.fail("shape: more than %d dimensions", maxDims)
		}
		if !p.accept(",") {
			p.want(")")
			break
		}
	}
	return dims
}
