package index

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/filehash"
	"hgld/internal/filelock"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/internal/tensorfile"
	"hgld/train/evaluation"
	"hgld/train/export"
	"hgld/train/input"
	"hgld/train/network"
)

// partRows is the number of items in a part. It is a multiple of the batch of an embedding, so
// that the parts together have the same bytes as one embedding of all items.
const partRows = 32 * network.EmbedBatch

// Writer embeds a data set into files. After an interruption, finished parts are kept in a folder
// beside the files, and reused if they belong to the same model and data.
type Writer struct {
	// Path is the file of vectors: .npy or .parquet.
	Path string

	// Run and Data are recorded in Info, relative to the folder of Path if possible.
	Run, Data string

	// Side is that of [evaluation.EmbedOptions].
	Side int

	// Skip decides whether an unusable image is left out. nil: no image is.
	Skip func(*input.ImageError) bool

	// MostFailed is the share of images that may be left out, in [0, 1].
	MostFailed float64

	// Progress receives the number of items embedded; it may be nil.
	Progress func(done, total int)

	// PartRows is the greatest number of items that an interruption loses; 0: 2048. It is rounded
	// up to whole batches and does not change the result.
	PartRows int

	// Finish takes all parts from slices and embeds nothing: Write returns a *MissingPartsError if some are not there.
	Finish bool

	slice bool // every part is saved
}

// FailedError says that too many images cannot be used. Nothing was written.
type FailedError struct {
	Failed []Failure // all of them
	Of     int       // number of images
	Most   float64   // allowed share
}

// Error names the first image.
func (e *FailedError) Error() string {
	return fmt.Sprintf("index: %d of %d images cannot be used, and the allowed share is %v; the first is %s: %s",
		len(e.Failed), e.Of, e.Most, e.Failed[0].ID, e.Failed[0].Error)
}

// OtherVectorsError says that the record that Write would replace describes other vectors of the same name. Nothing was
// written.
type OtherVectorsError struct{ Path, Vectors string }

// Error names both files.
func (e *OtherVectorsError) Error() string {
	return fmt.Sprintf("index: %s describes %s and would be overwritten", e.Path, e.Vectors)
}

// Files lists the files that Write writes for a file of vectors.
func Files(path string) []string {
	list := []string{path, beside(path, ".json")}
	if filepath.Ext(path) == ".npy" {
		list = append(list, beside(path, ".csv"))
	}
	return list
}

// Owns reports whether Write, perhaps interrupted, made a file of an index.
func Owns(path string) (bool, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	name := beside(filepath.Base(path), "")
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), name); ok && partsName.MatchString(rest) {
			return true, nil
		}
	}
	info, err := readInfo(path)
	if errors.As(err, new(*InfoError)) {
		return false, nil
	}
	return info != nil, err
}

// Write embeds the data set and writes vectors, ids and classes, and Info, in this order. kept
// reports that the files already existed for this model and these items. If another process writes the
// same, it is a *filelock.LockedError.
func (w *Writer) Write(ctx context.Context, m *evaluation.Model, d input.Dataset) (info *Info, kept bool, err error) {
	info, parts, err := w.begin(m, d)
	if err != nil {
		return nil, false, err
	}
	if old, err := w.complete(ctx, info); err != nil || old != nil {
		return old, old != nil, err
	}
	var lock *filelock.Lock // two processes would remove each other's parts
	if !w.Finish {
		if err := atomicfile.MkdirAll(parts, 0o755); err != nil {
			return nil, false, err
		}
		if lock, err = filelock.Acquire(filepath.Join(parts, "lock")); err != nil {
			return nil, false, err
		}
	}
	err = w.write(ctx, m, d, info, parts)
	if lock != nil {
		err = errors.Join(err, lock.Remove())
	}
	if err == nil || errors.As(err, new(*FailedError)) {
		err = errors.Join(err, os.RemoveAll(parts))
	}
	if err != nil {
		return nil, false, err
	}
	return info, false, nil
}

