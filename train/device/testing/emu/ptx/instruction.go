package ptx

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// instruction is one of PTX: name[0] with its modifiers name[1:], and operands.
type instruction struct {
	*module
	name []string
	args []string
}

var predicated = regexp.MustCompile(`^@(!?)%p(\d+) (.*)$`)

// instruction returns the C++ statement of a PTX instruction.
func (m *module) instruction(s string) string {
	if match := predicated.FindStringSubmatch(s); match != nil {
		return fmt.Sprintf("if (%sp%s) { %s }", match[1], match[2], m.instruction(match[3]))
	}
	opcode, list, _ := strings.Cut(s, " ")
	i := instruction{m, strings.Split(opcode, "."), operands(list)}
	translate, found := m.known[i.name[0]]
	if !found {
		return m.refuse("unsupported instruction")
	}
	if len(i.args) < translate.least {
		return m.refuse("%d operands", len(i.args))
	}
	return translate.to(i)
}

// translator translates the instructions that begin with one word, such as add.
type translator struct {
	least int // operands
	to    func(instruction) string
}

// translators returns the supported instructions by their first word.
func translators() map[string]translator {
	return map[string]translator{
		"add": {3, operator("+")}, "sub": {3, operator("-")}, "and": {3, operator("&")}, "or": {3, operator("|")},
		"xor": {3, operator("^")}, "mul": {3, multiply}, "mad": {4, multiplyAdd}, "fma": {4, call("fma_rn", 3)},
		"div": {3, call("divide", 2)}, "rem": {3, call("remainder", 2)}, "min": {3, call("least", 2)},
		"max": {3, call("most", 2)}, "shl": {3, shift("left")}, "shr": {3, shift("right")},
		"neg": {2, call("negative", 1)}, "abs": {2, call("absolute", 1)}, "not": {2, call("inverse", 1)},
		"rcp": {2, call("reciprocal", 1)}, "sqrt": {2, call("root", 1)}, "ex2": {2, call("exp2_ftz", 1)},
		"popc": {2, population}, "bfe": {4, field}, "mov": {2, move}, "cvta": {2, window}, "cvt": {2, convert},
		"setp": {3, compare}, "selp": {4, choose}, "ld": {2, load}, "st": {2, store}, "atom": {3, atomic},
		"bra": {1, branch}, "ret": {0, leave}, "bar": {1, barrier}, "shfl": {5, shuffle},
		"vote": {3, vote}, "mma": {4, matrix}, "ldmatrix": {2, loadMatrix}, "cp": {0, copyAsync},
	}
}

// last is the type that an instruction ends with.
func (i instruction) last() ptype { return i.typeOf(i.name[len(i.name)-1]) }

// only refuses modifiers other than those named.
func (i instruction) only(known ...string) {
	for _, mod := range i.name[1 : len(i.name)-1] {
		if !slices.Contains(known, mod) {
			i.refuse("unsupported modifier .%s", mod)
		}
	}
}

// values reads operands of one type.
func (i instruction) values(t ptype, args ...string) []string {
	all := make([]string, len(args))
	for j, a := range args {
		all[j] = i.value(a, t)
	}
	return all
}

// operator is an infix operator. Integers are unsigned, since those of PTX wrap around.
func operator(sign string) func(instruction) string {
	return func(i instruction) string {
		i.only("rn")
		t := i.last().unsigned()
		v := i.values(t, i.args[1:3]...)
		return i.assign(i.args[0], t, fmt.Sprintf("(%s)(%s %s %s)", t.ctype(), v[0], sign, v[1]))
	}
}

// call is a function of ptx.h on n operands of the instruction's type. Approximate instructions are
// refused but for ex2, for which the kernels ask.
func call(function string, n int) func(instruction) string {
	return func(i instruction) string {
		if i.name[0] == "ex2" {
			i.only("approx", "ftz")
		} else {
			i.only("rn")
		}
		t := i.last()
		v := strings.Join(i.values(t, i.args[1:1+n]...), ", ")
		return i.assign(i.args[0], t, fmt.Sprintf("%s<%s>(%s)", function, t.ctype(), v))
	}
}

