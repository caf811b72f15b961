package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/regular"
	"hgld/labels"
	"hgld/shards"
)

// COCO imports annotations in the format of COCO (Lin et al., "Microsoft COCO", ECCV 2014; https://cocodataset.org), as
// Roboflow, CVAT, Label Studio and FiftyOne export them: of each image, whole, the class of its boxes.
//
//	annotations/instances_train2017.json    or train/_annotations.coco.json beside the images
//	train2017/000000000009.jpg              or images/…, train/…
//
// The JSON has images (id, file_name), annotations (image_id, category_id) and categories (id, name, supercategory).
// The levels are category and, if each category has one, supercategory. An image whose boxes have several categories
// has no class, as has one without a box. The split is the one of which the name of a file or of its folder speaks;
// the default is train.
type COCO struct{}

// cocoFile is what is read of a file.
type cocoFile struct {
	Images []struct {
		ID       json.Number `json:"id"`
		FileName string      `json:"file_name"`
		W        int         `json:"width"`
		H        int         `json:"height"`
	} `json:"images"`
	Annotations []struct {
		ID       json.Number `json:"id"`
		Image    json.Number `json:"image_id"`
		Category json.Number `json:"category_id"`
		Box      [4]float64  `json:"bbox"`    // x, y, width, height
		Crowd    any         `json:"iscrowd"` // 1: the box is around several things
	} `json:"annotations"`
	Categories []cocoCategory `json:"categories"`
}

type cocoCategory struct {
	ID            json.Number `json:"id"`
	Name          string      `json:"name"`
	Supercategory string      `json:"supercategory"`
}

// cocoNames are the names of annotation files, and cocoExports are names that other files have, too.
var (
	cocoNames   = []string{"annotations/instances_*.json", "_annotations.coco.json", "*/_annotations.coco.json"}
	cocoExports = []string{"instances_*.json", "annotations/*.json", "result.json", "labels.json"}
)

// firstMatches lists the files of a folder that fit the first pattern of which there is one.
func firstMatches(folder string, patterns ...string) []string {
	for _, pattern := range patterns {
		if found, err := fs.Glob(os.DirFS(folder), pattern); err == nil && len(found) > 0 {
			return found
		}
	}
	return nil
}

// isCOCO reports whether the first of the files, whose names say little, has annotations in the format of COCO.
func isCOCO(folder string, files []string) bool {
	if len(files) == 0 {
		return false
	}
	in, err := regular.Open(filepath.Join(folder, files[0]))
	if err != nil {
		return false
	}
	defer in.Close()
	return readsAsCOCO(in)
}

func readsAsCOCO(in io.Reader) bool {
	var f cocoFile
	const longest = 256 << 20
	d := json.NewDecoder(io.LimitReader(in, longest))
	d.UseNumber()
	return d.Decode(&f) == nil && len(f.Images) > 0 && len(f.used()) > 0
}

// zipHoldsCOCO reports whether a zip archive has annotations in the format of COCO, by their names or, if these say
// little, by what they hold.
func zipHoldsCOCO(name string) bool {
	st, err := openZip(name)
	if err != nil {
		return false
	}
	defer st.Close()
	return slices.ContainsFunc(slices.Collect(maps.Keys(st.(*zipStore).members)), func(member string) bool {
		folder, file := path.Split(member)
		instances, _ := path.Match("instances_*.json", file)
		if file == "_annotations.coco.json" || instances && path.Base(folder) == "annotations" {
			return true
		}
		if !slices.Contains(cocoExports, file) {
			return false
		}
		in, err := st.open(member)
		if err != nil {
			return false
		}
		defer in.Close()
		return readsAsCOCO(in)
	})
}

