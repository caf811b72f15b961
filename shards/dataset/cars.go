package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"hgld/internal/matfile"
	"hgld/labels"
	"hgld/shards"
)

// Cars imports Cars196 (Krause et al., 3D Object Representations for Fine-Grained Categorization, 3dRR 2013) as
// published, whole photographs without their bounding boxes:
//
//	cars_annos.mat            annotations and class_names
//	car_ims/000001.jpg
//
// The splits are those of metric learning (Song et al., CVPR 2016): classes 1 to 98 train, 99 to 196 test. The
// column test, which is for classification, is not read.
//
// The levels are class, such as "Audi TT RS Coupe 2012", and make, with which the name of each class begins.
type Cars struct{}

// carsList has the annotations of all images.
const carsList = "cars_annos.mat"

// Open reads the annotations.
func (Cars) Open(ctx context.Context, s Settings) (shards.Source, error) {
	const list = carsList
	known := []level{{name: "class"}, {name: "make"}}
	return importer(ctx, "cars196", s, known, []string{list}, func(p *published) error {
		var all map[string]matfile.Value
		err := p.readList(ctx, list, func(in io.Reader) (err error) {
			if all, err = matfile.Read(in); err != nil {
				return fmt.Errorf("%s: %w", list, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		annotations, _ := all["annotations"].([]map[string]matfile.Value)
		names, _ := all["class_names"].([]matfile.Value)
		if len(annotations) == 0 || len(names) == 0 {
			return fmt.Errorf("%s has no annotations and class_names; take the file for all 16,185 images", list)
		}
		for i, a := range annotations {
			where := fmt.Sprintf("%s: annotation %d", list, i+1)
			r, err := carOf(p, a, names)
			if err == nil {
				r.where = where
				err = p.add(r)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
		}
		return p.checkComplete([]count{{labels.Train, 8054, 98}, {labels.Test, 8131, 98}}, "")
	})
}

// carOf reads an annotation.
func carOf(p *published, a map[string]matfile.Value, names []matfile.Value) (r record, err error) {
	file, _ := a["relative_im_path"].(string)
	if file == "" {
		return r, errors.New("relative_im_path is missing; want a text such as car_ims/000001.jpg")
	}
	number, _ := a["class"].([]float64)
	if len(number) != 1 || number[0] != float64(int(number[0])) || number[0] < 1 || int(number[0]) > len(names) {
		return r, fmt.Errorf("class is %v, want a number from 1 to %d", number, len(names))
	}
	name, _ := names[int(number[0])-1].(string)
	if name == "" {
		return r, fmt.Errorf("class_names has no text for class %v", number[0])
	}
	classes := map[string]string{"class": name, "make": makeOf(name)}
	r = record{path: file, split: labels.Train, names: p.levelClasses(classes)}
	if number[0] > 98 {
		r.split = labels.Test
	}
	return r, nil
}

// makeOf returns the make of a car: the first word of its name, or the first two of makes that have two.
func makeOf(name string) string {
	for _, two := range []string{"AM General", "Aston Martin", "Land Rover"} {
		if strings.HasPrefix(name, two+" ") {
			return two
		}
	}
	first, _, _ := strings.Cut(name, " ")
	return first
}
