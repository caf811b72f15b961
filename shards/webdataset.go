package shards

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hgld/internal/crash"
	"hgld/internal/img"
	"hgld/internal/regular"
	"hgld/labels"
)

// WebDatasetFile is the list of the files of a converted data set, in its folder.
const WebDatasetFile = "webdataset.json"

// WebDatasetRow is the field of a sample's .json with the row: a Description. The other fields are the levels.
const WebDatasetRow = "row"

const (
	webDatasetVersion = 1 // format version of WebDatasetFile
	webDatasetLock    = ".hgld-webdataset"
)

// WebDatasetOptions decide how rows are divided into TAR files. A file has at least one row.
type WebDatasetOptions struct {
	ImagesPerShard int                                // 0: not bounded
	ShardBytes     int64                              // of the images; 0: not bounded
	Tool           string                             // version of hgld
	Progress       func(done, total int, file string) // images; may be nil
}

// WebDataset is WebDatasetFile. It is written before the first TAR file, unfinished, and after the last.
type WebDataset struct {
	Version  int       `json:"hgld_webdataset"` // format version
	Tool     string    `json:"tool"`            // version of hgld
	Finished bool      `json:"finished"`        // all files are there
	Source   Hash      `json:"source"`          // of MANIFEST.json of the shards
	Levels   []string  `json:"levels"`          // finest first
	Partial  bool      `json:"uneven"`          // some samples lack some of their levels
	Files    []WebFile `json:"files"`           // in the order of splits and numbers
}

// WebFile is a TAR file of samples.
type WebFile struct {
	Name   string       `json:"name"`   // SPLIT-000017.tar
	Split  labels.Split `json:"split"`  // of all samples
	Rows   int          `json:"rows"`   // samples
	Bytes  int64        `json:"bytes"`  // size of the file; 0: unfinished
	SHA256 Hash         `json:"sha256"` // of the file

	from int // first row of the split
}

// Rows returns the number of samples.
func (d *WebDataset) Rows() int {
	n := 0
	for _, f := range d.Files {
		n += f.Rows
	}
	return n
}

// WriteWebDataset writes the data set as TAR files for the webdataset library, in a folder. A row becomes the
// sample with the key of its id:
//
//	5f0c….cls    number of the class of the finest level, −1 for none; absent if a level is called cls
//	5f0c….jpg    the image file, with the extension of its format
//	5f0c….json   the class of every level by name, null for none, and the row as Describe returns it
//
// Samples have the order of the rows. The same shards and options give the same bytes. A file appears complete or not
// at all. hierarchy.json lies beside them. An earlier conversion is replaced file by file.
//
// The layout is described at https://github.com/webdataset/webdataset.
func (s *Set) WriteWebDataset(ctx context.Context, dir string, o WebDatasetOptions) (*WebDataset, error) {
	w := &webWriter{set: s, o: o, dir: disk(dir)}
	if err := w.run(ctx, dir); err != nil {
		return nil, fmt.Errorf("webdataset: %w", err)
	}
	return &w.made, nil
}

type webWriter struct {
	set   *Set
	o     WebDatasetOptions
	dir   folder
	made  WebDataset
	views map[labels.Split]*View
	rows  int // of all splits

	mu   sync.Mutex // of done
	done int        // samples written
}

func (w *webWriter) run(ctx context.Context, dir string) (err error) {
	if err := regular.CheckPath(dir); err != nil {
		return err
	}
	if err := w.plan(); err != nil {
		return err
	}
	if err := w.dir.makeFolder(""); err != nil {
		return err
	}
	lock, err := w.dir.lock(ctx, webDatasetLock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Remove()) }()
	before, err := ReadWebDataset(dir)
	if err == nil {
		err = w.removeOthers(before)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w.dir.tidy([]string{""}, nil)
	if err := w.write(&w.made); err != nil {
		return err
	}
	if err := w.writeFiles(ctx); err != nil {
		return err
	}
	classes, err := w.set.dir.read(HierarchyFile, maxManifest)
	if err != nil {
		return err
	}
	if err := w.dir.write(HierarchyFile, classes); err != nil {
		return err
	}
	w.made.Finished = true
	return w.write(&w.made)
}