// write completes info and writes the files. It keeps the parts.
func (w *Writer) write(ctx context.Context, m *evaluation.Model, d input.Dataset, info *Info, parts string) error {
	missing := &MissingPartsError{Of: w.count(d)}
	e := &export.Embeddings{Levels: d.Levels(), Vectors: tensorfile.Tensor{Name: "embeddings", DType: "F32"}}
	for k := range missing.Of {
		part, _, err := w.part(ctx, m, d, parts, k)
		if err != nil {
			return err
		}
		if part == nil {
			missing.Parts = append(missing.Parts, k)
			continue
		}
		info.Failed = append(info.Failed, part.Failed...)
		info.Width = part.vectors.Shape[1]
		if d.Len() <= w.partRows() {
			e.Vectors.Data = part.vectors.Data
		}
		for _, i := range part.Rows {
			e.IDs, e.Classes = append(e.IDs, d.ID(i)), append(e.Classes, classNames(d, i))
		}
	}
	if len(missing.Parts) > 0 {
		return missing
	}
	if n := len(info.Failed); n > 0 && (float64(n) > w.MostFailed*float64(d.Len()) || n == d.Len()) {
		return &FailedError{info.Failed, d.Len(), w.MostFailed}
	}
	info.Rows = len(e.IDs)
	e.Vectors.Shape = []int{info.Rows, info.Width}
	if d.Len() > w.partRows() {
		e.Parts = func(f func(tensorfile.Tensor) error) error { return w.eachPart(parts, d.Len(), f) }
	}
	return w.files(ctx, info, e)
}

// begin describes the embedding, and returns the folder of its parts, which may not exist.
func (w *Writer) begin(m *evaluation.Model, d input.Dataset) (*Info, string, error) {
	if w.Side > 0 {
		if err := m.Config.AnyShape(); err != nil {
			return nil, "", err
		}
	}
	if old, err := readRecord(w.Path); err == nil && old != nil {
		other := beside(w.Path, old.extension())
		if _, err := os.Stat(other); err == nil && other != w.Path {
			return nil, "", &OtherVectorsError{Path: beside(w.Path, ".json"), Vectors: other}
		}
	}
	info := &Info{Version: Version, Run: w.relative(w.Run), Checkpoint: w.relative(m.Path), Step: m.Step,
		Data: w.relative(w.Data)}
	info.Published, info.Side = m.Published, w.Side
	var err error
	if info.Weights, err = m.WeightsSum(); err != nil {
		return nil, "", err
	}
	info.Items = fingerprint(d)
	return info, w.parts(info), nil
}

// relative returns a path as stored in Info.
func (w *Writer) relative(path string) string {
	if path == "" || regular.CheckPath(path) != nil {
		return path
	}
	from, err := filepath.Abs(filepath.Dir(w.Path))
	to, other := filepath.Abs(path)
	if err == nil && other == nil {
		if short, err := filepath.Rel(from, to); err == nil {
			return filepath.ToSlash(short)
		}
	}
	return filepath.ToSlash(path)
}

// Resolve returns a path of Info relative to the working directory.
func Resolve(vectors, path string) string {
	if path = filepath.FromSlash(path); path == "" || filepath.IsAbs(path) || regular.CheckPath(path) != nil {
		return path
	}
	return filepath.Join(filepath.Dir(vectors), path)
}

