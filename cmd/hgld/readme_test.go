package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"hgld/internal/testing/goldens"
)

// TestDocumentsNameCommandsThatExist reads every code block of the documents and looks up each
// command line of hgld in it: the command has to exist, and its flags too.
func TestDocumentsNameCommandsThatExist(t *testing.T) {
	root := goldens.Root()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
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

// commandLines returns the command lines of hgld in a line of a code block, without "hgld".
func commandLines(line string) [][]string {
	text, block := strings.CutPrefix(line, "    ")
	if !block {
		return nil
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
