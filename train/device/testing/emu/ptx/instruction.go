package ptx

import (
	"errors"
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
func (m *module) instruction(s string) (string, error) {
	if match := predicated.FindStringSubmatch(s); match != nil {
		code, err := m.instruction(match[3])
		return fmt.Sprintf("if (%sp%s) { %s }", match[1], match[2], code), err
	}
	opcode, list, _ := strings.Cut(s, " ")
	i := instruction{m, strings.Split(opcode, "."), operands(list)}
	translate, found := m.known[i.name[0]]
	if !found {
		return "", fmt.Errorf("unsupported instruction")
	}
	if len(i.args) < translate.least {
		return "", fmt.Errorf("%d operands", len(i.args))
	}
	return translate.to(i)
}

// translator translates the instructions that begin with one word, such as add.
type translator struct {
	least int // operands
	to    func(instruction) (string, error)
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
		"wgmma": {0, warpgroup}, "fence": {0, fence},
	}
}

// last is the type that an instruction ends with.
func (i instruction) last() (ptype, error) { return typeOf(i.name[len(i.name)-1]) }

// only refuses modifiers other than those named.
func (i instruction) only(known ...string) error {
	for _, mod := range i.name[1 : len(i.name)-1] {
		if !slices.Contains(known, mod) {
			return fmt.Errorf("unsupported modifier .%s", mod)
		}
	}
	return nil
}

// values reads operands of one type.
func (i instruction) values(t ptype, args ...string) ([]string, error) {
	all := make([]string, len(args))
	for j, a := range args {
		v, err := i.value(a, t)
		if err != nil {
			return nil, err
		}
		all[j] = v
	}
	return all, nil
}

// typed returns the type that an instruction ends with, and operands read as that type.
func (i instruction) typed(args ...string) (t ptype, v []string, err error) {
	if t, err = i.last(); err == nil {
		v, err = i.values(t, args...)
	}
	return t, v, err
}

// operator is an infix operator. Integers are unsigned, since those of PTX wrap around.
func operator(sign string) func(instruction) (string, error) {
	return func(i instruction) (string, error) {
		t, err := i.last()
		if err == nil {
			err = i.only("rn")
		}
		if err != nil {
			return "", err
		}
		if t.class == 's' {
			t.class = 'u'
		}
		v, err := i.values(t, i.args[1:]...)
		if err != nil {
			return "", err
		}
		return i.assign(i.args[0], t, fmt.Sprintf("(%s)(%s %s %s)", t.ctype(), v[0], sign, v[1]))
	}
}

// call is a function of ptx.h on n operands of the instruction's type. Approximate instructions are
// refused but for ex2, for which the kernels ask.
func call(function string, n int) func(instruction) (string, error) {
	return func(i instruction) (string, error) {
		t, err := i.last()
		if err == nil && i.name[0] == "ex2" {
			err = i.only("approx", "ftz")
		} else if err == nil {
			err = i.only("rn")
		}
		if err != nil {
			return "", err
		}
		v, err := i.values(t, i.args[1:1+n]...)
		if err != nil {
			return "", err
		}
		return i.assign(i.args[0], t, fmt.Sprintf("%s<%s>(%s)", function, t.ctype(), strings.Join(v, ", ")))
	}
}

