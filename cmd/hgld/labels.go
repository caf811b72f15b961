package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/regular"
	"hgld/labels"
)

// labelsSettings are the settings of the stage labels.
type labelsSettings struct {
	Tags       string `yaml:"tags" path:"in" usage:"tags.jsonl of stage 1"`
	Hierarchy  string `yaml:"hierarchy" path:"in" usage:"hierarchy.json of stage 3"`
	Tree       string `yaml:"tree" usage:"meaning: the classes of the hierarchy; place: town, region, country and continent, from the items"`
	Items      string `yaml:"items" path:"in" usage:"with tree place: items.jsonl of stage 1"`
	Also       string `yaml:"also" path:"in" usage:"further parents of classes that curate apply wrote, such as also.csv; empty: none"`
	AlsoOut    string `yaml:"also_out" path:"out" kind:"further parents" usage:"with also: further parents to write, with a row for each landmark in place of its tag; for eval run --also"`
	Out        string `yaml:"out" path:"out" kind:"labels" usage:"labels to write, one row per landmark; with {split} in the name, one file per split: {split}_label_to_hierarchical.csv"`
	Form       string `yaml:"form" usage:"layout of the labels: hierarchical (as GLDv2 publishes them), three-column, clusters, category, levels, json; auto: json by the file's name, else hierarchical if there are kinds, else levels"`
	Blank      bool   `yaml:"blank" usage:"also write landmarks without a label, with empty cells"`
	Unlabelled string `yaml:"unlabelled" path:"out" kind:"a list of unlabelled ones" usage:"file for the landmarks without a label and the reasons; \"\": not written"`
}

func labelsStage() pipeline.StageOf[labelsSettings] {
	return pipeline.New(pipeline.Spec[labelsSettings]{
		Name: "labels", Command: "labels build",
		Defaults: labelsSettings{Tags: "tags.jsonl", Hierarchy: "hierarchy.json", Out: "labels.csv",
			AlsoOut: "landmarks_also.csv", Form: autoForm, Unlabelled: "unlabelled.csv",
			Tree: treeByMeaning, Items: "items.jsonl"},
		Files: func(s *labelsSettings) (in, out []string) {
			out = labelFiles(s.Out)
			if s.Unlabelled != "" {
				out = append(out, s.Unlabelled)
			}
			if s.Tree == treeByPlace {
				return []string{s.Tags, s.Items}, out
			}
			if s.Also != "" {
				return []string{s.Tags, s.Hierarchy, s.Also}, append(out, s.AlsoOut)
			}
			return []string{s.Tags, s.Hierarchy}, out
		},
		Run:   onJob(runLabelsBuild),
		Check: (*labelsSettings).check,
	})
}

// check finds an unknown form, or one that contradicts the name of the file.
func (s *labelsSettings) check() error {
	if s.Out == "" {
		return usagef("the labels have no file name; want one such as --out labels.csv")
	}
	if !slices.Contains(labelTrees, s.Tree) {
		return withCode(exitUsage, registry.Unknown("tree", s.Tree, labelTrees))
	}
	if s.Also != "" && (s.Tree == treeByPlace || s.AlsoOut == "") {
		return usagef("--also takes further parents of the classes of --tree meaning, and the name of a file to write, " +
			"--also-out")
	}
	d := labelsStage().Defaults()
	if s.Tree == treeByPlace && (s.Out == d.Out || s.Unlabelled == d.Unlabelled) {
		return usagef("%s and %s are those of the tree by meaning; name others: --out places.csv --unlabelled "+
			"without_place.csv", d.Out, d.Unlabelled)
	}
	_, err := s.form()
	return err
}

// The trees of labels.
const (
	treeByMeaning = "meaning" // tag, supercategory, kind
	treeByPlace   = "place"   // town, region, country, continent
)

var labelTrees = []string{treeByMeaning, treeByPlace}

// autoForm is the setting for a layout that suits the levels of the labels.
const autoForm = "auto"

// form returns the layout of the labels, or "" for one that suits their levels.
func (s *labelsSettings) form() (labels.Form, error) {
	if s.Form == autoForm {
		if strings.EqualFold(filepath.Ext(s.Out), ".json") {
			return labels.JSONForm, nil
		}
		return "", nil
	}
	form, err := labelForm(s.Form)
	if err != nil {
		return "", err
	}
	return form, checkFormInName(s.Out, form)
}

func labelsCommand() *cli.Command {
	return group("labels", "tags + hierarchy -> a label for every landmark; also statistics, checks and conversion",
		"  hgld labels build                                   tags.jsonl + hierarchy.json -> labels.csv, unlabelled.csv\n"+
			"  hgld labels stats                                   count classes and landmarks; say why some have no label\n"+
			"  hgld labels check --split train labels.csv          check that it is a tree with undamaged names\n"+
			"  hgld labels convert --to levels train_labels.csv    another layout",
		stageCommand(labelsStage().Stage, "build", "join tags and hierarchy into labels",
			"  hgld labels build                                 published columns, labelled landmarks only\n"+
				"  hgld labels build --blank                         all landmarks; empty cells if there is no label\n"+
				"  hgld labels build --form json --out labels.json   with split, level names and reasons\n"+
				"  hgld labels build --tree place --out places.csv --unlabelled without_place.csv\n"+
				"                                                    by town, region, country and continent"),
		labelsStatsCommand(), labelsCheckCommand(), labelsConvertCommand(), labelsPropagateCommand(),
	)
}

