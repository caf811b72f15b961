package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/classes"
	"hgld/internal/pipeline"
	"hgld/internal/spelling"
	"hgld/shards/dataset"
	"hgld/shards/provenance"
)

// source returns the settings of the importer, as BUILD.json records them.
func (s *shardsSettings) source() provenance.Settings {
	source := provenance.Settings{Dataset: s.Dataset, Input: s.Input, Images: s.Images, Labels: s.Labels,
		Hierarchy: s.Hierarchy, Levels: s.Levels, Split: s.Split, SplitFolders: s.SplitFolders, NAValues: s.NAValues,
		Labelled: s.PartialLabels == dataset.DropPartial, Unattributed: s.Unattributed, Subset: s.Subset, Exclude: s.Exclude,
		Taxonomy: s.Taxonomy}
	if s.PartialLabels == classes.KeepPartial || s.PartialLabels == dataset.RepeatPartial {
		source.Partial = s.PartialLabels
	}
	if s.Columns != (dataset.Columns{}) {
		source.Columns = &s.Columns
	}
	return source
}

// projectRecords implements provenance.Records with the stamps of a project.
type projectRecords struct{ project *pipeline.Project }

// Changed implements provenance.Records.
func (p projectRecords) Changed(path string) (string, error) { return p.project.Accepted(path) }

// Draft implements provenance.Records.
func (p projectRecords) Draft() (string, error) {
	curate, err := curateStage().Load(p.project, nil)
	if err != nil {
		return "", err
	}
	return curate.Draft, nil
}

// Labels implements provenance.Records.
func (p projectRecords) Labels(path string) (*provenance.LabelsRecord, string, error) {
	if p.project.File == "" {
		return nil, "no project here has a record of it", nil
	}
	was, err := labelsStage().Stamp(p.project)
	if pipeline.IsMissing(err) || errors.Is(err, pipeline.ErrOtherStamp) {
		return nil, "this project has no record of `hgld labels build`", nil
	}
	if err != nil {
		return nil, "", err
	}
	now, err := stages().Fingerprint([]string{path})
	if err != nil {
		return nil, "", err
	}
	if was.Out[p.project.Inside(path)] != now[path] {
		return nil, "it was changed after `hgld labels build` wrote it", nil
	}
	s := labelsStage().Defaults()
	if err := yaml.Unmarshal([]byte(was.Settings), s); err != nil {
		return nil, "", err
	}
	r := &provenance.LabelsRecord{Tool: "hgld " + was.Tool, Limit: was.Limit}
	for to, file := range map[*provenance.Source]string{&r.Tags: s.Tags, &r.Hierarchy: s.Hierarchy} {
		to.Path = p.project.Join(filepath.FromSlash(file))
		now, err := stages().Fingerprint([]string{to.Path})
		if err != nil {
			return nil, "", err
		}
		to.Same = was.In[file] != "" && was.In[file] == now[to.Path]
	}
	return r, "", nil
}

// importAdvice has the exit codes and next steps for errors of the importers of data sets.
var importAdvice = []advice{
	kind(exitOK, datasetSetting),
	kind(exitUsage, func(e *classes.OrderError) string {
		right := "; if the order is right, rename one of the two classes with equal names"
		if e.ByNames() {
			right = "; if the order is right, give the levels other names"
		}
		return "name them finest first: --levels " + word(strings.Join(e.Right(), ",")) + right
	}),
	kind(exitUsage, func(e *dataset.NotShardsError) string {
		if !e.Buildable {
			return "`hgld shards build` writes one"
		}
		return buildFirst(e.Path)
	}),
	kind(exitUsage, func(e *dataset.AddressesError) string {
		if e.Local != "" {
			return "name the column of local paths: -o columns.path=" + word(e.Local)
		}
		return "download them first, and name their folder (--images FOLDER) if they are saved under the last part of " +
			"their addresses, or else a column of local paths (-o columns.path=COLUMN)"
	}),
	kind(exitFailed, func(*dataset.NameError) string {
		return "rename it; all names of Windows-1252 in a folder: convmv -f windows-1252 -t utf8 -r --notest FOLDER"
	}),
	kind(exitUsage, func(e *dataset.NoPictureError) string {
		if strings.Contains(e.Path, "://") {
			return "download it first: the query is an image file on this machine"
		}
		return "the query is an image file; --id searches for a row of the index"
	}),
	kind(exitUsage, func(e *spelling.MissingError) string {
		return "set na_values to " + word(e.Word) + " to treat it as no class, or to -1 to treat it as a class"
	}),
}

// datasetSetting is the hint for a data set that another setting of its importer would mend.
func datasetSetting(e *dataset.SettingError) string {
	value := func(otherwise string) string {
		if all := strings.Join(e.Values, ""); all != "" {
			return word(all)
		}
		return otherwise
	}
	switch {
	case e.Setting == "levels":
		return "name the columns of classes, finest first: --levels " + value("COLUMN,…")
	case e.Setting == "split_folders" && len(e.Values) == 2:
		return fmt.Sprintf("for splits: -o split_folders=%s; for classes: -o split_folders=%s", word(e.Values[0]),
			word(e.Values[1]))
	case e.Setting == "partial_labels":
		return "--partial-labels repeat uses the innermost folder, --partial-labels keep leaves the missing levels without " +
			"a class"
	case e.Setting == "labels":
		return "--labels names a label file, such as the labels.csv of `hgld labels build`"
	}
	return fmt.Sprintf("name another one: -o %s=%s", e.Setting, value("COLUMN"))
}

// buildFirst is the hint for images or a table in place of shards.
func buildFirst(input string) string {
	switch dataset.Kind(input) {
	case "coco":
		return "build shards from its annotations: hgld shards build --dataset coco --input " + word(input)
	case "folder":
		return "build shards from class folders: hgld shards build --dataset folder --input " + word(input)
	case "parquet":
		return "build shards from a Hugging Face data set: hgld shards build --dataset parquet --input " + word(input)
	}
	return "build shards from it: hgld shards build --input " + word(input)
}