// plan divides the rows of each split into files.
func (w *webWriter) plan() error {
	m := w.set.manifest
	text, err := w.set.dir.read(ManifestFile, maxManifest)
	if err != nil {
		return err
	}
	w.made = WebDataset{Version: webDatasetVersion, Tool: w.o.Tool, Source: sha256.Sum256(text)}
	for _, l := range m.Levels {
		if l.Name == WebDatasetRow {
			return fmt.Errorf("a level is called %s, as is the field of the .json with the rest of the row", l.Name)
		}
		w.made.Levels = append(w.made.Levels, l.Name)
	}
	w.views = map[labels.Split]*View{}
	for _, split := range m.Splits() {
		v, err := w.set.Split(split)
		if err != nil {
			return err
		}
		w.views[split] = v
		w.rows += v.Len()
		var bytes int64
		f := WebFile{Split: split}
		number := 0
		flush := func() {
			f.Name = fmt.Sprintf("%s-%06d.tar", split, number)
			w.made.Files = append(w.made.Files, f)
			f, bytes = WebFile{Split: split, from: f.from + f.Rows}, 0
			number++
		}
		for i := range v.Len() {
			sh, r := v.at(i)
			size := int64(sh.index.lengths[r])
			if f.Rows > 0 && (f.Rows == w.o.ImagesPerShard || w.o.ShardBytes > 0 && bytes+size > w.o.ShardBytes) {
				flush()
			}
			f.Rows++
			bytes += size
			path := v.Labels(i)
			w.made.Partial = w.made.Partial || slices.Contains(path, -1) && slices.Max(path) >= 0
		}
		if f.Rows > 0 {
			flush()
		}
	}
	return nil
}

// writeFiles writes the TAR files, several at a time.
func (w *webWriter) writeFiles(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range w.made.Files {
		g.Go(func() error {
			defer crash.Guard()
			return w.writeFile(ctx, &w.made.Files[i])
		})
	}
	return g.Wait()
}

func (w *webWriter) writeFile(ctx context.Context, f *WebFile) error {
	file, err := w.dir.create(f.Name, "")
	if err != nil {
		return err
	}
	defer file.Close()
	var size byteCount
	sum := sha256.New()
	out := tar.NewWriter(io.MultiWriter(file, sum, &size))
	rows := make([]int, f.Rows)
	for i := range rows {
		rows[i] = f.from + i
	}
	v := w.views[f.Split].Filter(rows)
	at := 0
	var image []byte
	for row, err := range v.Rows(ctx, false) {
		if err != nil {
			return err
		}
		if image, err = v.AppendImage(ctx, image[:0], at); err != nil {
			return err
		}
		if err := w.writeSample(out, v, row, image); err != nil {
			return fmt.Errorf("%s: %w", row.ID, err)
		}
		at++
		w.sawSample(f)
	}
	if err := out.Close(); err != nil {
		return err
	}
	f.Bytes = int64(size)
	sum.Sum(f.SHA256[:0])
	return file.Commit(f.SHA256)
}

func (w *webWriter) sawSample(f *WebFile) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done++; w.o.Progress != nil {
		w.o.Progress(w.done, w.rows, f.Name)
	}
}

// webExtensions are the extensions of image files, by the names of their formats.
var webExtensions = map[string]string{"jpeg": "jpg", "png": "png", "gif": "gif", "webp": "webp", "bmp": "bmp",
	"tiff": "tif"}

