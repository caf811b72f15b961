package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
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
	labels map[labels.Split]*landmarks // by id space
	index  map[string]string           // landmark of an image of the index
}

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
	read := map[string]func(context.Context) error{gldv2Clean: g.readClean, gldv2Train: g.readTrain}[train]
	var splits []labels.Split
	for _, step := range []struct {
		table string
		split labels.Split
		read  func(context.Context) error
	}{
		{train, labels.Train, read}, {gldv2Index, labels.Index, g.readIndex},
		{gldv2Solution, labels.Test, g.readSolution},
	} {
		if !g.has(step.table) {
			continue
		}
		if err := step.read(ctx); err != nil {
			return err
		}
		splits = append(splits, step.split)
	}
	if len(g.records) == 0 {
		return fmt.Errorf("%s: no images are listed", s.Input)
	}
	if err := g.readCredits(ctx); err != nil {
		return err
	}
	if g.has(train) {
		g.compare(gldv2Published[train])
	}
	if g.has(gldv2Index) {
		g.compare(count{labels.Index, 761757, 0})
	}
	root := s.Images
	if root == "" {
		root = s.Input
	}
	images, err := openTarSet(ctx, root, splits)
	if err == nil {
		g.images = images
	}
	return err
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
		all, err := readLandmarks(s.Labels, labels.Train)
		if err != nil {
			return err
		}
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
			g.labels[split] = newLandmarks(name, table)
			return nil
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

// put adds an image of a split. Its landmark id belongs to an id space.
func (g *gldv2) put(id string, split, space labels.Split, landmark, where string) error {
	if _, ok := shards.ParseImageID(id); !ok {
		return fmt.Errorf("image %.80q; want 16 hexadecimal digits", id)
	}
	of := g.labels[space]
	if of == nil {
		return setting("labels")("there are no labels of split %s; want %s_label_to_hierarchical.csv, or a label file "+
			"with both splits", space, space)
	}
	item := shards.Item{Split: space}
	if err := of.label(&item, landmark); err != nil {
		return err
	}
	r := record{path: path.Join(string(split), id[:1], id[1:2], id[2:3], id+".jpg"), id: id, split: split,
		names: item.Names, landmark: item.Landmark, where: where}
	if item.Attributes != (shards.Attributes{}) {
		r.attributes = &item.Attributes
	}
	return g.add(r)
}

func (g *gldv2) readClean(ctx context.Context) error {
	return g.table(ctx, gldv2Clean, []string{"landmark_id", "images"}, func(row []string, where string) error {
		for _, id := range strings.Fields(row[1]) {
			if err := g.put(id, labels.Train, labels.Train, row[0], where); err != nil {
				return err
			}
		}
		return nil
	})
}

func (g *gldv2) readTrain(ctx context.Context) error {
	return g.table(ctx, gldv2Train, []string{"id", "landmark_id"}, func(row []string, where string) error {
		return g.put(row[0], labels.Train, labels.Train, row[1], where)
	})
}

func (g *gldv2) readIndex(ctx context.Context) error {
	g.index = map[string]string{}
	return g.table(ctx, gldv2Index, []string{"id", "landmark_id"}, func(row []string, where string) error {
		g.index[row[0]] = row[1]
		return g.put(row[0], labels.Index, labels.Index, row[1], where)
	})
}

// readSolution reads the queries that have an answer.
func (g *gldv2) readSolution(ctx context.Context) error {
	if g.index == nil {
		return fmt.Errorf("%s needs %s, which lists the landmarks of the answers", gldv2Solution, gldv2Index)
	}
	without := 0
	err := g.table(ctx, gldv2Solution, []string{"id", "images"}, func(row []string, where string) error {
		answer := strings.Fields(row[1])
		if len(answer) == 0 || answer[0] == "None" {
			without++
			return nil
		}
		landmark, known := g.index[answer[0]]
		if !known {
			return fmt.Errorf("the answer begins with %s, which is not in %s", answer[0], gldv2Index)
		}
		return g.put(row[0], labels.Test, labels.Index, landmark, where)
	})
	if without > 0 {
		g.notes = append(g.notes, fmt.Sprintf("%d queries have no answer in the index and are left out", without))
	}
	return err
}

// readCredits sets author, licence, title and address of the training images.
func (g *gldv2) readCredits(ctx context.Context) error {
	rows := map[string]int{}
	for i := range g.records {
		if g.records[i].split == labels.Train {
			rows[g.records[i].id] = i
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if !g.has(gldv2Credits) {
		g.notes = append(g.notes,
			gldv2Credits+" is missing, so the training images have no author and no licence, which CC BY requires")
		return nil
	}
	return g.table(ctx, gldv2Credits, []string{"id", "url", "author", "license", "title"},
		func(row []string, _ string) error {
			i, wanted := rows[row[0]]
			if !wanted {
				return nil
			}
			a := g.records[i].attributes
			if a == nil {
				a = new(shards.Attributes)
				g.records[i].attributes = a
			}
			a.SourceURL, a.Author, a.License, a.Title = row[1], row[2], row[3], row[4]
			return nil
		})
}

// table calls each for every record of a CSV, with the named columns.
func (p *published) table(ctx context.Context, name string, columns []string,
	each func(row []string, where string) error) error {
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
			where := fmt.Sprintf("%s:%d", name, r.Line())
			if err := each(row, where); err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
		}
	})
}
