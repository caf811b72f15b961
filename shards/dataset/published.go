package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"hgld/internal/registry"
	"hgld/internal/terminal"
	"hgld/labels"
	"hgld/shards"
)

// published is a data set in the layout of its authors: lists of images with their
// classes, and the images. Both are in one folder or archive (Settings.Input), or the
// images are in another (Settings.Images). The data set's own top folder, such as
// Stanford_Online_Products, is optional.
type published struct {
	lists   store
	top     string // of the lists in their store
	images  store  // may be lists
	base    string // of the images in their store
	prefix  string // of all paths, which the folder of the images may replace
	bare    bool   // it does
	levels  []string
	records []record
	inputs  []shards.Input
	used    []byte

	landmarks bool // the levels are GLDv2's

	// sides holds the side of the protocol, training or test, on which each of the
	// finest classes first occurred. It is nil if both sides may have the same class.
	sides map[string]seen
	notes []string
}

// record is an image in a list.
type record struct {
	path  string // in the lists' own words, from base
	split labels.Split
	names []string
	where string

	id         string // "": by the path
	landmark   labels.LandmarkID
	attributes *shards.Attributes // nil: none
	part       *shards.Part       // nil: the whole image
}

type seen struct {
	train bool
	where string
}

// level is a level that a data set has.
type level struct {
	name     string
	optional bool // read only if Settings.Levels names it
}

