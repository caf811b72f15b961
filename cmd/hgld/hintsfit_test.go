package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
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
