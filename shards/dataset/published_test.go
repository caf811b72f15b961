package dataset

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/shards"
)

// The trees below are invented in the published layouts, with an image for each line of a list.

func withPictures(tb testing.TB, files tree, paths ...string) tree {
	for i, p := range paths {
		files[p] = string(picture(tb, i))
	}
	return files
}

func sopTree(tb testing.TB) tree {
	return withPictures(tb, tree{
		"Ebay_train.txt": sopColumns +
			"\n1 1 1 bicycle_final/1_0.JPG\n2 1 1 bicycle_final/1_1.JPG\n3 2 2 stapler_final/2_0.JPG\n",
		"Ebay_test.txt": sopColumns + "\n4 3 1 bicycle_final/3_0.JPG\n5 3 1 bicycle_final/3_1.JPG\n",
	}, "bicycle_final/1_0.JPG", "bicycle_final/1_1.JPG", "stapler_final/2_0.JPG", "bicycle_final/3_0.JPG",
		"bicycle_final/3_1.JPG")
}

func cubTree(tb testing.TB) tree {
	return withPictures(tb, tree{
		"classes.txt":            "1 001.Black_footed_Albatross\n84 084.Red_legged_Kittiwake\n141 141.Artic_Tern\n",
		"image_class_labels.txt": "1 1\n2 84\n3 141\n4 141\n",
		"images.txt": "1 001.Black_footed_Albatross/a b.jpg\n2 084.Red_legged_Kittiwake/b.jpg\n" +
			"3 141.Artic_Tern/c.jpg\n4 141.Artic_Tern/d.jpg\n",
	}, "images/001.Black_footed_Albatross/a b.jpg", "images/084.Red_legged_Kittiwake/b.jpg",
		"images/141.Artic_Tern/c.jpg", "images/141.Artic_Tern/d.jpg")
}

func carsTree(tb testing.TB) tree {
	list := must.Get(os.ReadFile("../../internal/matfile/testdata/cars_annos.mat"))(tb)
	var pictures []string
	for i := range 12 {
		pictures = append(pictures, fmt.Sprintf("car_ims/%06d.jpg", i+1))
	}
	return withPictures(tb, tree{"cars_annos.mat": string(list)}, pictures...)
}

const inatCategories = `[
 {"id": 0, "name": "Prunella vulgaris", "kingdom": "Plantae", "phylum": "Tracheophyta", "class": "Magnoliopsida",
	"order": "Lamiales", "family": "Lamiaceae", "genus": "Prunella"},
 {"id": 7, "name": "Prunella modularis", "kingdom": "Animalia", "phylum": "Chordata", "class": "Aves",
	"order": "Passeriformes", "family": "Prunellidae", "genus": "Prunella"},
 {"id": 12, "name": "Corvus corax", "kingdom": "Animalia", "phylum": "Chordata", "class": "Aves", "order": "Passeriformes", "family": "Corvidae", "genus": "Corvus"}]`

func inatTree(tb testing.TB) tree {
	return withPictures(tb, tree{
		"train2018.json": `{"info": {"year": 2018}, "images": [{"id": 1, "license": null}, {}], "annotations": [[1, "}"]], "categories": ` + inatCategories + `, "licenses": []}`,
		"Inat_dataset_splits/Inaturalist_train_set1.txt": "train_val2018/Plantae/0/a.jpg\ntrain_val2018/Aves/7/b.jpg\n",
		"Inat_dataset_splits/Inaturalist_test_set1.txt":  "train_val2018/Aves/12/c.jpg\ntrain_val2018/Aves/12/d.jpg\n",
	}, "train_val2018/Plantae/0/a.jpg", "train_val2018/Aves/7/b.jpg", "train_val2018/Aves/12/c.jpg",
		"train_val2018/Aves/12/d.jpg")
}

