package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/regular"
	"hgld/labels"
)

// labelsSettings are the settings of the stage labels.
type labelsSettings struct {
	Tags         string `yaml:"tags" path:"in" flag:"-" usage:"tags.jsonl of stage 1"`
	Hierarchy    string `yaml:"hierarchy" path:"in" flag:"-" usage:"hierarchy.json of stage 3"`
	Tree         string `yaml:"tree" usage:"semantic: the classes of the hierarchy; geographic: town, region, country and continent, from the items of stage 1"`
	ExtraParents string `yaml:"extra_parents" path:"in" usage:"extra parents of classes that curate apply wrote: extra_parents.csv. Beside the labels, landmarks_extra_parents.csv then has a row for each landmark in place of its tag, for eval run and train run --extra-parents; empty: none"`
	Out          string `yaml:"out" path:"out" kind:"labels" usage:"labels to write, one row per landmark; with {split} in the name, one file per split: {split}_label_to_hierarchical.csv"`
	To           string `yaml:"to" usage:"layout of the labels: hierarchical (as GLDv2 publishes them), three-column, clusters, category, levels, json; auto: json by the file's name, else hierarchical if there are kinds, else levels"`
	Include      bool   `yaml:"include_unlabelled" usage:"also write landmarks without a label, with empty cells"`
	Unlabelled   string `yaml:"unlabelled" path:"out" kind:"a list of unlabelled ones" usage:"file for the landmarks without a label and the reasons; \"\": not written"`

	items   string // of stage 1, for the geographic tree
	parents string // file of extra parents of landmarks, beside the labels
}

func labelsStage() pipeline.StageOf[labelsSettings] {
	return pipeline.New(pipeline.Spec[labelsSettings]{
		Name: "labels", Command: "labels build",
		Defaults: labelsSettings{Tags: "tags.jsonl", Hierarchy: "hierarchy.json", Out: "labels.csv",
			To: autoForm, Unlabelled: "unlabelled.csv", Tree: semanticTree},
		Complete: func(p *pipeline.Project, s *labelsSettings) error {
			s.parents = labels.Beside(s.Out, labels.LandmarkExtraParentsFile)
			move := besideOut(p, "labels", s.Out, "labels.csv")
			move("unlabelled", &s.Unlabelled, "_unlabelled.csv")
			move("", &s.parents, "_"+labels.LandmarkExtraParentsFile)
			if s.Tree != geographicTree {
				return nil
			}
			scraped, err := scrapeStage().Load(p, nil)
			s.items = scraped.Items
			return err
		},
		Files: func(s *labelsSettings) (in, out []string) {
			out = labelFiles(s.Out)
			if s.Unlabelled != "" {
				out = append(out, s.Unlabelled)
			}
			if s.Tree == geographicTree {
				return []string{s.Tags, s.items}, out
			}
			if s.ExtraParents != "" {
				return []string{s.Tags, s.Hierarchy, s.ExtraParents}, append(out, s.parents)
			}
			return []string{s.Tags, s.Hierarchy}, out
		},
		Beside: func(s *labelsSettings) []pipeline.Output {
			if s.ExtraParents == "" {
				return nil
			}
			return []pipeline.Output{{Path: s.parents, Kind: kindExtra}}
		},
		Run:   onJob(runLabelsBuild),
		Check: (*labelsSettings).check,
	})
}

// check finds an unknown layout, or one that contradicts the name of the file.
func (s *labelsSettings) check() error {
	if s.Out == "" {
		return usagef("the labels have no file name; want one such as --out labels.csv")
	}
	if !slices.Contains(labelTrees, s.Tree) {
		return withCode(exitUsage, registry.Unknown("tree", s.Tree, labelTrees))
	}
	geographic := s.Tree == geographicTree
	if s.ExtraParents != "" && geographic {
		return usagef("--extra-parents applies to classes of --tree semantic")
	}
	d := labelsStage().Defaults()
	if geographic && (s.Out == d.Out || s.Unlabelled == d.Unlabelled) {
		return usagef("%s and %s belong to the semantic tree; name another: --out places.csv", d.Out, d.Unlabelled)
	}
	_, err := s.form()
	return err
}

// The trees of labels.
const (
	semanticTree   = "semantic"   // tag, supercategory, kind
	geographicTree = "geographic" // town, region, country, continent
)

var labelTrees = []string{semanticTree, geographicTree}

// autoForm is the setting for a layout that suits the levels of the labels.
const autoForm = "auto"

// form returns the layout of the labels, or "" for one that suits their levels.
func (s *labelsSettings) form() (labels.Form, error) {
	if s.To == autoForm {
		if strings.EqualFold(filepath.Ext(s.Out), ".json") {
			return labels.JSONForm, nil
		}
		return "", nil
	}
	form, err := labelForm(s.To)
	if err != nil {
		return "", err
	}
	return form, checkFormInName(s.Out, form)
}

