package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"hgld/internal/classes"
	"hgld/internal/spelling"
	"hgld/labels"
	"hgld/shards"
)

// WebDataset imports TAR files of samples, as the webdataset library reads them: a .tar, or a folder of
// them. The members of a sample follow one another and have a name up to the first dot of its last part:
// 000123.jpg, 000123.json. One of them is the image. Settings.Levels names the members, or the fields of
// the .json, that have the classes, finest first; by default it is cls, class or label, whichever there is.
// A class is a text or a number. An empty one and null are no class.
//
// The name of a file gives the split (train-000000.tar), Settings.SplitFolders gives that of others, and a
// member or field split that of samples. An image is called FILE/NAME.
//
// Of samples that hgld wrote, the id, the path, the hash and the attributes of the image are taken from the
// field row of the .json, and the levels of a folder from shards.WebDatasetFile.
//
// The layout is described at https://github.com/webdataset/webdataset.
type WebDataset struct{}

// Open reads the names of all members and the classes, and no image. It returns a [classes.OrderError] if the
// levels appear to be coarsest first.
func (WebDataset) Open(ctx context.Context, s Settings) (shards.Source, error) {
	if s.Images != "" || s.Labels != "" || s.Columns != (Columns{Split: s.Columns.Split}) {
		return nil, errors.New("dataset: webdataset takes images and classes from its input; leave out images, labels and " +
			"all columns except columns.split")
	}
	src := &webSource{levels: s.Levels}
	if err := src.open(ctx, s); err != nil {
		return nil, fmt.Errorf("dataset: webdataset %s: %w", s.Input, errors.Join(err, src.Close()))
	}
	return src, nil
}

type webSource struct {
	levels []string
	files  []*webFile
	keep   bool // rows may lack levels
	own    bool // hgld wrote the files
	notes  []string
}

// webFile is a TAR file and its samples.
type webFile struct {
	inputFile
	store   *tarStore
	samples []webSample
}

// webSample is an image and its classes.
type webSample struct {
	image string   // a member
	names []string // finest first; none without any
	row   *webRow  // nil: hgld did not write the sample
	split labels.Split
}

// key is the name that the members of the sample share.
func (s webSample) key() string {
	dir, base := path.Split(s.image)
	key, _, _ := strings.Cut(base, ".")
	return dir + key
}

// webRow is what hgld wrote of an image.
type webRow struct {
	id           shards.ImageID
	path, sha256 string
	attributes   shards.Attributes
}

// usualLabels are the members and fields that have the class in data sets of one level.
var usualLabels = []string{"cls", "class", "label"}

func (src *webSource) open(ctx context.Context, s Settings) (err error) {
	if src.keep, err = keepsPartial(s); err != nil {
		return err
	}
	if err := src.openConverted(s.Input); err != nil {
		return err
	}
	files, notes, err := inputFiles(s, ".tar")
	if err != nil {
		return err
	}
	src.notes = notes
	for _, file := range files {
		f := &webFile{inputFile: file}
		if f.store, err = indexTar(ctx, file.path); err != nil {
			return err
		}
		src.files = append(src.files, f)
		if err := f.store.stampByHash(); err != nil {
			return err
		}
		if err := src.read(ctx, f, s); err != nil {
			return fmt.Errorf("%s: %w", file.name, err)
		}
	}
	o := classes.Options{Missing: s.NAValues, Exact: src.own}
	if src.own && len(o.Missing) == 0 { // null says it, and every text is a name
		o.Missing = []string{spelling.MissingEmpty}
	}
	read, err := classes.Look(src.levels, o, classes.Table{Rows: src.rows(ctx)})
	if err != nil {
		return err
	}
	src.levels, src.notes = read.Levels, append(src.notes, read.Notes...)
	for _, f := range src.files {
		for i, s := range f.samples {
			f.samples[i].names = unnamed(read.Read(0, s.names))
		}
	}
	return nil
}

// openConverted checks that a folder with a conversion of hgld is complete. It takes its levels if none are named.
func (src *webSource) openConverted(input string) error {
	list, err := shards.ReadWebDataset(input)
	var at *fs.PathError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &at) { // such as a .tar in place of a folder
		return nil
	}
	if err == nil {
		err = list.Check(input)
	}
	if src.own = err == nil; src.own && src.levels == nil {
		src.levels = list.Levels
	}
	return err
}

