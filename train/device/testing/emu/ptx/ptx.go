// Package ptx translates PTX to C++, so that the emulator runs the code that a card gets and not
// only the source that clang compiled it from.
//
// It supports the instructions that the kernels of train/device/cuda use, in the form that LLVM's
// NVPTX backend prints, and refuses all others. Each instruction becomes a statement, each register
// a variable, and each branch a goto. The statements call the functions of emu/src/ptx.h.
package ptx

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Source returns the C++ of a PTX module, with a kernel for each .entry. Compiler messages and race
// reports refer to the lines of the file called name. Source fails on an instruction or directive
// that it does not support, and names its line.
func Source(name, text string) (string, error) {
	m := &module{name: name, known: translators(), shared: map[string]bool{}}
	m.emit("#include \"ptx.h\"")
	if err := m.read(text); err != nil {
		return "", err
	}
	return m.out.String(), nil
}

// module is the state of reading a PTX file line by line.
type module struct {
	name  string
	line  int
	out   strings.Builder
	known map[string]translator

	shared  map[string]bool // arrays in shared memory, true for hg_dynamic, whose size the launch gives
	kernel  string          // the .entry being read
	params  []param
	threads int
	regs    map[string]kind // by prefix: %rd
	inside  bool            // between the braces of a kernel
	depth   int             // of scopes in it
	pending int             // instructions that are not counted yet
	listing bool            // between the parentheses of its parameters
}

// param is a parameter of a kernel.
type param struct {
	name, ctype string
}

// kind is the class of a register.
type kind struct {
	ctype string // C++ type of its variables
	bits  int    // 1 for a predicate
	float bool
}

// kinds are the classes of registers that LLVM declares.
var kinds = map[string]kind{
	".pred": {"bool", 1, false}, ".b16": {"u16", 16, false}, ".b32": {"u32", 32, false}, ".b64": {"u64", 64, false},
	".f32": {"float", 32, true}, ".f64": {"double", 64, true},
}

var (
	entryLine  = regexp.MustCompile(`^\.visible \.entry (\w+)\(?$`)
	paramLine  = regexp.MustCompile(`^\.param (?:\.align (\d+) )?\.(\w+) ([\w$]+)(?:\[(\d+)\])?,?$`)
	sharedLine = regexp.MustCompile(`^\.shared (?:\.align \d+ )?\.(\w+) ([\w$]+)(?:\[(\d+)\])?$`)
	externLine = regexp.MustCompile(`^\.extern \.shared \.align 16 \.b8 ([\w$]+)\[\]$`)
	regLine    = regexp.MustCompile(`^\.reg (\.\w+) %(\w+?)(?:<(\d+)>)?$`)
	maxLine    = regexp.MustCompile(`^\.maxntid (\d+), (\d+), (\d+)$`)
	labelLine  = regexp.MustCompile(`^([\w$]+):$`)
	leaves     = regexp.MustCompile(`^(@!?%p\d+ )?(bra|ret)\b`)
	ignored    = regexp.MustCompile(`^\.(version|target|address_size|minnctapersm|pragma|globl)\b`)
)

func (m *module) emit(format string, args ...any) { fmt.Fprintf(&m.out, format+"\n", args...) }

func (m *module) read(text string) error {
	for i, line := range strings.Split(text, "\n") {
		m.line = i + 1
		line, _, _ = strings.Cut(line, "//")
		for statement := range strings.SplitSeq(line, ";") {
			statement = strings.Join(strings.Fields(statement), " ")
			if m.inside && strings.HasPrefix(statement, "{ ") { // a scope for a register
				m.emit("{")
				m.depth++
				statement = statement[2:]
			}
			if statement == "" || ignored.MatchString(statement) {
				continue
			}
			if err := m.statement(statement); err != nil {
				return fmt.Errorf("%s:%d: %s: %w", m.name, m.line, statement, err)
			}
		}
	}
	if m.kernel != "" {
		return fmt.Errorf("%s:%d: kernel %s has no end", m.name, m.line, m.kernel)
	}
	return nil
}

// count emits the counting of the instructions since the last label or branch.
func (m *module) count() {
	if m.pending > 0 {
		m.emit("hg_emu::instructions += %d;", m.pending)
	}
	m.pending = 0
}

