package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"

	"hgld/internal/settings"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/train/experiment/runs"
)

// formerCommand is a command of testdata/commands-before.txt: every command as it was before the command line was
// designed anew, with its flags.
type formerCommand struct {
	path  string
	flags []formerFlag
}

type formerFlag struct {
	names    []string
	isSwitch bool
}

func formerCommands(t *testing.T) (list []formerCommand) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("testdata", "commands-before.txt")))(t)
	for line := range strings.Lines(string(text)) {
		path, flags, _ := strings.Cut(strings.TrimSpace(line), ":")
		c := formerCommand{path: path}
		for _, f := range strings.Fields(flags) {
			names, takes := strings.CutSuffix(f, "=")
			c.flags = append(c.flags, formerFlag{strings.Split(names, "|"), !takes})
		}
		list = append(list, c)
	}
	if len(list) != 99 {
		t.Fatalf("%d commands, expected 99", len(list))
	}
	return list
}

// formerArguments are arguments of commands that have moved.
var formerArguments = map[string][]string{
	"shards slice": {"3/8"}, "study slice": {"margins", "3/8"}, "shards fetch": {"gldv2", "3/8"},
	"train recipe run": {"sop/happier"}, "curate restore": {"lunch"}, "curate salvage": {"a.jsonl", "b.jsonl"},
	"curate log": {"a.jsonl"}, "train export": {"e.npy"}, "eval export": {"sop"}, "models check": {"a b.safetensors"},
	"study plan": {"margins"}, "study status": {"margins"}, "eval embed": {"images"},
}

// TestEveryFormerCommandLineIsUnderstood types every former command with each of its flags. It is accepted, or the
// answer has a command line that the program accepts, with the argument and the value in it.
func TestEveryFormerCommandLineIsUnderstood(t *testing.T) {
	list := commands()
	for _, c := range formerCommands(t) {
		line := append([]string{"hgld"}, strings.Fields(c.path)...)
		checkFormer(t, list, c, append(slices.Clone(line), formerArguments[c.path]...), "")
		for _, f := range c.flags {
			name := "--" + f.names[0]
			typed := append(slices.Clone(line), name)
			if !f.isSwitch {
				typed = append(typed, "va lue")
			}
			checkFormer(t, list, c, append(typed, formerArguments[c.path]...), f.names[0])
			if was, _, ok := oldFlagOf(c.path, f.names[0]); ok && was.isSwitch != f.isSwitch {
				t.Errorf("oldforms.txt: %s %s: a flag takes a value, or ends in \"?\"", c.path, name)
			}
		}
	}
}

// checkFormer types a line of the former command c with a flag, or with none.
func checkFormer(t *testing.T, list []*cli.Command, c formerCommand, line []string, flag string) {
	t.Helper()
	typed := strings.Join(line, " ")
	err := checkOldForms(list, line)
	if err == nil {
		command, depth := commandAt(list, strings.Fields(c.path))
		isArgument := command != nil && command.ArgsUsage != "" && depth == len(strings.Fields(c.path))-1
		if command == nil || len(command.Subcommands) > 0 || depth < len(strings.Fields(c.path)) && !isArgument {
			t.Errorf("%s: no such command, and oldforms.txt has no answer", typed)
		} else if flag != "" && !hasFlag(command, flag) {
			t.Errorf("%s: no such flag, and oldforms.txt has no answer", typed)
		}
		return
	}
	if code := exitCode(err); code != exitUsage {
		t.Errorf("%s: exit code %d", typed, code)
	}
	hint := strings.Join(hints(err), "\n")
	if c.path == "runs tune" && !strings.HasPrefix(hint, "hgld runs tune") { // no command replaces it
		if !strings.Contains(hint, "docs/training.md") {
			t.Errorf("%s: %q names no document", typed, hint)
		}
		return
	}
	for strings.Contains(hint, "=") && !strings.HasPrefix(hint, "hgld ") { // assignments of variables
		_, hint, _ = strings.Cut(strings.Replace(hint, "'va lue'", "value", 1), " ")
	}
	new, is := strings.CutPrefix(hint, "hgld ")
	words := shellWords(new)
	if wrong := unknownWord(words); !is || wrong != "" {
		t.Errorf("%s: %q: %s", typed, hint, wrong)
		return
	}
	if err := checkOldForms(list, append([]string{"hgld"}, words...)); err != nil {
		t.Errorf("%s: the answer %q has the answer %v", typed, hint, err)
	}
	if wrong := unknownSetting(words); wrong != "" {
		t.Errorf("%s: %q: -o %s: no such setting", typed, hint, wrong)
	}
}

