// Package ptx translates PTX to C++, so that the emulator runs the code that a GPU gets and not
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
	err := m.read(text)
	return m.out.String(), err
}

// module is the state of reading a PTX file line by line.
type module struct {
	name  string
	line  int
	out   strings.Builder
	known map[string]translator
	err   error // the first that was refused

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

// refuse keeps an error unless there is one, and returns nothing.
func (m *module) refuse(format string, args ...any) string {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
	return ""
}

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
			if m.statement(statement); m.err != nil {
				return fmt.Errorf("%s:%d: %s: %w", m.name, m.line, statement, m.err)
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

func (m *module) statement(s string) {
	label := labelLine.FindStringSubmatch(s)
	switch {
	case m.kernel == "":
		m.topLevel(s)
	case m.listing:
		m.parameter(s)
	case !m.inside:
		m.directive(s)
	case s == "}" && m.depth > 0:
		m.emit("}")
		m.depth--
	case s == "}":
		m.count()
		m.emit("}\nHG_PTX_KERNEL(%d, %s)\n", m.threads, m.kernel)
		m.kernel, m.inside = "", false
	case label != nil:
		m.count()
		m.emit("%s:;", label[1])
	case strings.HasPrefix(s, "."):
		m.declaration(s)
	default:
		code := m.instruction(s)
		m.pending++
		if leaves.MatchString(s) {
			m.count()
		}
		m.emit("#line %d \"%s\"\n%s", m.line, m.name, code)
	}
}

// topLevel reads a statement outside kernels.
func (m *module) topLevel(s string) {
	if match := entryLine.FindStringSubmatch(s); match != nil {
		m.kernel, m.params, m.threads = match[1], nil, 0
		m.listing = strings.HasSuffix(s, "(")
		m.regs = map[string]kind{}
	} else if match := externLine.FindStringSubmatch(s); match != nil {
		m.shared[match[1]] = true
	} else {
		m.declaration(s)
	}
}

// parameter reads a line of the list of parameters.
func (m *module) parameter(s string) {
	match := paramLine.FindStringSubmatch(s)
	switch {
	case s == ")":
		m.listing = false
	case match == nil:
		m.refuse("unsupported parameter")
	case match[4] == "":
		m.params = append(m.params, param{match[3], m.typeOf(match[2]).ctype()})
	default:
		m.params = append(m.params, param{match[3], fmt.Sprintf("Bytes<%s, %s>", match[4], match[1])})
	}
}

// number returns the value of digits.
func (m *module) number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		m.refuse("%w", err)
	}
	return n
}

// directive reads a line between the parameters and the body.
func (m *module) directive(s string) {
	if match := maxLine.FindStringSubmatch(s); match != nil {
		m.threads = m.number(match[1]) * m.number(match[2]) * m.number(match[3])
		return
	}
	if s != "{" {
		m.refuse("unsupported directive of a kernel")
	}
	m.inside = true
	list := make([]string, len(m.params))
	for i, p := range m.params {
		list[i] = p.ctype + " " + p.name
	}
	m.emit("static void %s(%s) {", m.kernel, strings.Join(list, ", "))
}

// registers declares one register, or those numbered from 1 to below a count.
func (m *module) registers(of, prefix, count string) {
	k, found := kinds[of]
	if !found {
		m.refuse("registers of an unknown type")
	}
	m.regs[prefix] = k
	names := []string{prefix}
	if count != "" {
		names = nil
		for i := range m.number(count) - 1 {
			names = append(names, fmt.Sprintf("%s%d", prefix, i+1))
		}
	}
	if len(names) > 0 {
		m.emit("%s %s;", k.ctype, strings.Join(names, ", "))
	}
}

// declaration reads registers and arrays in shared memory.
func (m *module) declaration(s string) {
	if match := regLine.FindStringSubmatch(s); match != nil {
		m.registers(match[1], match[2], match[3])
		return
	}
	match := sharedLine.FindStringSubmatch(s)
	if match == nil {
		m.refuse("unsupported declaration")
		return
	}
	count := 1
	if match[3] != "" {
		count = m.number(match[3])
	}
	bytes := count * m.typeOf(match[1]).bits / 8
	m.emit("static hg_emu::Slot slot_%s = {\"%s\", %d, 0, nullptr};", match[2], match[2], bytes)
	m.shared[match[2]] = false
}