func (m *module) statement(s string) error {
	switch {
	case m.kernel == "":
		return m.topLevel(s)
	case m.listing:
		return m.parameter(s)
	case !m.inside:
		return m.directive(s)
	case s == "}" && m.depth > 0:
		m.emit("}")
		m.depth--
		return nil
	case s == "}":
		m.count()
		m.emit("}\nHG_PTX_KERNEL(%d, %s)\n", m.threads, m.kernel)
		m.kernel, m.inside = "", false
		return nil
	}
	if match := labelLine.FindStringSubmatch(s); match != nil {
		m.count()
		m.emit("%s:;", match[1])
		return nil
	}
	if strings.HasPrefix(s, ".") {
		return m.declaration(s)
	}
	code, err := m.instruction(s)
	if err != nil {
		return err
	}
	m.pending++
	if leaves.MatchString(s) {
		m.count()
	}
	m.emit("#line %d \"%s\"\n%s", m.line, m.name, code)
	return nil
}

// topLevel reads a statement outside kernels.
func (m *module) topLevel(s string) error {
	if match := entryLine.FindStringSubmatch(s); match != nil {
		m.kernel, m.params, m.threads = match[1], nil, 0
		m.listing = strings.HasSuffix(s, "(")
		m.regs = map[string]kind{}
		return nil
	}
	if match := externLine.FindStringSubmatch(s); match != nil {
		m.shared[match[1]] = true
		return nil
	}
	return m.declaration(s)
}

// parameter reads a line of the list of parameters.
func (m *module) parameter(s string) error {
	if s == ")" {
		m.listing = false
		return nil
	}
	match := paramLine.FindStringSubmatch(s)
	if match == nil {
		return fmt.Errorf("unsupported parameter")
	}
	p := param{name: match[3]}
	if match[4] == "" {
		t, err := typeOf(match[2])
		if err != nil {
			return err
		}
		p.ctype = t.ctype()
	} else {
		p.ctype = fmt.Sprintf("Bytes<%s, %s>", match[4], match[1])
	}
	m.params = append(m.params, p)
	return nil
}

// directive reads a line between the parameters and the body.
func (m *module) directive(s string) error {
	if match := maxLine.FindStringSubmatch(s); match != nil {
		m.threads = 1
		for _, n := range match[1:] {
			v, err := strconv.Atoi(n)
			if err != nil {
				return err
			}
			m.threads *= v
		}
		return nil
	}
	if s != "{" {
		return fmt.Errorf("unsupported directive of a kernel")
	}
	m.inside = true
	list := make([]string, len(m.params))
	for i, p := range m.params {
		list[i] = p.ctype + " " + p.name
	}
	m.emit("static void %s(%s) {", m.kernel, strings.Join(list, ", "))
	return nil
}

// registers declares one register, or those numbered from 1 to below a count.
func (m *module) registers(of, prefix, count string) error {
	k, found := kinds[of]
	if !found {
		return fmt.Errorf("registers of an unknown type")
	}
	m.regs[prefix] = k
	if count == "" {
		m.emit("%s %s;", k.ctype, prefix)
		return nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 2 {
		return err
	}
	names := make([]string, 0, n)
	for i := 1; i < n; i++ {
		names = append(names, fmt.Sprintf("%s%d", prefix, i))
	}
	m.emit("%s %s;", k.ctype, strings.Join(names, ", "))
	return nil
}

// declaration reads registers and arrays in shared memory.
func (m *module) declaration(s string) error {
	if match := regLine.FindStringSubmatch(s); match != nil {
		return m.registers(match[1], match[2], match[3])
	}
	match := sharedLine.FindStringSubmatch(s)
	if match == nil {
		return fmt.Errorf("unsupported declaration")
	}
	t, err := typeOf(match[1])
	if err != nil {
		return err
	}
	count := 1
	if match[3] != "" {
		if count, err = strconv.Atoi(match[3]); err != nil {
			return err
		}
	}
	m.emit("static hg_emu::Slot slot_%s = {\"%s\", %d, 0, nullptr};", match[2], match[2], count*t.bits/8)
	m.shared[match[2]] = false
	return nil
}
