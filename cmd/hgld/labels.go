package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/registry"
	"hgld/labels"
)

// labelsSettings is the section "labels" of hgld.yaml.
type labelsSettings struct {
	Tags       string `yaml:"tags" path:"in" usage:"tags.jsonl of stage 1"`
	Hierarchy  string `yaml:"hierarchy" path:"in" usage:"hierarchy.json of stage 3"`
	Out        string `yaml:"out" path:"out" usage:"labels to write, a row a landmark"`
	Form       string `yaml:"form" usage:"layout of the labels: hierarchical (as GLDv2 publishes them), three-column, clusters, category, levels, json"`
	Blank      bool   `yaml:"blank" usage:"keep landmarks without a label, with empty cells"`
	Unlabelled string `yaml:"unlabelled" path:"out" usage:"list to write of the landmarks without a label, with the reason"`
}

func labelsStage() stage {
	return newStage("labels", "labels build",
		labelsSettings{Tags: "tags.jsonl", Hierarchy: "hierarchy.json", Out: "labels.csv", Form: string(labels.HierarchicalForm), Unlabelled: "unlabelled.csv"},
		func(s *labelsSettings) (in, out []string) {
			return []string{s.Tags, s.Hierarchy}, []string{s.Out, s.Unlabelled}
		},
		runLabelsBuild)
}

func labelsCommand() *cli.Command {
	return group("labels", "tags + hierarchy -> a label for every landmark; statistics, checks, conversion",
		"  hgld labels build                                   tags.jsonl + hierarchy.json -> labels.csv, unlabelled.csv\n"+
			"  hgld labels stats                                   classes, landmarks, and why some have no label\n"+
			"  hgld labels check --split train labels.csv          is it a tree? are the names sound?\n"+
			"  hgld labels convert --to levels train_labels.csv    another layout",
		labelsStage().subcommand("build", "join tags and hierarchy into labels",
			"  hgld labels build                                 published columns, labelled landmarks only\n"+
				"  hgld labels build --blank                         all landmarks, empty cells where there is no label\n"+
				"  hgld labels build --form json --out labels.json   with split, level names and reasons"),
		labelsStatsCommand(), labelsCheckCommand(), labelsConvertCommand(),
	)
}

// runLabelsBuild is `hgld labels build`.
func runLabelsBuild(j *job, s *labelsSettings) error {
	form, err := labelForm(s.Form)
	if err != nil {
		return err
	}
	table, err := buildLabels(j, s)
	if err != nil {
		return err
	}
	if err := checkOutName(s.Out, table); err != nil {
		return err
	}
	kept := table
	if !s.Blank {
		kept = table.Labelled()
	}
	err = atomicfile.Write(s.Unlabelled, func(w io.Writer) error { return labels.WriteUnlabelled(w, table) })
	if err == nil {
		err = atomicfile.Write(s.Out, func(w io.Writer) error { return kept.Write(w, form) })
	}
	if err != nil {
		return fmt.Errorf("labels build: %w", err)
	}
	stats := table.Stats(nil)
	if j.json {
		return writeJSON(j, stats)
	}
	for _, split := range stats.Splits {
		j.print("%s: %d of %d landmarks labelled\n", split.Split, split.Labelled, split.Landmarks)
	}
	printReasons(j, stats.Unlabelled, 0)
	j.print("%s written: %d rows; %s: %d rows\n", s.Out, len(kept.Rows), s.Unlabelled, len(table.Rows)-len(table.Labelled().Rows))
	if len(stats.Splits) > 1 && form != labels.LevelsForm && form != labels.JSONForm {
		j.say("%s has a column split: it holds %v, whose ids are different id spaces", s.Out, table.Splits())
	}
	return nil
}

// checkOutName refuses a name that speaks of another split than the labels are of:
// a reader would believe it.
func checkOutName(path string, table *labels.Table) error {
	named := labels.SplitInName(path)
	if splits := table.Splits(); named != "" && len(splits) > 0 && !slices.Equal(splits, []labels.Split{named}) {
		return usagef("%s is called a file of split %s, but the labels are of %v; name the output otherwise", path, named, splits)
	}
	return nil
}

