package dataset

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hgld/labels"
	"hgld/shards"
)

// DyML imports DyML-Vehicle, DyML-Animal or DyML-Product (Sun et al., "Dynamic
// Metric Learning", CVPR 2021) as published:
//
//	train/label.csv, train/imgs/          fname, coarse_id, middle_id, fine_id
//	bmk_fine/query.csv, bmk_fine/query/   fname, labels      (Vehicle, Animal; also gallery,
//	                                                          and bmk_middle, bmk_coarse)
//	mini-bmk_all_in_one/label.csv, imgs/  as train/label.csv (Product)
//
// Columns are separated by a comma and a space. In the published files no line end follows
// the header: the first record is appended to it, "…, fine_id0.jpg, 3, 12, 441". hgld
// reads that record too; the released code of HAPPIER loses the image.
//
// The levels are fine, middle and coarse. The training images are split train, Product's
// test images split test. Each benchmark of Vehicle or Animal has its own images with
// labels of a single level. Naming that level reads it as the splits query and gallery of
// a data set of one level. Overall accuracy is the mean over the three.
//
// The files do not say whether an id means the same in training and test, so classes are
// called train/12 and test/12. Query and gallery share their ids; the released code numbers
// them independently.
type DyML struct{}

// dymlHeader matches the header of a list, after which the first record may follow in
// the same line.
func dymlHeader(columns ...string) *regexp.Regexp {
	return regexp.MustCompile(`^` + strings.Join(columns, `\s*,\s*`) + `\s*`)
}

// Open reads the lists.
func (DyML) Open(ctx context.Context, s Settings) (shards.Source, error) {
	known := []level{{name: "fine"}, {name: "middle"}, {name: "coarse"}}
	return importer(ctx, "dyml", s, known, []string{"train/label.csv"}, func(p *published) error {
		p.sides = nil
		product := p.has("mini-bmk_all_in_one/label.csv")
		switch {
		case len(p.levels) == 1 && !product:
			return p.benchmark(ctx, p.levels[0])
		case len(p.levels) != 3:
			return fmt.Errorf("levels %s; want fine,middle,coarse for the training images, or one of them alone for its "+
				"benchmark of Vehicle or Animal", strings.Join(p.levels, ","))
		}
		if err := p.allLevels(ctx, "train", labels.Train); err != nil {
			return err
		}
		if product {
			if err := p.allLevels(ctx, "mini-bmk_all_in_one", labels.Test); err != nil {
				return err
			}
		}
		return p.checkComplete(dymlCounts(p, product), "")
	})
}

// dymlCounts has the numbers of fine classes from the released configurations. The
// files of Vehicle and Animal look alike; the one with the nearer number is assumed.
func dymlCounts(p *published, product bool) []count {
	if product {
		return []count{{labels.Train, 0, 1639}}
	}
	fine := map[string]bool{}
	for _, r := range p.records {
		fine[r.names[0]] = true
	}
	if len(fine) <= 495 {
		return []count{{labels.Train, 0, 495}}
	}
	return []count{{labels.Train, 0, 39491}}
}

// allLevels reads a list with all three levels.
func (p *published) allLevels(ctx context.Context, dir string, split labels.Split) error {
	head := dymlHeader("fname", "coarse_id", "middle_id", "fine_id")
	return p.lines(ctx, dir+"/label.csv", splitHeader(head, func(text, where string) error {
		file, ids, err := dymlRecord(text, 3)
		if err != nil {
			return err
		}
		for i := range ids {
			ids[i] = string(split) + "/" + ids[i]
		}
		slices.Reverse(ids) // the columns are coarsest first
		return p.add(record{path: path.Join(dir, "imgs", file), split: split, names: ids, where: where})
	}))
}

// benchmark reads query and gallery of one level.
func (p *published) benchmark(ctx context.Context, level string) error {
	dir := "bmk_" + level
	for _, split := range []labels.Split{labels.Query, labels.Gallery} {
		name := fmt.Sprintf("%s/%s.csv", dir, split)
		err := p.lines(ctx, name, splitHeader(dymlHeader("fname", "labels"), func(text, where string) error {
			file, ids, err := dymlRecord(text, 1)
			if err != nil {
				return err
			}
			return p.add(record{path: path.Join(dir, string(split), file), split: split, names: []string{"test/" + ids[0]},
				where: where})
		}))
		if err != nil {
			return err
		}
	}
	return p.checkComplete(nil, "")
}

// splitHeader returns the reader of a list whose first record may follow its header in the
// same line.
func splitHeader(head *regexp.Regexp, each func(text, where string) error) func(text, where string) error {
	first := true
	return func(text, where string) error {
		header := head.FindString(text)
		switch {
		case first && header == "":
			return fmt.Errorf("%.80q; want the header %.80q, with or without the first record after it", text, strings.ReplaceAll(strings.Trim(head.String(), `^\s*`), `\s*,\s*`, ", "))
		case !first && header != "":
			return errors.New("the header occurs again, as if two files had been joined; take the file as it was published")
		case header == text:
			first = false
			return nil
		}
		first = false
		return each(text[len(header):], where)
	}
}

// dymlRecord reads a file name and its ids, whole numbers.
func dymlRecord(text string, ids int) (file string, list []string, err error) {
	columns := strings.Split(text, ",")
	if len(columns) != ids+1 {
		return "", nil, fmt.Errorf("%.80q has %d columns, want %d: a file and its labels", text, len(columns), ids+1)
	}
	for _, c := range columns[1:] {
		n, err := strconv.Atoi(strings.TrimSpace(c))
		if err != nil || n < 0 {
			return "", nil, fmt.Errorf("label %.80q of %s; want a whole number from 0 up", strings.TrimSpace(c), columns[0])
		}
		list = append(list, strconv.Itoa(n))
	}
	return strings.TrimSpace(columns[0]), list, nil
}