// product returns the C++ of mul and of the product of mad, with its type.
func (i instruction) product() (string, ptype, error) {
	t, err := i.last()
	if err == nil {
		err = i.only("rn", "lo", "hi", "wide")
	}
	if err != nil {
		return "", t, err
	}
	if slices.Contains(i.name, "wide") {
		t.bits *= 2 // the operands are read in their own width, and then extended
		half := ptype{t.class, t.bits / 2}
		v, err := i.values(half, i.args[1:3]...)
		if err != nil {
			return "", t, err
		}
		return fmt.Sprintf("(%s)((%s)(%s) * (%s)(%s))", t.ctype(), t.ctype(), v[0], t.ctype(), v[1]), t, nil
	}
	upper := slices.Contains(i.name, "hi")
	if upper && t != (ptype{'u', 32}) {
		return "", t, fmt.Errorf("unsupported mul.hi of this type")
	}
	if t.class == 's' {
		t.class = 'u'
	}
	v, err := i.values(t, i.args[1:3]...)
	if err != nil {
		return "", t, err
	}
	if upper {
		return fmt.Sprintf("(u32)((u64)%s * %s >> 32)", v[0], v[1]), t, nil
	}
	if t.bits == 16 { // int would overflow
		return fmt.Sprintf("(u16)((u32)%s * (u32)%s)", v[0], v[1]), t, nil
	}
	return fmt.Sprintf("%s * %s", v[0], v[1]), t, nil
}

func multiply(i instruction) (string, error) {
	p, t, err := i.product()
	if err != nil {
		return "", err
	}
	return i.assign(i.args[0], t, p)
}

func multiplyAdd(i instruction) (string, error) {
	p, t, err := i.product()
	if err != nil {
		return "", err
	}
	if t.class == 'f' {
		return "", errors.New("unsupported mad of floats")
	}
	c, err := i.value(i.args[3], t)
	if err != nil {
		return "", err
	}
	return i.assign(i.args[0], t, p+" + "+c)
}

// shift counts in 32 bits; a count beyond the width shifts everything out.
func shift(way string) func(instruction) (string, error) {
	return func(i instruction) (string, error) {
		t, v, err := i.typed(i.args[1])
		if err != nil {
			return "", err
		}
		n, err := i.value(i.args[2], ptype{'u', 32})
		if err != nil {
			return "", err
		}
		return i.assign(i.args[0], t, fmt.Sprintf("shift_%s<%s>(%s, %s)", way, t.ctype(), v[0], n))
	}
}

func population(i instruction) (string, error) {
	_, v, err := i.typed(i.args[1])
	if err != nil {
		return "", err
	}
	return i.assign(i.args[0], ptype{'u', 32}, fmt.Sprintf("__builtin_popcountll(%s)", v[0]))
}

// field is bfe: bits from a position on, unsigned only.
func field(i instruction) (string, error) {
	t, v, err := i.typed(i.args[1])
	if err != nil {
		return "", err
	}
	if t.class != 'u' {
		return "", errors.New("unsupported bfe of a signed number")
	}
	at, err := i.values(ptype{'u', 32}, i.args[2:4]...)
	if err != nil {
		return "", err
	}
	return i.assign(i.args[0], t, fmt.Sprintf("bit_field<%s>(%s, %s, %s)", t.ctype(), v[0], at[0], at[1]))
}

// move is mov, of a number, an address, or a vector's bits.
func move(i instruction) (string, error) {
	t, err := i.last()
	if err != nil {
		return "", err
	}
	to, from := elements(i.args[0]), elements(i.args[1])
	part := ptype{'b', t.bits / 2}
	switch {
	case len(to) == 2:
		v, err := i.value(from[0], ptype{'b', t.bits})
		if err != nil {
			return "", err
		}
		low, err := i.assign(to[0], part, fmt.Sprintf("(%s)whole", part.ctype()))
		if err != nil {
			return "", err
		}
		high, err := i.assign(to[1], part, fmt.Sprintf("(%s)(whole >> %d)", part.ctype(), part.bits))
		return fmt.Sprintf("{ u%d whole = %s; %s %s }", t.bits, v, low, high), err
	case len(from) == 2:
		v, err := i.values(part, from...)
		if err != nil {
			return "", err
		}
		whole := ptype{'b', t.bits}
		joined := fmt.Sprintf("(%[1]s)%[2]s | (%[1]s)%[3]s << %[4]d", whole.ctype(), v[0], v[1], part.bits)
		return i.assign(to[0], whole, joined)
	case len(to) != 1 || len(from) != 1:
		return "", fmt.Errorf("a vector of %d and %d", len(to), len(from))
	}
	v, err := i.value(from[0], t)
	if err != nil {
		return "", err
	}
	return i.assign(to[0], t, v)
}

