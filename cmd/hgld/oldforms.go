package main

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"hgld/internal/objectstore/address"
)

//go:embed oldforms.txt
var oldFormsText string

// oldForm is a command as hgld understood it once.
type oldForm struct {
	path  string             // its words, such as "shards slice"
	args  int                // number of arguments that the form has, or anyNumber
	then  string             // command line that replaces it, or ""
	why   string             // sentence for a command that nothing replaces
	flags map[string]oldFlag // flags of the command that have changed
}

// oldFlag is what became of a flag: the right side of its row in oldforms.txt.
type oldFlag struct {
	becomes  string
	isSwitch bool // it took no value
}

// everyCommand is the path of the flags that all commands had.
const everyCommand = "*"

// oldForms returns the table in oldforms.txt. A command has one form without arguments at most.
var oldForms = sync.OnceValue(func() (list []*oldForm) {
	var open []*oldForm
	for line := range strings.Lines(oldFormsText) {
		text := strings.TrimSpace(line)
		left, right, _ := strings.Cut(text, " = ")
		switch {
		case text == "" || text[0] == '#':
		case line[0] == ' ':
			name, isSwitch := strings.CutSuffix(strings.TrimPrefix(left, "--"), "?")
			for _, form := range open {
				form.flags[name] = oldFlag{right, isSwitch}
			}
		default:
			open = nil
			for path := range strings.SplitSeq(left, ", ") {
				form := &oldForm{path: path, args: anyNumber}
				if words, _, has := strings.Cut(path, " {"); has {
					form.path, form.args = words, strings.Count(path, "{")
				}
				same := func(f *oldForm) bool { return f.path == form.path && f.args == form.args }
				if i := slices.IndexFunc(list, same); i >= 0 {
					form = list[i]
				} else {
					form.flags = map[string]oldFlag{}
					list = append(list, form)
				}
				if why, gone := strings.CutPrefix(right, "! "); gone {
					form.why = why
				} else if right != "" {
					form.then = right
				}
				open = append(open, form)
			}
		}
	}
	return list
})

// oldFlagOf returns what became of a flag of the command path, and whether it is that of all commands.
func oldFlagOf(path, name string) (flag oldFlag, shared, ok bool) {
	for _, form := range oldForms() {
		if flag, ok = form.flags[name]; ok && form.path == path {
			return flag, false, true
		}
	}
	for _, form := range oldForms() {
		if flag, ok = form.flags[name]; ok && form.path == everyCommand {
			return flag, true, true
		}
	}
	return oldFlag{}, false, false
}

// typedFlag is a flag of a command line.
type typedFlag struct {
	word, name, value string // "--out", "out" and its value
	hasValue          bool
}

// oldLine is a command line in an old form.
type oldLine struct {
	path  string
	form  *oldForm // nil if only flags have changed
	args  []string
	flags []typedFlag
	env   []string // assignments that go before the new command line
}

// checkOldForms returns an error for a command line that an earlier hgld understood and this one does not. Its hint is
// the line to type now.
func checkOldForms(list []*cli.Command, args []string) error {
	args = args[1:]
	lead := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") })
	if lead < 0 {
		lead = len(args)
	}
	command, depth := commandAt(list, args[:lead])
	line := oldLine{path: strings.Join(args[:depth], " ")}
	for _, form := range oldForms() {
		n := len(strings.Fields(form.path))
		if form.args == anyNumber && n > depth && n <= lead && strings.Join(args[:n], " ") == form.path {
			line.path, line.form, depth = form.path, form, n
		}
	}
	if line.form == nil && (command == nil || len(command.Subcommands) > 0) {
		return nil
	}
	if line.form != nil {
		command, _ = commandAt(list, strings.Fields(line.form.then))
	}
	line.read(command, args[depth:])
	if line.form != nil && line.form.then != line.form.path {
		return line.moved(list)
	}
	for _, form := range oldForms() {
		if form.path == line.path && form.args == len(line.args) {
			if new, ok := line.rewritten(list, form.then); ok {
				return withHint(usagef("hgld %s has one argument less now", line.path), "%s", new)
			}
		}
	}
	for _, f := range line.flags {
		if was, _, ok := oldFlagOf(line.path, f.name); ok && !hasFlag(command, f.name) {
			return line.changed(list, f, was)
		}
	}
	return nil
}