func dymlTree(tb testing.TB, product bool) tree {
	const head = "fname, coarse_id, middle_id, fine_id"
	files := withPictures(tb, tree{"train/label.csv": head + "0.jpg, 1, 3, 12\n1.jpg, 1, 3, 13\n2.jpg, 0, 2, 11\n"},
		"train/imgs/0.jpg", "train/imgs/1.jpg", "train/imgs/2.jpg")
	if product {
		files["mini-bmk_all_in_one/label.csv"] = head + "0.jpg, 1, 7, 12\n1.jpg, 1, 7, 12\n"
		return withPictures(tb, files, "mini-bmk_all_in_one/imgs/0.jpg", "mini-bmk_all_in_one/imgs/1.jpg")
	}
	for _, l := range []string{"fine", "middle", "coarse"} {
		files["bmk_"+l+"/query.csv"] = "fname, labels0.jpg, 5\n1.jpg, 6\n"
		files["bmk_"+l+"/gallery.csv"] = "fname, labels0.jpg, 6\n1.jpg, 5\n2.jpg, 7\n"
		withPictures(tb, files, "bmk_"+l+"/query/0.jpg", "bmk_"+l+"/query/1.jpg", "bmk_"+l+"/gallery/0.jpg",
			"bmk_"+l+"/gallery/1.jpg", "bmk_"+l+"/gallery/2.jpg")
	}
	return files
}

func inShopTree(tb testing.TB) tree {
	return withPictures(tb, tree{"Eval/list_eval_partition.txt": "5\nimage_name item_id evaluation_status\n" +
		"img/WOMEN/Dresses/id_00000002/02_1_front.jpg                         id_00000002 train     \n" +
		"img/MEN/Denim/id_00000080/01_1_front.jpg                             id_00000080 train     \n" +
		"img/WOMEN/Dresses/id_00000003/01_1_front.jpg                         id_00000003 query     \n" +
		"img/WOMEN/Dresses/id_00000003/01_2_side.jpg                          id_00000003 gallery   \n" +
		"img/MEN/Denim/id_00000081/02_4_full.jpg                              id_00000081 gallery   \n"},
		"img/WOMEN/Dresses/id_00000002/02_1_front.jpg", "img/MEN/Denim/id_00000080/01_1_front.jpg",
		"img/WOMEN/Dresses/id_00000003/01_1_front.jpg",
		"img/WOMEN/Dresses/id_00000003/01_2_side.jpg", "img/MEN/Denim/id_00000081/02_4_full.jpg")
}

// publishedCase is an importer with a small data set and the expected items.
type publishedCase struct {
	name   string
	by     Importer
	files  tree
	levels []string
	want   []string
}

