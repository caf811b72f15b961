package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/texttable"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/train/embeddings"
	"hgld/train/evaluation"
	"hgld/train/experiment/outputs"
	"hgld/train/index"
	"hgld/train/input"
)

const searchExamples = "  hgld search --index photos.npy new.jpg  the nearest images in an index\n" +
	"  hgld search --index photos.npy --report found.html new.jpg   and a page with the images\n" +
	"  hgld search --index photos.npy --id cats/1.jpg\n" +
	"                                          the neighbours of an indexed image; needs no model\n" +
	"  hgld search --index e.npy --labels l.csv --id img7\n" +
	"                                          the same for vectors of any program\n" +
	"  hgld search --index runs/happier new.jpg\n" +
	"                                          the run's test images, or all if it holds out classes\n" +
	"  hgld search new.jpg                     the same with the run of the project\n" +
	"  hgld search --format csv queries        every image of a folder\n\n" +
	"  The search is exact: it compares the query with every row. Scores are cosine similarities."

func searchCommand() *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "find the nearest images of a query in an index", ArgsUsage: "IMAGE…",
		Description: searchExamples,
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "index", Usage: "`FILE` of vectors (.npy, .npz, .safetensors, .parquet, .pt, .pkl), or a run directory"},
			&cli.StringFlag{Name: "id", Usage: "search for the row `ID` of the index instead of an image"},
			&cli.StringFlag{Name: "labels", Usage: "`FILE` with ids and classes of the index; empty: the .csv next to it, if any"},
			&cli.StringFlag{Name: "run", Usage: "run `DIR` whose model embeds the query; empty: the one that made the index"},
			bestFlag(),
			&cli.IntFlag{Name: "top-k", Aliases: []string{"k"}, Value: 10, Usage: "show the `N` nearest"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the table: text, json, csv, markdown or latex"},
			&cli.StringFlag{Name: "report", Usage: "HTML page to write: `FILE`"},
			&cli.StringFlag{Name: "images", Usage: "`PATH` of a folder, archive or shards with the images; empty: as recorded"},
			replaceFlag(), deviceFlag()),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			s := searching{job: j, index: c.String("index"), id: c.String("id"), byID: c.IsSet("id"), labels: c.String("labels"),
				k: c.Int("top-k"), format: c.String("format"), page: c.String("report"), images: c.String("images"),
				model: evalModelSettings{Run: c.String("run"), Best: c.Bool("best")}}
			if j.json {
				s.format = "json"
			}
			return errors.Join(s.run(), s.close(), j.Close())
		},
	}
}

// searching is a search in progress.
type searching struct {
	*job
	index, id, labels, format, page, images string
	byID                                    bool
	k                                       int
	model                                   evalModelSettings
	x                                       *index.Index
	opened                                  []io.Closer
	own                                     input.Dataset // images of a run; nil: the index is a file
}

func (s *searching) close() (err error) {
	for _, c := range s.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}

func (s *searching) check() error {
	switch {
	case s.byID && len(s.args) > 0:
		return usagef("--id %.80q and the image %.80q are two queries; give one", s.id, s.args[0])
	case !s.byID && len(s.args) == 0:
		return withHint(usagef("search takes one or more images, or a folder of images; got none"),
			"--id searches for a row of the index")
	case s.k < 1:
		return usagef("--top-k is %d; want 1 or more", s.k)
	case s.format == "json":
		return nil
	}
	if err := texttable.CheckFormat(s.format); err != nil {
		return withHint(withCode(exitUsage, fmt.Errorf("--format: %w", err)), "json is also accepted")
	}
	return nil
}

