// Package index stores the embeddings of a data set with a record of the model that made them,
// and searches them.
//
// An index is a file of vectors, .npy or .parquet, that [embeddings.Open] reads. A .npy comes
// with a .csv of the same name that holds ids and classes. A .json of the same name holds [Info].
// Vectors of other programs have no such .json and can be searched as well.
package index

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/filehash"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/internal/spelling"
	"hgld/train/config"
	"hgld/train/embeddings"
	"hgld/train/evaluation"
	"hgld/train/input"
	"hgld/train/retrieval"
)

// Version is the format version of [Info] that this hgld writes.
const Version = 1

// Info records which model made the vectors, and from what. Paths are relative to the folder of
// the .json.
type Info struct {
	Version    int    `json:"hgld_index"`     // format version
	Run        string `json:"run"`            // run directory, or the named checkpoint
	Checkpoint string `json:"checkpoint"`     // folder of the model
	Step       int    `json:"step"`           // training steps of the model
	Weights    string `json:"weights_sha256"` // of the checkpoint's file
	Data       string `json:"data"`           // what was embedded: images, shards or vectors
	Items      string `json:"data_sha256"`    // of the items: their names and labels
	Vectors    string `json:"vectors_sha256"` // of the file of vectors
	Table      string `json:"table_sha256"`   // of the .csv of ids and classes; "" if the vectors hold them
	Rows       int    `json:"rows"`           // number of vectors
	Width      int    `json:"width"`          // size of a vector

	// Side is the longer side of the images that were embedded in their own shapes, see
	// [evaluation.EmbedOptions]; 0: they were cropped.
	Side int `json:"side,omitempty"`

	// Published is set for a network that no run trained. Run and Checkpoint are then its file of weights.
	Published *config.Published `json:"published,omitempty"`

	// Failed are the images that could not be read and have no vector.
	Failed []Failure `json:"failed,omitempty"`
}

// Failure is an image without a vector.
type Failure struct {
	ID     string `json:"id"`               // of the image
	Error  string `json:"error"`            // what was wrong
	Unread bool   `json:"unread,omitempty"` // the file could not be read; trying again may help
}

// beside returns the file with the name of a file of vectors and another extension.
func beside(path, extension string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + extension
}

// InfoFile returns the file that describes vectors.
func InfoFile(vectors string) string { return beside(vectors, ".json") }

// InfoError says that the record of vectors is damaged.
type InfoError struct {
	Path string // of the record
	Err  error  // the cause
}