// cocoLists finds the annotation files in the folder or the archive, and its top.
func (p *published) cocoLists(ctx context.Context, input string) ([]string, error) {
	patterns := slices.Concat(cocoNames, cocoExports)
	info, err := os.Stat(input)
	if err == nil && info.IsDir() {
		if found := firstMatches(input, patterns...); found != nil {
			return found, nil
		}
	} else if files, err := p.lists.list(ctx); err != nil {
		return nil, err
	} else {
		tops, _ := p.lists.folders()
		for _, top := range append([]string{""}, tops...) {
			for _, pattern := range patterns {
				var found []string
				for _, f := range files {
					name, below := strings.CutPrefix(f.path, top+"/")
					if top == "" {
						name, below = f.path, true
					}
					if fits, _ := path.Match(pattern, name); fits && below {
						found = append(found, name)
					}
				}
				if p.top = top; found != nil {
					return found, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("%s has no annotations/instances_*.json and no _annotations.coco.json; input must be the "+
		"folder, .zip or .tar with the annotations", input)
}

// Open reads the annotations.
func (COCO) Open(ctx context.Context, s Settings) (shards.Source, error) {
	return openCOCO(ctx, "coco", s, (*published).cocoImages)
}

// openCOCO reads the annotations and has add make the records of each file.
func openCOCO(ctx context.Context, name string, s Settings,
	add func(p *published, list string, f *cocoFile) error) (shards.Source, error) {
	known := []level{{name: "category"}, {name: "supercategory"}}
	return importer(ctx, name, s, known, nil, func(p *published) error {
		p.sides = nil // training and test share their classes
		lists, err := p.cocoLists(ctx, s.Input)
		if err != nil {
			return err
		}
		files := make([]cocoFile, len(lists))
		tall, above := true, map[string]bool{}
		for i, list := range lists {
			err := p.readList(ctx, list, func(in io.Reader) error {
				d := json.NewDecoder(in)
				d.UseNumber()
				if err := d.Decode(&files[i]); err != nil {
					return fmt.Errorf("%s, near byte %d: %w; want annotations in the format of COCO", list, d.InputOffset(), err)
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, c := range files[i].used() {
				tall = tall && c.Supercategory != "" && c.Supercategory != "none"
				above[c.Supercategory] = true
			}
		}
		if (!tall || len(above) == 1) && len(s.Levels) == 0 {
			why := "not every category has a supercategory"
			if p.levels = p.levels[:1]; tall {
				why = "all categories have one supercategory"
			}
			p.notes = append(p.notes, why+", so category is the only level")
		}
		for i, list := range lists {
			if err := files[i].check(); err != nil {
				return fmt.Errorf("%s: %w", list, err)
			}
			if err := add(p, list, &files[i]); err != nil {
				return fmt.Errorf("%s: %w", list, err)
			}
		}
		return p.checkComplete(nil, "")
	})
}

// check returns an error for a file whose parts do not fit together.
func (f *cocoFile) check() error {
	used := f.used()
	for i, a := range f.Annotations {
		c, known := used[a.Category]
		if !known {
			return fmt.Errorf("annotation %d has the category %.20q, which is not among the categories", i, a.Category)
		}
		if c.Name == "" || strings.ContainsRune(c.Name, 0) {
			return fmt.Errorf("category %s has no name", c.ID)
		}
	}
	for i := range f.Images {
		image := &f.Images[i]
		if image.FileName == "" {
			return fmt.Errorf("image %d has no file_name", i)
		}
		image.FileName = strings.ReplaceAll(image.FileName, `\`, "/") // as programs on Windows write it
	}
	if len(f.Images) == 0 {
		return errors.New("no images are listed")
	}
	return nil
}

// cocoFolder returns the folder of the images of a file: that of the file, or one called like the file or images. The
// first image tells which.
func (p *published) cocoFolder(list string, f *cocoFile) string {
	name := strings.TrimPrefix(strings.TrimSuffix(path.Base(list), ".json"), "instances_")
	folders := []string{path.Dir(list), name, path.Join("images", name), "images", "data", "."}
	for _, folder := range folders {
		for _, image := range f.Images[:min(100, len(f.Images))] {
			if _, err := p.images.find(path.Join(p.top, folder, image.FileName)); err == nil {
				return folder
			}
		}
	}
	return folders[0]
}

// used returns the categories that have an annotation, by number.
func (f *cocoFile) used() map[json.Number]cocoCategory {
	all, used := map[json.Number]cocoCategory{}, map[json.Number]cocoCategory{}
	for _, c := range f.Categories {
		all[c.ID] = c
	}
	for _, a := range f.Annotations {
		if c, known := all[a.Category]; known {
			used[a.Category] = c
		}
	}
	return used
}

// cocoRecord is the record of an image, or of a part of it that has a class.
func (p *published) cocoRecord(list, folder string, f *cocoFile, i int, class cocoCategory) record {
	r := record{path: path.Join(folder, f.Images[i].FileName), where: fmt.Sprintf("%s: image %d", list, i),
		split: cmp.Or(splitIn(path.Base(list)), splitIn(path.Dir(list)), labels.Train)}
	if class.Name != "" {
		r.names = p.levelClasses(map[string]string{"category": class.Name, "supercategory": class.Supercategory})
	}
	return r
}

// cocoImages adds the images of a file.
func (p *published) cocoImages(list string, f *cocoFile) error {
	boxes, used := map[json.Number]map[json.Number]bool{}, f.used()
	for _, a := range f.Annotations {
		if boxes[a.Image] == nil {
			boxes[a.Image] = map[json.Number]bool{}
		}
		boxes[a.Image][a.Category] = true
	}
	folder, several := p.cocoFolder(list, f), 0
	for i, image := range f.Images {
		var class cocoCategory
		switch of := slices.Collect(maps.Keys(boxes[image.ID])); len(of) {
		case 0:
		case 1:
			class = used[of[0]]
		default:
			several++
		}
		if err := p.add(p.cocoRecord(list, folder, f, i, class)); err != nil {
			return fmt.Errorf("image %d: %w", i, err)
		}
	}
	if several > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s: images whose boxes have several categories, which have no class here: "+
			"%d; coco-crops makes an image of each box", list, several))
	}
	return nil
}
