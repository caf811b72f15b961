package embeddings

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"hgld/internal/atomicfile"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

// Input names the files of an evaluation.
type Input struct {
	Embeddings        string // vectors of the queries
	Labels            string // their labels
	GalleryEmbeddings string // vectors of the gallery; "": the queries rank one another, or one table has both sides
	GalleryLabels     string // labels of the gallery
	Unit              bool   // scale the vectors to unit length

	Labelling // how the labels are read

	// EqualIDs says what rows with one id on both sides are: SameImages, OtherImages, or "" if their
	// classes and vectors must agree.
	EqualIDs string

	// Qrels is a file of judgements that decides what is right for a query. Only the ids of the
	// labels are then read. "": the labels decide.
	Qrels string

	// Usage selects a part of Qrels; see qrels.Read.
	Usage string

	// Limit uses only the first queries; 0: all.
	Limit int

	// InPlace leaves the vectors in their files until Evaluation.Close, if the device is the host.
	// They are checked at once, and read and scaled in panels when they are ranked. On other
	// devices they are uploaded.
	InPlace bool

	// Open opens a file of vectors.
	Open func(path string) (Vectors, error)

	// Verify checks a file of vectors or labels against a record of it before it is read; nil: there
	// are no records.
	Verify func(path string) error
}

// Labelling says how files of labels are read.
type Labelling struct {
	// Independent says that the levels do not form a tree: each column is numbered by itself, and
	// a class may have several parents.
	Independent bool

	// Ignore is a column that is no level. Items that share a query's value are removed from its
	// ranking; "": none are.
	Ignore string

	// Columns are the columns that are levels, finest first; empty: those of the first file that may be.
	Columns []string

	// Missing are the cells that mean no class besides the empty one and −1; with [spelling.MissingEmpty], −1 is a
	// class. Empty: also the usual words, such as nan.
	Missing []string

	// Partial keeps rows that lack some levels, which then say nothing of them; otherwise they are an error.
	Partial bool

	// Part is the split of the rows to use of a table of OpenMetricLearning; "": all.
	Part string

	// Recorded reports whether hgld has written a file of labels, all of whose columns are levels; nil: none.
	Recorded func(path string) bool

	// Log receives remarks for the reader of the result; nil: no one does.
	Log func(format string, args ...any)
}

// log passes on a remark.
func (l *Labelling) log(format string, args ...any) {
	if l.Log != nil {
		l.Log(format, args...)
	}
}

// Complete finds labels that are not named, in the files of the vectors or beside them, and
// checks that none is missing. Its errors are usage errors.
func (in *Input) Complete() (err error) {
	if IsTable(in.Embeddings) && IsKind(in.Labels) {
		return &SwappedError{Table: in.Embeddings, Vectors: in.Labels}
	}
	for _, path := range []string{in.Embeddings, in.GalleryEmbeddings} {
		if err := CheckKind(path); path != "" && err != nil {
			return err
		}
	}
	if in.Labels, err = in.labelsOf(in.Embeddings, in.Labels, false); err != nil {
		return err
	}
	if in.GalleryEmbeddings == "" && in.GalleryLabels != "" {
		return errors.New("the gallery has labels but no vectors: name both or neither")
	}
	in.GalleryLabels, err = in.labelsOf(in.GalleryEmbeddings, in.GalleryLabels, true)
	return err
}

// labelsOf finds the labels of vectors. If it uses a table beside them, it says which.
func (in *Input) labelsOf(vectors, named string, gallery bool) (string, error) {
	found, err := LabelsFor(named, vectors)
	switch {
	case err != nil || vectors == "" || found == named && found != "":
		return found, err
	case found == "":
		if err := unsound(vectors); err != nil { // labels in it were not found for another reason
			return "", err
		}
		return "", &NoLabelsError{vectors, gallery, Tables(vectors)}
	case found != vectors:
		in.log("%s has the labels of %s", found, vectors)
	}
	return found, nil
}

// Evaluation is an evaluation whose vectors are on the device, or stay in their files.
type Evaluation struct {
	retrieval.Evaluation

	// Classes numbers the classes.
	Classes *Classes

	// Same says that query i is row i of the gallery.
	Same bool

	files []io.Closer // files that are still read
}