// product returns the C++ of mul and of the product of mad, with its type.
func (i instruction) product() (string, ptype) {
	i.only("rn", "lo", "hi", "wide")
	t := i.last()
	if slices.Contains(i.name, "wide") {
		v := i.values(t, i.args[1:3]...) // read in their own width, and then extended
		t.bits *= 2
		return fmt.Sprintf("(%s)((%s)(%s) * (%s)(%s))", t.ctype(), t.ctype(), v[0], t.ctype(), v[1]), t
	}
	upper := slices.Contains(i.name, "hi")
	if upper && t != (ptype{'u', 32}) {
		i.refuse("unsupported mul.hi of this type")
	}
	t = t.unsigned()
	v := i.values(t, i.args[1:3]...)
	switch {
	case upper:
		return fmt.Sprintf("(u32)((u64)%s * %s >> 32)", v[0], v[1]), t
	case t.bits == 16: // int would overflow
		return fmt.Sprintf("(u16)((u32)%s * (u32)%s)", v[0], v[1]), t
	}
	return fmt.Sprintf("%s * %s", v[0], v[1]), t
}

func multiply(i instruction) string {
	p, t := i.product()
	return i.assign(i.args[0], t, p)
}

func multiplyAdd(i instruction) string {
	p, t := i.product()
	if t.class == 'f' {
		return i.refuse("unsupported mad of floats")
	}
	return i.assign(i.args[0], t, p+" + "+i.value(i.args[3], t))
}

// shift counts in 32 bits; a count beyond the width shifts everything out.
func shift(way string) func(instruction) string {
	return func(i instruction) string {
		t := i.last()
		v, n := i.value(i.args[1], t), i.value(i.args[2], ptype{'u', 32})
		return i.assign(i.args[0], t, fmt.Sprintf("shift_%s<%s>(%s, %s)", way, t.ctype(), v, n))
	}
}

func population(i instruction) string {
	v := i.value(i.args[1], i.last())
	return i.assign(i.args[0], ptype{'u', 32}, fmt.Sprintf("__builtin_popcountll(%s)", v))
}

// field is bfe: bits from a position on, unsigned only.
func field(i instruction) string {
	t := i.last()
	if t.class != 'u' {
		return i.refuse("unsupported bfe of a signed number")
	}
	v, at := i.value(i.args[1], t), i.values(ptype{'u', 32}, i.args[2:4]...)
	return i.assign(i.args[0], t, fmt.Sprintf("bit_field<%s>(%s, %s, %s)", t.ctype(), v, at[0], at[1]))
}

// move is mov, of a number, an address, or a vector's bits.
func move(i instruction) string {
	t := i.last()
	to, from := elements(i.args[0]), elements(i.args[1])
	part, whole := ptype{'b', t.bits / 2}, ptype{'b', t.bits}
	switch {
	case len(to) == 2:
		low := i.assign(to[0], part, fmt.Sprintf("(%s)whole", part.ctype()))
		high := i.assign(to[1], part, fmt.Sprintf("(%s)(whole >> %d)", part.ctype(), part.bits))
		return fmt.Sprintf("{ u%d whole = %s; %s %s }", t.bits, i.value(from[0], whole), low, high)
	case len(from) == 2:
		v := i.values(part, from...)
		joined := fmt.Sprintf("(%[1]s)%[2]s | (%[1]s)%[3]s << %[4]d", whole.ctype(), v[0], v[1], part.bits)
		return i.assign(to[0], whole, joined)
	case len(to) != 1 || len(from) != 1:
		return i.refuse("a vector of %d and %d", len(to), len(from))
	}
	return i.assign(to[0], t, i.value(from[0], t))
}