// unknownSetting returns the first assignment of a stage's command line that names no setting of the stage.
func unknownSetting(words []string) string {
	for _, s := range stages().Stages {
		if path := strings.Fields(s.Command); len(words) < len(path) || !slices.Equal(words[:len(path)], path) {
			continue
		}
		for i, w := range words[:len(words)-1] {
			key, _, _ := strings.Cut(words[i+1], "=")
			if at, _ := settings.Find(settings.Fields(s.Settings()), key); w == "-o" && at < 0 && key != "va lue" {
				return key
			}
		}
	}
	return ""
}

// A line in an old form keeps the user's own arguments, and tells nobody a password.
func TestOldFormsKeepArguments(t *testing.T) {
	flag := func(name string) cli.Flag { return &cli.StringFlag{Name: name} }
	set := func(name string) cli.Flag { return &cli.BoolFlag{Name: name} }
	leaf := func(name string, flags ...cli.Flag) *cli.Command {
		return &cli.Command{Name: name, Flags: append(flags, overrideFlag(), flag("project"))}
	}
	list := []*cli.Command{
		{Name: "shards", Subcommands: []*cli.Command{leaf("build", flag("slice"), set("dry-run"), flag("partial-labels")),
			leaf("check", flag("slice")), leaf("fetch", flag("slice"), flag("from"))}},
		{Name: "study", Subcommands: []*cli.Command{leaf("run", flag("slice"), set("dry-run"))}},
		{Name: "train", Subcommands: []*cli.Command{leaf("run", flag("config")), leaf("export", flag("run"))}},
		{Name: "eval", Subcommands: []*cli.Command{
			leaf("run", flag("qrels"), flag("embeddings"), flag("export"), set("best"))}},
		{Name: "curate", Subcommands: []*cli.Command{leaf("review", flag("confirm")), leaf("log", flag("salvage")),
			leaf("snapshot", flag("log"))}},
		leaf("embed-images", flag("run"), flag("split"), flag("out"), flag("limit")), leaf("figure", flag("level")),
	}
	for _, c := range []struct{ typed, want string }{
		{"shards slice --project p 3/8 --labelled", "hgld shards build --slice 3/8 --project p --partial-labels drop"},
		{"shards plan --missing 8", "hgld shards build --slice missing/8"},
		{"shards verify s3://b/x --subset 1/2", "hgld shards check s3://b/x --slice 1/2"},
		{"shards verify https://me:secret@host/x", "hgld shards check 'https://…@host/x'"},
		{"shards build --workers=4 --quality 90", "HGLD_THREADS=4 hgld shards build -o quality=90"},
		{"shards fetch gldv2 3/8 --from d", "hgld shards fetch gldv2 --slice 3/8 --from d"},
		{"study slice a 3/8", "hgld study run a --slice 3/8"},
		{"study plan a --missing 3", "hgld study run --slice missing/3 a"},
		{"train recipe run sop/happier -o seed=2", "hgld train run --config sop/happier -o seed=2"},
		{"train export --run r --of gallery g.npy", "hgld embed-images --run r --split gallery --out g.npy"},
		{"train export --split test g.npy", "hgld embed-images --run runs/default --out g.npy --split test"},
		{"eval revisited --truth g.pkl --embeddings 'my q.npy' --unit=false",
			"hgld eval run --qrels g.pkl --embeddings 'my q.npy' -o normalize=false"},
		{"eval run --missing NA --leave-out-copies --best", "hgld eval run -o na_values=NA -o leave_out_copies=true --best"},
		{"eval run --tree=false", "hgld eval run -o extra_parents=none"},
		{"eval export --places 5 sop", "hgld eval run --export sop -o top_k=5"},
		{"curate confirm --group a --group 'b c'", "hgld curate review --confirm a --confirm 'b c'"},
		{"curate confirm", "hgld curate review --confirm all"},
		{"curate salvage a.jsonl", "hgld curate log --salvage '' a.jsonl"},
		{"curate log --snapshots a.jsonl", "hgld curate snapshot --log a.jsonl"},
		{"figure steps --reach 3", "hgld figure steps -o reach=3"},
		{"figure scores --level 1", ""}, {"eval run --best", ""}, {"shards slices 3/8", ""},
	} {
		err := checkOldForms(list, append([]string{"hgld"}, shellWords(c.typed)...))
		got := ""
		if err != nil {
			got = strings.Join(hints(err), "\n")
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.typed, got, c.want)
		}
		if err != nil && strings.Contains(err.Error()+got, "secret") {
			t.Errorf("%s: %v\n%s", c.typed, err, got)
		}
	}
}

