package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// commandLine matches words of the command line: a command of hgld, a flag, a setting by -o.
var commandLine = regexp.MustCompile(`\bhgld (init|run|status|config|scrape|embed|cluster|curate|labels|shards|train|` +
	`eval|search|runs|models|loss|demo|doctor|version|completion|help|dev|%s)\b|\bhgld $|` + "(^|[\\s(\"'`])(--[a-z]|-o [a-z])")

// contents are the files whose texts name a command as data that hgld writes, not as advice to
// its user.
var contents = map[string]string{
	"internal/pipeline/newproject.go": "hgld.yaml says which command each section belongs to",
	"shards/card.go":                  "the README of a data set says how its reader checks it",
	"shards/provenance/provenance.go": "BUILD.json says which command wrote a file",
}

// The command alone knows its words. Another package returns an error with the facts, and
// cmd/hgld tells the user what to type.
func TestOnlyTheCommandSpeaksOfTheCommandLine(t *testing.T) {
	for _, f := range parseAll(t) {
		if f.test || inTestingTree(f.pkg) || isCommand(f.pkg) || strings.HasPrefix(f.pkg, "scripts/") ||
			contents[f.path] != "" {
			continue
		}
		for _, l := range literals(f.ast) {
			if text, err := strconv.Unquote(l.Value); err == nil && commandLine.MatchString(text) {
				t.Errorf("%s: %.80s names a command or a flag: return a typed error, and let a row beside the command give the hint",
					f.set.Position(l.Pos()), l.Value)
			}
		}
	}
}

// literals lists the string literals of a file that are not paths of imports.
func literals(f *ast.File) (list []*ast.BasicLit) {
	var skip []*ast.BasicLit
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			skip = append(skip, n.Path)
		case *ast.BasicLit:
			if n.Kind == token.STRING && !slices.Contains(skip, n) {
				list = append(list, n)
			}
		}
		return true
	})
	return list
}

func TestWordsOfTheCommandLineAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"run `hgld shards check`": true, "name it with --labels": true, "--limit": true, "(--limit 0 lists all)": true,
		"-o columns.path=x": true, "hgld %s --help": true, "hgld ": true,
		"this hgld reads version 1": false, "hgld 1.0": false, "a -- b": false, "use a newer hgld": false,
		"-----BEGIN": false, "x -other": false,
	} {
		if commandLine.MatchString(text) != want {
			t.Errorf("%q: found %v, want %v", text, !want, want)
		}
	}
}
