package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urfave/cli/v2"

	"hgld/internal/terminal"
)

// misfits lists the flags that a message of a command names, and that neither the command nor the last
// "hgld X" before them has.
func misfits(args []string, message string) (list []string) {
	own := commandNamed(args)
	for part := range strings.SplitSeq(strings.ReplaceAll(message, "hgld ", "\x00hgld "), "\x00") {
		var named *cli.Command
		if strings.HasPrefix(part, "hgld ") {
			named = commandNamed(strings.Fields(part))
		}
		if own == nil && named == nil {
			continue
		}
		for _, m := range flagInText.FindAllStringSubmatch(part, -1) {
			name := strings.TrimPrefix(m[1], "--")
			if name != "help" && !takesFlag(own, name) && !takesFlag(named, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

func takesFlag(command *cli.Command, name string) bool {
	return command != nil &&
		slices.ContainsFunc(command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

var unknownFlag = regexp.MustCompile(`unknown flag "[^"]*"`)

// checkAdvice fails if a message of a command advises a flag that the command lacks.
func checkAdvice(t *testing.T, args []string, errs string) {
	t.Helper()
	for line := range strings.Lines(errs) {
		line = unknownFlag.ReplaceAllString(line, "")
		if list := misfits(args, line); len(list) > 0 {
			t.Errorf("%s: the message advises --%s, which the command lacks:\n%s", strings.Join(args, " "),
				strings.Join(list, ", --"), errs)
		}
	}
	if list := unusable(errs); len(list) > 0 {
		t.Errorf("%s: the message prints commands that cannot be typed: %q", strings.Join(args, " "), list)
	}
}

// printed are the commands that a message prints to be typed: between backquotes, or as the next one.
var printed = regexp.MustCompile("`(hgld [^`]+)`|(?m:^next: (.+)$)")

// unusable lists the printed commands that hgld does not parse, with the reason: each is split into words as a shell
// does it, and its flags and arguments are checked as if it ran.
func unusable(message string) (list []string) {
	for _, m := range printed.FindAllStringSubmatch(message, -1) {
		next, _, _ := strings.Cut(m[2], " (or ")
		next, _, _ = strings.Cut(next, ";")
		for command := range strings.SplitSeq(m[1]+next, ", then ") {
			if !strings.HasPrefix(command, "hgld ") {
				continue
			}
			words := shellWords(command)
			app := newApp(environment{stdout: io.Discard, stderr: io.Discard}, words)
			onlyCheck(app.Commands)
			err := checkOldForms(app.Commands, words)
			if err == nil {
				err = app.Run(flagsFirst(app.Commands, words))
			}
			if err != nil {
				list = append(list, command+": "+err.Error())
			}
		}
	}
	return list
}

// onlyCheck lets commands check their flags and the number of their arguments, and do nothing.
func onlyCheck(list []*cli.Command) {
	for _, c := range list {
		if len(c.Subcommands) == 0 {
			c.Action = func(c *cli.Context) error { return errors.Join(surplusArgument(c), checkFlagBounds(c)) }
		}
		onlyCheck(c.Subcommands)
	}
}

// shellWords splits a command as a POSIX shell does, as far as printed commands use it: single and double quotes,
// and \ before a character.
func shellWords(command string) (words []string) {
	var word strings.Builder
	quote, inside, escaped := rune(0), false, false
	for _, r := range command + " " {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote != 0 && r == quote:
			quote = 0
		case r == '\\' && quote != '\'':
			escaped = true
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inside = r, true
		case r != ' ' && r != '\n': // long lines are folded
			word.WriteRune(r)
		case inside || word.Len() > 0:
			words = append(words, word.String())
			word.Reset()
			inside = false
		}
	}
	return words
}

func TestPrintedCommandsAreParsed(t *testing.T) {
	for message, bad := range map[string]bool{
		"`hgld run -C 'my project'`": false, "next: hgld embed, then hgld cluster run --k 5 (or hgld embed --help)": false,
		"`hgld run now`": true, "`hgld cluster show --limit many`": true, "next: hgld clusters run": true, "hgld helps": false,
		"next: provide a.csv, then hgld labels bild": true, "`hgld train run --no-such`": true,
	} {
		if got := unusable(message); len(got) > 0 != bad {
			t.Errorf("%s: %q", message, got)
		}
	}
	if got := shellWords(`a 'b c' d\'e "f g" ''`); !slices.Equal(got, []string{"a", "b c", "d'e", "f g", ""}) {
		t.Errorf("%q", got)
	}
}

// advising runs hgld as main does. It fails with code 99 if a command that was printed cannot be typed.
func advising() {
	endOnPanic()
	said := &kept{}
	code := hgld(os.Args, said.tee(os.Stdout), said.tee(os.Stderr))
	if list := unusable(said.text.String()); len(list) > 0 {
		fmt.Fprintln(os.Stderr, "printed, and not to be typed:", strings.Join(list, "\n"))
		code = 99
	}
	os.Exit(code)
}

// kept keeps the first megabyte of what a command prints.
type kept struct {
	mu   sync.Mutex
	text strings.Builder
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.text.Len() < 1<<20 {
		k.text.Write(p)
	}
	return len(p), nil
}

// tee returns a writer to an output that also keeps what is written, or the output if it is a terminal, which commands
// have to notice.
func (k *kept) tee(to *os.File) io.Writer {
	if terminal.Is(to) {
		return to
	}
	return io.MultiWriter(to, k)
}

// commandNamed returns the command that a line begins with, behind "hgld"; nil if that is a group or nothing.
func commandNamed(line []string) *cli.Command {
	list := commands()
	for _, word := range line[1:] {
		i := slices.IndexFunc(list, func(c *cli.Command) bool { return c.HasName(strings.Trim(word, "`,;:.")) })
		if i < 0 {
			return nil
		}
		if len(list[i].Subcommands) == 0 {
			return list[i]
		}
		list = list[i].Subcommands
	}
	return nil
}

func TestMisfitsAreFound(t *testing.T) {
	for message, want := range map[string]string{
		"name it with --embeddings, or -o x=1": "", "use --input": "input",
		"`hgld shards build --input x` and --levels": "", "hgld eval run --input": "input", "hgld eval --help": "",
	} {
		if got := strings.Join(misfits([]string{"hgld", "eval", "run"}, message), " "); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}