// openPublished opens the stores and finds the top folder by one of the files that it
// must contain. It reads the levels of known that the settings name.
func openPublished(ctx context.Context, s Settings, known []level, marks ...string) (*published, error) {
	if s.Labels != "" || s.Columns != (Columns{}) {
		return nil, errors.New("leave out the settings labels and columns; the lists of the data set give the labels")
	}
	if s.Split != "" && s.Split != labels.Train {
		return nil, fmt.Errorf("leave out the setting split (%.80q); the lists of the data set give the splits", s.Split)
	}
	levels, err := chooseLevels(known, s.Levels)
	if err != nil {
		return nil, err
	}
	p := &published{levels: levels, sides: map[string]seen{}}
	if p.lists, err = openStore(ctx, s.Input); err != nil {
		return nil, err
	}
	p.images = p.lists
	if len(marks) == 0 { // the caller finds the lists
	} else if p.top, err = topWith(p.lists, marks); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", s.Input, err), p.Close())
	}
	if s.Images != "" {
		if p.images, err = openStore(ctx, s.Images); err != nil {
			p.images = p.lists
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// chooseLevels returns the names of the levels to read, finest first.
func chooseLevels(known []level, asked []string) ([]string, error) {
	var names, usual []string
	for _, l := range known {
		names = append(names, l.name)
		if !l.optional {
			usual = append(usual, l.name)
		}
	}
	if len(asked) == 0 {
		return usual, nil
	}
	last := -1
	for _, name := range asked {
		at := slices.Index(names, name)
		if at < 0 {
			return nil, registry.Unknown("level", name, names)
		}
		if at <= last {
			return nil, fmt.Errorf("levels %s; want some of %s, each once and finest first", strings.Join(asked, ", "),
				strings.Join(names, ", "))
		}
		last = at
	}
	return asked, nil
}

// topWith returns the folder of a store that contains one of the marks: the top of the
// store, or a folder in it.
func topWith(st store, marks []string) (string, error) {
	tops, err := st.folders()
	if err != nil {
		return "", err
	}
	for _, top := range append([]string{""}, tops...) {
		for _, mark := range marks {
			if _, err := st.find(path.Join(top, mark)); err == nil {
				return top, nil
			}
		}
	}
	missing := "no " + strings.Join(marks, " and no ") + " found"
	for _, top := range append([]string{""}, tops...) {
		for _, e := range otherEditions {
			if _, err := st.find(path.Join(top, e.file)); err == nil && slices.Contains(marks, e.lacks) {
				return "", fmt.Errorf("%s beside %s; %s", missing, path.Join(top, e.file), e.says)
			}
		}
	}
	return "", fmt.Errorf("%s; input must be the folder, .zip or .tar as it was published, with its lists", missing)
}

// otherEditions are files of data sets as they are published for classification, which lack the list that is read.
var otherEditions = []struct{ file, lacks, says string }{
	{"train2018.json", inaturalistTrain, "the authors of Smooth-AP published these lists, the splits of metric learning " +
		"(https://github.com/Andrew-Brown1/Smooth_AP)"},
	{"train_mini.json", inaturalistTrain, inaturalist2021}, {"train.json", inaturalistTrain, inaturalist2021},
	{"cars_train_annos.mat", carsList, carsKit}, {"devkit/cars_train_annos.mat", carsList, carsKit},
}

const (
	inaturalist2021 = "iNaturalist 2021 has no splits of metric learning; its images are read as folders, one for each " +
		"species, and a table gives the levels above"
	carsKit = "the files of the development kit are for classification, and metric learning divides the images by the " +
		"one list of all of them"
)

// has reports whether a list exists.
func (p *published) has(name string) bool {
	_, err := p.lists.find(path.Join(p.top, name))
	return err == nil
}

// maxList bounds the size of a list, maxTable that of a table of GLDv2, and maxLine that of a line. The
// longest published list has 26 MB; the annotations of iNaturalist 2018, as JSON, have 122 MB. A table of
// GLDv2 has up to 4.1 million rows with addresses, authors and titles.
const (
	maxList  = 512 << 20
	maxTable = 8 << 30
	maxLine  = 64 << 10
)

// readList passes the content of a list to read and notes its hash for the manifest.
func (p *published) readList(ctx context.Context, name string, read func(io.Reader) error) error {
	return p.readUpTo(ctx, name, maxList, read)
}

// readUpTo is readList for a list of at most a number of bytes.
func (p *published) readUpTo(ctx context.Context, name string, most int64, read func(io.Reader) error) error {
	f, err := p.lists.open(path.Join(p.top, name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing; it is part of the published data set", name)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	h := &hashed{ctx: ctx, sum: sha256.New()}
	in := io.TeeReader(io.LimitReader(f, most+1), h)
	if err := read(in); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil { // what the reader left
		return fmt.Errorf("%s: %w", name, err)
	}
	if h.bytes > most {
		return fmt.Errorf("%s: more than %d bytes", name, most)
	}
	p.inputs = append(p.inputs, h.input(name))
	return nil
}

// lines calls each for every line that is not blank, without a byte order mark and
// without the carriage returns of Windows.
func (p *published) lines(ctx context.Context, name string, each func(text, where string) error) error {
	return p.readList(ctx, name, func(in io.Reader) error {
		r := bufio.NewScanner(in)
		r.Buffer(make([]byte, 4096), maxLine)
		n := 0
		for r.Scan() {
			n++
			line := r.Bytes()
			if n == 1 {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			where := fmt.Sprintf("%s:%d", name, n)
			if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
				return fmt.Errorf("%s: the line is not UTF-8 text; take the file as it was published", where)
			}
			if err := each(string(line), where); err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
		}
		if err := r.Err(); errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("%s:%d: the line has more than %d bytes; take the file as it was published", name, n+1, maxLine)
		} else if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n+1, err)
		}
		if n == 0 {
			return fmt.Errorf("%s is empty", name)
		}
		return nil
	})
}

// header returns the reader of a list whose first line names its columns.
func header(columns string, each func(text, where string) error) func(text, where string) error {
	first := true
	return func(text, where string) error {
		is := strings.Join(strings.Fields(text), " ") == columns
		switch {
		case first && is:
			first = false
			return nil
		case first:
			return fmt.Errorf("%.80q; want the header %.80q", text, columns)
		case is:
			return errors.New("the header occurs again, as if two files had been joined; take the file as it was published")
		}
		return each(text, where)
	}
}

// levelClasses returns the classes of the levels that are read, finest first.
func (p *published) levelClasses(class map[string]string) []string {
	names := make([]string, len(p.levels))
	for i, l := range p.levels {
		names[i] = class[l]
	}
	return names
}

// add adds an image. It fails if its finest class occurs in both training and test,
// which would spoil the test.
func (p *published) add(r record) error {
	clean := path.Clean(r.path)
	if r.path == "" || !fs.ValidPath(clean) || strings.Contains(clean, `\`) {
		return fmt.Errorf("path %.80q; want one within the data set's folder, with slashes", r.path)
	}
	r.path = clean
	if p.sides != nil {
		side := seen{r.split == labels.Train, r.where}
		first, known := p.sides[r.names[0]]
		if !known {
			p.sides[r.names[0]] = side
		} else if first.train != side.train {
			return fmt.Errorf("%s %.80q is in both training and test, by this line and %s; the published lists share no "+
				"class, so "+
				"one of them is another file",
				p.levels[0], r.names[0], first.where)
		}
	}
	p.records = append(p.records, r)
	return nil
}

// checkComplete is called after all lists are read. It finds the folder of the images, one of
// those named within the top folder, and compares the numbers with the published ones.
func (p *published) checkComplete(expected []count, within ...string) error {
	if len(p.records) == 0 {
		return errors.New("no images are listed")
	}
	tops, err := p.images.folders()
	if err != nil {
		return err
	}
	tops = append([]string{""}, tops...)
	if p.images == p.lists {
		tops = []string{p.top}
	}
	p.base = path.Join(tops[0], within[0])
	p.findBase(tops, within)
	for _, c := range expected {
		p.compare(c)
	}
	return nil
}

// findBase finds the folder by the first images of the lists, some of which may be
// missing.
func (p *published) findBase(tops, within []string) {
	const tries = 1000
	records := p.records[:min(tries, len(p.records))]
	for _, bare := range []bool{false, p.prefix != ""} {
		p.bare = bare
		for i := range records {
			for _, top := range tops {
				for _, dir := range within {
					base := path.Join(top, dir)
					if _, err := p.images.find(path.Join(base, p.inStore(&records[i]))); err == nil {
						p.base = base
						return
					}
				}
			}
		}
	}
	p.bare = false
}

// inStore returns the path of an image below the folder of the images.
func (p *published) inStore(r *record) string {
	if p.bare {
		return strings.TrimPrefix(r.path, p.prefix)
	}
	return r.path
}

// count is the size of a split as a paper states it.
type count struct {
	split   labels.Split
	images  int // 0: not said
	classes int // of the finest level; 0: not said
}

// compare notes the differences between a split and the published one. It may be a
// subset on purpose, or a list that was cut short.
func (p *published) compare(want count) {
	images, classes := 0, map[string]bool{}
	for i := range p.records {
		if r := &p.records[i]; r.split == want.split {
			images++
			classes[r.names[0]] = true
		}
	}
	p.differs(want, images, len(classes))
}

// differs notes that the numbers of a split are not the published ones.
func (p *published) differs(want count, images, classes int) {
	if want.images > 0 && images != want.images {
		p.notes = append(p.notes, fmt.Sprintf("%s has %s (published: %d)", want.split, terminal.Count(images, "image"),
			want.images))
	}
	if want.classes > 0 && classes != want.classes {
		p.notes = append(p.notes, fmt.Sprintf("%s has %s of level %s (published: %d)", want.split,
			terminal.Count(classes, "class"), p.levels[0], want.classes))
	}
}

// Notes lists the differences from the published numbers of images and classes. They
// are no error, because a subset is a data set too.
func (p *published) Notes() []string {
	return slices.Concat(p.notes, notesOf(p.images))
}

func (p *published) Levels() []string { return p.levels }
func (p *published) Landmarks() bool  { return p.landmarks }

func (p *published) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		p.used = nil
		for i := range p.records {
			r := &p.records[i]
			item := shards.Item{ID: shards.NewImageID(cmp.Or(r.id, r.path)), Path: r.path, Split: r.split, Names: r.names,
				Landmark: r.landmark, Where: r.where}
			if r.attributes != nil {
				item.Attributes = *r.attributes
			}
			if item.Part = r.part; r.part != nil {
				item.Path += "#" + r.part.Name
				item.ID = shards.NewImageID(item.Path)
			}
			err := ctx.Err()
			if err == nil {
				var e entry
				e, err = attach(&item, p.images, path.Join(p.base, p.inStore(r)))
				p.used = appendUsed(p.used, e)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// Inputs lists the files that were read and the store of the images.
func (p *published) Inputs(ctx context.Context, wanted func(int) bool) ([]shards.Input, error) {
	var images shards.Input
	var err error
	if wanted(len(p.inputs)) { // the others were hashed as they were read
		images, err = p.images.input(ctx, p.used)
	}
	return append(slices.Clone(p.inputs), images), err
}

// Close closes both stores.
func (p *published) Close() error {
	if p.lists == nil {
		return nil
	}
	if p.images == p.lists {
		return p.lists.Close()
	}
	return errors.Join(p.lists.Close(), p.images.Close())
}

// importer is the common part of Open: it closes the stores if read fails, and adds the
// name of the data set to the error.
func importer(ctx context.Context, name string, s Settings, known []level, marks []string,
	read func(*published) error) (shards.Source, error) {
	p, err := openPublished(ctx, s, known, marks...)
	if err == nil {
		if err = read(p); err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", filepath.Base(s.Input), err), p.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", name, err)
	}
	return p, nil
}
