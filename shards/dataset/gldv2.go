package dataset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/csvfile"
	"hgld/internal/registry"
	"hgld/labels"
	"hgld/shards"
)

// GLDv2 imports Google Landmarks v2 (Weyand et al., CVPR 2020) as published: its
// metadata in Settings.Input, at the top or in metadata/,
//
//	train_clean.csv                landmark_id,images    (or train.csv: id,url,landmark_id; see Settings.Subset)
//	train_attribution.csv          id,url,author,license,title
//	index_image_to_landmark.csv    id,landmark_id
//	retrieval_solution_v2.1.csv    id,images,Usage
//
// and its images in Settings.Images, by default the same folder. For each split these are
// the downloaded TARs, read member by member, or the folders extracted from them:
//
//	train/images_000.tar …         members 0/1/2/012….jpg
//	train/md5.images_000.txt       (or md5sum/train/) compared as the TAR is hashed for the manifest
//	train/0/1/2/012….jpg
//
// A split is imported if its table exists: train, index, and as test the queries of the
// retrieval solution that have an answer. A query's landmark is that of the first image in
// its answer, as in the released code of H-GLDv2 (Ramzi et al.). It is a landmark of the
// index, whose ids are unrelated to those of train.
//
// The labels are those of Settings.Labels, or of the published
// train_label_to_hierarchical.csv and index_label_to_hierarchical.csv. The rows of training
// images have author, licence, title and address; all others are in the public domain or
// CC0.
type GLDv2 struct{}

// Open reads the tables and the headers of all TARs.
func (GLDv2) Open(ctx context.Context, s Settings) (shards.Source, error) {
	if len(s.Levels) > 0 || s.Columns != (Columns{}) || s.Split != "" && s.Split != labels.Train {
		return nil, errors.New("dataset: gldv2: leave out the settings levels, columns and split; the tables determine them")
	}
	g := &gldv2{published: published{levels: []string{labels.LandmarkLevel, labels.SupercategoryLevel, labels.KindLevel},
		landmarks: true}}
	if err := g.open(ctx, s); err != nil {
		return nil, errors.Join(fmt.Errorf("dataset: gldv2: %w", err), g.Close())
	}
	return g, nil
}

type gldv2 struct {
	published
	labels map[labels.Split]*landmarks          // by id space
	index  map[shards.ImageID]labels.LandmarkID // landmarks of the images of the index
	tars   *tarSet
	rows   []gldv2Row
	begin  map[labels.Split]int // first row of a split
	tables []string             // that list images
	lost   []shards.ImageID     // images that are in no TAR
	wanted func(group int) bool // whose credits are kept
	given  map[shards.ImageID]credit
}

// credit is what train_attribution.csv says of an image.
type credit struct{ url, author, license, title string }

// gldv2Row is an image. Five million of them are in memory, so what can be found again is not kept.
type gldv2Row struct {
	credits  uint64 // hash of author, licence, title and address; 0: there are none
	place    int32  // in the tarSet or, if negative, −1 − place in lost
	landmark int32
	line     int32 // in its table
	table    uint8
	split    uint8 // in gldv2Splits
}

// gldv2Splits are the splits with the id spaces of their landmarks.
var gldv2Splits = []struct{ split, space labels.Split }{{labels.Train, labels.Train}, {labels.Index, labels.Index},
	{labels.Test, labels.Index}}

// The tables. The clean training set is preferred to the full one.
const (
	gldv2Clean    = "train_clean.csv"
	gldv2Train    = "train.csv"
	gldv2Credits  = "train_attribution.csv"
	gldv2Index    = "index_image_to_landmark.csv"
	gldv2Solution = "retrieval_solution_v2.1.csv"
)

// GLDv2Subsets are the two published training sets: without and with images that show something else.
var GLDv2Subsets = []string{"clean", "full"}

// gldv2Published are the sizes of the training sets (Weyand et al., table 2, and the data set's page).
var gldv2Published = map[string]count{gldv2Clean: {labels.Train, 1580470, 81313},
	gldv2Train: {labels.Train, 4132914, 203094}}

