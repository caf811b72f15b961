package dataset

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/img"
	"hgld/internal/regular"
	"hgld/internal/spelling"
	"hgld/internal/terminal"
	"hgld/labels"
	"hgld/shards"
)

// Survey counts the images of a data set. It opens only files that are small enough for a pointer of Git LFS.
type Survey struct {
	// Levels names the levels, finest first.
	Levels []string
	// Images counts the images of each split.
	Images map[labels.Split]int
	// Missing counts images that the data set lists and that are not there.
	Missing int
	// FirstMissing names the first missing image.
	FirstMissing string
	// Pointers counts images in whose place Git LFS has left a pointer.
	Pointers     int
	firstPointer string

	classNotes []string                        // on their names
	classes    map[labels.Split]map[string]int // images of each finest class
	names      []map[string]bool               // classes of each level
}

// NewSurvey counts the items of a source. Images without a finest class count as images of
// their split alone. It returns the faults that a build would: an image that occurs twice, an
// unknown split, or classes that form no tree; and an error if all images are missing.
func NewSurvey(ctx context.Context, src shards.Source) (*Survey, error) {
	s := &Survey{Levels: src.Levels(), Images: map[labels.Split]int{}, classes: map[labels.Split]map[string]int{}}
	for range s.Levels {
		s.names = append(s.names, map[string]bool{})
	}
	notes, err := shards.Check(ctx, countedSource{src, s})
	if err != nil {
		return nil, err
	}
	s.classNotes = notes
	total := 0
	for _, n := range s.Images {
		total += n
	}
	if s.Pointers == total {
		return nil, fmt.Errorf("none of the %s is there, but %s", terminal.Count(total, "image"), s.pointers())
	}
	if s.Missing == total {
		return nil, fmt.Errorf("none of the %s is there; the first: %s; check the paths, and where they begin",
			terminal.Count(total, "image"), s.FirstMissing)
	}
	return s, nil
}

// countedSource is a source whose items a survey counts as they are listed.
type countedSource struct {
	shards.Source
	counts *Survey
}