// buildLabels joins the files of stages 1 and 3.
func buildLabels(j *job, s *labelsSettings) (*labels.Table, error) {
	j.say("reading %s and %s", s.Tags, s.Hierarchy)
	records, err := readTags(s.Tags)
	if err != nil {
		return nil, err
	}
	hierarchy, err := readHierarchy(s.Hierarchy)
	if err != nil {
		return nil, err
	}
	if j.limit > 0 {
		records = records[:min(j.limit, len(records))]
	}
	table, err := labels.Build(records, hierarchy)
	if err != nil {
		return nil, fmt.Errorf("labels build: %w", err)
	}
	unknown := 0
	for i := range table.Rows {
		if table.Rows[i].Reason == labels.TagUnknown {
			unknown++
		}
	}
	if tagged := slices.ContainsFunc(table.Rows, func(l labels.LandmarkLabel) bool { return l.Labelled() }); unknown > 0 && !tagged {
		return nil, withHint(fmt.Errorf("labels build: %s knows none of the tags in %s", s.Hierarchy, s.Tags), "are they of the same project? the level %q of the hierarchy has to hold the tags", hierarchy.Levels[0].Name)
	}
	if unknown > 0 {
		j.say("%s with a tag that %s does not know; curate them: hgld curate apply", count(unknown, "landmark"), s.Hierarchy)
	}
	return table, nil
}

func readTags(path string) ([]labels.Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, records, err := labels.ReadTags(f, path)
	return records, err
}

func readHierarchy(path string) (*labels.Hierarchy, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return labels.ReadHierarchy(bufio.NewReader(f), path)
}

// labelForm finds a form by name.
func labelForm(name string) (labels.Form, error) {
	if slices.Contains(labels.Forms, labels.Form(name)) {
		return labels.Form(name), nil
	}
	var known []string
	for _, f := range labels.Forms {
		known = append(known, string(f))
	}
	return "", withCode(exitUsage, registry.Unknown("form", name, known))
}

// labelFlags are the flags of the commands that read label files.
func labelFlags(more ...cli.Flag) []cli.Flag {
	return append(append(commonFlags(),
		&cli.StringFlag{Name: "split", Usage: "`SPLIT` of the files, where neither a column nor their names say it: train, index, test, query, gallery, val"},
		&cli.BoolFlag{Name: "one-id-space", Usage: "the data set numbers its landmarks through all splits (GLDv2 does not)"},
	), more...)
}

// readLabels reads a label file of any form. strict also wants it to be a tree.
func readLabels(c *cli.Context, path string, strict bool) (*labels.Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	read := labels.Parse
	if strict {
		read = labels.Read
	}
	return read(f, path, labels.ReadOptions{Split: labels.Split(c.String("split")), OneIDSpace: c.Bool("one-id-space")})
}

// labelHint adds the flag that helps where a split is missing.
func labelHint(err error, path string) error {
	if unknown := (*labels.SplitUnknownError)(nil); errors.As(err, &unknown) {
		return withHint(withCode(exitUsage, err), "say it: --split train %s", filepath.Base(path))
	}
	if wrong := (*labels.SplitError)(nil); errors.As(err, &wrong) {
		return withHint(withCode(exitUsage, err), "a data set with one id space is declared by --one-id-space; GLDv2 has two")
	}
	return err
}

func writeJSON(j *job, v any) error {
	enc := json.NewEncoder(j.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(v)
}

// printReasons lists why landmarks have no label; limit 0 prints all.
func printReasons(j *job, list []labels.ReasonStats, limit int) {
	if len(list) == 0 {
		return
	}
	j.print("without a label:\n")
	for i, r := range list {
		if limit > 0 && i == limit {
			j.print("  … and %d more reasons\n", len(list)-i)
			break
		}
		reason := string(r.Reason)
		if r.Detail != "" {
			reason += ": " + r.Detail
		}
		j.print("  %7d  %-16s %s\n", r.Landmarks, reason, strings.Join(r.Examples, ", "))
	}
}