func (g *gldv2) open(ctx context.Context, s Settings) error {
	lists, err := openStore(ctx, s.Input)
	if err != nil {
		return err
	}
	g.lists, g.images = lists, lists
	if g.top, err = topWith(lists, []string{gldv2Clean, gldv2Train, gldv2Index}); err != nil {
		return fmt.Errorf("%s: %w", s.Input, err)
	}
	if err := g.readLabels(ctx, s); err != nil {
		return err
	}
	train, err := g.trainingList(s.Subset)
	if err != nil {
		return err
	}
	root := s.Images
	if root == "" {
		root = s.Input
	}
	var splits []labels.Split
	for i, table := range []string{train, gldv2Index, gldv2Solution} {
		if g.has(table) {
			splits = append(splits, gldv2Splits[i].split)
		}
	}
	if g.tars, err = openTarSet(ctx, root, splits); err != nil {
		return err
	}
	g.rows = make([]gldv2Row, 0, len(g.tars.places))
	g.wanted, g.given, g.begin = s.Wanted, map[shards.ImageID]credit{}, map[labels.Split]int{}
	for i, read := range []func(context.Context) error{
		map[string]func(context.Context) error{gldv2Clean: g.readClean, gldv2Train: g.readTrain}[train], g.readIndex,
		g.readSolution} {
		split := gldv2Splits[i].split
		if !slices.Contains(splits, split) {
			continue
		}
		g.begin[split] = len(g.rows)
		if err := read(ctx); err != nil {
			return err
		}
		g.sort(g.rows[g.begin[split]:])
	}
	if len(g.rows) == 0 {
		return fmt.Errorf("%s: no images are listed", s.Input)
	}
	if err := g.readCredits(ctx); err != nil {
		return err
	}
	if g.has(train) {
		g.compareRows(gldv2Published[train])
	}
	if g.has(gldv2Index) {
		g.compareRows(count{labels.Index, 761757, 0})
	}
	return nil
}

// compareRows notes the differences between a split and the published one.
func (g *gldv2) compareRows(want count) {
	images, classes := 0, map[int32]bool{}
	for _, r := range g.rows {
		if gldv2Splits[r.split].split == want.split {
			images++
			classes[r.landmark] = true
		}
	}
	g.differs(want, images, len(classes))
}

