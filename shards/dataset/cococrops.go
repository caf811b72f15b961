package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"math"
	"slices"

	"hgld/internal/terminal"
	"hgld/shards"
)

// COCOCrops imports the same files as [COCO]: of each box the part of the image within it, as JPEG, with the class of
// the box. Such images have the path of their image, # and the id of the annotation: val2017/000000000139.jpg#1234.
//
// A part has all pixels that its box touches: x and y are rounded down, the other corner up. What lies beyond the
// border of the image is left out. Boxes around several things (iscrowd) and boxes without an area are no images; notes
// count them. An image whose size is not the one of the annotations is a failure, as is a box outside it.
type COCOCrops struct{}

// Open reads the annotations.
func (COCOCrops) Open(ctx context.Context, s Settings) (shards.Source, error) {
	return openCOCO(ctx, "coco-crops", s, (*published).cocoCrops)
}

// leftOut counts annotations that are no images.
type leftOut struct {
	count int
	first string
}

func (l *leftOut) add(id json.Number, i int) {
	if l.count++; l.count == 1 {
		l.first = fmt.Sprintf("annotation %d", i)
		if id != "" {
			l.first += fmt.Sprintf(", id %s", id)
		}
	}
}

// cocoCrops adds the boxes of a file.
func (p *published) cocoCrops(list string, f *cocoFile) error {
	images, used, folder := map[json.Number]int{}, f.used(), p.cocoFolder(list, f)
	for i, m := range f.Images {
		if before, twice := images[m.ID]; twice {
			return fmt.Errorf("images %d and %d both have the id %.20q; want an id of its own for each", before, i, m.ID)
		}
		images[m.ID] = i
	}
	type key struct {
		image int
		id    json.Number
	}
	seen, with := map[key]int{}, map[int]bool{}
	var crowds, empty, strange leftOut
	order := make([]int, len(f.Annotations)) // by image, so that a build decodes each once
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(images[f.Annotations[a].Image], images[f.Annotations[b].Image])
	})
	for _, i := range order {
		a := f.Annotations[i]
		at, known := images[a.Image]
		x, y, w, h := a.Box[0], a.Box[1], a.Box[2], a.Box[3]
		switch {
		case !known:
			strange.add(a.ID, i)
			continue
		case a.Crowd == json.Number("1"), a.Crowd == true:
			crowds.add(a.ID, i)
			continue
		case !(w > 0 && h > 0) || max(math.Abs(x), math.Abs(y), w, h) > math.MaxInt32:
			empty.add(a.ID, i)
			continue
		case a.ID == "":
			return fmt.Errorf("annotation %d has no id, which names its image; want an id of its own for each", i)
		}
		if before, twice := seen[key{at, a.ID}]; twice {
			return fmt.Errorf("annotations %d and %d of one image both have the id %.20q; want an id of its own for each",
				before, i, a.ID)
		}
		seen[key{at, a.ID}], with[at] = i, true
		r := p.cocoRecord(list, folder, f, at, used[a.Category])
		r.where = fmt.Sprintf("%s: annotation %d", list, i)
		r.part = &shards.Part{Of: image.Pt(f.Images[at].W, f.Images[at].H), Box: image.Rect(int(math.Floor(x)),
			int(math.Floor(y)), int(math.Ceil(x+w)), int(math.Ceil(y+h))), Name: a.ID.String()}
		if err := p.add(r); err != nil {
			return fmt.Errorf("image %d: %w", at, err)
		}
	}
	for what, l := range map[string]leftOut{"around several things (iscrowd)": crowds, "without an area": empty,
		"of images that are not listed": strange} {
		if l.count > 0 {
			p.notes = append(p.notes, fmt.Sprintf("%s: boxes %s, left out: %d (%s, first)", list, what, l.count, l.first))
		}
	}
	if n := len(f.Images) - len(with); n > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s: %s without a box left out", list, terminal.Count(n, "image")))
	}
	return nil
}