func (s *searching) run() error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.defaultIndex(); err != nil {
		return err
	}
	in := append([]string{s.index, s.labels}, s.args...)
	if err := s.checkOutputs("search", in, pipeline.Output{Path: s.page, Kind: kindPage}); err != nil {
		return err
	}
	queries, err := s.listQueries()
	if err == nil {
		err = s.open()
	}
	if err != nil {
		return err
	}
	search := &index.Search{Index: s.x, K: s.k, Failed: func(err error) { s.log("%v", err) }}
	if !s.byID {
		if search.Embedder, err = s.embedder(); err != nil {
			return err
		}
	}
	if search.Backend, err = s.openDevice(); err != nil {
		return err
	}
	p := s.progress("search", len(queries))
	search.Progress = func(done int) { p.Set(done, "") }
	all, failed := search.All(s.ctx, queries)
	p.End()
	if len(all) == 0 {
		return failed
	}
	d, err := s.pictures()
	if err == nil && d != nil {
		err = index.Locate(s.ctx, all, d)
	}
	if err != nil {
		return err
	}
	if s.format == "json" {
		err = writeJSON(s.job, s.x.Document(s.index, all, len(queries) > 1))
	} else {
		err = s.x.WriteTable(asTable(s.stdout, s.format), s.format, all, len(queries) > 1)
	}
	if err == nil && s.page != "" {
		err = s.report(&all[0], d)
	}
	return errors.Join(err, failed)
}

// listQueries lists the images that the arguments name, or the row of --id.
func (s *searching) listQueries() ([]index.Query, error) {
	if s.byID {
		return []index.Query{{Name: s.id}}, nil
	}
	decoder, _, err := imageDecoder()
	if err != nil {
		return nil, err
	}
	p, err := dataset.OpenPictures(s.ctx, decoder, s.args)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	s.opened = append(s.opened, p)
	s.logAll("note: %s", p.Notes)
	if len(p.Names) > 1 && s.page != "" {
		return nil, usagef("--report shows one query, and there are %d", len(p.Names))
	}
	var queries []index.Query
	for i, name := range p.Names {
		queries = append(queries, index.Query{Name: name, Image: p.Open[i]})
	}
	return queries, nil
}

// defaultIndex finds the index: the run of the project where none is named.
func (s *searching) defaultIndex() error {
	t, err := trainStage().Load(s.project, nil)
	if err == nil && s.index == "" && len(pipeline.Missing([]string{t.Out})) > 0 {
		err := usagef("search needs --index, a file of vectors or a run directory, and there is no %s", t.Out)
		if s.project.File != "" {
			return withHint(err, "hgld run trains the model of this project, which searches its images")
		}
		return withHint(err, "hgld embed-images --weights FILE photos makes photos.npy of a folder of images")
	}
	if err == nil {
		s.index = s.project.Find(cmp.Or(s.index, t.Out))
	}
	return err
}

// open opens the index: a file, or the images of a run.
func (s *searching) open() (err error) {
	info, err := os.Stat(s.index)
	switch {
	case pipeline.IsMissing(err) && embeddings.Meant(s.index) != "":
		return withHint(withCode(exitUsage, err), "did you mean --index %s?", word(embeddings.Meant(s.index)))
	case pipeline.IsMissing(err):
		return withHint(withCode(exitUsage, err), "hgld embed-images --run RUN --out %s makes an index of images",
			word(s.index))
	case err != nil:
		return err
	case info.IsDir():
		return s.openRun()
	}
	if s.x, err = index.Open(s.ctx, s.index, s.labels, openVectors); err != nil {
		return asUsage(err)
	}
	s.opened = append(s.opened, s.x)
	s.logAll("%s", s.x.Notes)
	return nil
}

// openRun embeds the images of a run: those of its test or, where classes are held out, all.
func (s *searching) openRun() error {
	if s.labels != "" || s.model.Run != "" {
		return usagef("--labels and --run need an index that is a file of vectors, but %s is a folder", s.index)
	}
	s.model.Run = s.index
	choice, err := new(evalImageSettings).choice(s.ctx, s.index)
	if err != nil {
		return err
	}
	choice.HoldOut, choice.ExtraParents = 0, "" // a search judges nothing
	data, err := openData(s.ctx, choice)
	if pipeline.IsMissing(err) {
		return withHint(err, "the images of the run are missing: copy them too, or make an index of other images: "+
			"hgld embed-images --run %s PHOTOS", word(s.index))
	}
	if err != nil {
		return err
	}
	s.opened = append(s.opened, data)
	s.own = data.Searched()
	m, err := s.openModel(s.index)
	if err != nil {
		return err
	}
	sum, err := m.WeightsSum()
	if err != nil {
		return err
	}
	if s.x = index.Made(s.ctx, ".", sum, s.own, openVectors); s.x != nil {
		s.opened = append(s.opened, s.x)
		s.log("%s has the embeddings of %s by this model", s.x.Path, choice.Files()[0])
		return nil
	}
	s.log("embedding %s of %s; to keep the index, use hgld embed-images", count(s.own.Len(), "image"), choice.Files()[0])
	p := s.progress("embed", s.own.Len())
	defer p.End()
	s.x, err = index.Of(s.ctx, m, s.own, func(done, _ int) { p.Set(done, "") })
	return err
}