// Error names the file and the cause.
func (e *InfoError) Error() string { return fmt.Sprintf("index: %s is damaged: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *InfoError) Unwrap() error { return e.Err }

// extension returns that of the vectors. Those that have no table hold ids and classes themselves.
func (i *Info) extension() string {
	if i.Table == "" {
		return ".parquet"
	}
	return ".npy"
}

// readInfo reads the .json beside a file, or returns nil if there is none, or none of these vectors.
func readInfo(path string) (*Info, error) {
	info, err := readRecord(path)
	if err != nil || info == nil {
		return nil, err
	}
	if ext := filepath.Ext(path); ext != info.extension() && (ext == ".npy" || ext == ".parquet") {
		return nil, nil
	}
	return info, nil
}

// readRecord reads the .json beside a file, whichever vectors it describes.
func readRecord(path string) (*Info, error) {
	name := beside(path, ".json")
	text, err := regular.ReadFile(name)
	if atomicfile.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info := new(Info)
	err = json.Unmarshal(text, info)
	switch {
	case info.Version > Version:
		return nil, fmt.Errorf("index: %s has format version %d; this hgld reads up to %d", name, info.Version, Version)
	case json.Valid(text) && !bytes.Contains(text, []byte("_sha256")):
		return nil, nil // another program's file of the same name
	case err == nil:
		err = seal.CheckJSON(text)
	}
	if err != nil {
		return nil, &InfoError{name, err}
	}
	return info, nil
}

// Verify returns a *ChangedError if a file of an index, the vectors or their table, is not the one
// that the record beside it describes. It returns nil if there is no record.
func Verify(ctx context.Context, path string) error {
	table := filepath.Ext(path) == ".csv"
	if !table && !slices.Contains([]string{".npy", ".parquet"}, filepath.Ext(path)) {
		return nil // an index has no such file
	}
	info, err := readInfo(path)
	if err != nil || info == nil {
		return err
	}
	want := info.Vectors
	if table {
		want = info.Table
	}
	if want == "" {
		return nil
	}
	sum, _, err := filehash.SHA256(ctx, path)
	if err == nil && sum != want {
		err = &ChangedError{path}
	}
	return err
}

// Recorded reports whether a record beside a table of ids and classes says that hgld has written it.
func Recorded(path string) bool {
	info, err := readInfo(path)
	return err == nil && info != nil && info.Table != "" && filepath.Ext(path) == ".csv"
}

// Index holds vectors with the ids and classes of their rows.
type Index struct {
	Path   string     // file of the vectors, or the run
	Info   *Info      // nil: the vectors are from another program, or in memory
	IDs    []string   // one per row; the row numbers if the files have no ids
	Levels []string   // finest first; may be empty
	Names  [][]string // [levels][rows]: class names; "" is no class
	Notes  []string   // about classes that are probably one

	vectors embeddings.Vectors
	unnamed string // why the rows have no ids; "": they have
}

// ChangedError says that the vectors are not the ones that Info describes.
type ChangedError struct{ Path string }

// Error names the file.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("index: %s is not the file that %s describes", e.Path, beside(e.Path, ".json"))
}

// Open opens an index. Rows are named by labelFile or, if that is empty, by the file that [Write]
// puts beside the vectors, or by a .tsv of that name. open opens the vectors.
func Open(ctx context.Context, path, labelFile string, open func(string) (embeddings.Vectors, error)) (*Index, error) {
	v, err := open(path)
	if err != nil {
		return nil, err
	}
	if rows, _ := v.Rows(); rows == 0 {
		return nil, errors.Join(fmt.Errorf("index: %s has no vectors, want at least one", path), v.Close())
	}
	x := &Index{Path: path, vectors: v}
	x.Info, err = readInfo(path)
	if err == nil {
		err = Verify(ctx, path)
	}
	if err == nil {
		err = x.name(ctx, labelFile)
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return x, nil
}

// name reads the ids and classes of the rows.
func (x *Index) name(ctx context.Context, labelFile string) error {
	rows, _ := x.vectors.Rows()
	labelFile, err := embeddings.LabelsFor(labelFile, x.Path)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if labelFile == "" {
		x.IDs, x.unnamed = numbers(rows), fmt.Sprintf("there is no %s with their ids", beside(x.Path, ".csv"))
		return nil
	}
	if labelFile != x.Path {
		if err := Verify(ctx, labelFile); err != nil {
			return err
		}
	}
	t, err := embeddings.ReadTable(labelFile)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if t.Rows != rows && labelFile != x.Path {
		return fmt.Errorf("index: %s has %d vectors, but %s has %d rows of labels", x.Path, rows, labelFile, t.Rows)
	}
	if x.IDs = t.IDs; x.IDs == nil {
		x.IDs, x.unnamed = numbers(rows), labelFile+" has no column id"
	}
	x.Levels, x.Names, x.Notes = t.Levels, t.Classes, t.Notes
	return nil
}

// numbers names rows by their numbers.
func numbers(rows int) []string {
	ids := make([]string, rows)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	return ids
}

// Made opens the index of exactly these items, by a model with these weights, among the .npy and
// .parquet files of a folder. It returns nil if there is none, and skips files that cannot be
// used.
func Made(ctx context.Context, folder, weights string, d input.Dataset,
	open func(string) (embeddings.Vectors, error)) *Index {
	items := ""
	for _, kind := range []string{"*.npy", "*.parquet"} {
		list, _ := filepath.Glob(filepath.Join(folder, kind))
		for _, path := range list {
			info, err := readInfo(path)
			if err != nil || info == nil || info.Weights != weights || info.Published != nil {
				continue
			}
			if items == "" {
				items = fingerprint(d)
			}
			if info.Items != items || info.Side != 0 {
				continue
			}
			if x, err := Open(ctx, path, "", open); err == nil {
				return x
			}
		}
	}
	return nil
}

// Of embeds a data set as an index in memory.
func Of(ctx context.Context, m *evaluation.Model, d input.Dataset, progress func(done, total int)) (*Index, error) {
	e, err := m.EmbedAll(ctx, d, evaluation.EmbedOptions{Progress: progress})
	if err != nil {
		return nil, err
	}
	values, err := e.Vectors.Float32()
	if err != nil {
		return nil, err
	}
	x := &Index{Path: m.Path, Levels: d.Levels(), vectors: &retrieval.Matrix{Cols: e.Vectors.Shape[1], Values: values}}
	x.Names = make([][]string, len(x.Levels))
	for _, i := range e.Rows {
		x.IDs = append(x.IDs, d.ID(i))
		for level, name := range classNames(d, i) {
			x.Names[level] = append(x.Names[level], name)
		}
	}
	return x, nil
}

// classNames returns the class names of an item, "" for no class.
func classNames(d input.Dataset, i int) []string {
	names := make([]string, len(d.Levels()))
	if len(names) == 0 {
		return names
	}
	for level, class := range d.Labels(i) {
		if class >= 0 {
			names[level] = d.Classes(level)[class]
		}
	}
	return names
}

// Close closes the file.
func (x *Index) Close() error { return x.vectors.Close() }

// Matrix reads all vectors into memory.
func (x *Index) Matrix() (*retrieval.Matrix, error) {
	rows, cols := x.vectors.Rows()
	m := &retrieval.Matrix{Cols: cols, Values: make([]float32, rows*cols)}
	return m, x.vectors.ReadRows(m.Values, 0)
}

// IDError says that an id is not that of one row of an index.
type IDError struct {
	Numbers bool // the rows have numbers instead of ids

	text string
}

// Error quotes the id.
func (e *IDError) Error() string { return e.text }

func idErrorf(format string, args ...any) error { return &IDError{text: fmt.Sprintf(format, args...)} }

// Row returns the row of an id. It fails if no row or several rows have the id.
func (x *Index) Row(id string) (int, error) {
	row := slices.Index(x.IDs, id)
	if row < 0 {
		form := spelling.Form(id)
		row = slices.IndexFunc(x.IDs, func(other string) bool { return spelling.Form(other) == form })
	}
	if row < 0 {
		key := spelling.Key(id)
		if twin := slices.IndexFunc(x.IDs, func(other string) bool { return spelling.Key(other) == key }); twin >= 0 {
			return 0, idErrorf("index: no row of %s has the id %.80q; row %d has %.80q", x.Path, id, twin, x.IDs[twin])
		}
		if x.unnamed != "" {
			return 0, &IDError{true, fmt.Sprintf("index: the rows of %s have the numbers 0 to %d, because %s; got the id %.80q",
				x.Path, len(x.IDs)-1, x.unnamed, id)}
		}
		return 0, idErrorf("index: no row of %s has the id %.80q; the first is %.80q", x.Path, id, x.IDs[0])
	}
	if again := slices.Index(x.IDs[row+1:], x.IDs[row]); again >= 0 {
		return 0, idErrorf("index: rows %d and %d of %s both have the id %.80q", row, row+1+again, x.Path, id)
	}
	return row, nil
}

// ClassesOf returns the classes of a row, finest first.
func (x *Index) ClassesOf(row int) (list []string) {
	for _, names := range x.Names {
		list = append(list, names[row])
	}
	return list
}

// Vector returns the vector of a row.
func (x *Index) Vector(row int) ([]float32, error) {
	_, width := x.vectors.Rows()
	v := make([]float32, width)
	return v, x.vectors.ReadRows(v, row)
}

// ModelError says that the vectors of an index come from another model than the query.
type ModelError struct {
	Model string // run or checkpoint that embeds the query
	text  string
}

// Error says how the two differ.
func (e *ModelError) Error() string { return "index: " + e.text }

// Fits checks that the given model made the vectors, as far as that is known: by the hash of its
// weights, or else by the width of its embeddings. The error is a *ModelError.
func (x *Index) Fits(weights, model string, width int) error {
	_, own := x.vectors.Rows()
	if x.Info != nil && x.Info.Weights != weights {
		return &ModelError{model, fmt.Sprintf("%s was made by the weights %.12s of %s after %d steps, but %s has %.12s: "+
			"scores of different models cannot be compared", x.Path, x.Info.Weights, x.Info.Run, x.Info.Step, model, weights)}
	}
	if own != width {
		return &ModelError{model, fmt.Sprintf("the vectors of %s have %d numbers, but an embedding of %s has %d: they "+
			"come from different models", x.Path, own, model, width)}
	}
	return nil
}
