package ptx

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ptype is a type of an instruction, such as .s32: s, 32.
type ptype struct {
	class byte // 's', 'u', 'b', 'f', or 'p' for a predicate
	bits  int
}

func (m *module) typeOf(name string) ptype {
	switch name {
	case "pred":
		return ptype{'p', 1}
	case "bf16":
		return ptype{'b', 16}
	case "bf16x2":
		return ptype{'b', 32}
	}
	var t ptype
	var class rune
	if n, err := fmt.Sscanf(name, "%c%d", &class, &t.bits); n != 2 || err != nil || !strings.ContainsRune("subf", class) {
		m.refuse("unknown type %.80q", name)
	}
	t.class = byte(class)
	return t
}

// unsigned is the type whose arithmetic wraps around as that of PTX does.
func (t ptype) unsigned() ptype {
	if t.class == 's' {
		t.class = 'u'
	}
	return t
}

// ctype is the C++ type.
func (t ptype) ctype() string {
	switch {
	case t.class == 'p':
		return "bool"
	case t.class == 'f' && t.bits == 32:
		return "float"
	case t.class == 'f':
		return "double"
	case t.class == 's':
		return fmt.Sprintf("i%d", t.bits)
	}
	return fmt.Sprintf("u%d", t.bits)
}

var (
	register = regexp.MustCompile(`^%([a-z]+)(\d*)$`)
	special  = regexp.MustCompile(`^%(tid|ctaid|ntid|nctaid)\.([xyz])$`)
	integer  = regexp.MustCompile(`^-?\d+$`)
	hexFloat = regexp.MustCompile(`^0([fd])([0-9A-F]+)$`)
	address  = regexp.MustCompile(`^\[(?:%([a-z]+)(\d+)|([\w$]+))(?:\+(-?\d+))?\]$`)
)

// specials are the fields of hg_emu::Place.
var specials = map[string]string{"tid": "thread", "ctaid": "block", "ntid": "threads", "nctaid": "blocks"}

// value returns an expression of type t that reads an operand.
func (m *module) value(operand string, t ptype) string {
	if match := register.FindStringSubmatch(operand); match != nil {
		name := match[1] + match[2]
		if m.kindOf(match).float != (t.class == 'f') { // the bits of a float, or a float of bits
			return fmt.Sprintf("bits<%s>(%s)", t.ctype(), name)
		}
		return fmt.Sprintf("(%s)%s", t.ctype(), name)
	}
	if match := special.FindStringSubmatch(operand); match != nil {
		return fmt.Sprintf("(%s)hg_emu::place.%s.%s", t.ctype(), specials[match[1]], match[2])
	}
	if integer.MatchString(operand) {
		literal := operand + "ll"
		if operand == "-9223372036854775808" {
			literal = "(-9223372036854775807ll - 1)"
		}
		if t.class == 'f' {
			return fmt.Sprintf("bits<%s>((u%d)%s)", t.ctype(), t.bits, literal)
		}
		return fmt.Sprintf("(%s)%s", t.ctype(), literal)
	}
	if match := hexFloat.FindStringSubmatch(operand); match != nil {
		of := map[string]string{"f": "u32", "d": "u64"}[match[1]]
		return fmt.Sprintf("bits<%s>((%s)0x%sull)", t.ctype(), of, match[2])
	}
	return m.symbol(operand)
}

// kindOf returns the class of a register from its match.
func (m *module) kindOf(match []string) kind {
	k, found := m.regs[match[1]]
	if !found {
		m.refuse("register %s is not declared", match[0])
	}
	return k
}

// symbol returns the address of an array in shared memory or of a parameter.
func (m *module) symbol(name string) string {
	if dynamic, found := m.shared[name]; found {
		if dynamic {
			return "shared_dynamic()"
		}
		return fmt.Sprintf("shared_address(slot_%s)", name)
	}
	if !slices.ContainsFunc(m.params, func(p param) bool { return p.name == name }) {
		m.refuse("unknown operand %.80q", name)
	}
	return fmt.Sprintf("(u64)&%s", name)
}

// assign returns a statement that writes an expression of type t to a register.
func (m *module) assign(operand string, t ptype, expression string) string {
	match := register.FindStringSubmatch(operand)
	if match == nil {
		return m.refuse("%.80q is not a register", operand)
	}
	k, name := m.kindOf(match), match[1]+match[2]
	if k.float == (t.class == 'f') {
		return fmt.Sprintf("%s = (%s)(%s);", name, k.ctype, expression)
	}
	if k.bits != t.bits {
		m.refuse("%d bits for a register of %d", t.bits, k.bits)
	}
	return fmt.Sprintf("%s = bits<%s>(%s);", name, k.ctype, expression)
}

// place returns the expression of an address such as [%rd1+8].
func (m *module) place(operand string) string {
	match := address.FindStringSubmatch(operand)
	if match == nil {
		return m.refuse("%.80q is not an address", operand)
	}
	base := ""
	if match[1] != "" {
		base = m.value("%"+match[1]+match[2], ptype{'u', 64})
	} else {
		base = m.symbol(match[3])
	}
	if match[4] != "" {
		base = fmt.Sprintf("%s + (i64)%s", base, match[4])
	}
	return base
}

// operands splits a list at its commas outside braces and brackets.
func operands(list string) []string {
	var all []string
	depth, start := 0, 0
	for i, c := range list {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				all = append(all, strings.TrimSpace(list[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(list[start:]); last != "" {
		all = append(all, last)
	}
	return all
}

// elements returns the operands of a vector {a, b}, or the operand itself.
func elements(operand string) []string {
	if strings.HasPrefix(operand, "{") {
		return operands(strings.Trim(operand, "{}"))
	}
	return []string{operand}
}
