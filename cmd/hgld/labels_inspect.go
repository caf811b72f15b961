package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"hgld/internal/regular"
	"hgld/internal/settings"
	"hgld/labels"
)

func labelsShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "count the classes and landmarks of each level, and the landmarks without a label by reason",
		ArgsUsage: "[FILE]",
		Description: "  hgld labels show                                   the project's tags and hierarchy\n" +
			"  hgld labels show index_label_to_hierarchical.csv   a label file\n" +
			"  hgld labels show --counts train.csv                also count images",
		Flags: labelFlags(
			&cli.StringSliceFlag{Name: "counts", Usage: "image list of GLDv2 to count images by (train.csv, train_clean.csv, " +
				"index_image_to_landmark.csv); repeatable"},
			&cli.IntFlag{Name: "limit", Usage: "print the largest `N` classes of a level (0: all)", Value: 20},
		),
		Action: actionWithArgs(0, 1, "one file", runLabelsShow),
	}
}

func runLabelsShow(c *cli.Context, j *job) error {
	if split := c.String("split"); len(j.args) == 0 && split != "" && (split == noSplit || !c.IsSet("counts")) {
		return usagef("labels show: --split applies to a label file; tags.jsonl has the split of every landmark")
	}
	limit := j.limit
	j.limit = 0 // limits the classes printed, not the landmarks
	var table *labels.Table
	var err error
	if len(j.args) == 1 {
		table, err = readLabels(c, j.args[0], true)
		err = labelHint(err, j.args[0])
	} else {
		table, err = projectLabels(j)
	}
	if err != nil {
		return err
	}
	var images map[labels.LandmarkKey]int
	for _, path := range settings.Split(c.StringSlice("counts")) {
		if images == nil {
			images = map[labels.LandmarkKey]int{}
		}
		if err := addImages(c, images, path); err != nil {
			return err
		}
	}
	stats := table.Stats(images)
	if limit > 0 {
		for i := range stats.Levels {
			stats.Levels[i].Largest = stats.Levels[i].Largest[:min(limit, len(stats.Levels[i].Largest))]
		}
	}
	return j.show(stats, stats.Text(images != nil))
}

// projectLabels joins the project's tags and hierarchy like `labels build`, but writes
// nothing.
func projectLabels(j *job) (*labels.Table, error) {
	stage := labelsStage()
	stage.Command = "labels show"
	s, err := stage.Load(j.project, nil)
	if err != nil {
		return nil, err
	}
	if err := stage.MissingInput(j.project, s); err != nil {
		return nil, err
	}
	return buildLabels(j, stage.Command, s)
}

// addImages counts the images of each landmark in an image list and adds them to counts.
func addImages(c *cli.Context, counts map[labels.LandmarkKey]int, path string) error {
	options, err := splitFlag(c)
	if err != nil {
		return err
	}
	more, err := labels.OpenImageCounts(path, labels.ReadOptions{Split: options.Split})
	for k, n := range more {
		counts[k] += n
	}
	return labelHint(err, path)
}

func labelsCheckCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "check a label file: a tree, one label per landmark, undamaged names; or compare it with " +
			"another", ArgsUsage: "FILE …",
		Description: "  hgld labels check --split train labels.csv                                  exit code 4 if not\n" +
			"  hgld labels check --against index_label_to_hierarchical.csv index_mine.csv  list what differs\n" +
			"  hgld labels check tags.jsonl draft.json hierarchy.json                      hgld's other files",
		Flags: labelFlags(
			&cli.StringFlag{Name: "against", Usage: "published label `FILE` to compare with; a difference fails the check"},
			&cli.IntFlag{Name: "limit", Usage: "print the first `N` problems and differences of each kind (0: all)", Value: 20},
		),
		Action: action(runLabelsCheck),
	}
}

func runLabelsCheck(c *cli.Context, j *job) error {
	if _, err := splitFlag(c); err != nil {
		return err
	}
	against := c.String("against")
	if len(j.args) == 0 || against != "" && len(j.args) != 1 {
		return usagef("labels check: want files to check, or exactly one with --against; got %d", len(j.args))
	}
	var files []labels.CheckedFile
	failed := 0
	for _, path := range j.args {
		f, err := checkFile(c, path)
		if err != nil {
			return err
		}
		if f.Errors > 0 {
			failed++
		}
		files = append(files, f)
	}
	comparison, err := compareWith(c, files[0], against)
	if err != nil {
		return err
	}
	if j.json {
		err = writeJSON(j, struct {
			Files      []labels.CheckedFile `json:"files"`
			Comparison *labels.Comparison   `json:"comparison,omitempty"`
		}{files, comparison})
		if err != nil {
			return err
		}
	} else {
		for _, f := range files {
			printChecked(j, f)
		}
		if comparison != nil {
			j.print("%s", comparison.Text(files[0].File, against, j.limit, listsAll))
		}
	}
	switch {
	case failed > 0:
		return withCode(exitIntegrity, fmt.Errorf("labels check: %d of %d files have errors", failed, len(files)))
	case comparison != nil && !comparison.Equal():
		return withCode(exitIntegrity, fmt.Errorf("labels check: %s differs from %s", files[0].File, against))
	}
	return nil
}

// compareWith compares a checked file with a published one.
func compareWith(c *cli.Context, f labels.CheckedFile, against string) (*labels.Comparison, error) {
	if against == "" {
		return nil, nil
	}
	if f.Kind != "labels" {
		return nil, usagef("--against compares label files, but %s contains %s", f.File, f.Kind)
	}
	if f.Table == nil {
		return nil, nil // the file could not be read, which is already reported
	}
	other, err := readLabels(c, against, false)
	if err != nil {
		return nil, labelHint(err, against)
	}
	comparison, err := labels.Compare(f.Table, other)
	return comparison, labelHint(err, against)
}

// checkFile reads and checks a file. It returns an error only for a wrong command line.
func checkFile(c *cli.Context, path string) (labels.CheckedFile, error) {
	data, err := regular.ReadFile(path)
	if err != nil {
		return labels.CheckedFile{}, err
	}
	f, err := withSplit(c, path, func(options labels.ReadOptions) (labels.CheckedFile, error) {
		return labels.CheckFile(path, data, options)
	})
	return f, labelHint(err, path)
}

func printChecked(j *job, f labels.CheckedFile) {
	for i, p := range f.Problems {
		if j.limit > 0 && i == j.limit {
			j.print("… and %d more\n", len(f.Problems)-i)
			break
		}
		j.print("%s\n", p)
	}
	verdict := "ok"
	if f.Errors > 0 {
		verdict = count(f.Errors, "error")
	}
	if f.Warnings > 0 {
		verdict += ", " + count(f.Warnings, "warning")
	}
	if f.Summary != "" {
		verdict += " (" + f.Summary + ")"
	}
	j.print("%s: %s\n", f.File, verdict)
}

// listsAll tells the reader of a shortened list how to see all of it.
const listsAll = "--limit 0 lists all"