// No message shows a password of an address that was typed at any place.
func TestTypedPasswordsAreNotPrinted(t *testing.T) {
	t.Chdir(t.TempDir())
	testfile.Write(t, ".", projectFile, "hgld: 1\n")
	for _, line := range []string{"shards build -o out=%s", "shards build -o bad=%s", "shards build -o %s", "shards %s",
		"run %s", "%s", "cluster run --k %s", "train run --store %s", "eval run --run %s", "runs plot %s"} {
		for _, place := range []string{"s3://KEY:SEC/RET@bucket/x", "https://me:SEC/RET@host/x"} {
			code, out, errs := run(t, strings.Fields(fmt.Sprintf(line, place))...)
			if code == exitOK || strings.Contains(out+errs, "SEC") || strings.Contains(out+errs, "RET") {
				t.Errorf("%s %s: exit code %d: %s%s", line, place, code, out, errs)
			}
		}
	}
}

// Common flags also stand before the command, as git's do.
func TestCommonFlagsBeforeTheCommand(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{"-C p status", "status -C p"}, {"--json -q eval run --best", "eval run --json -q --best"},
		{"--project=p shards show x", "shards show x --project=p"}, {"--version", "--version"}, {"--json", "--json"},
		{"--best eval run", "--best eval run"}, {"status -C p", "status -C p"}, {"-C", "-C"}, {"", ""},
	} {
		if got := strings.Join(commandFirst(append([]string{"hgld"}, strings.Fields(c.typed)...))[1:], " "); got != c.want {
			t.Errorf("%q became %q, want %q", c.typed, got, c.want)
		}
	}
}

// A former key that nothing replaces is passed over in old files at its default, which the program tells as long as
// it has the key.
func TestFormerKeysHaveTheirDefaults(t *testing.T) {
	for _, s := range stages().Stages {
		fields := settings.Fields(s.Settings())
		for _, f := range runs.FormerKeys {
			i, _ := settings.Find(fields, f.Key)
			if f.Section != s.Name || f.Now != "" || i < 0 {
				continue
			}
			text := must.Get(yaml.Marshal(fields[i].Value.Interface()))(t)
			var got, want any
			must.Do(t, errors.Join(yaml.Unmarshal(text, &got), yaml.Unmarshal([]byte(f.Default), &want)))
			if !reflect.DeepEqual(got, want) && !(got == "" && want == nil) {
				t.Errorf("%s.%s: default %v, the table has %v", s.Name, f.Key, got, want)
			}
		}
	}
}
