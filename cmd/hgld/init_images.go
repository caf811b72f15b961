package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/labels"
	"hgld/shards/dataset"
	"hgld/train/selection"
)

// imagesFlags returns the flags for a project that starts from images: --images, and the
// flags of `hgld shards build` that describe their layout.
func imagesFlags() []cli.Flag {
	flags := []cli.Flag{&cli.StringFlag{Name: "images",
		Usage: "start with images instead of landmarks: `PATH` of class folders, their .zip or .tar, a .csv, or Parquet files"}}
	for _, f := range flagsOf(shardsStage().Settings()) {
		if slices.Contains([]string{"levels", "partial-labels", "na-values"}, f.Names()[0]) {
			flags = append(flags, f)
		}
	}
	return append(flags, &cli.StringSliceFlag{Name: "split-folders", Usage: "`FOLDER=SPLIT` for each top folder that is a " +
		"split; none: top folders are classes; for Parquet files: NAME=SPLIT"}, overrideFlag())
}

// imageProject describes a project that starts from images, at the stage shards. It lists
// the images so that a mistake in their layout is reported at once.
func imageProject(c *cli.Context, dir string) (*pipeline.NewProject, error) {
	s, err := shardsStage().Load(&pipeline.Project{}, c)
	if err != nil {
		return nil, err
	}
	if c.IsSet("split-folders") {
		s.SplitFolders = settings.Split(c.StringSlice("split-folders"))
	}
	input := s.Images
	if len(pipeline.Missing([]string{input})) > 0 {
		return nil, fmt.Errorf("--images: %s does not exist", input)
	}
	s.Dataset, s.Input, s.Images = dataset.Kind(input), input, ""
	inside, err := dataset.Within(input, dir)
	if inside {
		err = withHint(usagef("the project %s is inside %s: its shards would be among the images", dir, input),
			"put it next to them: hgld init --images %s %s", word(input), word(nextTo(input, "-project")))
	}
	if err != nil {
		return nil, err
	}
	j := jobIn(c, &pipeline.Project{})
	src, _, err := s.openSource(j, nil)
	if err != nil {
		return nil, err
	}
	found, err := dataset.NewSurvey(c.Context, src)
	if err := errors.Join(err, src.Close()); err != nil {
		return nil, sourceError(err)
	}
	j.logAll("%s", found.Lines())
	at, err := pipeline.PathFrom(dir, input)
	if err != nil {
		return nil, err
	}
	values := map[string]string{"shards.dataset": s.Dataset, "shards.input": strconv.Quote(at),
		"shards.partial_labels": s.PartialLabels,
		"shards.levels":         pipeline.List(s.Levels), "shards.split_folders": pipeline.List(s.SplitFolders),
		"shards.na_values": pipeline.List(s.NAValues), "eval.report": "eval.html"}
	for _, text := range c.StringSlice(pipeline.OverrideFlag) {
		key, value, _ := strings.Cut(text, "=")
		if values["shards."+key] == "" {
			values["shards."+key] = yamlText(value)
		}
	}
	maps.Copy(values, selection.FirstSettings(len(found.Levels), found))
	if values["train.query"] == string(labels.Train) {
		j.log("note: too few classes to hold some out, so the evaluation is of images that the model has seen")
	}
	return &pipeline.NewProject{Head: commentedHead, Stages: []string{"shards", "train", "eval"}, Values: values}, nil
}

// yamlText is a value as YAML writes it: as it is, or in quotes where YAML would read something else.
func yamlText(value string) string {
	if strings.ContainsAny(value, " :#{}[],&*!|>'\"%@`\\") {
		return strconv.Quote(value)
	}
	return value
}
