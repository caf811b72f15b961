package dataset

import (
	"context"
	"fmt"
	"strings"

	"hgld/labels"
	"hgld/shards"
)

// Aircraft imports FGVC-Aircraft (Maji et al., "Fine-Grained Visual Classification of Aircraft", arXiv 1306.5151) as
// published:
//
//	data/images_variant_train.txt        0000001 707-320        (also val, test)
//	data/images_family_train.txt         0000001 Boeing 707
//	data/images_manufacturer_train.txt   0000001 Boeing
//	data/images/0000001.jpg
//
// The levels are variant, family and manufacturer. All splits have the same 100 variants. The photographs are whole,
// with the banner of their copyright in the last 20 rows.
type Aircraft struct{}

// Open reads the lists.
func (Aircraft) Open(ctx context.Context, s Settings) (shards.Source, error) {
	known := []level{{name: "variant"}, {name: "family"}, {name: "manufacturer"}}
	marks := []string{"data/images_variant_train.txt", "images_variant_train.txt"}
	return importer(ctx, "fgvc-aircraft", s, known, marks, func(p *published) error {
		p.sides = nil // training and test share their classes
		folder := "data/"
		if !p.has(marks[0]) {
			folder = ""
		}
		for _, split := range []labels.Split{labels.Train, labels.Val, labels.Test} {
			classes := map[string]map[string]string{} // by image and level
			var err error
			for _, of := range known[1:] {
				list := fmt.Sprintf("%simages_%s_%s.txt", folder, of.name, split)
				err = p.lines(ctx, list, func(text, _ string) error {
					image, class, found := strings.Cut(text, " ")
					if !found {
						return fmt.Errorf("%.80q; want an image and its %s", text, of.name)
					}
					if classes[image] == nil {
						classes[image] = map[string]string{}
					}
					classes[image][of.name] = class
					return nil
				})
				if err != nil {
					return err
				}
			}
			err = p.lines(ctx, fmt.Sprintf("%simages_variant_%s.txt", folder, split), func(text, where string) error {
				image, variant, found := strings.Cut(text, " ")
				of := classes[image]
				if !found || of["family"] == "" || of["manufacturer"] == "" {
					return fmt.Errorf("%.80q; want an image of the lists of families and manufacturers, and its variant", text)
				}
				of["variant"] = variant
				return p.add(record{path: image + ".jpg", split: split, names: p.levelClasses(of), where: where})
			})
			if err != nil {
				return err
			}
		}
		return p.checkComplete([]count{{labels.Train, 3334, 100}, {labels.Val, 3333, 100}, {labels.Test, 3333, 100}},
			folder+"images")
	})
}