// writeSample writes the members of a row.
func (w *webWriter) writeSample(out *tar.Writer, v *View, row *Row, image []byte) error {
	unbound := img.Limits{Bytes: math.MaxInt, Pixels: math.MaxInt, Memory: math.MaxInt} // the build checked the image
	info, err := (&img.Decoder{Limits: unbound}).Info(image)
	if err != nil {
		return err
	}
	fields, err := w.fields(v, row)
	if err != nil {
		return err
	}
	members := []struct {
		extension string
		data      []byte
	}{{"cls", strconv.AppendInt(nil, int64(row.Labels[0]), 10)}, {webExtensions[info.Format], image}, {"json", fields}}
	if slices.Contains(w.made.Levels, "cls") { // a reader would take the number for the class
		members = members[1:]
	}
	for _, m := range members {
		err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Format: tar.FormatUSTAR, Mode: 0o644,
			Name: row.ID.String() + "." + m.extension, Size: int64(len(m.data)), ModTime: time.Unix(0, 0)})
		if err != nil {
			return err
		}
		if _, err := out.Write(m.data); err != nil {
			return err
		}
	}
	return nil
}

// fields returns the text of a sample's .json: the levels in their order, then the row.
func (w *webWriter) fields(v *View, row *Row) ([]byte, error) {
	d := v.Describe(row, w.set.manifest.Landmarks)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	field := func(before, name string, value any) error {
		b.WriteString(before)
		if err := enc.Encode(name); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the newline
		b.WriteByte(':')
		if err := enc.Encode(value); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1)
		return nil
	}
	before := "{"
	for _, level := range w.made.Levels {
		var class any
		if name, ok := d.Names[level]; ok {
			class = name
		}
		if err := field(before, level, class); err != nil {
			return nil, err
		}
		before = ","
	}
	if err := field(before, WebDatasetRow, d); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// write writes a list of the files.
func (w *webWriter) write(d *WebDataset) error {
	text, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return err
	}
	return w.dir.write(WebDatasetFile, append(text, '\n'))
}

// webFileName matches the names of TAR files that a conversion writes.
var webFileName = regexp.MustCompile(`^[a-z]+-\d{6,}\.tar$`)

// removeOthers removes the files of an earlier conversion that this one does not replace. The list of that conversion
// stays until then, unfinished, so that a killed process leaves no file that nothing lists.
func (w *webWriter) removeOthers(before *WebDataset) error {
	before.Finished = false
	if err := w.write(before); err != nil {
		return err
	}
	for _, f := range before.Files {
		named := func(mine WebFile) bool { return mine.Name == f.Name }
		if webFileName.MatchString(f.Name) && !slices.ContainsFunc(w.made.Files, named) {
			if err := w.dir.remove(f.Name); err != nil {
				return err
			}
		}
	}
	return w.dir.sync("")
}

// ReadWebDataset reads the list of the files of a converted data set. The error of a folder without one is
// fs.ErrNotExist.
func ReadWebDataset(dir string) (*WebDataset, error) {
	text, err := disk(dir).read(WebDatasetFile, maxManifest)
	if err != nil {
		return nil, err
	}
	d := &WebDataset{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, &DamageError{WebDatasetFile, -1, err.Error()}
	}
	if d.Version > webDatasetVersion {
		return nil, fmt.Errorf("%s has format version %d, %w than version %d, which this hgld reads; use a newer hgld",
			filepath.Join(dir, WebDatasetFile), d.Version, errNewer, webDatasetVersion)
	}
	if d.Version < 1 || len(d.Levels) == 0 {
		return nil, &DamageError{WebDatasetFile, -1, fmt.Sprintf("format version %d, %d levels", d.Version, len(d.Levels))}
	}
	return d, nil
}

// Check compares the files in the folder with the list by their sizes. It returns a *DamageError for a difference.
func (d *WebDataset) Check(dir string) error {
	if !d.Finished {
		return &DamageError{WebDatasetFile, -1, "says that the conversion is not finished; want one that is: run it again"}
	}
	for _, f := range d.Files {
		if path.Base(f.Name) != f.Name {
			return &DamageError{WebDatasetFile, -1, fmt.Sprintf("file %.80q; want a name without a folder", f.Name)}
		}
		if err := checkSize(disk(dir), f.Name, f.Bytes); err != nil {
			return err
		}
	}
	return nil
}