// runLabelsBuild is `hgld labels build`.
func runLabelsBuild(j *job, s *labelsSettings) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("labels build: %w", err)
	}
	form, err := s.form()
	if err != nil {
		return err
	}
	table, err := buildLabels(j, "labels build", s)
	if err != nil {
		return err
	}
	if form == "" {
		if form = labels.HierarchicalForm; len(table.Levels) != 3 {
			form = labels.LevelsForm
			once := "; as hierarchical once the supercategories have kinds"
			if s.Tree == treeByPlace {
				once = ""
			}
			j.say("the labels have %s (%s), so they are written as %s%s", count(len(table.Levels), "level"),
				strings.Join(table.Levels, ", "), form, once)
		}
	}
	kept := table
	if !s.Blank {
		kept = table.Labelled()
	}
	parts := kept.BySplit(s.Out)
	for _, part := range parts {
		if err := checkSplitInName(part.Path, part.Table); err != nil {
			return err
		}
	}
	further, err := s.further(table)
	if err != nil {
		return err
	}
	if err := writeLabels(s, form, table, parts, further); err != nil {
		err = fmt.Errorf("labels build: %w", err)
		if len(table.Levels) != 3 && form != labels.LevelsForm && form != labels.JSONForm {
			err = withHint(err, "--form levels writes any number of levels")
		}
		return err
	}
	stats := table.Stats(nil)
	if j.json {
		return writeJSON(j, stats)
	}
	for _, split := range stats.Splits {
		j.print("%s: %d of %d landmarks labelled\n", split.Split, split.Labelled, split.Landmarks)
	}
	j.print("%s", stats.ReasonsText())
	for i, part := range parts {
		j.print("%s%s written: %d rows", map[bool]string{true: "; ", false: ""}[i > 0], part.Path, len(part.Table.Rows))
	}
	if s.Unlabelled != "" {
		j.print("; %s: %d rows", s.Unlabelled, len(table.Rows)-len(table.Labelled().Rows))
	}
	if s.Also != "" {
		j.print("; %s: %d rows", s.AlsoOut, len(further))
	}
	j.print("\n")
	if len(stats.Splits) > 1 && len(parts) == 1 && form != labels.LevelsForm && form != labels.JSONForm {
		j.say("%s has a column split, because the ids of %v are different id spaces", s.Out, table.Splits())
	}
	return nil
}

// labelFiles expands the name of a label file. A name with {split} becomes the list of
// existing files, one per split, or the name itself if there are none. Files that cannot
// be accessed are listed too, so that reading them returns the error.
func labelFiles(name string) []string {
	files := slices.DeleteFunc(labels.PartNames(name), func(path string) bool {
		_, err := os.Stat(path)
		return pipeline.IsMissing(err)
	})
	if len(files) == 0 {
		return []string{name}
	}
	return files
}

// writeLabels writes the labels and, if it was asked for, the list of landmarks without a
// label. The files appear together, once all are complete.
func writeLabels(s *labelsSettings, form labels.Form, table *labels.Table, parts []labels.Part,
	further []labels.FurtherParent) error {
	var files []atomicfile.Content
	for _, part := range parts {
		files = append(files, atomicfile.Content{Path: part.Path,
			Fill: func(w io.Writer) error { return part.Table.Write(w, form) }})
	}
	if s.Unlabelled != "" {
		files = append(files, atomicfile.Content{Path: s.Unlabelled,
			Fill: func(w io.Writer) error { return labels.WriteUnlabelled(w, table) }})
	}
	if s.Also != "" {
		files = append(files, atomicfile.Content{Path: s.AlsoOut,
			Fill: func(w io.Writer) error { return labels.WriteFurtherParents(w, further) }})
	}
	return atomicfile.WriteAll(files)
}

// further reads the further parents of classes, and names landmarks in place of tags.
func (s *labelsSettings) further(table *labels.Table) ([]labels.FurtherParent, error) {
	if s.Also == "" {
		return nil, nil
	}
	list, err := labels.OpenFurtherParents(s.Also)
	if err != nil {
		return nil, err
	}
	h, err := labels.OpenHierarchy(s.Hierarchy)
	if err != nil {
		return nil, err
	}
	return table.LandmarkParents(h.Levels[0].Name, list), nil
}