// read finds the samples of a file, their classes and their splits.
func (src *webSource) read(ctx context.Context, f *webFile, settings Settings) error {
	members, err := f.store.list(ctx)
	if err != nil {
		return err
	}
	at := func(e entry) int64 { return f.store.members[e.path].at }
	slices.SortFunc(members, func(a, b entry) int { return cmp.Compare(at(a), at(b)) }) // writers may have shuffled them
	samples := map[string]map[string]string{}                                           // members by key and extension
	var keys []string
	for _, m := range members {
		dir, base := path.Split(m.path)
		key, ext, _ := strings.Cut(base, ".")
		if key = dir + key; samples[key] == nil {
			samples[key] = map[string]string{}
			keys = append(keys, key)
		}
		samples[key][strings.ToLower(ext)] = m.path
	}
	splits := newRowSplits(&f.inputFile, cmp.Or(settings.Columns.Split, usualSplit), settings,
		func(r int) string { return "sample " + f.samples[r].key() })
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := webSample{split: f.split}
		for ext, member := range samples[key] {
			if strings.Contains(ext, ".") || !isImage("x."+ext) && !slices.Contains(settings.Extensions, "."+ext) {
				continue // such as a mask, 000123.seg.png
			}
			if s.image != "" {
				return fmt.Errorf("sample %s has two images, %s and %s", key, min(s.image, member), max(s.image, member))
			}
			s.image = member
		}
		if s.image == "" {
			continue
		}
		fields, err := f.fields(samples[key])
		if err == nil {
			s.names, err = src.classes(f, samples[key], fields)
		}
		cell := ""
		if err == nil && !src.own && readsSplits(settings) {
			cell, err = f.splitText(samples[key], fields, splits.column)
		}
		if err != nil {
			return fmt.Errorf("sample %s: %w", key, err)
		}
		s.row = writtenRow(fields)
		f.samples = append(f.samples, s)
		splits.add(cell)
	}
	if len(f.samples) == 0 {
		text := "no sample has an image (jpg, jpeg, png, gif, webp, bmp, tif, tiff)"
		if i := slices.IndexFunc(members, func(m entry) bool { return isImage(m.path) }); i >= 0 {
			key, ext, _ := strings.Cut(path.Base(members[i].path), ".")
			text += fmt.Sprintf(": a key ends at the first dot of a name, so %s is the member %s of the sample %s; write the "+
				"samples with keys without dots", members[i].path, ext, key)
		}
		return errors.New(text)
	}
	return src.takeSplits(f, splits)
}

// takeSplits takes the splits that the samples of a file name.
func (src *webSource) takeSplits(f *webFile, splits *rowSplits) error {
	list, note, err := splits.take()
	if note != "" {
		src.notes = append(src.notes, note)
	}
	for i, split := range list {
		f.samples[i].split = split
	}
	return err
}

// splitText returns what a sample says of its split, in a member or a field of the .json; "" if it says nothing.
func (f *webFile) splitText(members map[string]string, fields map[string]any, name string) (string, error) {
	if member := members[strings.ToLower(name)]; member != "" {
		return f.text(member)
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if v := fields[field]; strings.EqualFold(field, name) {
			if text, err := classText(v); err == nil {
				return text, nil
			}
			return fmt.Sprint(v), nil
		}
	}
	return "", nil
}

// fields returns the fields of a sample's .json, none if there is none.
func (f *webFile) fields(members map[string]string) (map[string]any, error) {
	fields := map[string]any{}
	name, ok := members["json"]
	if !ok {
		return fields, nil
	}
	text, err := f.text(name)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(strictJSON(text)))
	d.UseNumber() // a class 20221102000000 is no 2.0221102e+13
	if err := d.Decode(&fields); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return fields, nil
}

// writtenRow returns what hgld wrote of an image into the fields of its .json, nil if it wrote nothing.
func writtenRow(fields map[string]any) *webRow {
	values, _ := fields[shards.WebDatasetRow].(map[string]any)
	text := func(name string) string { s, _ := values[name].(string); return s }
	id, ok := shards.ParseImageID(text("image_id"))
	if !ok || !fs.ValidPath(text("path")) {
		return nil
	}
	return &webRow{id: id, path: text("path"), sha256: text("sha256"), attributes: shards.Attributes{
		Author: text("author"), License: text("license"), Title: text("title"), SourceURL: text("source_url"),
		Modifications: text("modified")}}
}

