package main

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"hgld/cluster"
	"hgld/internal/blas"
	"hgld/internal/pipeline"
	"hgld/labels"
	"hgld/train/experiment/outputs"
	"hgld/train/retrieval"
)

// evalOutputSettings name what is written besides the result.
type evalOutputSettings struct {
	Report       string `yaml:"report" path:"out" kind:"a page" usage:"HTML page to write: figures per level, curves, a map, and the images retrieved"`
	Images       string `yaml:"images" path:"in" usage:"with report: folder, archive or shards with the images named by the ids of the vectors"`
	TopK         int    `yaml:"top_k" flag:"-" range:"0 1e7" usage:"items of each ranking to write; 0: 10 with report, 100 with export, 1000 with trec"`
	TREC         string `yaml:"trec" path:"out" kind:"files for trec_eval" usage:"write PREFIX.run and PREFIX.qrels for trec_eval"`
	TRECMinLevel int    `yaml:"trec_min_level" flag:"-" range:"0 64" usage:"how many levels an item must share with the query to be listed in PREFIX.qrels: 1 is the coarsest class, 0 all levels, the finest class"`
}

// besideOut returns a function that moves a file which a stage writes beside its result to a result that a command
// line names, now or at the last run: the project's own belongs to the project's result. The file gets the name of
// the result with the ending; beside a result with the usual name it keeps its own. A file that a command line names,
// too, stays where it is.
func besideOut(p *pipeline.Project, stage, out, usual string) func(key string, side *string, ending string) {
	typed := func(key string) bool {
		from := p.Origin(stage + "." + key)
		return strings.HasPrefix(from, "-") || strings.HasPrefix(from, ".hgld/")
	}
	return func(key string, side *string, ending string) {
		switch name := strings.TrimSuffix(out, filepath.Ext(out)); {
		case *side == "" || !typed("out") || typed(key):
		case filepath.Base(out) == usual:
			*side = labels.Beside(out, filepath.Base(*side))
		default:
			*side = strings.NewReplacer("{split}_", "", "_{split}", "", "{split}", "all").Replace(name) + ending
		}
	}
}

// outputs opens the outputs that the settings ask for. With same, query i is row i of the
// gallery; otherwise self holds the gallery row of each query, or −1. truth decides what is
// relevant; nil: the labels do. classes returns the class names of a level; nil: there are judgements instead.
func (e *evalRun) outputs(j *job, levels []string, truth retrieval.Truth, query, gallery outputs.Items, same bool,
	self []int32, classes func(level int) []string) (*outputs.Outputs, error) {
	s := &e.Outputs
	var list []outputs.Output
	if s.TREC != "" {
		own := func(q int) int {
			switch {
			case same:
				return q
			case self != nil:
				return int(self[q])
			}
			return -1
		}
		t, err := outputs.TREC{Prefix: s.TREC, Places: cmp.Or(s.TopK, 1000), Least: s.TRECMinLevel, Levels: len(levels),
			Truth: truth, Query: query, Gallery: gallery, Own: own, Log: j.log}.Open()
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	if s.Report != "" {
		list = append(list, outputs.Page{Path: s.Report, Levels: levels, Classes: classes, Truth: truth, Query: query,
			Gallery: gallery, Limit: j.limit, Places: s.TopK, Map: j.drawMap}.Open())
	}
	if e.export != nil {
		x := *e.export
		x.Levels, x.Classes, x.Query, x.Gallery, x.Limit = levels, classes, query, gallery, j.limit
		out, err := x.Open()
		if err != nil {
			return nil, errors.Join(err, outputs.Join(list...).Finish(j.ctx, nil, err))
		}
		list = append(list, out)
	}
	return outputs.Join(list...), nil
}

// drawMap lays out embeddings by t-SNE.
func (j *job) drawMap(ctx context.Context, vectors []float32, rows, cols int) ([]float32, error) {
	lib, err := blas.Default()
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	j.log("drawing a map of %s", count(rows, "embedding"))
	picture, err := cluster.TSNE{Seed: 1, MaxIter: 500, BLAS: lib}.Run(ctx,
		cluster.Matrix{Rows: rows, Cols: cols, Data: vectors})
	if err != nil {
		return nil, err
	}
	return picture.Data, nil
}

// isUnshown reports whether err means that a page was written without some of its images.
func isUnshown(err error) bool { return errors.As(err, new(*outputs.UnshownError)) }

// pageError gives a page that lacks some images the exit code of failed items.
func pageError(err error) error {
	if !isUnshown(err) {
		return err
	}
	return withHint(withCode(exitSomeFailed, err),
		"the page shows the reason in place of each image; the same command writes the page again")
}

// reportAdvice has the exit codes and next steps for errors of exports and their tables.
var reportAdvice = []advice{
	kind(exitUsage, func(*outputs.MetricError) string { return "name one of them with --metrics, such as AP_level0" }),
	kind(exitIntegrity, func(*outputs.ExportError) string {
		return "make the export again with hgld eval run --export; if you changed the file on purpose, give it another name"
	}),
}
