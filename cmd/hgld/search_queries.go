package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hgld/internal/img"
	"hgld/internal/texttable"
	"hgld/shards/dataset"
	"hgld/train"
	"hgld/train/index"
)

// sought is one query of a search: an image, or a row of the index.
type sought struct {
	name  string
	image func() ([]byte, error) // nil: a row of the index
}

// found is what a query retrieves.
type found struct {
	query   sought
	picture []byte // nil: a row of the index
	own     int    // row of the query in the index, or −1
	hits    []index.Hit
}

// defaultIndex sets the index of a search that names none to the run of the project, and finds one
// that is named as the project's settings would.
func (s *searching) defaultIndex() error {
	if s.index != "" {
		if _, err := os.Stat(s.index); err != nil {
			if _, err := os.Stat(s.project.Join(s.index)); err == nil {
				s.index = s.project.Join(s.index)
			}
		}
		return nil
	}
	t, err := trainStage().Load(s.project, nil)
	if err != nil {
		return err
	}
	if _, err := os.Stat(t.Out); err != nil {
		return withHint(usagef("search needs --index, a file of vectors or a run directory, and there is no %s", t.Out),
			"hgld eval embed --run runs/default photos makes photos.npy of a folder of images")
	}
	s.index = t.Out
	return nil
}

// listQueries lists the images that the arguments name: files, and folders of images. A single image
// that cannot be read is an error before anything is embedded.
func (s *searching) listQueries() ([]sought, error) {
	if s.byID {
		return []sought{{name: s.id}}, nil
	}
	var all []sought
	for _, path := range s.args {
		info, err := os.Stat(path)
		switch {
		case err != nil && strings.Contains(path, "://"):
			return nil, withHint(withCode(exitUsage, err), "download it first: the query is an image file on this machine")
		case err != nil:
			return nil, withHint(withCode(exitUsage, err), "the query is an image file; --id searches for a row of the index")
		case info.IsDir():
			folder, err := dataset.OpenImages(s.ctx, path)
			if err != nil {
				return nil, asUsage(err)
			}
			s.opened = append(s.opened, folder)
			for _, note := range folder.Notes() {
				s.say("note: %s", note)
			}
			for i := range folder.Len() {
				all = append(all, sought{filepath.Join(path, folder.ID(i)),
					func() ([]byte, error) { return folder.Image(s.ctx, i) }})
			}
		default:
			all = append(all, sought{path, func() ([]byte, error) { return os.ReadFile(path) }})
		}
	}
	if len(all) > 1 && s.page != "" {
		return nil, usagef("--report shows one query, and there are %d", len(all))
	}
	if len(all) == 1 {
		data, err := all[0].image()
		if err != nil {
			return nil, withCode(exitUsage, err)
		}
		if _, err := (&img.Decoder{}).Info(data); err != nil {
			return nil, noImage(all[0].name, err)
		}
	}
	return all, nil
}

func noImage(name string, err error) error {
	return withCode(exitUsage, fmt.Errorf("%s is no image that can be read: %w", name, err))
}

// vector returns the vector of a query, and its row in the index or −1.
func (s *searching) vector(q sought, picture []byte) (row int, v []float32, err error) {
	if q.image == nil {
		if row, err = s.x.Row(q.name); err != nil {
			return 0, nil, withCode(exitUsage, err)
		}
		v, err = s.x.Vector(row)
		return row, v, err
	}
	if err := s.queryModel(); err != nil {
		return 0, nil, err
	}
	if v, err = index.EmbedImage(s.ctx, s.embedder, q.name, picture); err != nil {
		var broken *train.ImageError
		if errors.As(err, &broken) {
			return 0, nil, noImage(q.name, broken.Err)
		}
		return 0, nil, trainError(err)
	}
	if err := s.x.Fits(s.weights, s.embedderRun, len(v)); err != nil {
		return 0, nil, withHint(withCode(exitUsage, err), "leave --run out, or make the index again: "+
			"hgld eval embed --run %s", s.embedderRun)
	}
	return -1, v, nil
}

// queryModel opens the model that embeds queries, once.
func (s *searching) queryModel() (err error) {
	if s.embedder != nil {
		return nil
	}
	run := s.model.Run
	if run == "" && s.x.Info != nil {
		run = index.Resolve(s.index, s.x.Info.Checkpoint)
	}
	if run == "" {
		return withHint(usagef("%s does not say which model made it", s.index),
			"--run names the run that embeds the query; --id searches for a row of the index without a model")
	}
	m, err := s.openModel(run)
	if errors.Is(err, fs.ErrNotExist) {
		return withHint(withCode(exitUsage, err), "the model of the index is gone or was moved: --run names it")
	}
	if err != nil {
		return err
	}
	if s.weights, err = m.WeightsSum(); err != nil {
		return trainError(err)
	}
	s.embedder, s.embedderRun = m, run
	return nil
}

// searchAll searches for every query. One of several whose image cannot be read is reported, and the
// others are searched.
func (s *searching) searchAll(queries []sought) (all []found, err error) {
	b, err := s.openDevice(s.model.Threads)
	if err != nil {
		return nil, err
	}
	var failed error
	p := s.progress("search", len(queries))
	defer p.End()
	for i, q := range queries {
		f := found{query: q, own: -1}
		var v []float32
		if q.image != nil {
			f.picture, err = q.image()
		}
		if err == nil {
			f.own, v, err = s.vector(q, f.picture)
		}
		switch {
		case err != nil && len(queries) > 1 && s.embedder != nil && s.ctx.Err() == nil:
			s.say("%v", err)
			failed = errors.Join(failed, err)
			err = nil
			continue
		case err != nil:
			return nil, err
		}
		if f.hits, err = s.x.Nearest(s.ctx, b, v, s.k, f.own); err != nil {
			return nil, withCode(exitIntegrity, fmt.Errorf("%s: %w", s.index, err))
		}
		if len(queries) > 1 {
			f.picture = nil
		}
		all = append(all, f)
		p.Set(i+1, "")
	}
	if failed != nil {
		s.failed = withCode(exitSomeFailed, fmt.Errorf("search: %d of %s cannot be read", len(queries)-len(all),
			count(len(queries), "image")))
	}
	return all, nil
}

// print writes the neighbours to stdout: of several queries as one table with the query in front.
func (s *searching) print(all []found) error {
	if s.format == "json" {
		var list []map[string]any
		for _, f := range all {
			list = append(list, map[string]any{"index": s.index, "query": f.query.name, "levels": s.x.Levels,
				"neighbours": f.hits})
		}
		if !s.several {
			return writeJSON(s.job, list[0])
		}
		return writeJSON(s.job, list)
	}
	var whole texttable.Table
	for _, f := range all {
		t := s.x.Table(f.hits)
		if !s.several {
			return t.Write(s.stdout, s.format)
		}
		whole.Head = append([]string{"query"}, t.Head...)
		for _, row := range t.Rows {
			whole.Rows = append(whole.Rows, append([]string{f.query.name}, row...))
		}
	}
	return whole.Write(s.stdout, s.format)
}