// Close closes the files of vectors that stay in them.
func (e *Evaluation) Close() error {
	var errs []error
	for _, f := range e.files {
		errs = append(errs, f.Close())
	}
	e.files = nil
	return errors.Join(errs...)
}

// Load reads the files. The caller still sets the metrics of the evaluation. A query whose id is
// in a separate gallery is left out of its own ranking, and so is one of the same rows.
func (in *Input) Load(b device.Backend) (*Evaluation, error) {
	e := &Evaluation{Classes: in.classes()}
	err := in.load(b, e)
	if err != nil || !in.stays(b) {
		err = errors.Join(err, e.Close())
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// classes returns empty Classes that read the labels of the input.
func (in *Input) classes() *Classes {
	return &Classes{Labelling: in.Labelling, OnlyIDs: in.Qrels != ""}
}

// stays reports whether the vectors stay in their files.
func (in *Input) stays(b device.Backend) bool {
	_, host := b.(device.Host)
	return in.InPlace && host
}

func (in *Input) load(b device.Backend, e *Evaluation) error {
	sides, err := in.open(e)
	if err != nil {
		return err
	}
	query, gallery := sides[0], sides[len(sides)-1]
	switch {
	case in.GalleryEmbeddings != "":
		if query.rows.IsQuery != nil && !query.partial() {
			return fmt.Errorf("%s has the column is_query, but the gallery has its own files: remove one of them", in.Labels)
		}
		if err := sameWidth(query, gallery); err != nil {
			return err
		}
	case query.rows.IsQuery != nil || query.rows.IsGallery != nil:
		if query, gallery, err = in.split(query); err != nil {
			return err
		}
	default:
		e.Same = true
	}
	e.Levels = e.Classes.Levels()
	if n := len(e.Levels); n > retrieval.MostLevels {
		return fmt.Errorf("%s has %d levels, want at most %d: remove columns that are not levels", in.Labels, n,
			retrieval.MostLevels)
	}
	if err := cmp.Or(e.Classes.noLevel, in.sharing(e, query, gallery)); err != nil {
		return err
	}
	if err := in.upload(b, e, query, gallery); err != nil {
		return err
	}
	if in.Qrels != "" {
		return in.judge(e)
	}
	if in.Partial && !in.Independent {
		both := labels.Complete(e.Query.Labels, e.Gallery.Labels)
		e.Query.Labels, e.Gallery.Labels = both[0], both[1]
	}
	return nil
}

// upload brings both sides to the device and finds the queries in the gallery.
func (in *Input) upload(b device.Backend, e *Evaluation, query, gallery *side) (err error) {
	all, err := in.side(b, query)
	if err != nil {
		return err
	}
	e.Query = all
	if n := min(in.Limit, len(all.Labels)); n > 0 {
		e.Query = retrieval.Side{Labels: all.Labels[:n], IDs: all.IDs[:min(n, len(all.IDs))],
			Ignore: all.Ignore[:min(n, len(all.Ignore))]}
		if all.Stored != nil {
			e.Query.Stored = all.Stored.First(n)
		} else {
			e.Query.Vectors = all.Vectors.RowRange(0, n)
		}
	}
	if e.Same {
		e.Gallery = all
	} else if e.Gallery, err = in.side(b, gallery); err != nil {
		return err
	}
	return in.findSelf(e, query, gallery)
}

// findSelf finds the gallery rows of the queries, which are left out of their own rankings.
func (in *Input) findSelf(e *Evaluation, query, gallery *side) (err error) {
	queries := len(e.Query.Labels)
	if e.Same {
		e.Self = retrieval.OwnRows(queries)
		return nil
	}
	self := gallery.self(query, queries)
	if self == nil {
		if self, err = in.identify(query, gallery); err != nil {
			return err
		}
		self = self[:min(queries, len(self))]
	}
	found := 0
	for _, row := range self {
		if row >= 0 {
			found++
		}
	}
	if found > 0 {
		e.Self = self
		in.log("%d of %d queries are also in the gallery and are left out of their own rankings", found, queries)
	}
	return nil
}

// judge takes the truth from the file of judgements.
func (in *Input) judge(e *Evaluation) error {
	q, err := qrels.Read(in.Qrels, in.Usage)
	if err != nil {
		return err
	}
	truth, err := q.Bind(e.Query.IDs, e.Gallery.IDs)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Qrels, err)
	}
	for _, note := range truth.Notes(in.Qrels, len(e.Query.IDs)) {
		in.log("%s", note)
	}
	e.Truth, e.Levels = truth, q.Levels()
	none := slices.Repeat(labels.Path{-1}, len(e.Levels))
	for _, list := range [][]labels.Path{e.Query.Labels, e.Gallery.Labels} {
		for i := range list {
			list[i] = none
		}
	}
	return nil
}

