package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/train/embeddings"
	"hgld/train/experiment/runs"
)

// foreignCommands maps command names of other programs to ours, by the group in which a
// user would type them. Newcomers often try these names, and edit distance finds no match.
var foreignCommands = map[string]map[string]string{
	"": {
		"evaluate": "eval run", "test": "eval run", "validate": "eval run", "score": "eval run",
		"benchmark": "train bench", "bench": "train bench",
		"fit": "train run", "finetune": "train run", "resume": "train resume", "continue": "train resume",
		"export": "train export", "predict": "embed-images",
		"extract": "embed-images", "infer": "embed-images", "build": "shards build", "convert": "shards build",
		"pack": "shards build", "plot": "runs plot",
		"list": "runs list", "ls": "runs list", "compare": "eval compare", "recipes": "train recipes",
		"recipe": "train recipes", "losses": "train losses",
		"new": "init", "create": "init", "start": "init", "check": "config check", "kmeans": "cluster run",
		"serve": "curate serve", "crawl": "scrape run",
		"data": "shards build", "dataset": "shards build", "tag": "scrape run", "label": "labels build",
	},
	"train": {"start": "train run", "fit": "train run", "continue": "train resume", "benchmark": "train bench",
		"eval": "eval run", "test": "eval run", "list": "runs list"},
	"eval": {"model": "eval run", "embeddings": "eval run", "start": "eval run",
		"list": "runs list"},
	"runs": {"ls": "runs list", "show": "eval compare", "diff": "eval compare", "draw": "runs plot"},
	"shards": {"create": "shards build", "make": "shards build", "run": "shards build", "list": "shards show",
		"export": "shards convert", "info": "shards show"},
	"models": {"download": "models fetch", "get": "models fetch", "ls": "models list",
		"verify": "models list"},
	"config": {"set": "config show", "get": "config show", "validate": "config check", "list": "config show"},
}

// settingOf translates a flag of another program. It says which flag of this command, or
// which -o, sets the same thing, and returns "" if there is none.
func settingOf(name string, c *cli.Context) string {
	path := commandPath(c)
	all := stages().Stages
	at := slices.IndexFunc(all, func(s pipeline.Stage) bool {
		return s.Command == path
	})
	if at < 0 {
		if path != "" && slices.ContainsFunc(c.Command.Subcommands,
			func(sub *cli.Command) bool { return sub.Name == "run" && hasFlag(sub, name) }) {
			return fmt.Sprintf("it is a flag of hgld %s run", path)
		}
		return ""
	}
	known := settings.Keys(settings.Fields(all[at].Settings()))
	key := runs.Synonyms.Meant(strings.ReplaceAll(name, "-", "_"), known)
	switch {
	case key == "":
		return ""
	case !strings.Contains(key, ".") && hasFlag(c.Command, strings.ReplaceAll(key, "_", "-")):
		return "it is --" + strings.ReplaceAll(key, "_", "-") + " here"
	}
	return fmt.Sprintf("-o %s=VALUE sets it", key)
}

// ofOneStage says where a flag that hgld run lacks belongs, if it sets something of a stage, or returns "".
func ofOneStage(name string) string {
	key, value := strings.ReplaceAll(name, "-", "_"), "VALUE"
	if name == "o" || name == pipeline.OverrideFlag {
		key, value = "steps", "10"
	}
	var where []string
	command := ""
	for _, s := range stages().Stages {
		if slices.Contains(settings.Keys(settings.Fields(s.Settings())), key) {
			where, command = append(where, s.Name+"."+key), cmp.Or(command, s.Command)
		}
	}
	if len(where) == 0 || len(where) > 2 { // a word of most stages, such as out, tells nothing
		return ""
	}
	return fmt.Sprintf("a setting belongs to a stage: write %s in hgld.yaml, or run the stage alone: hgld %s -o %s=%s",
		strings.Join(where, " or "), command, key, value)
}

