package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/shards"
	"hgld/train/embeddings"
	"hgld/train/history"
)

// commandsElsewhere maps command names of other programs to ours, by the group in which a
// user would type them. Newcomers often try these names, and edit distance finds no match.
var commandsElsewhere = map[string]map[string]string{
	"": {
		"evaluate": "eval run", "test": "eval run", "validate": "eval run", "score": "eval run",
		"benchmark": "train bench", "bench": "train bench",
		"fit": "train run", "finetune": "train run", "resume": "train resume", "continue": "train resume",
		"export": "train export", "predict": "train export",
		"extract": "train export", "infer": "train export", "build": "shards build", "convert": "shards build",
		"pack": "shards build", "plot": "runs plot",
		"list": "runs list", "ls": "runs list", "compare": "runs compare", "recipes": "train recipe list",
		"recipe": "train recipe", "losses": "train losses",
		"new": "init", "create": "init", "start": "init", "check": "config check", "kmeans": "cluster run",
		"serve": "curate serve", "crawl": "scrape run",
		"data": "shards build", "dataset": "shards build", "tag": "scrape run", "label": "labels build",
	},
	"train": {"start": "train run", "fit": "train run", "continue": "train resume", "benchmark": "train bench",
		"eval": "eval run", "test": "eval run", "list": "runs list"},
	"eval": {"model": "eval run", "embed": "eval run", "embeddings": "eval run", "start": "eval run",
		"list": "runs list"},
	"runs": {"ls": "runs list", "show": "runs compare", "diff": "runs compare", "draw": "runs plot"},
	"shards": {"create": "shards build", "make": "shards build", "run": "shards build", "check": "shards verify",
		"list": "shards ls", "show": "shards cat",
		"info": "shards ls"},
	"models": {"download": "models fetch", "get": "models fetch", "ls": "models list",
		"verify": "models check"},
	"config": {"set": "config show", "get": "config show", "validate": "config check", "list": "config show"},
}

// flagLike translates a flag of another program. It says which flag of this command, or
// which -o, sets the same thing, and returns "" if there is none.
func flagLike(name string, c *cli.Context) string {
	path := commandPath(c)
	at := slices.IndexFunc(sections(), func(s pipeline.Stage) bool {
		return s.Command == path || path == "train recipe run" && s.Name == "train"
	})
	if at < 0 {
		if path != "" && slices.ContainsFunc(c.Command.Subcommands,
			func(sub *cli.Command) bool { return sub.Name == "run" && hasFlag(sub, name) }) {
			return fmt.Sprintf("it is a flag of hgld %s run", path)
		}
		return ""
	}
	known := settings.Keys(settings.Fields(sections()[at].Settings()))
	key := history.Synonyms.Meant(strings.ReplaceAll(name, "-", "_"), known)
	switch {
	case key == "":
		return ""
	case !strings.Contains(key, ".") && hasFlag(c.Command, strings.ReplaceAll(key, "_", "-")):
		return "it is --" + strings.ReplaceAll(key, "_", "-") + " here"
	}
	return fmt.Sprintf("-o %s=VALUE sets it", key)
}

func hasFlag(cmd *cli.Command, name string) bool {
	return slices.ContainsFunc(cmd.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// argumentMeant handles an argument to a command that takes none. It returns the command
// line that the user probably meant, or "" if it has no guess.
func argumentMeant(path, first string) string {
	isFile := func(names ...string) bool {
		_, err := os.Stat(filepath.Join(append([]string{first}, names...)...))
		return err == nil
	}
	switch {
	case path == "demo":
		return "hgld demo --out " + first
	case path == "train run" && isFile(history.SettingsFile):
		return "hgld train resume " + first + " continues that run"
	case path == "train run" && isFile(shards.ManifestFile):
		return "hgld train run --data " + first + " trains on these shards"
	case embeddings.IsKind(first) && (path == "train run" || path == "eval run"):
		if labels, err := embeddings.LabelsFor("", first); err != nil || labels == "" {
			return typedAs("hgld "+path, first, "LABELS.csv")
		}
		return "hgld " + path + " --embeddings " + first
	case path == "train run":
		return "name a run file with --config"
	case path == "eval run":
		return "hgld eval run --run " + first
	case path == "shards build" && isFile(".") && !strings.HasSuffix(first, ".csv"):
		return "hgld shards build --dataset folder --input " + first
	case path == "shards build":
		return "hgld shards build --input " + first
	case path == "status" || path == "config check" || path == "config show" || path == "run":
		return fmt.Sprintf("hgld %s -C DIR works on the project in DIR", path)
	case path == "models list":
		return "hgld models show " + first
	}
	return ""
}
