package main

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/sketch"
	"hgld/internal/testing/testfile"
)

// publishedTree is a small data set made up in a published layout: four classes
// of two pictures to train on, and two classes of two pictures to test.
type publishedTree struct {
	files map[string]string
	query string // splits of the test
	rank  string
}

// picture adds a drawing of a class.
func (p *publishedTree) picture(t *testing.T, name string, class, view int) {
	t.Helper()
	var buf bytes.Buffer
	must.Do(t, jpeg.Encode(&buf, sketch.Picture(class%4, class, view, 20), nil))
	p.files[name] = buf.String()
}

func (p *publishedTree) write(t *testing.T, dir string) {
	t.Helper()
	for name, data := range p.files {
		testfile.Write(t, dir, name, data)
	}
}

// eachPicture calls add for the pictures of a tree: six classes, of which the
// first four are for training, with two views each.
func eachPicture(add func(class, view int)) {
	for class := range 6 {
		for view := range 2 {
			add(class, view)
		}
	}
}

func sopPictures(t *testing.T) publishedTree {
	p := publishedTree{map[string]string{}, "test", ""}
	lists := [2]string{"image_id class_id super_class_id path\n", "image_id class_id super_class_id path\n"}
	eachPicture(func(class, view int) {
		name := fmt.Sprintf("%s_final/%d_%d.JPG", []string{"chair", "lamp"}[class%2], class, view)
		p.picture(t, name, class, view)
		lists[class/4] += fmt.Sprintf("%d %d %d %s\n", 2*class+view+1, class+1, class%2+1, name)
	})
	p.files["Ebay_train.txt"], p.files["Ebay_test.txt"] = lists[0], lists[1]
	return p
}

func cubPictures(t *testing.T) publishedTree {
	p := publishedTree{map[string]string{}, "test", ""}
	eachPicture(func(class, view int) {
		number := class + 1 + class/4*100 // 1 to 4, and 105, 106
		name := fmt.Sprintf("%03d.Bird/Bird_%d.jpg", number, view)
		p.picture(t, "images/"+name, class, view)
		p.files["images.txt"] += fmt.Sprintf("%d %s\n", 2*class+view+1, name)
		p.files["image_class_labels.txt"] += fmt.Sprintf("%d %d\n", 2*class+view+1, number)
		if view == 0 {
			p.files["classes.txt"] += fmt.Sprintf("%d %03d.Bird\n", number, number)
		}
	})
	return p
}

func carsPictures(t *testing.T) publishedTree {
	list := must.Get(os.ReadFile(filepath.Join(goldens.Root(), "internal", "matfile", "testdata", "cars_annos.mat")))(t)
	p := publishedTree{map[string]string{"cars_annos.mat": string(list)}, "test", ""}
	eachPicture(func(class, view int) { p.picture(t, fmt.Sprintf("car_ims/%06d.jpg", 2*class+view+1), class, view) })
	return p
}

func inatPictures(t *testing.T) publishedTree {
	p := publishedTree{map[string]string{}, "test", ""}
	var categories []string
	eachPicture(func(class, view int) {
		name := fmt.Sprintf("train_val2018/%s/%d/%d.jpg", []string{"Aves", "Plantae"}[class%2], class, view)
		p.picture(t, name, class, view)
		list := fmt.Sprintf("Inat_dataset_splits/Inaturalist_%s_set1.txt", []string{"train", "test"}[class/4])
		p.files[list] += name + "\n"
		if view == 0 {
			kin := class % 2
			categories = append(categories, fmt.Sprintf(`{"id":%d,"name":"species %d","genus":"g%d","family":"f%d","order":"o%d","class":"c%d","phylum":"p%d","kingdom":"k%d"}`,
				class, class, class, class, kin, kin, kin, kin))
		}
	})
	p.files["categories.json"] = "[" + strings.Join(categories, ",") + "]"
	return p
}

func inShopPictures(t *testing.T) publishedTree {
	p := publishedTree{map[string]string{}, "query", "gallery"}
	list := ""
	eachPicture(func(class, view int) {
		status := "train"
		if class >= 4 {
			status = []string{"query", "gallery"}[view]
		}
		name := fmt.Sprintf("img/%s/id_%08d/%d_front.jpg", []string{"MEN/Denim", "WOMEN/Dresses"}[class%2], class, view)
		p.picture(t, "Img/"+name, class, view)
		list += fmt.Sprintf("%-60s id_%08d %s\n", name, class, status)
	})
	p.files["Eval/list_eval_partition.txt"] = "12\nimage_name item_id evaluation_status\n" + list
	return p
}

// dymlPictures has, of Product, the test of all levels, and else three benchmarks.
func dymlPictures(t *testing.T, product bool) publishedTree {
	const head = "fname, coarse_id, middle_id, fine_id"
	p := publishedTree{map[string]string{"train/label.csv": head}, "test", ""}
	if product {
		p.files["mini-bmk_all_in_one/label.csv"] = head
	} else {
		p.query, p.rank = "query", "gallery"
	}
	eachPicture(func(class, view int) {
		name := fmt.Sprintf("%d.jpg", 2*class+view)
		record := fmt.Sprintf("%s, %d, %d, %d\n", name, class%2, class%2, class)
		switch {
		case class < 4:
			p.picture(t, "train/imgs/"+name, class, view)
			p.files["train/label.csv"] += record
		case product:
			p.picture(t, "mini-bmk_all_in_one/imgs/"+name, class, view)
			p.files["mini-bmk_all_in_one/label.csv"] += record
		default:
			side := []string{"query", "gallery"}[view]
			for _, level := range []string{"fine", "middle", "coarse"} {
				list := path.Join("bmk_"+level, side)
				if p.files[list+".csv"] == "" {
					p.files[list+".csv"] = "fname, labels"
				}
				p.picture(t, list+"/"+name, class, view)
				p.files[list+".csv"] += fmt.Sprintf("%s, %d\n", name, class)
			}
		}
	})
	return p
}