func publishedCases(tb testing.TB) []publishedCase {
	dymlTrain := []string{"train/imgs/0.jpg train train/12<train/3<train/1",
		"train/imgs/1.jpg train train/13<train/3<train/1", "train/imgs/2.jpg train train/11<train/2<train/0"}
	return []publishedCase{
		{"sop", SOP{}, sopTree(tb), nil, []string{"bicycle_final/1_0.JPG train 1<bicycle",
			"bicycle_final/1_1.JPG train 1<bicycle", "stapler_final/2_0.JPG train 2<stapler",
			"bicycle_final/3_0.JPG test 3<bicycle", "bicycle_final/3_1.JPG test 3<bicycle"}},
		{"sop-one", SOP{}, sopTree(tb), []string{"product"}, []string{"bicycle_final/1_0.JPG train 1",
			"bicycle_final/1_1.JPG train 1", "stapler_final/2_0.JPG train 2",
			"bicycle_final/3_0.JPG test 3", "bicycle_final/3_1.JPG test 3"}},
		{"cub", CUB{}, cubTree(tb), nil,
			[]string{"001.Black_footed_Albatross/a b.jpg train 001.Black_footed_Albatross<Diomedeidae<Procellariiformes",
				"084.Red_legged_Kittiwake/b.jpg train 084.Red_legged_Kittiwake<Laridae<Charadriiformes",
				"141.Artic_Tern/c.jpg test 141.Artic_Tern<Laridae<Charadriiformes",
				"141.Artic_Tern/d.jpg test 141.Artic_Tern<Laridae<Charadriiformes"}},
		{"cars196", Cars{}, carsTree(tb), nil, []string{
			"car_ims/000001.jpg train AM General Hummer SUV 2000<AM General",
			"car_ims/000002.jpg train AM General Hummer SUV 2000<AM General",
			"car_ims/000003.jpg train Acura RL Sedan 2012<Acura", "car_ims/000004.jpg train Acura RL Sedan 2012<Acura",
			"car_ims/000005.jpg train Acura TL Sedan 2012<Acura", "car_ims/000006.jpg train Acura TL Sedan 2012<Acura",
			"car_ims/000007.jpg train Land Rover LR2 SUV 2012<Land Rover",
			"car_ims/000008.jpg train Land Rover LR2 SUV 2012<Land Rover",
			"car_ims/000009.jpg test Acura Test Coupe 2012<Acura", "car_ims/000010.jpg test Acura Test Coupe 2012<Acura",
			"car_ims/000011.jpg test Volvo C30 Hatchback 2012<Volvo",
			"car_ims/000012.jpg test Volvo C30 Hatchback 2012<Volvo"}},
		{"inat-full", INaturalist{}, inatTree(tb), nil, []string{
			"train_val2018/Plantae/0/a.jpg train Prunella vulgaris<Prunella " +
				"(Lamiaceae)<Lamiaceae<Lamiales<Magnoliopsida<Tracheophyta<Plantae",
			"train_val2018/Aves/7/b.jpg train Prunella modularis<Prunella " +
				"(Prunellidae)<Prunellidae<Passeriformes<Aves<Chordata<Animalia",
			"train_val2018/Aves/12/c.jpg test Corvus corax<Corvus<Corvidae<Passeriformes<Aves<Chordata<Animalia",
			"train_val2018/Aves/12/d.jpg test Corvus corax<Corvus<Corvidae<Passeriformes<Aves<Chordata<Animalia"}},
		{"inat-base", INaturalist{}, inatTree(tb), []string{"species", "group"}, []string{
			"train_val2018/Plantae/0/a.jpg train Prunella vulgaris<Plantae",
			"train_val2018/Aves/7/b.jpg train Prunella modularis<Aves",
			"train_val2018/Aves/12/c.jpg test Corvus corax<Aves", "train_val2018/Aves/12/d.jpg test Corvus corax<Aves"}},
		{"dyml", DyML{}, dymlTree(tb, false), nil, dymlTrain},
		{"dyml-middle", DyML{}, dymlTree(tb, false), []string{"middle"},
			[]string{"bmk_middle/query/0.jpg query test/5", "bmk_middle/query/1.jpg query test/6",
				"bmk_middle/gallery/0.jpg gallery test/6", "bmk_middle/gallery/1.jpg gallery test/5",
				"bmk_middle/gallery/2.jpg gallery test/7"}},
		{"dyml-product", DyML{}, dymlTree(tb, true), nil, slices.Concat(dymlTrain, []string{
			"mini-bmk_all_in_one/imgs/0.jpg test test/12<test/7<test/1",
			"mini-bmk_all_in_one/imgs/1.jpg test test/12<test/7<test/1"})},
		{"in-shop", InShop{}, inShopTree(tb), nil,
			[]string{"img/WOMEN/Dresses/id_00000002/02_1_front.jpg train id_00000002<WOMEN/Dresses",
				"img/MEN/Denim/id_00000080/01_1_front.jpg train id_00000080<MEN/Denim",
				"img/WOMEN/Dresses/id_00000003/01_1_front.jpg query id_00000003<WOMEN/Dresses",
				"img/WOMEN/Dresses/id_00000003/01_2_side.jpg gallery id_00000003<WOMEN/Dresses",
				"img/MEN/Denim/id_00000081/02_4_full.jpg gallery id_00000081<MEN/Denim"}},
		{"in-shop-3", InShop{}, inShopTree(tb), []string{"item", "department"},
			[]string{"img/WOMEN/Dresses/id_00000002/02_1_front.jpg train id_00000002<WOMEN",
				"img/MEN/Denim/id_00000080/01_1_front.jpg train id_00000080<MEN",
				"img/WOMEN/Dresses/id_00000003/01_1_front.jpg query id_00000003<WOMEN",
				"img/WOMEN/Dresses/id_00000003/01_2_side.jpg gallery id_00000003<WOMEN",
				"img/MEN/Denim/id_00000081/02_4_full.jpg gallery id_00000081<MEN"}},
	}
}

// within moves all files into a folder, as in archives of data sets.
func (files tree) within(folder string) tree {
	moved := tree{}
	for name, data := range files {
		moved[folder+"/"+name] = data
	}
	return moved
}

