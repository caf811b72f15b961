package dataset

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hgld/labels"
	"hgld/shards"
)

// SOP imports Stanford Online Products (Song et al., "Deep Metric Learning via
// Lifted Structured Feature Embedding", CVPR 2016) as published:
//
//	Ebay_train.txt, Ebay_test.txt   image_id class_id super_class_id path
//	bicycle_final/111085122871_0.JPG
//
// Each list has a header and columns separated by a space, with numbers from 1 up.
// The levels are product (class_id) and category (super_class_id, named by the
// folder of its images without "_final"); the splits train and test share no
// product. Ebay_info.txt, which lists the images of both, is not read.
type SOP struct{}

// sopColumns is the header of both lists.
const sopColumns = "image_id class_id super_class_id path"

// Open reads the lists.
func (SOP) Open(ctx context.Context, s Settings) (shards.Source, error) {
	known := []level{{name: "product"}, {name: "category"}}
	return importer(ctx, "sop", s, known, []string{"Ebay_train.txt", "Ebay_test.txt"}, func(p *published) error {
		names := categories{}
		for _, list := range []struct {
			name  string
			split labels.Split
		}{{"Ebay_train.txt", labels.Train}, {"Ebay_test.txt", labels.Test}} {
			err := p.lines(ctx, list.name, header(sopColumns, func(text, where string) error {
				file, class, err := names.read(text)
				if err != nil {
					return err
				}
				return p.add(record{path: file, split: list.split, names: p.levelClasses(class), where: where})
			}))
			if err != nil {
				return err
			}
		}
		return p.checkComplete([]count{{labels.Train, 59551, 11318}, {labels.Test, 60502, 11316}}, "")
	})
}

// categories holds the name of each super_class_id.
type categories map[int]string

// read parses a line. The path comes last and may contain spaces.
func (c categories) read(text string) (file string, class map[string]string, err error) {
	columns := strings.SplitN(text, " ", 4)
	if len(columns) < 4 {
		return "", nil, fmt.Errorf("%d columns, want 4: %s", len(columns), sopColumns)
	}
	var numbers [3]int
	for i, name := range strings.Fields(sopColumns)[:3] {
		if numbers[i], err = strconv.Atoi(columns[i]); err != nil || numbers[i] < 1 {
			return "", nil, fmt.Errorf("%s %.80q; want a whole number from 1 up", name, columns[i])
		}
	}
	file, super := columns[3], numbers[2]
	folder, _, nested := strings.Cut(file, "/")
	if !nested {
		return "", nil, fmt.Errorf("path %.80q; want category_final/file", file)
	}
	folder = strings.TrimSuffix(folder, "_final")
	if c[super] == "" {
		c[super] = folder
	}
	if c[super] != folder {
		return "", nil, fmt.Errorf("super_class_id %d is %s here and %s in an earlier line; take the list as it was "+
			"published", super, folder, c[super])
	}
	return file, map[string]string{"product": strconv.Itoa(numbers[1]), "category": folder}, nil
}
