package main

import (
	"bytes"
	"io"
	"regexp"
	"strings"

	"hgld/internal/pipeline"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/labels"
	"hgld/shards"
	"hgld/train/experiment/outputs"
	"hgld/train/experiment/plan"
	"hgld/train/experiment/runs"
	"hgld/train/index"
	"hgld/train/pretrained"
)

// The kinds of outputs, as messages name them and as settings declare them by the tag kind.
const (
	kindTags       = "tags"
	kindChanges    = "a list of changes"
	kindDraft      = "a draft"
	kindHierarchy  = "a hierarchy"
	kindLabels     = "labels"
	kindExtra      = "extra parents"
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
	kindStudy      = "a study"
	kindVotes      = "a list of votes"
	kindWebDataset = "a WebDataset"

	kindWeightsRecord = "a record of weights"
	kindRevisited     = "values by protocol"
)

// outputKinds says which mark each kind has that only hgld writes. A kind without one is known by its SHA-256, see
// [pipeline.Project.CheckOutputs].
func outputKinds() map[string]pipeline.Kind {
	return map[string]pipeline.Kind{
		kindTags:                        {Ours: begins(`\{"hgld_tags"`)},
		"items of Wikidata":             {Ours: begins(`\{"hgld_items"`)},
		kindChanges:                     {},
		"vectors of tags":               {Ours: holds(`"format":"hgld-vectors/`)},
		kindDraft:                       {Ours: begins(`\{\s*"hgld_draft"`), ByHand: true},
		kindHierarchy:                   {Ours: begins(`\{\s*"hgld_hierarchy"`), ByHand: true},
		kindLabels:                      {Files: labelOutputs, ByHand: true},
		kindExtra:                       {Ours: labels.WroteExtraParents},
		"a list of unlabelled ones":     {},
		kindResult:                      {Ours: begins(`\{\s*"hgld_eval"`)},
		kindPage:                        {Ours: holds(`<meta name="generator" content="hgld">`)},
		kindPlot:                        {Ours: holds(`<!-- hgld -->|tEXtSoftware\x00hgld|/Creator \(hgld\)`)},
		kindPoints:                      {},
		kindExport:                      {Ours: holds(`hgld_export|hgld\.input`)},
		kindIndex:                       {Ours: index.Owns, Files: indexOutputs},
		kindForeign:                     {},
		kindRevisited:                   {Ours: begins("protocol,query,AP,P@1,")},
		kindVotes:                       {},
		kindSKOS:                        {Ours: isSKOS},
		"expected tags":                 {},
		"a log of requests":             {},
		"files for trec_eval":           {Files: trecOutputs},
		kindTRECRun:                     {Ours: begins(`\S+ Q0 \S+ 1 \S+ hgld\n`)},
		kindTRECQrels:                   {},
		"an evaluation with neighbours": {Files: evalExportOutputs},
		kindExportPart:                  {},
		"a data set": {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{shards.LockName, shards.ManifestFile, shards.BuildFile})
		}, Part: shards.IsPart},
		kindWebDataset: {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{shards.WebDatasetFile})
		}},
		"a run": {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{runs.SettingsFile}, "lock", runs.CheckpointsFolder)
		}},
		kindStudy: {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{plan.File})
		}},
		"a cache of vectors": {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, nil, strings.Repeat("[0-9a-f]", 16)) // a folder for each encoder
		}},
		kindWeightsRecord: {Ours: func(path string) (bool, error) {
			r, err := pretrained.ReadRecord(path)
			return err == nil && r.Version > 0 && len(r.SHA256) == 64, nil
		}},
		"the state of a scrape": {Folder: true, Ours: func(dir string) (bool, error) {
			return pipeline.HasEntries(dir, []string{"scrape.db"}, "lock", "raw")
		}},
	}
}

// begins recognises files by how they begin.
func begins(expression string) func(string) (bool, error) { return holds("^(" + expression + ")") }

// isSKOS recognises Turtle with its hash in the last line. One that a user changed is not recognised.
func isSKOS(path string) (bool, error) {
	text, err := regular.ReadFile(path)
	return err == nil && bytes.HasPrefix(text, []byte("@prefix rdf: <")) && seal.CheckLines(text) == nil, err
}

// markedBytes is how much of either end of a file is searched for the mark of its kind.
const markedBytes = 8 << 10

// holds recognises files by what their first or last bytes contain.
func holds(expression string) func(string) (bool, error) {
	mark := regexp.MustCompile(expression)
	return func(path string) (bool, error) {
		f, err := regular.Open(path)
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

// evalExportOutputs lists the files that `hgld eval run --export` writes.
func evalExportOutputs(prefix string) []pipeline.Output {
	list := []pipeline.Output{{Path: prefix + ".json", Kind: kindResult}}
	for _, path := range (outputs.Export{Prefix: prefix}).Files() {
		list = append(list, pipeline.Output{Path: path, Kind: kindExportPart})
	}
	return list
}

// checkOutputs checks what a command without settings reads and writes.
func (j *job) checkOutputs(command string, in []string, out ...pipeline.Output) error {
	return j.project.CheckOutputs(pipeline.Writing{Command: command, In: in, Out: out, Replace: j.replace})
}