// side is a file of vectors with its labels.
type side struct {
	path      string // of the vectors
	labelFile string
	vectors   Vectors
	rows      *Rows
	at        []int // rows of the file, if only some are used
	part      bool  // only the rows of Input.Part are used
}

// verify checks files against the records beside them.
func (in *Input) verify(paths []string) error {
	for _, path := range paths {
		if in.Verify == nil {
			break
		}
		if err := in.Verify(path); err != nil && !atomicfile.IsMissing(err) { // opening it says more
			return err
		}
	}
	return nil
}

// open opens the files of one or both sides. The vectors are closed with the evaluation.
func (in *Input) open(e *Evaluation) (sides []*side, err error) {
	vectors, labelFiles := []string{in.Embeddings}, []string{in.Labels}
	if in.GalleryEmbeddings != "" {
		vectors, labelFiles = append(vectors, in.GalleryEmbeddings), append(labelFiles, in.GalleryLabels)
	}
	if err := in.verify(slices.Concat(vectors, labelFiles)); err != nil {
		return nil, err
	}
	rows, err := e.Classes.ReadAll(labelFiles...)
	if err != nil {
		return nil, err
	}
	for i, path := range vectors {
		s, err := in.openVectors(path, labelFiles[i], rows[i])
		if err != nil {
			return nil, err
		}
		sides, e.files = append(sides, s), append(e.files, s.vectors)
	}
	return sides, nil
}