func hasFlag(cmd *cli.Command, name string) bool {
	return slices.ContainsFunc(cmd.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// argumentAdvice lists commands that take no arguments. Each function returns the command line
// that a user who typed one probably meant, or "" if it has no guess.
var argumentAdvice = map[string]func(argument string) string{
	"demo":         func(folder string) string { return "hgld demo --out " + word(folder) },
	"models list":  func(name string) string { return "hgld models show " + word(name) },
	"shards build": shardsArgument,
	"train run":    trainArgument,
	"eval run":     evalArgument,
	"status":       func(string) string { return "hgld status -C DIR works on the project in DIR" },
	"config check": func(string) string { return "hgld config check -C DIR works on the project in DIR" },
	"run":          func(string) string { return "hgld run -C DIR works on the project in DIR" },
}

// adviceOn returns the command line that a user probably meant by an argument to a command that
// takes none, or "".
func adviceOn(path, argument string) string {
	if advise := argumentAdvice[path]; advise != nil {
		return advise(argument)
	}
	return ""
}

// vectorsArgument is the advice on a file of vectors that was given as an argument.
func vectorsArgument(command, file string) string {
	if labels, err := embeddings.LabelsFor("", file); err != nil || labels == "" {
		return typedAs(command, file, "LABELS.csv")
	}
	return command + " --embeddings " + word(file)
}

// commandFirst moves the common flags in front of a command behind the words that follow:
// hgld -C p status is hgld status -C p.
func commandFirst(args []string) []string {
	at, common := 1, sharedFlags()
	for ; at < len(args) && strings.HasPrefix(args[at], "-"); at++ {
		name, _, inline := strings.Cut(strings.TrimLeft(args[at], "-"), "=")
		if !slices.ContainsFunc(common, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
			return args
		}
		if !inline && takesValue(common, name) {
			at++
		}
	}
	if at <= 1 || at >= len(args) {
		return args
	}
	end := at
	for end < len(args) && !strings.HasPrefix(args[end], "-") {
		end++
	}
	return slices.Concat(args[:1], args[at:end], args[1:at], args[end:])
}

// flagsFirst moves the flags of a command before its arguments, since the flag package takes what stands
// behind an argument for arguments. It moves nothing behind "--". --help stays where it is, see asksForHelp.
func flagsFirst(list []*cli.Command, args []string) []string {
	var command *cli.Command
	at := 1
	for ; at < len(args); at++ {
		i := slices.IndexFunc(list, func(c *cli.Command) bool { return c.HasName(args[at]) })
		if i < 0 {
			break
		}
		command, list = list[i], list[i].Subcommands
	}
	if command == nil || len(command.Subcommands) > 0 {
		return args
	}
	var flags, others []string
	for i := at; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return slices.Concat(args[:at], flags, args[i:i+1], others, args[i+1:])
		case len(a) < 2 || a[0] != '-' || a == "--help" || a == "-h" || strings.HasPrefix(a, "--generate"):
			others = append(others, a)
		default:
			flags = append(flags, a)
			if takesValue(command.Flags, a) && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		}
	}
	return slices.Concat(args[:at], flags, others)
}

// takesValue reports whether the value of a flag, as typed, is the next word.
func takesValue(flags []cli.Flag, typed string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(typed, "-"), "-")
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return false
	}
	_, isSwitch := flags[i].(*cli.BoolFlag)
	return !isSwitch
}

// surplusArgument returns an error for the arguments of a command that takes none.
func surplusArgument(c *cli.Context) error {
	if c.Command.ArgsUsage != "" || c.NArg() == 0 {
		return nil
	}
	path, first, all := commandPath(c), c.Args().First(), stages()
	err := usagef("%s takes no arguments, only flags; got %.80q", path, strings.Join(c.Args().Slice(), " "))
	if i := slices.Index(all.Names(), first); path == "run" && i >= 0 {
		return withHint(err, "hgld run --until %s runs all stages up to this one; hgld %s runs it alone",
			word(first), all.Stages[i].Command)
	}
	if meant := adviceOn(path, first); meant != "" {
		return withHint(err, "%s", meant)
	}
	return err
}

var undefinedFlag = regexp.MustCompile(`flag provided but not defined: -+(\S+)`)

// wrongFlag replaces the flag package's error with one that names the nearest flag.
func wrongFlag(c *cli.Context, err error, _ bool) error {
	m := undefinedFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return withCode(exitUsage, err)
	}
	flags, name := c.App.Flags, "--"+m[1]
	if len(m[1]) == 1 {
		name = "-" + m[1]
	}
	path := strings.TrimSpace(commandPath(c))
	if c.Command != nil {
		flags = c.Command.Flags
	}
	var names []string
	for _, f := range flags {
		for _, n := range f.Names() {
			if len(n) > 1 {
				names = append(names, n)
			}
		}
	}
	unknown := &registry.UnknownError{Kind: "flag", Name: name, Nearest: registry.Nearest(m[1], names)}
	if meant := settingOf(m[1], c); meant != "" { // a word for a setting is no misspelt flag
		unknown.Nearest = ""
		return withHint(withCode(exitUsage, unknown), "%s; hgld %s --help lists the flags", meant, path)
	}
	if unknown.Nearest != "" {
		unknown.Nearest = "--" + unknown.Nearest
	}
	if path == "run" {
		if meant := ofOneStage(m[1]); meant != "" {
			unknown.Nearest = ""
			return withHint(withCode(exitUsage, unknown), "%s", meant)
		}
	}
	if path == "" && takenByCommands(m[1]) {
		return withHint(withCode(exitUsage, unknown), "put %s after the command: hgld status %s …", name, name)
	}
	return withHint(withCode(exitUsage, unknown), "%s --help lists the flags", strings.TrimSpace("hgld "+path))
}

// takenByCommands reports whether any command has a flag called name.
func takenByCommands(name string) bool {
	return slices.ContainsFunc(sharedFlags(), func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}
