package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/internal/tensorfile"
	"hgld/labels"
	"hgld/train"
	"hgld/train/device"
)

// evalEmbeddings measures vectors from files.
func evalEmbeddings(j *job, s *evalSettings, o train.EvalOptions) (*train.Result, error) {
	s.Labels, s.GalleryLabels = labelsBeside(s.Labels, s.Embeddings), labelsBeside(s.GalleryLabels, s.GalleryEmbeddings)
	if s.Labels == "" {
		return nil, usagef("--embeddings needs --labels, one row for each vector")
	}
	if (s.GalleryEmbeddings == "") != (s.GalleryLabels == "") {
		return nil, usagef("--gallery-embeddings and --gallery-labels go together")
	}
	b, err := j.openDevice(s.Threads)
	if err != nil {
		return nil, err
	}
	classes := &classes{say: j.say}
	e := &train.Evaluation{Metrics: o.Metrics, Ties: o.Ties, Threads: s.Threads, PerQuery: o.PerQuery, Mean: o.Mean,
		Intervals: o.Intervals, Gap: o.Gap, GapSeed: o.GapSeed}
	if e.Query, err = classes.side(b, s.Embeddings, s.Labels, s.Unit); err != nil {
		return nil, err
	}
	if s.GalleryEmbeddings == "" {
		e.Gallery = e.Query
		e.Self = make([]int32, len(e.Query.Labels))
		for i := range e.Self {
			e.Self[i] = int32(i)
		}
	} else if e.Gallery, err = classes.side(b, s.GalleryEmbeddings, s.GalleryLabels, s.Unit); err != nil {
		return nil, err
	}
	if n := min(j.limit, len(e.Query.Labels)); n > 0 {
		e.Query.Vectors, e.Query.Labels = e.Query.Vectors.RowRange(0, n), e.Query.Labels[:n]
		e.Query.IDs, e.Self = e.Query.IDs[:min(n, len(e.Query.IDs))], e.Self[:min(n, len(e.Self))]
	}
	e.Levels = classes.levels
	j.say("evaluating %s: %d queries, %d gallery items, %d levels", s.Embeddings, len(e.Query.Labels), len(e.Gallery.Labels), len(e.Levels))
	p := j.progress("rank", len(e.Query.Labels))
	defer p.end()
	e.Progress = func(done, _ int) { p.set(done, "") }
	outputs, err := s.outputs(j, e.Levels, vectorItems{&e.Query}, vectorItems{&e.Gallery}, e.Self != nil, nil, classes.names)
	if err != nil {
		return nil, err
	}
	e.Look = outputs.look()
	of, err := s.filesMeasured()
	if err != nil {
		return nil, errors.Join(err, outputs.finish(j.ctx, nil, err))
	}
	r, err := train.Evaluate(j.ctx, b, e)
	if err == nil {
		r.Of = of
		sayWithoutPositives(j, r)
	}
	return r, outputs.finish(j.ctx, r, err)
}

// sayWithoutPositives names the levels at which no two items share a class. A table
// whose first column numbers or names its rows has such a one.
func sayWithoutPositives(j *job, r *train.Result) {
	for l, level := range r.Levels {
		without := func(v train.Value) bool {
			return strings.HasSuffix(v.Key, fmt.Sprintf("_level%d", l)) && v.Skipped == r.Queries
		}
		if slices.ContainsFunc(r.Values, without) {
			j.say("level %q: no query has an item of its class to find; if the column only names the rows, call it id", level)
		}
	}
}

// side reads vectors and their labels.
func (c *classes) side(b device.Backend, embeddings, labelFile string, unit bool) (train.Side, error) {
	list, ids, err := c.read(labelFile)
	if err != nil {
		return train.Side{}, err
	}
	v, err := openVectors(embeddings)
	if err != nil {
		return train.Side{}, err
	}
	defer v.Close()
	if rows, _ := v.Rows(); rows != len(list) {
		return train.Side{}, usagef("%s has %d vectors and %s %d rows of labels", embeddings, rows, labelFile, len(list))
	}
	watched := &zeroRows{vectors: v}
	a, err := train.Upload(b, watched, unit)
	if err != nil {
		return train.Side{}, fmt.Errorf("%s: %w", embeddings, err)
	}
	if watched.count > 0 {
		name := ""
		if watched.first < len(ids) {
			name = fmt.Sprintf(" (%s)", ids[watched.first])
		}
		c.say("careful: %d of %d vectors of %s are all zeros, row %d%s first; all their scores are 0, so that "+
			"they rank by row and say nothing: "+
			"look for images that were not embedded, and leave them out", watched.count, len(list), embeddings,
			watched.first, name)
	}
	return train.Side{Vectors: a, Labels: list, IDs: ids}, nil
}

// vectors is an open file of embeddings.
type vectors interface {
	train.Vectors
	io.Closer
}

// zeroRows counts the rows of zeros among those that are read.
type zeroRows struct {
	vectors
	count, first int
}

// ReadRows implements train.Vectors.
func (z *zeroRows) ReadRows(dst []float32, lo int) error {
	err := z.vectors.ReadRows(dst, lo)
	_, cols := z.Rows()
	for i := 0; err == nil && i < len(dst); i += cols {
		if slices.ContainsFunc(dst[i:i+cols], func(x float32) bool { return x != 0 }) {
			continue
		}
		if z.count++; z.count == 1 {
			z.first = lo + i/cols
		}
	}
	return err
}