// openVectors opens vectors for rows of labels. They are matched by id if both files have ids, and
// by row otherwise.
func (in *Input) openVectors(path, labelFile string, rows *Rows) (*side, error) {
	v, err := in.Open(path)
	if err != nil {
		return nil, err
	}
	s := &side{path: path, labelFile: labelFile, vectors: v, rows: rows}
	if path != labelFile && !rows.numbered() {
		err = in.match(s, labelFile)
	}
	n, _ := v.Rows()
	if err == nil {
		s.takePart(n)
	}
	if err == nil && n == 0 {
		err = fmt.Errorf("%s has no vectors, want at least one", path)
	} else if err == nil && s.at == nil && n != len(s.rows.Labels) {
		err = fmt.Errorf("%s has %d vectors, but %s has %d rows of labels", path, n, labelFile, len(s.rows.Labels))
		if n == len(s.rows.Labels)+1 && IsTable(labelFile) {
			err = fmt.Errorf("%w: its first line is read as a heading; if it is a row, add a heading above it", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	if s.partial() {
		in.log("%s: %d of %d rows are used, those with the split %s", labelFile, len(s.rows.Labels), len(rows.Labels),
			in.Part)
	}
	return s, nil
}

// takePart uses the rows of a part of the table alone. The file may have the vectors of all rows, or of
// these.
func (s *side) takePart(vectors int) {
	part := s.rows.Part
	if part == nil {
		return
	}
	at := RowsWhere(part)
	if vectors != len(at) {
		s.at = at
	}
	if vectors == len(at) || vectors == len(part) {
		s.rows, s.part = s.rows.Select(part), true
	} else {
		s.at = nil
	}
}

// partial reports whether only some rows of the table are used.
func (s *side) partial() bool { return s.part }

// sameWidth returns an error if queries and gallery cannot be compared.
func sameWidth(query, gallery *side) error {
	_, q := query.vectors.Rows()
	if _, g := gallery.vectors.Rows(); q != g {
		return fmt.Errorf("%s has vectors of %d numbers, but %s has %d; want vectors of one model", query.path, q,
			gallery.path, g)
	}
	return nil
}

// match brings the labels into the order of the vectors by their ids, if both have ids.
func (in *Input) match(s *side, labelFile string) error {
	ids, err := IDs(s.path)
	if err != nil || ids == nil || s.rows.IDs == nil || slices.Equal(ids, s.rows.IDs) {
		return err
	}
	matched, left, err := s.rows.Match(ids)
	if err != nil {
		return fmt.Errorf("%s and %s are matched by id: %w", s.path, labelFile, err)
	}
	in.log("the rows of %s are matched to the vectors of %s by id; %d rows have no vector", labelFile, s.path, left)
	s.rows = matched
	return nil
}

// split divides one table into two sides by its columns is_query and is_gallery. If a column is
// missing, all rows are on that side.
func (in *Input) split(all *side) (query, gallery *side, err error) {
	part := func(which []bool, name string) (*side, error) {
		if which == nil {
			which = slices.Repeat([]bool{true}, len(all.rows.Labels))
		}
		p := &side{path: all.path, labelFile: all.labelFile, vectors: all.vectors, rows: all.rows.Select(which),
			at: RowsWhere(which)}
		if all.at != nil {
			p.at = pick(all.at, p.at)
		}
		if len(p.at) == 0 {
			return nil, fmt.Errorf("%s: %s is true for no row, want at least one", in.Labels, name)
		}
		return p, nil
	}
	if query, err = part(all.rows.IsQuery, "is_query"); err != nil {
		return nil, nil, err
	}
	gallery, err = part(all.rows.IsGallery, "is_gallery")
	return query, gallery, err
}

// self finds the first queries in the gallery of the same table, or returns nil for different
// tables.
func (s *side) self(query *side, queries int) []int32 {
	if s.at == nil || query.at == nil {
		return nil
	}
	self := make([]int32, queries)
	for q, row := range query.at[:queries] {
		k, found := slices.BinarySearch(s.at, row)
		if self[q] = int32(k); !found {
			self[q] = -1
		}
	}
	return self
}

// matrix returns the vectors of the rows that are used.
func (s *side) matrix() Vectors {
	if s.at != nil {
		return SomeRows{Vectors: s.vectors, At: s.at}
	}
	return s.vectors
}

// side brings vectors to the device, or checks those that stay in their file.
func (in *Input) side(b device.Backend, s *side) (retrieval.Side, error) {
	v := s.matrix()
	of := retrieval.Side{Labels: s.rows.Labels, IDs: s.rows.IDs, Ignore: s.rows.Ignore}
	watched := &ZeroRows{Vectors: v}
	var err error
	if in.stays(b) {
		if of.Stored, err = retrieval.Store(v, in.Unit); err == nil {
			watched.Count, watched.First = of.Stored.Zeros()
		}
	} else {
		of.Vectors, err = retrieval.Upload(b, watched, in.Unit)
	}
	if err != nil {
		return retrieval.Side{}, &ValuesError{s.path, err}
	}
	if watched.Count > 0 {
		first := fmt.Sprintf("row %d", watched.First)
		if watched.First < len(s.rows.IDs) {
			first += fmt.Sprintf(" (%s)", s.rows.IDs[watched.First])
		}
		in.log("warning: %s", ZerosNote(watched.Count, len(s.rows.Labels), s.path, first))
	}
	return of, nil
}

// ZerosNote warns that a number of all vectors of a file or side are zero, the first of them in a row.
func ZerosNote(count, all int, of, first string) string {
	return fmt.Sprintf("%d of %d vectors of %s are all zeros, the first in %s; all their scores are 0, so their ranking "+
		"is arbitrary: check for images that were not embedded, and remove them", count, all, of, first)
}

// ValuesError says that a file of vectors cannot be ranked, because a value is not finite.
type ValuesError struct {
	// Path is the file.
	Path string

	// Err says which value.
	Err error
}

// Error names the file and the value.
func (e *ValuesError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ValuesError) Unwrap() error { return e.Err }