// parted splits a tree into the lists and the images.
func (files tree) parted() (lists, images tree) {
	lists, images = tree{}, tree{}
	for name, data := range files {
		if isImage(name) {
			images[name] = data
		} else {
			lists[name] = data
		}
	}
	return lists, images
}

func TestPublishedDataSetsAreReadFromFolderAndArchive(t *testing.T) {
	for _, c := range publishedCases(t) {
		lists, images := c.files.parted()
		windows := maps.Clone(c.files)
		for name, text := range lists {
			if extension := path.Ext(name); extension != ".json" && extension != ".mat" {
				windows[name] = "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"
			}
		}
		for form, s := range map[string]Settings{
			"folder":         {Input: c.files.folder(t)},
			"zip":            {Input: c.files.zip(t)},
			"tar":            {Input: c.files.tar(t)},
			"within, zip":    {Input: c.files.within("Published_2011").zip(t)},
			"within, folder": {Input: c.files.within("Published_2011").folder(t)},
			"images in tar":  {Input: lists.folder(t), Images: images.tar(t)},
			"images within":  {Input: lists.within("lists").zip(t), Images: images.within("Img").zip(t)},
			"windows":        {Input: windows.folder(t)},
		} {
			s.Levels = c.levels
			got, err := items(t, c.by, s)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: %v\n%s\nwant\n%s", c.name, form, err, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		}
	}
}

// content is the bytes of every file of a data set.
func content(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		all[strings.TrimPrefix(name, dir)] = string(data)
		return err
	})
	must.Do(tb, err)
	return all
}

func TestShardsOfPublishedDataSetsDoNotDependOnWorkers(t *testing.T) {
	for _, c := range publishedCases(t) {
		input := c.files.folder(t)
		var first map[string]string
		for _, workers := range []int{1, 3, 8} {
			src := must.Get(c.by.Open(t.Context(), Settings{Input: input, Levels: c.levels}))(t)
			dir := t.TempDir()
			r, err := shards.Build(t.Context(), src, dir,
				shards.Options{Workers: workers, Settings: shards.Settings{ImagesPerShard: 2}})
			if err != nil || len(r.Failures) > 0 {
				t.Fatalf("%s: %v, %+v", c.name, err, r)
			}
			src.Close()
			if got := content(t, dir); first == nil {
				first = got
			} else if !maps.Equal(got, first) {
				t.Errorf("%s: %d workers write other bytes", c.name, workers)
			}
		}
	}
}

// Who has the files of another edition learns what they lack, and not that the folder is wrong.
func TestOtherEditionsAreNamed(t *testing.T) {
	for _, c := range []struct {
		by         Importer
		file, want string
	}{
		{INaturalist{}, "inat/train2018.json", "beside inat/train2018.json; the authors of Smooth-AP published these lists"},
		{INaturalist{}, "train_mini.json", "beside train_mini.json; iNaturalist 2021 has no splits of metric learning"},
		{Cars{}, "devkit/cars_train_annos.mat", "no cars_annos.mat found beside devkit/cars_train_annos.mat; the files of " +
			"the development kit are for classification"},
		{CUB{}, "train.json", "no images.txt found; input must be the folder"},
	} {
		_, err := c.by.Open(t.Context(), Settings{Input: tree{c.file: "x"}.folder(t)})
		wantError(t, err, c.want)
	}
}