// publishedProject trains for a moment on what the trees have.
const publishedProject = `train:
  steps: 2
  input: {size: 16, resize: 18}
  model:
    dim: 8
    backbone: {name: convnet, settings: {widths: [8, 8], strides: [2, 2]}}
  sampler: {batch: 8, m: 2}
`

func TestPublishedDataSetsTrainAndEvaluate(t *testing.T) {
	for _, c := range []struct {
		name, dataset string
		tree          publishedTree
		levels        string
		want          []string // of the build
	}{
		{"sop", "sop", sopPictures(t), "", []string{"train: 8 images", "test: 4 images", "product: 6 classes",
			"category: 2 classes"}},
		{"cub", "cub", cubPictures(t), "", []string{"train: 8 images", "class: 6 classes"}},
		{"cars196", "cars196", carsPictures(t), "", []string{"train: 8 images", "class: 6 classes", "make: 4 classes"}},
		{"inat-full", "inaturalist", inatPictures(t), "", []string{"species: 6 classes", "kingdom: 2 classes"}},
		{"inat-base", "inaturalist", inatPictures(t), "species,group", []string{"species: 6 classes", "group: 2 classes"}},
		{"dyml-product", "dyml", dymlPictures(t, true), "",
			[]string{"train: 8 images", "test: 4 images", "fine: 6 classes", "coarse: 4 classes"}},
		{"gldv2", "gldv2", gldv2Pictures(t), "", []string{"train: 8 images", "index: 4 images", "test: 2 images",
			"supercategory: 2 classes"}},
		{"in-shop", "in-shop", inShopPictures(t), "",
			[]string{"query: 2 images", "gallery: 2 images", "category: 2 classes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			c.tree.write(t, "published")
			must.Do(t, os.WriteFile(projectFile, []byte(publishedProject), 0o644))
			args := []string{"shards", "build", "--dataset", c.dataset, "--input", "published"}
			if c.levels != "" {
				args = append(args, "--levels", c.levels)
			}
			code, out, errs := run(t, args...)
			if code != 0 || !strings.Contains(errs, "(published: ") {
				t.Fatalf("exit code %d\n%s%s", code, out, errs)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("build: no %q in\n%s", want, out)
				}
			}
			test := []string{"--query", c.tree.query}
			if c.tree.rank != "" {
				test = append(test, "--gallery", c.tree.rank)
			}
			succeeds(t, append([]string{"train", "run", "--dry-run"}, test...)...)
			succeeds(t, append([]string{"train", "run"}, test...)...)
			succeeds(t, append([]string{"eval", "run"}, test...)...)
			r := readResult(t, "eval.json")
			if wantSelf := c.tree.rank == ""; r.Self != wantSelf || r.Queries != map[bool]int{true: 4, false: 2}[wantSelf] ||
				!(r.Mean("R@1_level0") >= 0) {
				t.Errorf("result %+v", r)
			}
		})
	}
}

// gldv2Pictures has two images in every split, as folders.
func gldv2Pictures(t *testing.T) publishedTree {
	p := publishedTree{map[string]string{}, "test", "index"}
	const head = "landmark_id,category,supercategory,hierarchical_label,natural_or_human_made\n"
	labelFile := map[string]string{"train": head, "index": head}
	tables := map[string]string{"train_clean.csv": "landmark_id,images\n",
		"index_image_to_landmark.csv": "id,landmark_id\n",
		"retrieval_solution_v2.1.csv": "id,images,Usage\n", "train_attribution.csv": "id,url,author,license,title\n"}
	eachPicture(func(class, view int) {
		id := fmt.Sprintf("%x%x%014x", class, view, 1)
		file := fmt.Sprintf("%s/%s/%s/%s.jpg", id[:1], id[1:2], id[2:3], id)
		split := []string{"train", "index"}[class/4]
		p.picture(t, split+"/"+file, class, view)
		if class < 4 {
			tables["train_clean.csv"] += fmt.Sprintf("%d,%s\n", class, id)
			tables["train_attribution.csv"] += id + ",http://u,Ann,CC BY 2.0,a\n"
		} else {
			tables["index_image_to_landmark.csv"] += fmt.Sprintf("%s,%d\n", id, class)
		}
		if view == 0 {
			labelFile[split] += fmt.Sprintf("%d,http://commons.wikimedia.org/wiki/Category:A%d,tag,%s,human-made\n", class,
				class, []string{"church", "castle"}[class%2])
		}
		if class >= 4 && view == 0 {
			query := fmt.Sprintf("a%x%014x", class, 2)
			p.picture(t, fmt.Sprintf("test/%s/%s/%s/%s.jpg", query[:1], query[1:2], query[2:3], query), class, 2)
			tables["retrieval_solution_v2.1.csv"] += query + "," + id + ",Public\n"
		}
	})
	for split, text := range labelFile {
		tables[split+"_label_to_hierarchical.csv"] = text
	}
	for name, text := range tables {
		p.files["metadata/"+name] = text
	}
	return p
}