func labelsCommand() *cli.Command {
	return group("labels", "tags + hierarchy -> a label for every landmark; also counts, checks and conversion",
		"  hgld labels build                                   tags.jsonl + hierarchy.json -> labels.csv, unlabelled.csv\n"+
			"  hgld labels show                                    count classes and landmarks, and the reasons for no label\n"+
			"  hgld labels check --split train labels.csv          check that it is a tree with undamaged names\n"+
			"  hgld labels convert --to levels train_labels.csv    another layout",
		stageCommand(labelsStage().Stage, "build", "join tags and hierarchy into labels",
			"  hgld labels build                                 published columns, labelled landmarks only\n"+
				"  hgld labels build --include-unlabelled            all landmarks; empty cells if there is no label\n"+
				"  hgld labels build --to json --out labels.json     with split, level names and reasons\n"+
				"  hgld labels build --tree geographic --out places.csv\n"+
				"                                                    by town, region, country and continent"),
		labelsShowCommand(), labelsCheckCommand(), labelsConvertCommand(), labelsPropagateCommand(),
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
			if s.Tree == geographicTree {
				once = ""
			}
			j.log("the labels have %s (%s), so they are written as %s%s", count(len(table.Levels), "level"),
				strings.Join(table.Levels, ", "), form, once)
		}
	}
	kept := table
	if !s.Include {
		kept = table.Labelled()
	}
	parts := kept.BySplit(s.Out)
	for _, part := range parts {
		if err := checkSplitInName(part.Path, part.Table); err != nil {
			return err
		}
	}
	extra, err := s.extra(table)
	if err != nil {
		return err
	}
	if err := writeLabels(s, form, table, parts, extra); err != nil {
		err = fmt.Errorf("labels build: %w", err)
		if len(table.Levels) != 3 && form != labels.LevelsForm && form != labels.JSONForm {
			err = withHint(err, "--to levels writes any number of levels")
		}
		return err
	}
	if s.ExtraParents != "" {
		err := removeFormer(j, labels.Beside(s.Out, labels.FormerLandmarkExtraParentsFile), s.parents)
		if err != nil {
			return err
		}
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
		j.print("%s%s written: %d rows", map[bool]string{true: "; ", false: ""}[i > 0], part.Path, part.Table.Len())
	}
	if s.Unlabelled != "" {
		j.print("; %s: %d rows", s.Unlabelled, table.Len()-table.Labelled().Len())
	}
	if s.ExtraParents != "" {
		j.print("; %s: %d rows", s.parents, len(extra))
	}
	j.print("\n")
	if len(stats.Splits) > 1 && len(parts) == 1 && form != labels.LevelsForm && form != labels.JSONForm {
		j.log("%s has a column split, because the ids of %v are different id spaces", s.Out, table.Splits())
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
	extra []labels.ExtraParent) error {
	var files []atomicfile.Content
	for _, part := range parts {
		files = append(files, atomicfile.Content{Path: part.Path,
			Fill: func(w io.Writer) error { return part.Table.Write(w, form) }})
	}
	if s.Unlabelled != "" {
		files = append(files, atomicfile.Content{Path: s.Unlabelled,
			Fill: func(w io.Writer) error { return labels.WriteUnlabelled(w, table) }})
	}
	if s.ExtraParents != "" {
		files = append(files, atomicfile.Content{Path: s.parents,
			Fill: func(w io.Writer) error { return labels.WriteExtraParents(w, extra) }})
	}
	return atomicfile.WriteAll(files)
}

// extra reads the extra parents of classes, and names landmarks in place of tags.
func (s *labelsSettings) extra(table *labels.Table) ([]labels.ExtraParent, error) {
	if s.ExtraParents == "" {
		return nil, nil
	}
	list, err := labels.OpenExtraParents(s.ExtraParents)
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
	if s.Tree == geographicTree {
		return buildPlaces(j, command, s)
	}
	j.log("reading %s and %s", s.Tags, s.Hierarchy)
	hierarchy, err := labels.OpenHierarchy(s.Hierarchy)
	if err != nil {
		return nil, err
	}
	table, err := s.table(j, command, func(records func(func(*labels.Record)) error) (*labels.Table, error) {
		return labels.BuildFrom(records, hierarchy)
	})
	if err != nil {
		return nil, err
	}
	unknown, labelled := 0, 0
	stats := table.Stats(nil)
	for _, r := range stats.Unlabelled {
		if r.Reason == labels.TagUnknown {
			unknown += r.Landmarks
		}
	}
	for _, split := range stats.Splits {
		labelled += split.Labelled
	}
	if unknown > 0 && labelled == 0 {
		return nil, withHint(fmt.Errorf("%s: %s contains none of the tags in %s", command, s.Hierarchy, s.Tags),
			"check that both belong to the same project; the level %.80q of the hierarchy must contain the tags",
			hierarchy.Levels[0].Name)
	}
	if unknown > 0 {
		j.log("%s with a tag that is missing in %s; curate it: hgld curate apply", count(unknown, "landmark"), s.Hierarchy)
	}
	return table, nil
}