// checkFormInName returns a usage error for a file name whose extension belongs to another
// form, because people and programs rely on the extension.
func checkFormInName(path string, form labels.Form) error {
	ext := strings.ToLower(filepath.Ext(path))
	if isJSON := form == labels.JSONForm; ext == ".csv" && isJSON || ext == ".json" && !isJSON {
		want := map[bool]string{true: ".json", false: ".csv"}[isJSON]
		return withHint(usagef("%s has the wrong extension for the form %s", path, form), "choose another name: %s",
			strings.TrimSuffix(path, filepath.Ext(path))+want)
	}
	return nil
}

// checkSplitInName returns a usage error for a file name that contains a split other than
// the one of the labels.
func checkSplitInName(path string, table *labels.Table) error {
	named := labels.SplitInName(path)
	if splits := table.Splits(); named != "" && len(splits) > 0 && !slices.Equal(splits, []labels.Split{named}) {
		return usagef("%s is named for the split %s, but the labels belong to %v; choose another name", path, named, splits)
	}
	return nil
}

// buildLabels joins the files of stages 1 and 3.
func buildLabels(j *job, command string, s *labelsSettings) (*labels.Table, error) {
	if s.Tree == treeByPlace {
		return buildPlaces(j, command, s)
	}
	j.say("reading %s and %s", s.Tags, s.Hierarchy)
	records, err := labels.OpenTags(s.Tags)
	if err != nil {
		return nil, err
	}
	hierarchy, err := labels.OpenHierarchy(s.Hierarchy)
	if err != nil {
		return nil, err
	}
	if j.limit > 0 {
		records = records[:min(j.limit, len(records))]
	}
	table, err := labels.Build(records, hierarchy)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	unknown := 0
	for i := range table.Rows {
		if table.Rows[i].Reason == labels.TagUnknown {
			unknown++
		}
	}
	if tagged := slices.ContainsFunc(table.Rows, func(l labels.LandmarkLabel) bool { return l.Labelled() }); unknown > 0 &&
		!tagged {
		return nil, withHint(fmt.Errorf("%s: %s contains none of the tags in %s", command, s.Hierarchy, s.Tags),
			"check that both belong to the same project; the level %.80q of the hierarchy must contain the tags",
			hierarchy.Levels[0].Name)
	}
	if unknown > 0 {
		j.say("%s with a tag that is missing in %s; curate it: hgld curate apply", count(unknown, "landmark"), s.Hierarchy)
	}
	return table, nil
}

// buildPlaces joins the landmarks and the places of stage 1.
func buildPlaces(j *job, command string, s *labelsSettings) (*labels.Table, error) {
	j.say("reading %s and %s", s.Tags, s.Items)
	records, err := labels.OpenTags(s.Tags)
	if err != nil {
		return nil, err
	}
	items, err := readClassItems(s.Items)
	if err != nil {
		return nil, err
	}
	if j.limit > 0 {
		records = records[:min(j.limit, len(records))]
	}
	table, err := labels.BuildPlaces(records, items)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	if len(table.Labelled().Rows) == 0 {
		return nil, withHint(fmt.Errorf("%s: no landmark of %s has a place in %s", command, s.Tags, s.Items),
			"`hgld scrape run --source api` stores places; pages have none")
	}
	return table, nil
}

// labelForm returns the form with the given name.
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
		&cli.StringFlag{Name: "split", Usage: "`SPLIT` of the files, if neither a column nor their names say it: train, " +
			"index, test, query, gallery, val"},
		&cli.BoolFlag{Name: "one-id-space", Usage: "landmark numbers are unique across all splits (in GLDv2 they are not)"},
	), more...)
}

// readLabels reads a label file of any form. With strict, the classes must form a tree.
func readLabels(c *cli.Context, path string, strict bool) (*labels.Table, error) {
	split, err := splitFlag(c)
	if err != nil {
		return nil, err
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	read := labels.Parse
	if strict {
		read = labels.Read
	}
	return read(f, path, labels.ReadOptions{Split: split, OneIDSpace: c.Bool("one-id-space")})
}

// splitFlag returns the value of --split, "" if it is not given.
func splitFlag(c *cli.Context) (labels.Split, error) {
	name := c.String("split")
	var known []string
	for _, s := range labels.Splits {
		known = append(known, string(s))
	}
	if name != "" && !slices.Contains(known, name) {
		return "", withCode(exitUsage, registry.Unknown("split", name, known))
	}
	return labels.Split(name), nil
}

// labelHint gives errors about splits an exit code, and names the flag that helps.
func labelHint(err error, path string) error {
	if unknown := (*labels.SplitUnknownError)(nil); errors.As(err, &unknown) {
		return withHint(withCode(exitUsage, err), "name the split: --split train %s", word(filepath.Base(path)))
	}
	if asked := (*labels.SplitAskedError)(nil); errors.As(err, &asked) {
		return withHint(withCode(exitUsage, err), "leave out --split: the file itself names the split")
	}
	if wrong := (*labels.SplitError)(nil); errors.As(err, &wrong) {
		return withHint(withCode(exitUsage, err), "--one-id-space declares a data set with one id space; GLDv2 has two")
	}
	return err
}