func TestDeviationFromPublishedCountsIsANote(t *testing.T) {
	for name, c := range map[string]struct {
		by    Importer
		files tree
		want  string
	}{
		"sop": {SOP{}, sopTree(t),
			"train has 3 images (published: 59551); train has 2 classes of level product (published: 11318); test has 2 " +
				"images (published: 60502); test has 1 class of level product (published: 11316)"},
		"cub": {CUB{}, cubTree(t),
			"train has 2 images (published: 5864); train has 2 classes of level class (published: 100); test has 2 images " +
				"(published: 5924); test has 1 class of level class (published: 100)"},
		"dyml":    {DyML{}, dymlTree(t, false), "train has 3 classes of level fine (published: 495)"},
		"product": {DyML{}, dymlTree(t, true), "train has 3 classes of level fine (published: 1639)"},
	} {
		src := must.Get(c.by.Open(t.Context(), Settings{Input: c.files.folder(t)}))(t)
		defer src.Close()
		if got := strings.Join(src.(*published).Notes(), "; "); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// The list says how many records it has, so one that was cut at a line is found.
func TestCutListOfInShopIsRefused(t *testing.T) {
	files := inShopTree(t)
	files["Eval/list_eval_partition.txt"] = strings.Replace(files["Eval/list_eval_partition.txt"], "5\n", "52712\n", 1)
	_, err := items(t, InShop{}, Settings{Input: files.folder(t)})
	wantError(t, err, "Eval/list_eval_partition.txt has 5 records, but its first line says 52712")
}

// The large images lie in img_highres in place of img. The small ones are taken where both are there.
func TestInShopReadsTheLargeImages(t *testing.T) {
	files := inShopTree(t)
	small := must.Get(items(t, InShop{}, Settings{Input: files.folder(t)}))(t)
	large := tree{}
	for name, data := range files {
		large[strings.Replace(strings.TrimPrefix(name, "Img/"), "img/", "Img/img_highres/", 1)] = data
	}
	input := large.folder(t)
	for _, s := range []Settings{{Input: input}, {Input: input, Images: filepath.Join(input, "Img", "img_highres")},
		{Input: input, Images: filepath.Join(input, "Img")}} {
		if got, err := items(t, InShop{}, s); err != nil || !slices.Equal(got, small) {
			t.Errorf("%+v: %v\n%q, want\n%q", s, err, got, small)
		}
	}
}

// fullSOP has as many lines as the published lists.
func TestWholeDataSetHasNoNotes(t *testing.T) {
	write := func(from, images, classes, firstClass int) string {
		var list strings.Builder
		list.WriteString(sopColumns + "\n")
		for i := range images {
			class := firstClass + i%classes
			fmt.Fprintf(&list, "%d %d %d %d_final/%d.JPG\n", from+i, class, 1+class%12, class%12, from+i)
		}
		return list.String()
	}
	files := tree{"Ebay_train.txt": write(1, 59551, 11318, 1), "Ebay_test.txt": write(59552, 60502, 11316, 11319)}
	src := must.Get(SOP{}.Open(t.Context(), Settings{Input: files.folder(t)}))(t)
	defer src.Close()
	if got := src.(*published).Notes(); len(got) != 0 {
		t.Errorf("notes of the whole: %q", got)
	}
}

func TestMissingImagesOfAPublishedDataSetAreFailures(t *testing.T) {
	files := sopTree(t)
	delete(files, "bicycle_final/1_0.JPG") // the first, by which the folder of images would be found
	r := build(t, SOP{}, Settings{Input: files.within("Stanford_Online_Products").zip(t)})
	if len(r.Failures) != 1 || r.Failures[0].Where != "Ebay_train.txt:2" ||
		r.Failures[0].Class != shards.MissingFailure || r.Manifest.Rows(labels.Train) != 2 {
		t.Errorf("failures %+v", r.Failures)
	}
	if in := r.Manifest.Inputs; len(in) != 3 || in[0].Name != "Ebay_train.txt" || in[1].Name != "Ebay_test.txt" ||
		in[2].Name != "images.zip" {
		t.Errorf("inputs %+v", in)
	}
}

func TestCUBTreeHasAllClasses(t *testing.T) {
	of := birdFamilies()
	groups := func(from, to int) (families, orders int) {
		f, o := map[string]bool{}, map[string]bool{}
		for class := from; class <= to; class++ {
			if of[class].name == "" {
				t.Errorf("class %d has no family", class)
			}
			f[of[class].name], o[of[class].order] = true, true
		}
		return len(f), len(o)
	}
	if f, o := groups(1, 200); f != 37 || o != 13 || len(of) != 200 {
		t.Errorf("%d families, %d orders, %d classes", f, o, len(of))
	}
	if f, o := groups(1, 100); f != 29 || o != 13 { // the released table has 30, one of which is the kittiwake
		t.Errorf("training: %d families, %d orders", f, o)
	}
	listed := 0
	for _, b := range birds {
		for _, span := range strings.Fields(b.classes) {
			from, to, ranged := strings.Cut(span, "-")
			if ranged && from >= to && len(from) == len(to) {
				t.Errorf("%s: %s", b.name, span)
			}
			listed++
		}
	}
	if listed == 0 {
		t.Error("no classes listed")
	}
}