// openModel opens the model of a run or checkpoint.
func (s *searching) openModel(run string) (*evaluation.Model, error) {
	s.model.Run = run
	m, err := s.model.open(s.job)
	if err == nil {
		s.opened = append(s.opened, m)
	}
	return m, err
}

// embedder opens the model that embeds the queries.
func (s *searching) embedder() (*index.Embedder, error) {
	run := s.model.Run
	if run == "" && s.x.Info != nil {
		run = index.Resolve(s.index, s.x.Info.Checkpoint)
	}
	if run == "" {
		return nil, withHint(usagef("%s does not record which model made it", s.index),
			"name the run that embeds the query with --run, or search for a row of the index with --id")
	}
	var m *evaluation.Model
	var err error
	again := "name its run with --run"
	if s.model.Run == "" && s.x.Info.Published != nil {
		if m, err = openRecorded(s.job, s.index, s.x.Info); err == nil {
			s.opened = append(s.opened, m)
		}
		again = "make the index again with hgld embed-images"
	} else {
		m, err = s.openModel(run)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(withCode(exitUsage, err), "the model of the index was moved or removed: %s", again)
	}
	if err != nil {
		return nil, err
	}
	return index.NewEmbedder(m, run)
}

// report writes the page. Without images, it writes only the table and tells the user.
func (s *searching) report(r *index.Found, d input.Dataset) error {
	f := outputs.FoundIn(s.x, r)
	f.Path, f.Index = s.page, s.index
	if d == nil {
		s.log("the page has no images: name the folder that contains them with --images")
	} else {
		f.Image = outputs.ImagesByID(d)
		if r.Own >= 0 {
			f.Picture = func() ([]byte, error) { return f.Image(s.ctx, s.id) }
		}
	}
	return pageError(f.Write(s.ctx))
}

// pictures opens the images of the index. It returns nil if their place is unknown or they
// are missing. If no page is wanted it opens only shards, whose ids are not paths.
func (s *searching) pictures() (input.Dataset, error) {
	path := s.images
	if s.own != nil && path == "" {
		return s.own, nil
	}
	if path == "" && s.x.Info != nil {
		path = index.Resolve(s.index, s.x.Info.Data)
		if len(pipeline.Missing([]string{path})) > 0 {
			path = ""
		}
	}
	if path == "" || embeddings.IsKind(path) || s.page == "" && !shards.IsDataSet(s.ctx, path) {
		return nil, nil
	}
	d, closer, err := openItems(&job{ctx: s.ctx, quiet: true}, path, "", vectorLabels{})
	if err != nil {
		return nil, err
	}
	s.opened = append(s.opened, closer)
	return d, nil
}

// indexAdvice has the exit codes and next steps for errors of an index of embeddings.
var indexAdvice = []advice{
	kind(exitUsage, func(e *index.IDError) string {
		if e.Numbers {
			return "name a table of the ids with --labels, or search for a number, such as --id 0"
		}
		return ""
	}),
	kind(exitUsage, func(*index.OtherVectorsError) string { return "name another file" }),
	kind[*index.ImageError](exitUsage, nil),
	kind[*index.UnreadError](exitSomeFailed, nil),
	kind[*index.DamageError](exitIntegrity, nil),
	kind(exitIntegrity, func(*index.ChangedError) string { return "make the index again with hgld embed-images" }),
	kind(exitIntegrity, func(e *index.InfoError) string {
		return "make the index again with hgld embed-images; if another program wrote it, give it another name"
	}),
	kind(exitUsage, func(e *index.ModelError) string {
		return "leave --run out, or make the index again: hgld embed-images --run " + word(e.Model)
	}),
}
