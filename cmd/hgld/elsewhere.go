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

// The tables below have the names that other programs use. A newcomer often types one of
// them, and no edit distance finds the name that hgld uses.

// keysElsewhere maps settings of other trainers to ours, by the last part of the key.
var keysElsewhere = settings.Synonyms{
	"learning_rate": "optim.lr", "base_lr": "optim.lr", "rate": "optim.lr", "wd": "optim.weight_decay",
	"optimizer": "optim.name",
	"momentum":  "optim.settings", "grad_clip": "optim.clip", "clip_grad": "optim.clip", "clip_norm": "optim.clip",
	"batch_size": "sampler.batch", "batchsize": "sampler.batch", "bs": "sampler.batch",
	"samples_per_class": "sampler.m", "images_per_class": "sampler.m",
	"num_workers": "run.workers", "n_workers": "run.workers", "num_threads": "run.threads",
	"image_size": "input.size", "img_size": "input.size", "imgsz": "input.size", "resolution": "input.size",
	"crop_size":     "input.size",
	"embedding_dim": "model.dim", "embedding_size": "model.dim", "embed_dim": "model.dim", "feature_dim": "model.dim",
	"output_dim": "model.dim",
	"pretrained": "model.weights", "checkpoint_path": "from", "init_from": "from", "resume_from": "from",
	"load_from": "from",
	"arch":      "model.backbone.name", "architecture": "model.backbone.name", "model": "model.backbone.name",
	"net": "model.backbone.name", "network": "model.backbone.name",
	"criterion": "loss.name", "loss_fn": "loss.name", "scheduler": "schedule.name", "lr_scheduler": "schedule.name",
	"idle": "schedule.frozen", "warmup_advances": "schedule.freeze_advances", "freeze_epochs": "schedule.freeze",
	"warmup_steps": "schedule.warmup", "warmup_epochs": "schedule.warmup",
	"metric": "run.metrics", "eval_every": "run.evaluate", "eval_interval": "run.evaluate",
	"save_every": "run.checkpoint", "save_interval": "run.checkpoint",
	"max_steps": "steps", "num_steps": "steps", "iterations": "steps", "max_iter": "steps", "num_epochs": "epochs",
	"max_epochs": "epochs", "n_epochs": "epochs", "random_seed": "seed",
	"output": "out", "output_dir": "out", "save_dir": "out", "dataset": "data", "data_dir": "data",
	"train_split": "splits", "val_split": "hold_out",
	"tau": "loss.settings", "temperature": "loss.settings", "margin": "loss.settings", "alpha": "loss.settings",
}

// commandsElsewhere maps names of commands to ours, by the group in which a user looks.
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

// dataSetsElsewhere maps names of data sets to importers.
var dataSetsElsewhere = map[string]string{
	"imagefolder": "folder", "image_folder": "folder", "folders": "folder", "directory": "folder", "dir": "folder",
	"imagenet": "folder", "images": "folder",
	"table": "csv", "tsv": "csv", "inat": "inaturalist", "inaturalist2018": "inaturalist", "cub200": "cub",
	"cub-200-2011": "cub", "inshop": "in-shop",
	"stanford_online_products": "sop", "gld": "gldv2", "landmarks": "gldv2", "huggingface": "parquet", "hf": "parquet",
}

// flagLike says how hgld sets what the flag of another program sets: by a flag of this
// command, or by -o. It returns "" if it knows no such flag.
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
	key := keysElsewhere.Meant(strings.ReplaceAll(name, "-", "_"), known)
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

// argumentMeant guesses the command line that a user meant who gave an argument to a
// command that takes none. It returns "" if it has no guess.
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
			return typedAs("hgld "+path)(first, "LABELS.csv")
		}
		return "hgld " + path + " --embeddings " + first
	case path == "train run":
		return "a run file is named with --config"
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
