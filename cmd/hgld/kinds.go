package main

import (
	"bytes"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/labels"
	"hgld/shards"
	"hgld/train/history"
	"hgld/train/index"
	"hgld/train/report"
	"hgld/train/study"
	"hgld/train/tune"
)

// The kinds of outputs, as messages name them and as settings declare them by the tag kind.
const (
	kindTags       = "tags"
	kindDraft      = "a draft"
	kindHierarchy  = "a hierarchy"
	kindLabels     = "labels"
	kindFurther    = "further parents"
	kindPage       = "a page"
	kindPlot       = "a plot"
	kindPoints     = "points of a plot"
	kindIndex      = "an index"
	kindResult     = "a result"
	kindExport     = "an export"
	kindSKOS       = "SKOS"
	kindForeign    = "a file" // of a format that other programs write as well
	kindTRECRun    = "a run for trec_eval"
	kindTRECQrels  = "qrels for trec_eval"
	kindExportPart = "part of an export"
	kindSearch     = "a search"
	kindStudy      = "a study"
	kindVotes      = "a list of votes"
	kindWebDataset = "a WebDataset"

	kindWeightsRecord = "a record of weights"
)

// outputKinds says how to recognise what hgld wrote.
func outputKinds() map[string]pipeline.Kind {
	return map[string]pipeline.Kind{
		kindTags:                    {Ours: begins(`\{"hgld_tags"`)},
		"items of Wikidata":         {Ours: begins(`\{"hgld_items"`)},
		"a list of changes":         {Ours: begins(`\{"landmark_id":[0-9]+,"split":"[a-z]*","category":.*"after":`)},
		"vectors of tags":           {Ours: holds(`"format":"hgld-vectors/`)},
		kindDraft:                   {Ours: begins(`\{\s*"hgld_draft"`), ByHand: true},
		kindHierarchy:               {Ours: begins(`\{\s*"hgld_hierarchy"`), ByHand: true},
		kindLabels:                  {Ours: isLabels, Files: labelOutputs, ByHand: true},
		kindFurther:                 {Ours: isFurther},
		"a list of unlabelled ones": {Ours: begins(`split,landmark_id,category,tag,reason,detail`)},
		kindResult:                  {Ours: begins(`\{\s*"hgld_eval"`)},
		kindPage:                    {Ours: holds(`<meta name="generator" content="hgld">`)},
		kindPlot:                    {Ours: holds(`<!-- hgld -->|tEXtSoftware\x00hgld|/Creator \(hgld\)`)},
		kindPoints:                  {Ours: besidePlot},
		kindExport:                  {Ours: holds(`hgld_export|hgld\.input`)},
		kindIndex:                   {Ours: index.Owns, Files: indexOutputs},
		kindForeign:                 {},
		kindVotes:                   {Ours: begins(`split,landmark_id,class,share,|tag,group,score\n`)},
		kindSKOS:                    {Ours: isSealed},
		"expected tags":             {Ours: begins(`landmark_id,outcome,tag\n`)},
		"a log of requests":         {Ours: begins(`\{"at":.*"action":`)},
		"files for trec_eval":       {Files: trecOutputs},
		kindTRECRun:                 {Ours: begins(`\S+ Q0 \S+ 1 \S+ hgld\n`)},
		kindTRECQrels: {Ours: func(path string) (bool, error) {
			return begins(`\S+ Q0 \S+ 1 \S+ hgld\n`)(strings.TrimSuffix(path, ".qrels") + ".run")
		}},
		"an evaluation with neighbours": {Files: evalExportOutputs},
		kindExportPart: {Ours: func(path string) (bool, error) {
			return begins(`\{\s*"hgld_eval"`)(exportResult(path))
		}},
		"a data set": {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{shards.LockName, shards.ManifestFile, shards.BuildFile})
		}},
		kindWebDataset: {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{shards.WebDatasetFile})
		}},
		"a run": {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{history.SettingsFile}, "lock", history.CheckpointsFolder)
		}},
		kindSearch: {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{tune.File}, "trial-*")
		}},
		kindStudy: {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{study.File})
		}},
		"a cache of vectors": {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, nil, strings.Repeat("[0-9a-f]", 64)+".safetensors")
		}},
		kindWeightsRecord: {Ours: begins(`\{\s*"version":\s*[0-9]+,\s*"name":`)},
		"the state of a scrape": {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{"scrape.db"}, "lock", "raw")
		}},
	}
}

