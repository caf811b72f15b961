package main

import (
	"context"
	"errors"

	"hgld/cluster"
	"hgld/internal/blas"
	"hgld/train/report"
	"hgld/train/retrieval"
)

// evalOutputSettings name what is written besides the result.
type evalOutputSettings struct {
	Report     string `yaml:"report" path:"out" kind:"a page" usage:"HTML page to write: figures per level, curves, a map, and the images retrieved"`
	Images     string `yaml:"images" path:"in" usage:"with report: folder, archive or shards with the images named by the ids of the vectors"`
	Places     int    `yaml:"report_places" range:"1 1000" usage:"with report: items shown of each ranking"`
	TREC       string `yaml:"trec" path:"out" kind:"files for trec_eval" usage:"write PREFIX.run and PREFIX.qrels for trec_eval"`
	TRECPlaces int    `yaml:"trec_places" range:"1 1e7" usage:"length of each ranking in PREFIX.run"`
	TRECLeast  int    `yaml:"trec_least" range:"0 64" usage:"how many levels an item must share with the query to be listed in PREFIX.qrels: 1 is the coarsest class, 0 all levels, the finest class"`
}

// outputs opens the outputs that the settings ask for. With same, query i is row i of the
// gallery; otherwise self holds the gallery row of each query, or −1. truth decides what is
// relevant; nil: the labels do. classes returns the class names of a level.
func (e *evaluation) outputs(j *job, levels []string, truth retrieval.Truth, query, gallery report.Items, same bool,
	self []int32, classes func(level int) []string) (*report.Outputs, error) {
	s := &e.Outputs
	var list []report.Output
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
		t, err := report.TREC{Prefix: s.TREC, Places: s.TRECPlaces, Least: s.TRECLeast, Levels: len(levels),
			Truth: truth, Query: query, Gallery: gallery, Own: own, Say: j.say}.Open()
		if errors.As(err, new(*report.LeastError)) || errors.As(err, new(*report.IDError)) {
			return nil, withCode(exitUsage, err)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	if s.Report != "" {
		list = append(list, report.Page{Path: s.Report, Levels: levels, Classes: classes, Truth: truth, Query: query,
			Gallery: gallery, Limit: j.limit, Places: s.Places, Seed: e.Measures.Seed, Map: j.drawMap}.Open())
	}
	if e.export != nil {
		x := *e.export
		x.Levels, x.Classes, x.Query, x.Gallery, x.Limit = levels, classes, query, gallery, j.limit
		out, err := x.Open()
		if err != nil {
			return nil, errors.Join(err, report.Join(list...).Finish(j.ctx, nil, err))
		}
		list = append(list, out)
	}
	return report.Join(list...), nil
}

// drawMap lays out embeddings by t-SNE.
func (j *job) drawMap(ctx context.Context, vectors []float32, rows, cols int) ([]float32, error) {
	lib, err := blas.Default()
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	j.say("drawing a map of %s", count(rows, "embedding"))
	picture, err := cluster.TSNE{Seed: 1, MaxIter: 500, BLAS: lib}.Run(ctx,
		cluster.Matrix{Rows: rows, Cols: cols, Data: vectors})
	if err != nil {
		return nil, err
	}
	return picture.Y.Data, nil
}

// isUnshown reports whether err means that a page was written without some of its images.
func isUnshown(err error) bool { return errors.As(err, new(*report.UnshownError)) }

// pageError gives a page that lacks some images the exit code of failed items.
func pageError(err error) error {
	if !isUnshown(err) {
		return err
	}
	return withHint(withCode(exitSomeFailed, err),
		"the page shows the reason in place of each image; the same command writes the page again")
}
