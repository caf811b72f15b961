package main

import (
	"image"

	"hgld/train/experiment/outputs"
	"hgld/train/figure"
	"hgld/train/input"
	"hgld/train/landmarks"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

func drawRetrieved(j *job, s *figureSettings) (picture, []string, error) {
	if s.Images == "" || len(s.Query) == 0 {
		return nil, nil, usagef("figure retrieved needs --images and --query")
	}
	r, inputs, err := s.retrieval(j)
	if err != nil {
		return nil, nil, err
	}
	var rows []int
	for _, name := range s.Query {
		row, err := rowOf(r.Queries.IDs, len(r.Queries.IDs), name)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
	}
	d, closer, err := openItems(&job{ctx: j.ctx, quiet: true}, s.Images, "", vectorLabels{})
	if err != nil {
		return nil, nil, err
	}
	defer closer.Close()
	a := &figure.Album{Image: outputs.ImagesByID(d), Side: s.Side}
	p, err := figure.Retrieved(j.ctx, r, a, rows, s.TopK)
	return p, append(inputs, s.Images), err
}

// retrieval reads the vectors of both sides, and what decides.
func (s *figureSettings) retrieval(j *job) (*figure.Retrieval, []string, error) {
	switch {
	case len(s.Embeddings) != 1:
		return nil, nil, usagef("--embeddings names %d files, want 1", len(s.Embeddings))
	case s.QrelsUsage != "" && s.Qrels == "":
		return nil, nil, usagef("qrels_usage is the part of a file of judgements; add --qrels")
	case s.ExtraParents != "" && s.Qrels != "":
		return nil, nil, usagef("extra_parents applies to classes, which --qrels replaces: leave one out")
	}
	b, err := j.openDevice()
	if err != nil {
		return nil, nil, err
	}
	in := s.input(j, s.Embeddings[0])
	in.GalleryEmbeddings, in.GalleryLabels, in.EqualIDs = s.GalleryEmbeddings, s.GalleryLabels, s.EqualIDs
	in.Qrels, in.Usage = s.Qrels, s.QrelsUsage
	e, err := s.read(j, b, in)
	if err != nil {
		return nil, nil, err
	}
	defer e.Close()
	r := &figure.Retrieval{Self: e.Self, Levels: len(e.Levels), Junk: s.Junk}
	if in.Qrels == "" {
		r.Names = e.Classes.Names
	}
	if e.Truth != nil {
		r.Truth = e.Truth
	}
	for _, side := range []struct {
		to   *figure.Side
		from *retrieval.Side
		file string
	}{{&r.Queries, &e.Query, in.Embeddings}, {&r.Gallery, &e.Gallery, in.GalleryEmbeddings}} {
		if side.from.IDs == nil {
			return nil, nil, usagef("%s has no ids, by which images are found: add a column id to the labels", side.file)
		}
		side.to.IDs = side.from.IDs
		if side.to.Items, err = itemsOf(b, side.from); err != nil {
			return nil, nil, err
		}
	}
	if qrels.IsRevisited(in.Usage) {
		if r.Box, err = boxesOf(in.Qrels); err != nil {
			return nil, nil, err
		}
	}
	files := []string{in.Embeddings, in.Labels, in.GalleryEmbeddings, in.GalleryLabels, in.Qrels, s.ExtraParents}
	return r, named(files), nil
}

// boxesOf returns a function that finds the box of a query of Revisited Oxford or Paris.
func boxesOf(truth string) (func(id string) image.Rectangle, error) {
	benchmark, err := landmarks.Read(truth)
	if err != nil {
		return nil, err
	}
	boxes := map[string]image.Rectangle{}
	for i, name := range benchmark.Queries {
		boxes[qrels.Stem(name)] = input.WholePixels(benchmark.Boxes[i])
	}
	return func(id string) image.Rectangle { return boxes[qrels.Stem(id)] }, nil
}