// window is cvta: to a generic address, or from one.
func window(i instruction) (string, error) {
	u64 := ptype{'u', 64}
	v, err := i.value(i.args[1], u64)
	if err != nil {
		return "", err
	}
	switch strings.Join(i.name, ".") {
	case "cvta.to.global.u64", "cvta.global.u64":
	case "cvta.to.shared.u64":
		v = fmt.Sprintf("to_shared(%s)", v)
	case "cvta.shared.u64":
		v = fmt.Sprintf("from_shared(%s)", v)
	default:
		return "", fmt.Errorf("unsupported window")
	}
	return i.assign(i.args[0], u64, v)
}

// convert is cvt: rn to a float, rni, rzi, rmi and rpi to an integer or an integral float.
func convert(i instruction) (string, error) {
	n := len(i.name)
	to, err := typeOf(i.name[n-2])
	if err != nil {
		return "", err
	}
	from, err := typeOf(i.name[n-1])
	if err != nil {
		return "", err
	}
	v, err := i.values(from, i.args[1:]...)
	if err != nil {
		return "", err
	}
	mode := strings.Join(i.name[1:n-2], ".")
	switch kind := i.name[n-2]; {
	case kind == "bf16" && mode == "rn" && from == ptype{'f', 32}:
		return i.assign(i.args[0], to, fmt.Sprintf("to_bf16(%s)", v[0]))
	case kind == "bf16x2" && mode == "rn" && len(v) == 2: // the first operand is the upper half
		return i.assign(i.args[0], to, fmt.Sprintf("(u32)to_bf16(%s) << 16 | to_bf16(%s)", v[0], v[1]))
	case kind[:1] == "b" || i.name[n-1][:1] == "b":
		return "", fmt.Errorf("unsupported conversion")
	case to.class == 'f' && from.class == 'f' && mode != "" && mode != "rn":
		return i.assign(i.args[0], to, fmt.Sprintf("(%s)whole_%s(%s)", to.ctype(), mode, v[0]))
	case to.class == 'f' && (mode == "rn" || mode == "" && from.class == 'f' && from.bits <= to.bits):
		return i.assign(i.args[0], to, fmt.Sprintf("(%s)(%s)", to.ctype(), v[0]))
	case to.class != 'f' && from.class == 'f':
		return i.assign(i.args[0], to, fmt.Sprintf("to_integer<%s>(whole_%s(%s))", to.ctype(), mode, v[0]))
	case to.class != 'f' && mode == "":
		return i.assign(i.args[0], to, fmt.Sprintf("(%s)(%s)", to.ctype(), v[0]))
	}
	return "", fmt.Errorf("unsupported conversion")
}

// comparisons are those of integers and ordered floats; a u behind one of floats makes it true for
// NaN.
var comparisons = map[string]string{
	"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}

func compare(i instruction) (string, error) {
	t, err := i.last()
	if err != nil {
		return "", err
	}
	if len(i.name) != 3 || len(i.args) != 3 {
		return "", fmt.Errorf("unsupported setp")
	}
	v, err := i.values(t, i.args[1:]...)
	if err != nil {
		return "", err
	}
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
		return "", fmt.Errorf("unsupported comparison")
	}
	return i.assign(i.args[0], ptype{'p', 1}, test)
}

func choose(i instruction) (string, error) {
	t, v, err := i.typed(i.args[1:3]...)
	if err != nil {
		return "", err
	}
	p, err := i.value(i.args[3], ptype{'p', 1})
	if err != nil {
		return "", err
	}
	return i.assign(i.args[0], t, fmt.Sprintf("%s ? %s : %s", p, v[0], v[1]))
}

func branch(i instruction) (string, error) { return fmt.Sprintf("goto %s;", i.args[0]), nil }

func leave(instruction) (string, error) { return "return;", nil }