// classes returns the classes of a sample. The first sample decides the levels if nobody named them.
func (src *webSource) classes(f *webFile, members map[string]string, fields map[string]any) ([]string, error) {
	if src.levels == nil {
		for _, name := range usualLabels {
			if _, ok := fields[name]; ok || members[name] != "" {
				src.levels = []string{name}
				break
			}
		}
		if src.levels == nil {
			return nil, fmt.Errorf("none of the members and fields %s; name those with the classes by levels, finest first",
				strings.Join(usualLabels, ", "))
		}
	}
	names := make([]string, len(src.levels))
	for l, level := range src.levels {
		var err error
		if member := members[strings.ToLower(level)]; member != "" {
			names[l], err = f.text(member)
		} else if v, ok := fields[level]; ok {
			names[l], err = classText(v)
		} else if !src.keep {
			err = errors.New("there is no such member and no such field of a .json")
		}
		if err != nil {
			return nil, fmt.Errorf("level %s: %w", level, err)
		}
	}
	return unnamed(names), nil
}

// classText is the class that a JSON value names.
func classText(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return strings.TrimSpace(v), nil
	case json.Number:
		return v.String(), nil
	}
	return "", fmt.Errorf("%.80s is no class; want a text or a number", fmt.Sprint(v))
}

// longestText is the largest member of a sample that is read as text, in bytes.
const longestText = 1 << 20

// text returns a member, without the spaces around it.
func (f *webFile) text(member string) (string, error) {
	e, err := f.store.find(member)
	if err != nil {
		return "", err
	}
	if e.size > longestText {
		return "", fmt.Errorf("%s has %d bytes, and a class or its JSON at most %d", member, e.size, longestText)
	}
	r, err := f.store.open(member)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err == nil && (!utf8.Valid(data) || slices.Contains(data, 0)) {
		err = fmt.Errorf("%s is not text; want a class or JSON in UTF-8", member)
	}
	return strings.TrimSpace(string(data)), err
}

// looseNumber matches texts, in which nothing is replaced, and the numbers that Python writes and JSON lacks.
var looseNumber = regexp.MustCompile(`"(\\.|[^"\\])*"|-?\b(NaN|Infinity)\b`)

// strictJSON returns JSON as Python writes it without a byte order mark, and with null for NaN and infinities.
func strictJSON(text string) string {
	return looseNumber.ReplaceAllStringFunc(strings.TrimPrefix(text, "\ufeff"), func(found string) string {
		if found[0] == '"' {
			return found
		}
		return "null"
	})
}

// rows are the classes of all samples.
func (src *webSource) rows(ctx context.Context) iter.Seq2[[]string, string] {
	return func(yield func([]string, string) bool) {
		for _, f := range src.files {
			for _, s := range f.samples {
				if ctx.Err() != nil || !yield(s.names, f.name+"/"+s.image) {
					return
				}
			}
		}
	}
}

// Levels are the named ones, finest first.
func (src *webSource) Levels() []string { return src.levels }

// Landmarks is false.
func (src *webSource) Landmarks() bool { return false }

// Notes says which parts of the data set seem to be missing.
func (src *webSource) Notes() []string { return src.notes }

// Items yields the images, file by file, in the order of the members.
func (src *webSource) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		for _, f := range src.files {
			for _, s := range f.samples {
				e, err := f.store.find(s.image)
				if err == nil {
					err = ctx.Err()
				}
				item := shards.Item{Path: f.name + "/" + s.image, Split: s.split, Names: s.names, Partial: src.keep,
					Landmark: -1, Size: e.size, Stamp: e.stamp}
				item.Where, item.ID = item.Path, shards.NewImageID(item.Path)
				if s.row != nil {
					item.ID, item.Path, item.SHA256, item.Attributes = s.row.id, s.row.path, s.row.sha256, s.row.attributes
				}
				item.Open = func() (io.ReadCloser, error) { return f.store.open(s.image) }
				if !yield(item, err) || err != nil {
					return
				}
			}
		}
	}
}

// Inputs lists the files.
func (src *webSource) Inputs(ctx context.Context, wanted func(int) bool) ([]shards.Input, error) {
	all := make([]shards.Input, len(src.files))
	for i, f := range src.files {
		if !wanted(i) {
			continue
		}
		in, err := f.store.input(ctx, nil)
		if err != nil {
			return nil, err
		}
		in.Name = f.name
		all[i] = in
	}
	return all, nil
}

// Close closes the files.
func (src *webSource) Close() error {
	var err error
	for _, f := range src.files {
		err = errors.Join(err, f.store.Close())
	}
	return err
}
