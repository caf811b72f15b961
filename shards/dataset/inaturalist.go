package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"hgld/labels"
	"hgld/shards"
)

// INaturalist imports iNaturalist 2018 (Van Horn et al., CVPR 2018) in the splits
// of metric learning (Brown et al., "Smooth-AP", ECCV 2020, whose code links to
// the lists):
//
//	Inat_dataset_splits/Inaturalist_train_set1.txt   a path in each line:
//	Inat_dataset_splits/Inaturalist_test_set1.txt    train_val2018/Aves/2761/….jpg
//	categories.json, or else train2018.json          the taxonomy
//	train_val2018/<group>/<category id>/<file>
//
// The JSON is a list of categories, or an object with such a list as "categories": id,
// name, kingdom, phylum, class, order, family and genus of each species. The names in
// train2018.json are obfuscated; those in categories.json, which was published later, are
// not. The tree is the same.
//
// The levels are species, genus, family, order, class, phylum and kingdom: the
// seven of iNat-full (Ramzi et al., "HAPPIER", ECCV 2022). Its iNat-base is species
// and group, the folder in the path; the levels species,group read it. A name that occurs
// under two parents, such as a genus of plants and one of birds, is two classes here, with
// the parent in parentheses. The released code merges them, so its classes are not a tree.
type INaturalist struct{}

// inaturalistTrain lists the training images.
const inaturalistTrain = "Inat_dataset_splits/Inaturalist_train_set1.txt"

// ranks are the levels above the species in the JSON, finest first.
var ranks = []string{"genus", "family", "order", "class", "phylum", "kingdom"}

// Open reads the taxonomy and the lists.
func (INaturalist) Open(ctx context.Context, s Settings) (shards.Source, error) {
	known := []level{{name: "species"}}
	for _, r := range ranks {
		known = append(known, level{name: r})
	}
	known = append(known, level{name: "group", optional: true})
	const lists = "Inat_dataset_splits/Inaturalist_%s_set1.txt"
	marks := []string{inaturalistTrain}
	return importer(ctx, "inaturalist", s, known, marks, func(p *published) error {
		species, err := p.taxonomy(ctx)
		if err != nil {
			return err
		}
		for _, split := range []labels.Split{labels.Train, labels.Test} {
			err := p.lines(ctx, fmt.Sprintf(lists, split), func(text, where string) error {
				parts := strings.Split(text, "/")
				if len(parts) < 3 {
					return fmt.Errorf("path %.80q; want …/group/category id/file", text)
				}
				group, id := parts[len(parts)-3], parts[len(parts)-2]
				class, known := species[id]
				if !known {
					return fmt.Errorf("path %.80q: %.80q is not the id of a category; want one of the %d in the JSON", text, id,
						len(species))
				}
				class["group"] = group
				return p.add(record{path: text, split: split, names: p.levelClasses(class), where: where})
			})
			if err != nil {
				return err
			}
		}
		return p.checkComplete([]count{{labels.Train, 325846, 5690}, {labels.Test, 136093, 2452}}, "")
	})
}

// category is a species of the JSON.
type category struct {
	ID      *int   `json:"id"`
	Name    string `json:"name"`
	Genus   string `json:"genus"`
	Family  string `json:"family"`
	Order   string `json:"order"`
	Class   string `json:"class"`
	Phylum  string `json:"phylum"`
	Kingdom string `json:"kingdom"`
}

// taxonomy returns the class at each level for each category id.
func (p *published) taxonomy(ctx context.Context) (map[string]map[string]string, error) {
	name := "categories.json"
	if !p.has(name) {
		name = "train2018.json"
	}
	var list []category
	err := p.readList(ctx, name, func(r io.Reader) (err error) {
		d := json.NewDecoder(r)
		if list, err = readCategories(d); err != nil {
			var wrong *json.UnmarshalTypeError
			if errors.As(err, &wrong) {
				err = fmt.Errorf("%s is a %.80s", wrong.Field, wrong.Value)
			}
			err = fmt.Errorf("%s, near byte %d: %w; want the annotations or the categories of iNaturalist 2018, whole and as "+
				"JSON", name, d.InputOffset(), err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	species := map[string]map[string]string{}
	for i, c := range list {
		if c.ID == nil || *c.ID < 0 {
			return nil, fmt.Errorf("%s: category %d of the list has no id; want a whole number from 0 up", name, i)
		}
		id := strconv.Itoa(*c.ID)
		class := map[string]string{"species": c.Name, "genus": c.Genus, "family": c.Family, "order": c.Order,
			"class": c.Class, "phylum": c.Phylum, "kingdom": c.Kingdom}
		for _, rank := range slices.Concat([]string{"species"}, ranks) {
			if class[rank] == "" && slices.Contains(p.levels, rank) {
				return nil, fmt.Errorf("%s: category %s has no %s; use the file of 2018, or other levels", name, id, rank)
			}
		}
		if species[id] != nil {
			return nil, fmt.Errorf("%s: category %s occurs twice", name, id)
		}
		species[id] = class
	}
	tellApart(species)
	return species, nil
}

// readCategories reads the categories of an annotation file, or a bare list.
func readCategories(d *json.Decoder) (list []category, err error) {
	start, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch start {
	case json.Delim('['):
		for d.More() {
			var c category
			if err := d.Decode(&c); err != nil {
				return nil, err
			}
			list = append(list, c)
		}
		return list, nil
	case json.Delim('{'):
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			if key == "categories" {
				return list, d.Decode(&list)
			}
			if err := skipValue(d); err != nil {
				return nil, err
			}
		}
	}
	return nil, errors.New(`no "categories"`)
}

// skipValue skips a value token by token: the images before the categories take a
// hundred megabytes.
func skipValue(d *json.Decoder) error {
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

// tellApart renames classes with equal names but different parents, from the coarsest
// level down: it appends the parent in parentheses, for species the id.
func tellApart(species map[string]map[string]string) {
	for l := len(ranks) - 2; l >= 0; l-- {
		rank, above := ranks[l], ranks[l+1]
		parents := map[string]map[string]bool{}
		for _, class := range species {
			if parents[class[rank]] == nil {
				parents[class[rank]] = map[string]bool{}
			}
			parents[class[rank]][class[above]] = true
		}
		for _, class := range species {
			if len(parents[class[rank]]) > 1 {
				class[rank] = fmt.Sprintf("%s (%s)", class[rank], class[above])
			}
		}
	}
	times := map[string]int{}
	for _, class := range species {
		times[class["species"]]++
	}
	for id, class := range species {
		if times[class["species"]] > 1 {
			class["species"] = fmt.Sprintf("%s (%s)", class["species"], id)
		}
	}
}
