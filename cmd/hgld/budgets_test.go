package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"hgld/internal/settings"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// The size of the command line, which may only fall: each change that makes it smaller lowers these numbers. The goals
// are 63 commands, 620 places of flags, 20 own flags of a command at most, and 225 settings.
const (
	mostCommands = 63
	mostFlags    = 620 // places: a flag of two commands counts twice, --help not at all
	mostOwn      = 20  // flags of one command without the common ones
	mostSettings = 226 // distinct keys of all stages
)

// commonNames are the flags that do not count as a command's own.
var commonNames = []string{"project", "json", "quiet", "override", "out", "replace", "device", "limit",
	"accept-changed", "dry-run", "allow-store"}

// eachCommand calls visit for every command that is no group.
func eachCommand(list []*cli.Command, path string, visit func(path string, c *cli.Command)) {
	for _, c := range list {
		if here := strings.TrimSpace(path + " " + c.Name); len(c.Subcommands) > 0 {
			eachCommand(c.Subcommands, here, visit)
		} else {
			visit(here, c)
		}
	}
}

func TestTheCommandLineOnlyShrinks(t *testing.T) {
	leaves, flags, own, largest := 0, 0, 0, ""
	eachCommand(commands(), "", func(path string, c *cli.Command) {
		leaves, flags = leaves+1, flags+len(c.Flags)
		n := 0
		for _, f := range c.Flags {
			if !slices.Contains(commonNames, f.Names()[0]) {
				n++
			}
		}
		if n > own {
			own, largest = n, path
		}
	})
	keys := 0
	for _, s := range stages().Stages {
		keys += len(settings.Fields(s.Settings()))
	}
	for _, c := range []struct {
		what      string
		now, most int
	}{{"commands", leaves, mostCommands}, {"places of flags", flags, mostFlags},
		{"own flags of hgld " + largest, own, mostOwn}, {"settings", keys, mostSettings}} {
		switch {
		case c.now > c.most:
			t.Errorf("%d %s, more than %d: merge what is alike, or make it a setting", c.now, c.what, c.most)
		case c.now < c.most:
			t.Errorf("%d %s: lower the budget of %d in budgets_test.go", c.now, c.what, c.most)
		}
	}
}

// undocumentedFile lists the flags and keys that no document, recipe, study or script names. It may only get shorter.
const undocumentedFile = "undocumented.txt"

// TestEveryFlagAndKeyIsDocumented looks for each flag, and for each key, dotted or nested, as users read them.
func TestEveryFlagAndKeyIsDocumented(t *testing.T) {
	text := documentation(t)
	flags := slices.Compact(slices.Sorted(slices.Values(regexp.MustCompile(`--[a-z0-9-]+`).FindAllString(text, -1))))
	have := map[string]bool{}
	eachCommand(commands(), "", func(path string, c *cli.Command) {
		for _, f := range c.Flags {
			if name := f.Names()[0]; len(name) > 1 {
				have["--"+name] = slices.Contains(flags, "--"+name)
			}
		}
	})
	for _, s := range stages().Stages {
		for _, f := range settings.Fields(s.Settings()) {
			if f.HasFlag() {
				continue
			}
			have[s.Name+"."+f.Key()] = namesKey(text, f.Path)
		}
	}
	listed := must.Get(os.ReadFile(filepath.Join("testdata", undocumentedFile)))(t)
	exceptions := strings.Fields(string(listed))
	for name, documented := range have {
		if excepted := slices.Contains(exceptions, name); !documented && !excepted {
			t.Errorf("%s is in no document, recipe, study or script: document it, or leave it out", name)
		} else if documented && excepted {
			t.Errorf("%s is documented: take it off testdata/%s", name, undocumentedFile)
		}
	}
	for _, name := range exceptions {
		if _, is := have[name]; !is {
			t.Errorf("%s does not exist: take it off testdata/%s", name, undocumentedFile)
		}
	}
}

// namesKey reports whether a text has a dotted key, or the last part of a nested one at most 300 characters behind its
// group.
func namesKey(text string, path []string) bool {
	last := path[len(path)-1]
	if len(path) == 1 {
		return slices.ContainsFunc([]string{":", "=", "`"}, func(end string) bool { return wordAt(text, last+end) >= 0 })
	}
	group := path[len(path)-2]
	if at := wordAt(text, group+"."+last); at >= 0 || last == "name" && wordAt(text, group+": ") >= 0 {
		return true
	}
	for from := 0; ; {
		at := wordAt(text[from:], last+":")
		if at < 0 {
			return false
		}
		from += at
		if before := text[max(0, from-300):from]; wordAt(before, group+":") >= 0 || strings.Contains(before, "."+group+":") {
			return true
		}
		from += len(last)
	}
}

// wordAt returns the first place of a text that begins a word, or -1.
func wordAt(text, part string) int {
	inWord := func(c byte) bool { return c == '_' || c == '.' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	for from := 0; ; {
		at := strings.Index(text[from:], part)
		if at < 0 {
			return -1
		}
		at, end := from+at, from+at+len(part)
		if (at == 0 || !inWord(text[at-1])) && (end == len(text) || !inWord(text[end]) || !inWord(part[len(part)-1])) {
			return at
		}
		from = at + 1
	}
}

func TestNamesKey(t *testing.T) {
	for text, want := range map[string]bool{
		"-o run.prefetch=2": true, "run: {workers: 1, prefetch: 4}": true, "run:\n  keep: 1\n  prefetch: 3": true,
		"prefetch: 3": false, "run.prefetched": false, "outrun.prefetch": false,
	} {
		if got := namesKey(text, []string{"run", "prefetch"}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// documentation returns the text of all documents, recipes, studies and scripts.
func documentation(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	root := goldens.Root()
	for _, where := range []string{"README.md", "CONTRIBUTING.md", "docs", "scripts", ".ci", "train/experiment/plan"} {
		must.Do(t, filepath.WalkDir(filepath.Join(root, where), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) == ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			b.Write(text)
			return err
		}))
	}
	return b.String()
}
