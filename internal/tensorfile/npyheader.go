package tensorfile

import (
	"fmt"
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
				p.fail("records are not supported; write each field as an array of its own")
				break
			}
			a.DType = p.dtype()
		case "fortran_order":
			if p.accept("True") {
				p.fail("column-major order; write it again with numpy.ascontiguousarray")
			} else {
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

func (p *literal) dtype() string {
	s := p.str()
	if t, ok := npyTypes[s]; ok || p.err != nil {
		return t
	}
	switch {
	case strings.Contains(s, "O"):
		p.fail("type %.80q: Python objects are pickles, which are never read", s)
	case strings.HasPrefix(s, ">"):
		p.fail("type %.80q is big endian; write it again with .astype and a type that begins with <", s)
	default:
		p.fail("unknown type %.80q (known: <f8 <f4 <f2 <i8 <i4 |u1)", s)
	}
	return ""
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