// window is cvta: to a generic address, or from one.
func window(i instruction) string {
	u64 := ptype{'u', 64}
	v := i.value(i.args[1], u64)
	switch strings.Join(i.name, ".") {
	case "cvta.to.global.u64", "cvta.global.u64":
	case "cvta.to.shared.u64":
		v = fmt.Sprintf("to_shared(%s)", v)
	case "cvta.shared.u64":
		v = fmt.Sprintf("from_shared(%s)", v)
	default:
		i.refuse("unsupported window")
	}
	return i.assign(i.args[0], u64, v)
}

// convert is cvt: rn to a float, rni, rzi, rmi and rpi to an integer or an integral float.
func convert(i instruction) string {
	n := len(i.name)
	if n < 3 {
		return i.refuse("unsupported conversion")
	}
	to, from := i.typeOf(i.name[n-2]), i.typeOf(i.name[n-1])
	v, mode := i.values(from, i.args[1:]...), strings.Join(i.name[1:n-2], ".")
	switch kind := i.name[n-2]; {
	case kind == "bf16" && mode == "rn" && from == ptype{'f', 32}:
		return i.assign(i.args[0], to, fmt.Sprintf("to_bf16(%s)", v[0]))
	case kind == "bf16x2" && mode == "rn" && len(v) == 2: // the first operand is the upper half
		return i.assign(i.args[0], to, fmt.Sprintf("(u32)to_bf16(%s) << 16 | to_bf16(%s)", v[0], v[1]))
	case kind[:1] == "b" || i.name[n-1][:1] == "b":
	case to.class == 'f' && from.class == 'f' && mode != "" && mode != "rn":
		return i.assign(i.args[0], to, fmt.Sprintf("(%s)whole_%s(%s)", to.ctype(), mode, v[0]))
	case to.class == 'f' && (mode == "rn" || mode == "" && from.class == 'f' && from.bits <= to.bits),
		to.class != 'f' && from.class != 'f' && mode == "":
		return i.assign(i.args[0], to, fmt.Sprintf("(%s)(%s)", to.ctype(), v[0]))
	case to.class != 'f' && from.class == 'f':
		return i.assign(i.args[0], to, fmt.Sprintf("to_integer<%s>(whole_%s(%s))", to.ctype(), mode, v[0]))
	}
	return i.refuse("unsupported conversion")
}

// comparisons are those of integers and ordered floats; a u behind one of floats makes it true for
// NaN.
var comparisons = map[string]string{
	"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}

func compare(i instruction) string {
	t := i.last()
	if len(i.name) != 3 || len(i.args) != 3 {
		return i.refuse("unsupported setp")
	}
	v := i.values(t, i.args[1:]...)
	name, test := i.name[1], ""
	unordered := fmt.Sprintf("(%s != %s || %s != %s)", v[0], v[0], v[1], v[1])
	sign, plain := comparisons[name]
	switch {
	case plain && t.class == 'f' && name == "ne":
		test = fmt.Sprintf("!%s && %s != %s", unordered, v[0], v[1])
	case plain:
		test = fmt.Sprintf("%s %s %s", v[0], sign, v[1])
	case name == "nan":
		test = unordered
	case name == "num":
		test = "!" + unordered
	case t.class == 'f' && comparisons[strings.TrimSuffix(name, "u")] != "":
		test = fmt.Sprintf("%s || %s %s %s", unordered, v[0], comparisons[strings.TrimSuffix(name, "u")], v[1])
	default:
		return i.refuse("unsupported comparison")
	}
	return i.assign(i.args[0], ptype{'p', 1}, test)
}

func choose(i instruction) string {
	t := i.last()
	v, p := i.values(t, i.args[1:3]...), i.value(i.args[3], ptype{'p', 1})
	return i.assign(i.args[0], t, fmt.Sprintf("%s ? %s : %s", p, v[0], v[1]))
}

func branch(i instruction) string { return fmt.Sprintf("goto %s;", i.args[0]) }

func leave(instruction) string { return "return;" }