// sort brings the images of a split into the order of the TARs, so that a shard reads a stretch of one. Images that are
// in no TAR follow, in the order of the table.
func (g *gldv2) sort(rows []gldv2Row) {
	slices.SortStableFunc(rows, func(a, b gldv2Row) int {
		if a.place < 0 || b.place < 0 {
			return cmp.Compare(b2i(a.place < 0), b2i(b.place < 0))
		}
		x, y := &g.tars.places[a.place], &g.tars.places[b.place]
		return cmp.Or(cmp.Compare(x.tar, y.tar), cmp.Compare(x.at, y.at))
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// id returns the image of a row.
func (g *gldv2) id(r *gldv2Row) shards.ImageID {
	if r.place < 0 {
		return g.lost[-1-r.place]
	}
	return g.tars.places[r.place].id
}

// group returns the number of a row's TAR, from 1. Images that are in no TAR belong to the last one of their split.
func (g *gldv2) group(r *gldv2Row) int {
	if r.place < 0 {
		return g.tars.tarred[gldv2Splits[r.split].split]
	}
	return int(g.tars.places[r.place].tar) + 1
}

// trainingList returns the table of a subset.
func (g *gldv2) trainingList(subset string) (string, error) {
	if subset != "" && !slices.Contains(GLDv2Subsets, subset) {
		return "", registry.Unknown("subset", subset, GLDv2Subsets)
	}
	table := gldv2Train
	if subset == "clean" || subset == "" && g.has(gldv2Clean) {
		table = gldv2Clean
	}
	if subset != "" && !g.has(table) {
		return "", fmt.Errorf("%s is missing, which lists the subset %s", table, subset)
	}
	return table, nil
}

// readLabels reads the label file of stage 3, or the published ones.
func (g *gldv2) readLabels(ctx context.Context, s Settings) error {
	g.labels = map[labels.Split]*landmarks{}
	if s.Labels != "" {
		all, err := readLandmarks(s.Labels, labels.Train, s.NAValues)
		if err != nil {
			return err
		}
		g.notes = append(g.notes, all.notes...)
		g.labels[labels.Train], g.labels[labels.Index] = all, all
		in, err := FileInput(ctx, s.Labels)
		g.inputs = append(g.inputs, in)
		return err
	}
	for _, split := range []labels.Split{labels.Train, labels.Index} {
		name := string(split) + "_label_to_hierarchical.csv"
		if !g.has(name) {
			continue
		}
		err := g.readList(ctx, name, func(r io.Reader) error {
			table, err := labels.Read(r, name, labels.ReadOptions{Split: split})
			if err != nil {
				return err
			}
			if g.labels[split], err = newLandmarks(name, table, s.NAValues); err == nil {
				g.notes = append(g.notes, g.labels[split].notes...)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(g.labels) == 0 {
		return setting("labels")("no labels: want a label file, or train_label_to_hierarchical.csv and " +
			"index_label_to_hierarchical.csv among the tables")
	}
	return nil
}

// put adds an image of a split, by its place in gldv2Splits.
func (g *gldv2) put(id string, split int, landmark string, line int) error {
	image, ok := shards.ParseImageID(id)
	if !ok {
		return fmt.Errorf("image %.80q; want 16 hexadecimal digits", id)
	}
	space := gldv2Splits[split].space
	of := g.labels[space]
	if of == nil {
		return setting("labels")("there are no labels of split %s; want %s_label_to_hierarchical.csv, or a label file "+
			"with both splits", space, space)
	}
	item := shards.Item{Split: space}
	if err := of.label(&item, landmark); err != nil {
		return err
	}
	r := gldv2Row{place: g.tars.find(gldv2Splits[split].split, image), landmark: int32(item.Landmark), line: int32(line),
		table: uint8(len(g.tables) - 1), split: uint8(split)}
	if r.place < 0 {
		g.lost = append(g.lost, image)
		r.place = -int32(len(g.lost))
	}
	g.rows = append(g.rows, r)
	return nil
}

// readImages reads a table that lists images.
func (g *gldv2) readImages(ctx context.Context, name string, columns []string,
	each func(row []string, line int) error) error {
	g.tables = append(g.tables, name)
	return g.table(ctx, name, columns, each)
}

func (g *gldv2) readClean(ctx context.Context) error {
	return g.readImages(ctx, gldv2Clean, []string{"landmark_id", "images"}, func(row []string, line int) error {
		for _, id := range strings.Fields(row[1]) {
			if err := g.put(id, 0, row[0], line); err != nil {
				return err
			}
		}
		return nil
	})
}

func (g *gldv2) readTrain(ctx context.Context) error {
	return g.readImages(ctx, gldv2Train, []string{"id", "landmark_id"}, func(row []string, line int) error {
		return g.put(row[0], 0, row[1], line)
	})
}

func (g *gldv2) readIndex(ctx context.Context) error {
	g.index = map[shards.ImageID]labels.LandmarkID{}
	return g.readImages(ctx, gldv2Index, []string{"id", "landmark_id"}, func(row []string, line int) error {
		if err := g.put(row[0], 1, row[1], line); err != nil {
			return err
		}
		last := &g.rows[len(g.rows)-1]
		g.index[g.id(last)] = labels.LandmarkID(last.landmark)
		return nil
	})
}

// readSolution reads the queries that have an answer.
func (g *gldv2) readSolution(ctx context.Context) error {
	if g.index == nil {
		return fmt.Errorf("%s needs %s, which lists the landmarks of the answers", gldv2Solution, gldv2Index)
	}
	without := 0
	err := g.readImages(ctx, gldv2Solution, []string{"id", "images"}, func(row []string, line int) error {
		answer := strings.Fields(row[1])
		if len(answer) == 0 || answer[0] == "None" {
			without++
			return nil
		}
		id, _ := shards.ParseImageID(answer[0])
		landmark, known := g.index[id]
		if !known {
			return fmt.Errorf("the answer begins with %s, which is not in %s", answer[0], gldv2Index)
		}
		return g.put(row[0], 2, strconv.Itoa(int(landmark)), line)
	})
	g.index = nil
	if without > 0 {
		g.notes = append(g.notes, fmt.Sprintf("queries without an answer in the index, which are left out: %d", without))
	}
	return err
}

// readCredits reads author, licence, title and address of the training images: a hash of all, and the text of those
// that are wanted.
func (g *gldv2) readCredits(ctx context.Context) error {
	if _, has := g.begin[labels.Train]; !has {
		return nil
	}
	if !g.has(gldv2Credits) {
		g.notes = append(g.notes,
			gldv2Credits+" is missing, so the training images have no author and no licence, which CC BY requires")
		return nil
	}
	rows := make([]int32, len(g.tars.places)) // of a place, counted from 1
	lost := map[shards.ImageID]int32{}
	for i := range g.rows {
		switch r := &g.rows[i]; {
		case r.split != 0:
		case r.place < 0:
			lost[g.id(r)] = int32(i) + 1
		default:
			rows[r.place] = int32(i) + 1
		}
	}
	return g.table(ctx, gldv2Credits, []string{"id", "url", "author", "license", "title"},
		func(row []string, _ int) error {
			id, ok := shards.ParseImageID(row[0])
			if !ok {
				return nil
			}
			i := lost[id]
			if at := g.tars.find(labels.Train, id); at >= 0 {
				i = rows[at]
			}
			if i == 0 {
				return nil
			}
			r := &g.rows[i-1]
			sum := sha256.Sum256([]byte(strings.Join(row[1:], "\x00")))
			r.credits = max(binary.LittleEndian.Uint64(sum[:]), 1)
			if group := g.group(r); group == 0 || g.wanted == nil || g.wanted(group) {
				g.given[id] = credit{strings.Clone(row[1]), strings.Clone(row[2]), strings.Clone(row[3]), strings.Clone(row[4])}
			}
			return nil
		})
}

// Items yields the images of the splits, each in the order of its TARs.
func (g *gldv2) Items(ctx context.Context) iter.Seq2[shards.Item, error] {
	return func(yield func(shards.Item, error) bool) {
		g.used = nil
		for i := range g.rows {
			item, err := g.item(&g.rows[i])
			if err == nil {
				err = ctx.Err()
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

func (g *gldv2) item(r *gldv2Row) (shards.Item, error) {
	id, split := g.id(r), gldv2Splits[r.split]
	item := shards.Item{ID: id, Split: split.space, Where: g.tables[r.table] + ":" + strconv.Itoa(int(r.line)),
		Group: g.group(r), Landmark: -1}
	if r.landmark >= 0 {
		if err := g.labels[split.space].labelOf(&item, labels.LandmarkID(r.landmark)); err != nil {
			return item, err
		}
	}
	text := id.String()
	item.Split, item.Path = split.split, path.Join(string(split.split), text[:1], text[1:2], text[2:3], text+".jpg")
	a := &item.Attributes
	if item.Group > 0 {
		item.AttributesSum = strings.Join([]string{strconv.FormatUint(r.credits, 16), a.CategoryURL, a.WikidataQID, a.Tag,
			a.LabelSource}, "\x00")
	}
	if r.split == 0 {
		c := g.given[id]
		a.SourceURL, a.Author, a.License, a.Title = c.url, c.author, c.license, c.title
	}
	switch {
	case item.Group == 0:
		e, err := attach(&item, g.tars.folder, item.Path)
		g.used = appendUsed(g.used, e)
		return item, err
	case r.place < 0:
		item.Missing = true
		item.Open = func() (io.ReadCloser, error) { return nil, fs.ErrNotExist }
		return item, nil
	}
	at := r.place
	item.Size, item.Stamp = int64(g.tars.places[at].size), g.tars.tars[g.tars.places[at].tar].stamp
	item.Open = func() (io.ReadCloser, error) { return g.tars.image(at) }
	return item, nil
}

// Inputs lists the TARs, so that a slice hashes its own, then the tables and, without TARs, the folder of images.
func (g *gldv2) Inputs(ctx context.Context, wanted func(int) bool) ([]shards.Input, error) {
	all, err := g.tars.inputs(ctx, wanted)
	if err != nil {
		return nil, err
	}
	all = append(all, g.inputs...)
	if len(g.tars.tars) == 0 {
		var in shards.Input
		if wanted(len(all)) {
			in, err = g.tars.folder.input(ctx, g.used)
		}
		all = append(all, in)
	}
	return all, err
}

// Close closes the tables and the images.
func (g *gldv2) Close() error {
	err := g.published.Close()
	if g.tars != nil {
		err = errors.Join(err, g.tars.Close())
	}
	return err
}

// table calls each for every record of a CSV, with the named columns.
func (p *published) table(ctx context.Context, name string, columns []string,
	each func(row []string, line int) error) error {
	return p.readUpTo(ctx, name, maxTable, func(in io.Reader) error {
		r := csvfile.Separated(in, ',')
		r.Reuse()
		head, err := r.Read()
		if err != nil {
			return fmt.Errorf("%s: %w; want a header with %s", name, err, strings.Join(columns, ","))
		}
		at := make([]int, len(columns))
		for i, c := range columns {
			if at[i] = slices.Index(head, c); at[i] < 0 {
				return fmt.Errorf("%s:1: no column %s among %s", name, c, shortList(head))
			}
		}
		row := make([]string, len(columns))
		for {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for i := range at {
				row[i] = record[at[i]]
			}
			if err := each(row, r.Line()); err != nil {
				return fmt.Errorf("%s:%d: %w", name, r.Line(), err)
			}
		}
	})
}