// begins recognises files by how they begin.
func begins(expression string) func(string) (bool, error) { return holds("^(" + expression + ")") }

// isSealed recognises a text with its hash in the last line. One that a user changed is not recognised.
func isSealed(path string) (bool, error) {
	text, err := regular.ReadFile(path)
	if pipeline.IsMissing(err) {
		return false, nil
	}
	return err == nil && seal.CheckLines(text) == nil, err
}

// markedBytes is how much of either end of a file is searched for the mark of its kind.
const markedBytes = 8 << 10

// holds recognises files by what their first or last bytes contain.
func holds(expression string) func(string) (bool, error) {
	mark := regexp.MustCompile(expression)
	return func(path string) (bool, error) {
		f, err := regular.Open(path)
		if pipeline.IsMissing(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return false, err
		}
		for _, from := range []int64{0, info.Size() - markedBytes} {
			part, err := io.ReadAll(io.NewSectionReader(f, max(0, from), markedBytes))
			if err != nil || mark.Match(part) {
				return err == nil, err
			}
			if expression[0] == '^' {
				break
			}
		}
		return false, nil
	}
}

// isLabels recognises label files. One with the columns of a list of categories could be such a list.
func isLabels(path string) (bool, error) {
	columns := []string{`\{\s*"hgld_labels"`, `split,landmark_id,[a-z_,]*level_0`}
	for _, form := range labels.Forms {
		if list := labels.Columns(form); len(list) > 2 {
			columns = append(columns, strings.Join(list, ","))
		}
	}
	return begins(strings.Join(columns, "|"))(path)
}

// isFurther recognises a table of further parents that says what hgld writes. One with rows of another source, which
// somebody has added, is not recognised.
func isFurther(path string) (bool, error) {
	text, err := regular.ReadFile(path)
	if pipeline.IsMissing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	list, err := labels.ReadFurtherParents(bytes.NewReader(text), path)
	if err != nil {
		return false, nil // of another program
	}
	var again bytes.Buffer
	err = labels.WriteFurtherParents(&again, list)
	return err == nil && bytes.Equal(again.Bytes(), text), err
}

// labelOutputs lists the label files of a name with {split}.
func labelOutputs(name string) (list []pipeline.Output) {
	for _, path := range labels.PartNames(name) {
		list = append(list, pipeline.Output{Path: path, Kind: kindLabels})
	}
	return list
}

// indexOutputs lists the files of an index.
func indexOutputs(path string) (list []pipeline.Output) {
	for _, path := range index.Files(path) {
		list = append(list, pipeline.Output{Path: path, Kind: kindIndex})
	}
	return list
}

// trecOutputs lists the files for trec_eval.
func trecOutputs(prefix string) []pipeline.Output {
	return []pipeline.Output{{Path: prefix + ".run", Kind: kindTRECRun}, {Path: prefix + ".qrels", Kind: kindTRECQrels}}
}

// evalExportOutputs lists the files that `hgld eval export` writes.
func evalExportOutputs(prefix string) []pipeline.Output {
	list := []pipeline.Output{{Path: prefix + ".json", Kind: kindResult}}
	for _, path := range (report.Export{Prefix: prefix}).Files() {
		list = append(list, pipeline.Output{Path: path, Kind: kindExportPart})
	}
	return list
}

// exportResult returns the result beside another file of an export: a.json for a.scores.npy.
func exportResult(path string) string {
	for range 2 {
		path = strings.TrimSuffix(path, filepath.Ext(path))
	}
	return path + ".json"
}

// checkOutputs checks what a command without settings reads and writes.
func (j *job) checkOutputs(command string, in []string, out ...pipeline.Output) error {
	return j.project.CheckOutputs(pipeline.Writing{Command: command, In: in, Out: out, Replace: j.replace})
}

// replaceFlag allows a command to replace what it would keep.
func replaceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "replace", Usage: "overwrite files that hgld did not write, or that other work depends on"}
}