// table passes the records of the tags to build.
func (s *labelsSettings) table(j *job, command string, build func(records func(use func(*labels.Record)) error) (
	*labels.Table, error)) (*labels.Table, error) {
	var failed error
	table, err := build(func(use func(*labels.Record)) error {
		n := 0
		failed = labels.EachTag(s.Tags, func(rec *labels.Record) {
			if n++; j.limit == 0 || n <= j.limit {
				use(rec)
			}
		})
		return failed
	})
	if err != nil && failed == nil {
		err = fmt.Errorf("%s: %w", command, err)
	}
	return table, err
}

// buildPlaces joins the landmarks and the places of stage 1.
func buildPlaces(j *job, command string, s *labelsSettings) (*labels.Table, error) {
	j.log("reading %s and %s", s.Tags, s.items)
	items, err := readClassItems(s.items)
	if err != nil {
		return nil, err
	}
	table, err := s.table(j, command, func(records func(func(*labels.Record)) error) (*labels.Table, error) {
		return labels.BuildPlaces(records, items)
	})
	if err != nil {
		return nil, err
	}
	if table.Labelled().Len() == 0 {
		return nil, withHint(fmt.Errorf("%s: no landmark of %s has a place in %s", command, s.Tags, s.items),
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
			"index, test, query, gallery, val; none: landmark numbers are unique across all splits, unlike in GLDv2"},
	), more...)
}

// readLabels reads a label file of any form. With strict, the classes must form a tree.
func readLabels(c *cli.Context, path string, strict bool) (*labels.Table, error) {
	read := labels.Parse
	if strict {
		read = labels.Read
	}
	return withSplit(c, path, func(options labels.ReadOptions) (*labels.Table, error) {
		f, err := regular.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return read(f, path, options)
	})
}

// withSplit reads a label file with what --split says. If neither the flag nor the file names the split, and the file
// is the project's, the project's tags do.
func withSplit[T any](c *cli.Context, path string, read func(labels.ReadOptions) (T, error)) (T, error) {
	options, err := splitFlag(c)
	if err != nil {
		return *new(T), err
	}
	table, err := read(options)
	if errors.As(err, new(*labels.SplitUnknownError)) {
		if split := projectSplit(c, path); split != "" {
			return read(labels.ReadOptions{Split: split})
		}
	}
	return table, err
}

// projectSplit returns the split of the labels that the project wrote at path; "" if they are not its own, or of
// several splits.
func projectSplit(c *cli.Context, path string) labels.Split {
	j, err := newJob(c)
	if err != nil {
		return ""
	}
	s, err := labelsStage().Load(j.project, nil)
	if err != nil {
		return ""
	}
	if was, err := labelsStage().Stamp(j.project); err != nil || was.Out[j.project.Inside(path)] == "" {
		return ""
	}
	splits := map[labels.Split]bool{}
	if err := labels.EachTag(s.Tags, func(r *labels.Record) { splits[r.Split] = true }); err != nil || len(splits) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(splits))[0]
}

// noSplit is the value of --split for a data set with one id space.
const noSplit = "none"

// splitFlag returns what --split says of a label file.
func splitFlag(c *cli.Context) (labels.ReadOptions, error) {
	name := c.String("split")
	known := []string{noSplit}
	for _, s := range labels.Splits {
		known = append(known, string(s))
	}
	switch {
	case name == noSplit:
		return labels.ReadOptions{OneIDSpace: true}, nil
	case name != "" && !slices.Contains(known, name):
		return labels.ReadOptions{}, withCode(exitUsage, registry.Unknown("split", name, known))
	}
	return labels.ReadOptions{Split: labels.Split(name)}, nil
}

// labelHint gives errors about splits an exit code, and names the flag that helps.
func labelHint(err error, path string) error {
	if unknown := (*labels.SplitUnknownError)(nil); errors.As(err, &unknown) {
		return withHint(withCode(exitUsage, err), "name the split: --split train %s", word(path))
	}
	if asked := (*labels.SplitAskedError)(nil); errors.As(err, &asked) {
		return withHint(withCode(exitUsage, err), "leave out --split: the file itself names the split")
	}
	if wrong := (*labels.SplitError)(nil); errors.As(err, &wrong) {
		return withHint(withCode(exitUsage, err), "--split none declares a data set with one id space; GLDv2 has two")
	}
	return err
}

// fillIn is the hint for a row without a class at some level.
const fillIn = "fill in the class; or set partial_labels, and a missing level is unknown (docs/label-semantics.md)"

// labelsAdvice has the exit codes and next steps for errors of label files.
var labelsAdvice = []advice{
	kind(exitUsage, func(*labels.LevelError) string { return fillIn }),
	kind(exitUsage, func(e *labels.ExtraParentLevelError) string {
		if e.Row.Level != curate.DefaultLevels[0] {
			return ""
		}
		path, _, _ := strings.Cut(e.Row.Where, ".csv:")
		return "the labels name no tags; `hgld labels build --extra-parents " + word(path+".csv") + "` writes a row for each landmark in " +
			"place of its tag"
	}),
}
