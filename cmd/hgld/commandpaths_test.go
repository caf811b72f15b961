package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// TestDocumentsNameCommandsThatExist reads every code block and code span of the documents and looks up each
// command line of hgld in it: the command has to exist, and its flags too.
func TestDocumentsNameCommandsThatExist(t *testing.T) {
	root := goldens.Root()
	files := must.Get(filepath.Glob(filepath.Join(root, "docs", "*.md")))(t)
	more := must.Get(filepath.Glob(filepath.Join(root, "*.md")))(t)
	found := 0
	for _, file := range append(files, more...) {
		data := must.Get(os.ReadFile(file))(t)
		for i, line := range strings.Split(string(data), "\n") {
			for _, words := range commandLines(line) {
				found++
				if wrong := unknownWord(words); wrong != "" {
					t.Errorf("%s:%d: %s: %s", filepath.Base(file), i+1, wrong, strings.Join(words, " "))
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d command lines in %d documents, expected more than 100", found, len(files)+len(more))
	}
}

// codeSpan is a command of hgld between backquotes.
var codeSpan = regexp.MustCompile("`(hgld [^`]+)`")

// commandLines returns the command lines of hgld in a line of a document, without "hgld": in a code block, after
// a prompt, or in code spans.
func commandLines(line string) [][]string {
	text, block := strings.CutPrefix(line, "    ")
	prompt := false
	if !block {
		text, prompt = strings.CutPrefix(line, "$ ")
	}
	if !block && !prompt {
		var spans []string
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			spans = append(spans, m[1])
		}
		text = strings.Join(spans, "&&")
	}
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "$ "), " #")
	text, _, _ = strings.Cut(text, "   ") // what stands behind is a remark
	var all [][]string
	for _, part := range strings.Split(text, "&&") {
		if words := strings.Fields(part); len(words) > 1 && words[0] == "hgld" {
			all = append(all, words[1:])
		}
	}
	return all
}

// TestSentencesNameCommandsThatExist reads every text that a user sees (help pages, messages in
// the Go code, the curation page and the sentences of the documents) and looks up each command of
// hgld that it names.
func TestSentencesNameCommandsThatExist(t *testing.T) {
	found := 0
	all := commands()
	check := func(where, text string) {
		for _, m := range namedCommand.FindAllStringSubmatch(text, -1) {
			found++
			code := m[1] == "`" && !strings.HasSuffix(where, ".js") // where it begins any string
			if wrong := unknownPath(all, strings.Fields(m[2]), code, m[3]); wrong != "" {
				t.Errorf("%s: %s: %q", where, wrong, m[0])
			}
		}
	}
	eachHelpPage(t, all, nil, check)
	root := goldens.Root()
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (name[0] == '.' || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		switch ext := filepath.Ext(path); {
		case ext == ".go" && !strings.HasSuffix(path, "_test.go"):
			return eachLiteral(path, check)
		case ext == ".md" || ext == ".js" || ext == ".html":
			data, err := os.ReadFile(path)
			check(path, string(data))
			return err
		}
		return nil
	}))
	if found < 500 {
		t.Errorf("found %d commands, expected more than 500", found)
	}
}

// namedCommand is hgld with the words behind it. It also captures the characters on both sides.
var namedCommand = regexp.MustCompile("(^|[^a-z./])hgld ([a-z]+(?:[ \n]+[a-z]+|-[a-z]+)*)(.?)")

// unknownPath says why the words behind hgld name no command; "" if they do, or if they are a
// sentence about hgld. In code every first word is a command. after is the character behind them.
func unknownPath(all []*cli.Command, words []string, code bool, after string) string {
	list, path := all, "hgld"
	for depth, word := range words {
		i := slices.IndexFunc(list, func(c *cli.Command) bool { return c.Name == word })
		switch {
		case i < 0 && depth == 0 && !code && !isSubcommand(all, word):
			return "" // hgld does something
		case i < 0:
			return path + " has no command " + word
		}
		list, path = list[i].Subcommands, path+" "+word
		if len(list) == 0 {
			return ""
		}
	}
	if code && after == "`" {
		return path + " only shows its help"
	}
	return ""
}

// isSubcommand reports whether word names a command of a group, and no command of hgld itself.
func isSubcommand(all []*cli.Command, word string) bool {
	return slices.ContainsFunc(all, func(c *cli.Command) bool {
		return slices.ContainsFunc(c.Subcommands, func(sub *cli.Command) bool { return sub.Name == word })
	})
}

// eachHelpPage passes the help page of every command to check.
func eachHelpPage(t *testing.T, list []*cli.Command, path []string, check func(where, text string)) {
	for _, c := range list {
		line := slices.Concat([]string{"hgld"}, path, []string{c.Name})
		var out strings.Builder
		if err := newApp(environment{stdout: &out, stderr: io.Discard}, line).Run(append(line, "--help")); err != nil {
			t.Fatal(line, err)
		}
		if name := strings.Join(line, " "); !strings.HasPrefix(out.String(), name+":") {
			t.Errorf("the help of %s begins with %.40q", name, &out)
		}
		check(strings.Join(line, " ")+" --help", out.String())
		eachHelpPage(t, c.Subcommands, line[1:], check)
	}
}

// eachLiteral passes every string in a Go file to check.
func eachLiteral(path string, check func(where, text string)) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, is := n.(*ast.BasicLit); is && s.Kind == token.STRING {
			text, err := strconv.Unquote(s.Value)
			if err != nil {
				text = s.Value
			}
			check(files.Position(s.Pos()).String(), text)
		}
		return true
	})
	return nil
}

// unknownWord says what in a command line does not exist; "" if all does.
func unknownWord(words []string) string {
	list, flags := commands(), []cli.Flag{cli.HelpFlag, cli.VersionFlag}
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		i := slices.IndexFunc(list, func(c *cli.Command) bool { return c.Name == words[0] })
		if i < 0 {
			break
		}
		flags = append([]cli.Flag{cli.HelpFlag}, list[i].Flags...)
		list, words = list[i].Subcommands, words[1:]
	}
	if len(list) > 0 && len(words) > 0 && !strings.HasPrefix(words[0], "-") && words[0] != "COMMAND" {
		return "no command " + words[0]
	}
	for _, word := range words {
		name, is := strings.CutPrefix(word, "-")
		if !is || name == "" {
			continue
		}
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "-"), "=")
		known := slices.ContainsFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		if !known {
			return "no flag " + word
		}
	}
	return ""
}