// fingerprint identifies the items, their labels and, if the data set knows it, their content.
func fingerprint(d input.Dataset) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q\n", input.Pixels(d), d.Levels())
	for i := range d.Len() {
		fmt.Fprintf(h, "%q %q\n", d.ID(i), classNames(d, i))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// complete returns the Info of files that already exist, or nil.
func (w *Writer) complete(ctx context.Context, want *Info) (*Info, error) {
	old, err := readInfo(w.Path)
	if errors.As(err, new(*InfoError)) {
		return nil, nil
	}
	if err != nil || old == nil || old.Weights != want.Weights ||
		old.Published.Text() != want.Published.Text() || old.Items != want.Items || old.Data != want.Data ||
		old.Side != want.Side ||
		unread(old.Failed) {
		return nil, err
	}
	for _, path := range Files(w.Path) {
		err := Verify(ctx, path)
		if atomicfile.IsMissing(err) || errors.As(err, new(*ChangedError)) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return old, nil
}

// partsName is the end of a name that [Writer.parts] returns.
var partsName = regexp.MustCompile(`^\.(npy|parquet)\.parts-[0-9a-f]{12}$`)

// parts returns the folder of the finished parts. Its name depends on the model and the items.
func (w *Writer) parts(info *Info) string {
	key := info.Weights + info.Published.Text() + info.Items
	if info.Side > 0 {
		key += fmt.Sprint(info.Side)
	}
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%s.parts-%x", w.Path, sum[:6])
}

func (w *Writer) partRows() int {
	if w.PartRows > 0 {
		return (w.PartRows + network.EmbedBatch - 1) / network.EmbedBatch * network.EmbedBatch
	}
	return partRows
}

// part is a range of items with their embeddings.
type part struct {
	Rows   []int     `json:"rows"`   // item of each vector
	Failed []Failure `json:"failed"` // items without a vector

	vectors tensorfile.Tensor
}

// count returns the number of parts.
func (w *Writer) count(d input.Dataset) int { return (d.Len() + w.partRows() - 1) / w.partRows() }

// part returns part k, counted from 0: read from its file, which is kept, or computed by the model. With Finish, it is
// nil if there is no file.
func (w *Writer) part(ctx context.Context, m *evaluation.Model, d input.Dataset, folder string, k int) (p *part,
	kept bool,
	err error) {
	lo := k * w.partRows()
	path := partFile(folder, lo)
	if p := readPart(path); p != nil || w.Finish {
		return p, true, nil
	}
	hi := min(lo+w.partRows(), d.Len())
	some := &input.Subset{Of: d}
	for i := lo; i < hi; i++ {
		some.Rows = append(some.Rows, i)
	}
	o := evaluation.EmbedOptions{Skip: w.Skip, Side: w.Side}
	if w.Progress != nil {
		o.Progress = func(done, _ int) { w.Progress(lo+done, d.Len()) }
	}
	e, err := m.EmbedAll(ctx, some, o)
	if err != nil {
		return nil, false, err
	}
	p = &part{Rows: e.Rows, vectors: e.Vectors}
	for i := range p.Rows {
		p.Rows[i] += lo
	}
	for _, f := range e.Failed {
		p.Failed = append(p.Failed, Failure{ID: f.ID, Error: f.Err.Error(), Unread: !f.Decoding})
	}
	if d.Len() <= w.partRows() && !w.slice {
		return p, false, nil // there is nothing to save
	}
	return p, false, p.write(path)
}

// eachPart calls f for the vectors of the parts in order, one at a time.
func (w *Writer) eachPart(folder string, items int, f func(tensorfile.Tensor) error) error {
	for lo := 0; lo < items; lo += w.partRows() {
		path := partFile(folder, lo)
		p := readPart(path)
		if p == nil {
			return fmt.Errorf("index: %s was damaged or removed while in use; run the command again", path)
		}
		if err := f(p.vectors); err != nil {
			return err
		}
	}
	return nil
}

// partFile names the file of the part that begins at item lo.
func partFile(folder string, lo int) string {
	return filepath.Join(folder, fmt.Sprintf("%09d.safetensors", lo))
}

const partKey = "hgld.part"

func (p *part) write(path string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(f io.Writer) error {
		return tensorfile.WriteSafetensors(f, []tensorfile.Tensor{p.vectors}, map[string]string{partKey: string(text)})
	})
}

// readPart reads a part. It returns nil if there is no sound one.
func readPart(path string) *part {
	tensors, meta, err := tensorfile.ReadAll(path)
	if err != nil || len(tensors) != 1 || len(tensors[0].Shape) != 2 {
		return nil
	}
	p := &part{vectors: tensors[0]}
	if json.Unmarshal([]byte(meta[partKey]), p) != nil || len(p.Rows) != p.vectors.Shape[0] || unread(p.Failed) {
		return nil
	}
	return p
}

// unread reports whether a file could not be read; another attempt may succeed.
func unread(list []Failure) bool {
	return slices.ContainsFunc(list, func(f Failure) bool { return f.Unread })
}

// files writes the vectors and their companion files.
func (w *Writer) files(ctx context.Context, info *Info, e *export.Embeddings) error {
	var err error
	if filepath.Ext(w.Path) == ".parquet" {
		err = atomicfile.Write(w.Path, e.Parquet)
	} else {
		err = errors.Join(
			atomicfile.Write(w.Path, e.NPY),
			atomicfile.Write(beside(w.Path, ".csv"), e.Labels))
	}
	if err != nil {
		return err
	}
	if info.Vectors, _, err = filehash.SHA256(ctx, w.Path); err != nil {
		return err
	}
	if filepath.Ext(w.Path) == ".npy" {
		if info.Table, _, err = filehash.SHA256(ctx, beside(w.Path, ".csv")); err != nil {
			return err
		}
	}
	text, err := seal.MarshalJSON(info)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(beside(w.Path, ".json"), text)
}