func (s countedSource) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		for item, err := range s.Source.Items(ctx) {
			if err == nil {
				s.counts.add(&item)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

func (s *Survey) add(item *shards.Item) {
	s.Images[item.Split]++
	if item.Missing {
		if s.Missing++; s.Missing == 1 {
			s.FirstMissing = shards.At(item.Path, item.Where)
			if item.Near != "" {
				s.FirstMissing += fmt.Sprintf(", where there is %.80q", item.Near)
			}
		}
	}
	if isPointer(item) {
		if s.Pointers++; s.Pointers == 1 {
			s.firstPointer = shards.At(item.Path, item.Where)
		}
	}
	if len(item.Names) == 0 || item.Names[0] == "" {
		return
	}
	if s.classes[item.Split] == nil {
		s.classes[item.Split] = map[string]int{}
	}
	s.classes[item.Split][spelling.Form(item.Names[0])]++
	for l, name := range item.Names[:min(len(item.Names), len(s.names))] {
		if name != "" {
			s.names[l][spelling.Form(name)] = true
		}
	}
}

// isPointer reports whether an image is a pointer of Git LFS, which has three lines. The build reports what cannot be
// read.
func isPointer(item *shards.Item) bool {
	const mostBytes = 200
	if item.Missing || item.Size == 0 || item.Size > mostBytes {
		return false
	}
	r, err := item.Open()
	if err != nil {
		return false
	}
	defer r.Close()
	head := make([]byte, len(img.LFSPointer))
	_, err = io.ReadFull(r, head)
	return err == nil && string(head) == img.LFSPointer
}

// pointers says what to do about pointers of Git LFS.
func (s *Survey) pointers() string {
	return fmt.Sprintf("%s of Git LFS, %s first; fetch the images: git lfs pull", terminal.Count(s.Pointers, "pointer"),
		s.firstPointer)
}

// Lines is what a person reads of a survey: what is probably a mistake, how many images and classes
// each split has, how many classes each level has, and whether they are too few.
func (s *Survey) Lines() (list []string) {
	for _, note := range s.notes() {
		list = append(list, "note: "+note)
	}
	for _, split := range labels.Splits {
		if n := s.Images[split]; n > 0 {
			list = append(list, fmt.Sprintf("%s: %s of %s", split, terminal.Count(n, "image"),
				terminal.Count(s.Classes(split, 1), "class")))
		}
	}
	for l, names := range s.names {
		list = append(list, fmt.Sprintf("%s: %s", s.Levels[l], terminal.Count(len(names), "class")))
	}
	if err := s.Learnable(); err != nil {
		list = append(list, fmt.Sprintf("warning: %v; add images before training, or evaluate alone (shards.split: test)",
			err))
	}
	return list
}

// notes names missing images, and classes whose names are probably those of one.
func (s *Survey) notes() (list []string) {
	if s.Missing > 0 {
		list = append(list, fmt.Sprintf("%s missing, %s first", terminal.Count(s.Missing, "image"), s.FirstMissing))
	}
	if s.Pointers > 0 {
		list = append(list, "among the images are "+s.pointers())
	}
	return append(list, s.classNotes...)
}

// Learnable returns an error if there is too little to learn from: a model learns to tell classes
// apart, from several images of each. A data set without training images is for evaluation.
func (s *Survey) Learnable() error {
	if s.Images[labels.Train] == 0 {
		return nil
	}
	all, pairs := s.Classes(labels.Train, 1), s.Classes(labels.Train, 2)
	if pairs >= 2 {
		return nil
	}
	return fmt.Errorf("too little to train on: a model learns to tell classes apart, from several images of each, and "+
		"needs two classes of two images; %d of %s (%s) %s two", pairs, terminal.Count(all, "class"),
		terminal.Count(s.Images[labels.Train], "image"), map[bool]string{true: "has", false: "have"}[pairs == 1])
}

// Classes counts the finest classes that have at least so many images in a split.
func (s *Survey) Classes(split labels.Split, images int) int {
	n := 0
	for _, has := range s.classes[split] {
		if has >= images {
			n++
		}
	}
	return n
}

// Sure returns how many classes of the training split are certain to have at least so many
// images, whichever share of its classes is held out.
func (s *Survey) Sure(images int, held float64) int {
	all := s.Classes(labels.Train, 1)
	return s.Classes(labels.Train, images) - int(math.Ceil(held*float64(all)))
}

// Test returns the splits to evaluate: the queries and, unless they rank one another, the
// gallery. Both are "" if all images are for training.
func (s *Survey) Test() (query, gallery labels.Split) {
	has := func(split labels.Split) bool { return s.Images[split] > 0 }
	switch {
	case has(labels.Query) && has(labels.Gallery):
		return labels.Query, labels.Gallery
	case has(labels.Test) && has(labels.Index):
		return labels.Test, labels.Index
	}
	for _, split := range []labels.Split{labels.Test, labels.Val, labels.Query, labels.Index, labels.Gallery} {
		if has(split) {
			return split, ""
		}
	}
	return "", ""
}

// tables are the extensions of tables. Of the kinds that are no text, the importer says what to do.
var tables = []string{".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".json", ".jsonl", ".ndjson"}

// Kind returns the importer for images that only their path describes: csv for a table, parquet for
// a Parquet file or a folder with some, webdataset for TAR files of samples, coco for annotations in its format, and
// folder for another folder or an archive.
func Kind(input string) string {
	info, err := os.Stat(input)
	switch {
	case err == nil && info.IsDir():
		if len(firstMatches(input, cocoNames...)) > 0 || isCOCO(input, firstMatches(input, cocoExports...)) {
			return "coco"
		}
		if len(metadataFiles(input)) > 0 {
			return "csv"
		}
		if hasTableLog(input) || holdsParquet(input) {
			return "parquet"
		}
		for _, pattern := range []string{"*.tar", "*/*.tar"} {
			if found, err := fs.Glob(os.DirFS(input), pattern); err == nil && len(found) > 0 &&
				holdsSamples(filepath.Join(input, found[0])) {
				return "webdataset"
			}
		}
	case slices.Contains(tables, strings.ToLower(filepath.Ext(withoutGzip(input)))):
		return "csv"
	case isParquet(input):
		return "parquet"
	case holdsSamples(input):
		return "webdataset"
	case zipHoldsCOCO(input):
		return "coco"
	}
	return "folder"
}

// holdsSamples reports whether a TAR file begins with a sample of WebDataset: an image and a file of its classes, which
// share a name up to the first dot.
func holdsSamples(name string) bool {
	f, err := regular.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	key, image, classes := "", false, false
	for in := tar.NewReader(f); ; {
		h, err := in.Next()
		if err != nil {
			return image && classes
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		dir, base := path.Split(h.Name)
		stem, ext, _ := strings.Cut(base, ".")
		if stem = dir + stem; key != "" && stem != key {
			return image && classes
		}
		key = stem
		image = image || isImage(base)
		ext = strings.ToLower(ext)
		classes = classes || slices.Contains([]string{"cls", "class", "label"}, ext) ||
			ext == "json" && dir == "" // in a folder of a class, it may describe the image
	}
}

// holdsParquet reports whether a Parquet file lies at the top of a folder or up to two folders deep, as in those that
// the Hub serves: data/train-00000-of-00001.parquet, default/train/0000.parquet.
func holdsParquet(folder string) bool {
	for _, pattern := range []string{"*.parquet", "*/*.parquet", "*/*/*.parquet"} {
		if found, err := fs.Glob(os.DirFS(folder), pattern); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// FirstImage returns an image in a folder that is no data set yet, "" if there is none among its
// first files.
func FirstImage(folder string) string {
	const looked = 1000
	if info, err := os.Stat(folder); err != nil || !info.IsDir() || shards.IsDataSet(context.Background(), folder) {
		return ""
	}
	image, seen := "", 0
	filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error { // what cannot be read holds no image
		seen++
		if err == nil && !d.IsDir() && (isImage(path) || slices.Contains(phones, strings.ToLower(filepath.Ext(path)))) {
			image = path
		}
		if image != "" || seen > looked {
			return fs.SkipAll
		}
		return nil
	})
	return image
}

// Within reports whether a path lies in a folder, or is that folder. It returns false if there
// is no such folder. Links in either path are followed as far as the path exists.
func Within(folder, path string) (bool, error) {
	if info, err := os.Stat(folder); folder == "" || err != nil || !info.IsDir() {
		return false, nil
	}
	from, err := resolved(folder)
	if err != nil {
		return false, err
	}
	to, err := resolved(path)
	if err != nil {
		return false, err
	}
	rel, err := filepath.Rel(from, to)
	return err == nil && filepath.IsLocal(rel), nil
}

// resolved returns the absolute form of a path, with the links of its existing part followed.
func resolved(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	missing := ""
	for at := abs; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, missing), nil
		}
		if at == filepath.Dir(at) {
			return abs, nil
		}
		missing = filepath.Join(filepath.Base(at), missing)
	}
}