// commandAt returns the command that words name, and the number of words in its path. It returns nil for none.
func commandAt(list []*cli.Command, words []string) (command *cli.Command, depth int) {
	for _, w := range words {
		i := slices.IndexFunc(list, func(c *cli.Command) bool { return c.HasName(w) })
		if i < 0 {
			break
		}
		command, list, depth = list[i], list[i].Subcommands, depth+1
	}
	return command, depth
}

// read splits the words behind the command into arguments and flags. command is what does its work now.
func (l *oldLine) read(command *cli.Command, words []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			l.args = append(l.args, words[i+1:]...)
			return
		}
		if len(w) < 2 || w[0] != '-' {
			l.args = append(l.args, w)
			continue
		}
		f := typedFlag{word: w}
		f.word, f.value, f.hasValue = strings.Cut(w, "=")
		f.name = strings.TrimLeft(f.word, "-")
		if !f.hasValue && l.takes(command, f.name) && i+1 < len(words) {
			i++
			f.value, f.hasValue = words[i], true
		}
		l.flags = append(l.flags, f)
	}
}

// takes reports whether a flag of the line takes a value.
func (l *oldLine) takes(command *cli.Command, name string) bool {
	if was, _, ok := oldFlagOf(l.path, name); ok && (l.form != nil || !hasFlag(command, name)) {
		return !was.isSwitch
	}
	return command != nil && takesValue(command.Flags, name) ||
		l.form != nil && strings.Contains(l.form.then, "{--"+name)
}

// moved returns the error for a command that no longer exists.
func (l *oldLine) moved(list []*cli.Command) error {
	if l.form.then == "" {
		return withHint(usagef("hgld %s was removed", l.path), "%s", l.form.why)
	}
	then := l.form.then
	for _, f := range l.flags {
		if was, shared, ok := oldFlagOf(l.path, f.name); ok && !shared && strings.HasPrefix(was.becomes, "@") {
			then = strings.ReplaceAll(was.becomes[1:], "{}", word(shown(f.value)))
			break
		}
	}
	new, _ := l.rewritten(list, then)
	path, _, _ := strings.Cut(strings.TrimPrefix(then, "@"), " {")
	err := usagef("hgld %s is now hgld %s", l.path, path)
	if gone := l.gone(); gone != "" {
		err = usagef("hgld %s is now hgld %s; %s", l.path, path, gone)
	}
	return withHint(err, "%s", new)
}

// gone says which flags of the line exist no more, and why.
func (l *oldLine) gone() string {
	var list []string
	for _, f := range l.flags {
		if was, _, ok := oldFlagOf(l.path, f.name); ok && strings.HasPrefix(was.becomes, "! ") {
			list = append(list, f.word+" was removed: "+was.becomes[2:])
		}
	}
	return strings.Join(list, "; ")
}

// changed returns the error for a flag f that the command no longer has.
func (l *oldLine) changed(list []*cli.Command, f typedFlag, was oldFlag) error {
	then := l.path + " {args}"
	if l.form != nil {
		then = l.form.then + " {args}"
	}
	about := f.word + " is now " + strings.ReplaceAll(strings.TrimSpace(was.becomes), "{}", "VALUE")
	switch becomes, sign := was.becomes, was.becomes[0]; sign {
	case '!':
		about = f.word + " was removed: " + becomes[2:]
	case '$':
		about = f.word + " is now the variable " + becomes[1:]
	case '@':
		then = strings.ReplaceAll(becomes[1:], "{}", word(shown(f.value)))
		path, _, _ := strings.Cut(becomes[1:], " {")
		about = f.word + " is now hgld " + path
	}
	new, _ := l.rewritten(list, then)
	return withHint(usagef("hgld %s: %s", l.path, about), "%s", new)
}