// openVectors opens a matrix: a .npy file, or the tensor called "embeddings", or
// the only one, of a .safetensors file.
func openVectors(path string) (vectors, error) {
	if extensions := []string{".npy", ".safetensors", ".parquet"}; !slices.Contains(extensions, filepath.Ext(path)) {
		return nil, withCode(exitUsage, fmt.Errorf("%s: %w", path, registry.Unknown("kind of file", filepath.Ext(path), extensions)))
	}
	v, err := matrixFrom(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return v, withCode(exitIntegrity, err)
}

func matrixFrom(path string) (vectors, error) {
	switch filepath.Ext(path) {
	case ".npy":
		a, err := tensorfile.OpenNPY(path)
		if err != nil {
			return nil, err
		}
		if len(a.Shape) != 2 {
			return nil, errors.Join(fmt.Errorf("%s: its shape is %v, want rows and columns", path, a.Shape), a.Close())
		}
		return a, nil
	case ".safetensors":
		f, err := tensorfile.OpenSafetensors(path)
		if err != nil {
			return nil, err
		}
		m, err := matrixOf(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
		}
		return m, f.Close()
	default:
		p, err := openParquet(path)
		if err != nil {
			return nil, err
		}
		m, err := p.matrix()
		return m, errors.Join(err, p.f.Close())
	}
}

// matrix is a tensor held in memory.
type matrix struct {
	cols   int
	values []float32
}

func matrixOf(f *tensorfile.File) (*matrix, error) {
	name := "embeddings"
	if names := f.Names(); !f.Has(name) {
		if len(names) != 1 {
			return nil, fmt.Errorf("it has %d tensors, %s, and none is called %q", len(names), firstFew(names), name)
		}
		name = names[0]
	}
	_, shape, err := f.Shape(name)
	if err != nil {
		return nil, err
	}
	if len(shape) != 2 {
		return nil, fmt.Errorf("the shape of %q is %v, want rows and columns", name, shape)
	}
	values, err := f.Float32(name)
	return &matrix{shape[1], values}, err
}

// firstFew joins names, and says how many it leaves out.
func firstFew(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

func (m *matrix) Rows() (rows, cols int) { return len(m.values) / max(m.cols, 1), m.cols }
func (m *matrix) Close() error           { return nil }

func (m *matrix) ReadRows(dst []float32, lo int) error {
	copy(dst, m.values[lo*m.cols:])
	return nil
}

// classes numbers the classes of label files, so that equal names are equal
// classes in all of them.
type classes struct {
	say     func(format string, args ...any)
	levels  []string
	builder *labels.Builder
}

// names lists the classes of a level.
func (c *classes) names(level int) []string {
	var names []string
	for _, class := range c.builder.Hierarchy().Levels[level].Classes {
		names = append(names, class.Name)
	}
	return names
}

// read returns the labels of a file and, if it has them, the names of its rows.
func (c *classes) read(path string) (list []labels.Path, ids []string, err error) {
	switch filepath.Ext(path) {
	case ".npy":
		list, err = c.readNPY(path)
	case ".parquet":
		list, ids, err = c.readParquet(path)
	default:
		list, ids, err = c.readCSV(path)
	}
	return list, ids, withCode(exitUsage, err)
}

// readCSV reads a table with a heading: a column called "id", if there is one,
// names the rows, and every other is a level, finest first. A row whose classes
// are all empty has no label; it is a distractor.
func (c *classes) readCSV(path string) (list []labels.Path, ids []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.ReuseRecord = true
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("%s is empty; want a heading with a column for each level, finest first", path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	idColumn := slices.Index(head, "id")
	level := func(row []string) []string {
		if idColumn < 0 {
			return row
		}
		return slices.Concat(row[:idColumn], row[idColumn+1:])
	}
	if err := c.declare(path, slices.Clone(level(head))); err != nil {
		return nil, nil, err
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return list, ids, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		line, _ := r.FieldPos(0)
		p, err := c.add(level(row), fmt.Sprintf("%s:%d", path, line))
		if err != nil {
			return nil, nil, err
		}
		list = append(list, p)
		if idColumn >= 0 {
			ids = append(ids, row[idColumn])
		}
	}
}

// readNPY reads integers [N], one level, or [N,L], finest first; −1 is no class.
func (c *classes) readNPY(path string) ([]labels.Path, error) {
	a, err := tensorfile.OpenNPY(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer a.Close()
	t, err := a.Tensor()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	values, err := t.Int64()
	if err != nil || len(a.Shape) == 0 || len(a.Shape) > 2 {
		return nil, fmt.Errorf("%s: %s%v, want integers [rows] or [rows, levels]", path, a.DType, a.Shape)
	}
	rows, cols := a.Rows()
	levels := make([]string, cols)
	for l := range levels {
		levels[l] = fmt.Sprintf("level_%d", l)
	}
	if err := c.declare(path, levels); err != nil {
		return nil, err
	}
	list := make([]labels.Path, rows)
	names := make([]string, cols)
	for i := range list {
		for l := range names {
			names[l] = numberName(values[i*cols+l])
		}
		if list[i], err = c.add(names, fmt.Sprintf("%s, row %d", path, i)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *classes) declare(path string, levels []string) error {
	switch {
	case len(levels) == 0:
		return fmt.Errorf("%s: no column with classes", path)
	case c.builder == nil:
		c.levels, c.builder = levels, labels.NewBuilder(levels...)
	case !slices.Equal(c.levels, levels):
		return fmt.Errorf("%s: its levels are %s, those of the queries %s", path, strings.Join(levels, ", "), strings.Join(c.levels, ", "))
	}
	return nil
}

// add numbers the classes of a row.
func (c *classes) add(names []string, where string) (labels.Path, error) {
	if !slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		p := make(labels.Path, len(names))
		for l := range p {
			p[l] = -1
		}
		return p, nil
	}
	return c.builder.Add(labels.Row{Names: names, Where: where})
}