// placeholder is a place in a new command line for a part of the old one, see oldforms.txt.
var placeholder = regexp.MustCompile(`^\{(--)?([a-z0-9-]+)(?::(.*))?\}$`)

// rewritten returns the command line of a template with the line's own arguments and flags. ok reports that the
// command exists and has the flags that the template names.
func (l *oldLine) rewritten(list []*cli.Command, then string) (text string, ok bool) {
	l.env = nil
	parts := strings.Fields(then)
	command, depth := commandAt(list, parts)
	ok = command != nil
	out := []string{"hgld"}
	var used []string
	for i, part := range parts {
		m := placeholder.FindStringSubmatch(part)
		switch {
		case m == nil:
			if ok && strings.HasPrefix(part, "-") {
				ok = hasFlag(command, strings.TrimLeft(part, "-"))
			}
			out = append(out, part)
		case m[1] != "": // the value of a flag; a flag typed twice repeats the new one
			values := l.values(m[2])
			if used = append(used, m[2]); len(values) == 0 {
				values = []string{m[3]}
			}
			for n, v := range values {
				if n > 0 {
					out = append(out, parts[i-1])
				}
				out = append(out, word(shown(v)))
			}
		case m[2] == "args":
			for _, a := range l.args {
				out = append(out, word(shown(a)))
			}
		default:
			n, _ := strconv.Atoi(m[2])
			value := m[3]
			if n <= len(l.args) {
				value = l.args[n-1]
			}
			out = append(out, word(shown(value)))
		}
	}
	path := strings.Join(parts[:depth], " ")
	for _, f := range l.flags {
		if !slices.Contains(used, f.name) {
			out = append(out, l.flag(command, path, f)...)
		}
	}
	return strings.Join(append(l.env, out...), " "), ok
}

// values returns the values of a flag of the line.
func (l *oldLine) values(name string) (list []string) {
	for _, f := range l.flags {
		if f.name == name {
			list = append(list, f.value)
		}
	}
	return list
}

// flag returns the words that set in the new command, which has this path, what a flag has set.
func (l *oldLine) flag(command *cli.Command, path string, f typedFlag) []string {
	has := command != nil && hasFlag(command, f.name)
	was, shared, ok := oldFlagOf(l.path, f.name)
	if !ok && !has {
		was, shared, ok = oldFlagOf(path, f.name)
	}
	asTyped := []string{f.word}
	if f.hasValue {
		asTyped = []string{f.word, word(shown(f.value))}
		if command != nil && !takesValue(command.Flags, f.name) && has {
			asTyped = []string{f.word + "=" + word(f.value)}
		}
	}
	if !ok || has && (shared || l.path == path) {
		return asTyped
	}
	value := f.value
	if was.isSwitch && !f.hasValue {
		value = "true"
	}
	switch becomes := was.becomes; becomes[0] {
	case '@':
		if has {
			return asTyped
		}
		return nil
	case '!':
		return nil
	case '$':
		l.env = append(l.env, becomes[1:]+"="+word(shown(value)))
		return nil
	case '-':
		return l.become(command, becomes, f, value, asTyped, has)
	}
	return asTyped
}

// become returns the words of a flag that has another name or has become a setting.
func (l *oldLine) become(command *cli.Command, becomes string, f typedFlag, value string, asTyped []string,
	has bool) []string {
	name, rest, more := strings.Cut(becomes, " ")
	switch {
	case has && !hasFlag(command, strings.TrimLeft(name, "-")):
		return asTyped
	case name == "-o" && strings.Contains(rest, "="):
		return []string{name, word(rest)}
	case name == "-o":
		return []string{name, word(rest + "=" + shown(value))}
	case more:
		return []string{name, word(strings.ReplaceAll(rest, "{}", shown(value)))}
	case f.hasValue && command != nil && hasFlag(command, strings.TrimLeft(name, "-")) &&
		!takesValue(command.Flags, name):
		return []string{name + "=" + word(value)}
	case f.hasValue:
		return []string{name, word(shown(value))}
	}
	return []string{name}
}

// shown returns a text without the password of an address in it.
func shown(text string) string { return address.WithoutSecret(text) }
