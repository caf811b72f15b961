package dataset

import (
	"maps"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/shards"
)

// edit returns a copy of a tree with one replacement in one of its files.
func edit(files tree, name, old, new string) tree {
	if !strings.Contains(files[name], old) {
		panic("no " + old + " in " + name)
	}
	files[name] = strings.Replace(files[name], old, new, 1)
	return files
}

func without(files tree, name string) tree {
	delete(files, name)
	return files
}

// damaged is a data set with an error; nil if it has none.
type damaged struct {
	by     Importer
	files  tree
	levels []string
	want   []string
}

func damagedSOP(t *testing.T) map[string]damaged {
	const train, test = "Ebay_train.txt", "Ebay_test.txt"
	return map[string]damaged{
		"sop, no lists": {SOP{}, without(without(sopTree(t), train), test), nil,
			[]string{"sop", "no Ebay_train.txt", "input must be"}},
		"sop, one list": {SOP{}, without(sopTree(t), test), nil,
			[]string{"Ebay_test.txt is missing", "part of the published data set"}},
		"sop, empty":         {SOP{}, tree{train: "", test: sopColumns}, nil, []string{"Ebay_train.txt is empty"}},
		"sop, headers alone": {SOP{}, tree{train: sopColumns, test: sopColumns}, nil, []string{"no images are listed"}},
		"sop, no header": {SOP{}, edit(sopTree(t), train, sopColumns+"\n", ""), nil,
			[]string{"Ebay_train.txt:1:", "want the header \"image_id class_id super_class_id path\""}},
		"sop, header twice": {SOP{}, edit(sopTree(t), train, "\n3 2", "\n"+sopColumns+"\n3 2"), nil,
			[]string{"Ebay_train.txt:4:", "header occurs again"}},
		"sop, few columns": {SOP{}, edit(sopTree(t), train, "3 2 2 st", "3 2 st"), nil,
			[]string{"Ebay_train.txt:4:", "3 columns, want 4"}},
		"sop, bad number":    {SOP{}, edit(sopTree(t), test, "4 3 1", "4 x 1"), nil, []string{"Ebay_test.txt:2:", `class_id "x"; want a whole number`}},
		"sop, class 0":       {SOP{}, edit(sopTree(t), test, "4 3 1", "4 0 1"), nil, []string{"Ebay_test.txt:2:", `class_id "0"`}},
		"sop, class in both": {SOP{}, edit(sopTree(t), test, "4 3 1", "4 2 1"), nil, []string{"Ebay_test.txt:2:", `product "2"`, "Ebay_train.txt:4"}},
		"sop, two names": {SOP{}, edit(sopTree(t), test, "4 3 1 bi", "4 3 2 bi"), nil,
			[]string{"Ebay_test.txt:2:", "super_class_id 2 is bicycle here and stapler"}},
		"sop, outside": {SOP{}, edit(sopTree(t), train, "bicycle_final/1_0", "../1_0"), nil,
			[]string{"Ebay_train.txt:2:", "../1_0.JPG", "want one within"}},
		"sop, absolute": {SOP{}, edit(sopTree(t), train, "bicycle_final/1_0", "/etc/1_0"), nil,
			[]string{"Ebay_train.txt:2:", "/etc/1_0.JPG"}},
		"sop, backslash": {SOP{}, edit(sopTree(t), train, "bicycle_final/1_0", `bicycle_final/a\1_0`), nil, []string{"Ebay_train.txt:2:", "with slashes"}},
		"sop, no text": {SOP{}, edit(sopTree(t), train, "1_0.JPG", "1_0\xff.JPG"), nil,
			[]string{"Ebay_train.txt:2:", "not UTF-8"}},
		"sop, NUL": {SOP{}, edit(sopTree(t), train, "1_0.JPG", "1_0\x00.JPG"), nil,
			[]string{"Ebay_train.txt:2:", "not UTF-8"}},
		"sop, endless line": {SOP{}, edit(sopTree(t), train, "1_0.JPG", strings.Repeat("x", maxLine)), nil,
			[]string{"Ebay_train.txt:2:", "more than 65536 bytes"}},
		"sop, level": {SOP{}, sopTree(t), []string{"prodct"}, []string{`unknown level "prodct"`, `did you mean "product"`}},
		"sop, levels upside down": {SOP{}, sopTree(t), []string{"category", "product"},
			[]string{"category, product", "finest first"}},
	}
}

func damagedOthers(t *testing.T) map[string]damaged {
	const (
		inatTrain = "Inat_dataset_splits/Inaturalist_train_set1.txt"
		inatTest  = "Inat_dataset_splits/Inaturalist_test_set1.txt"
		label     = "train/label.csv"
		query     = "bmk_fine/query.csv"
		partition = "Eval/list_eval_partition.txt"
	)
	fine := []string{"fine"}
	return map[string]damaged{
		"cub, no classes": {CUB{}, without(cubTree(t), "classes.txt"), nil, []string{"cub", "classes.txt is missing"}},
		"cub, no label": {CUB{}, edit(cubTree(t), "image_class_labels.txt", "4 141\n", ""), nil,
			[]string{"images.txt:4:", "image_class_labels.txt gives image 4"}},
		"cub, class 201": {CUB{}, edit(cubTree(t), "image_class_labels.txt", "4 141\n", "4 201\n"), nil, []string{"images.txt:4:", `class "201"`, "1 to 200"}},
		"cub, other folder": {CUB{}, edit(cubTree(t), "images.txt", "1 001.B", "1 002.B"), nil,
			[]string{"images.txt:1:", "002.Black_footed_Albatross", "classes.txt"}},
		"cub, bad number": {CUB{}, edit(cubTree(t), "images.txt", "1 001", "one 001"), nil,
			[]string{"images.txt:1:", "one 001", "image_id path"}},
		"cub, number twice": {CUB{}, edit(cubTree(t), "classes.txt", "84 ", "1 "), nil,
			[]string{"classes.txt:2:", "number 1 occurs twice"}},

		"cars196, no list": {Cars{}, without(carsTree(t), "cars_annos.mat"), nil, []string{"cars196", "no cars_annos.mat"}},
		"cars196, cut": {Cars{}, tree{"cars_annos.mat": carsTree(t)["cars_annos.mat"][:600]}, nil,
			[]string{"cars_annos.mat", "cut off"}},
		"cars196, another": {Cars{}, tree{"cars_annos.mat": carsTree(t)["cars_annos.mat"][:128]}, nil,
			[]string{"cars_annos.mat has no annotations and class_names"}},

		"inaturalist, no list": {INaturalist{}, without(inatTree(t), inatTest), nil,
			[]string{inatTest + " is missing"}},
		"inaturalist, no taxonomy": {INaturalist{}, without(inatTree(t), "train2018.json"), nil,
			[]string{"train2018.json is missing"}},
		"inaturalist, short path": {INaturalist{}, edit(inatTree(t), inatTrain, "train_val2018/Aves/7/", ""), nil,
			[]string{inatTrain + ":2:", "want …/group/category id/file"}},
		"inaturalist, no such id": {INaturalist{}, edit(inatTree(t), inatTrain, "Aves/7/", "Aves/8/"), nil, []string{inatTrain + ":2:", `"8" is not the id`, "one of the 3"}},
		"inaturalist, both":       {INaturalist{}, edit(inatTree(t), inatTest, "Aves/12/", "Aves/7/"), nil, []string{inatTest + ":1:", `species "Prunella modularis"`, inatTrain + ":2"}},
		"inaturalist, cut JSON":   {INaturalist{}, edit(inatTree(t), "train2018.json", `"genus": "Corvus"}]`, ""), nil, []string{"train2018.json, near byte", "invalid character"}},
		"inaturalist, no JSON": {INaturalist{}, tree{inatTrain: "x", inatTest: "x", "categories.json": "ID,name"},
			nil, []string{"categories.json, near byte", "invalid character"}},
		"inaturalist, other JSON":    {INaturalist{}, tree{inatTrain: "x", inatTest: "x", "categories.json": `{"images": []}`}, nil, []string{"categories.json", `no "categories"; want`}},
		"inaturalist, no genus":      {INaturalist{}, edit(inatTree(t), "train2018.json", `"genus": "Corvus"`, `"genus": ""`), nil, []string{"category 12 has no genus"}},
		"inaturalist, no id":         {INaturalist{}, edit(inatTree(t), "train2018.json", `"id": 12, `, ""), nil, []string{"category 2 of the list has no id"}},
		"inaturalist, id twice":      {INaturalist{}, edit(inatTree(t), "train2018.json", `"id": 12, `, `"id": 7, `), nil, []string{"category 7 occurs twice"}},
		"inaturalist, id of letters": {INaturalist{}, edit(inatTree(t), "train2018.json", `"id": 12, `, `"id": "12", `), nil, []string{"train2018.json", "id is a string"}},

		"dyml, no list": {DyML{}, without(dymlTree(t, false), label), nil, []string{"dyml", "no train/label.csv"}},
		"dyml, no benchmark": {DyML{}, without(dymlTree(t, false), query), fine,
			[]string{"bmk_fine/query.csv is missing"}},
		"dyml, two levels": {DyML{}, dymlTree(t, false), []string{"fine", "coarse"},
			[]string{"levels fine,coarse; want fine,middle,coarse"}},
		"dyml, product's level": {DyML{}, dymlTree(t, true), fine, []string{"levels fine; want fine,middle,coarse"}},
		"dyml, no header":       {DyML{}, edit(dymlTree(t, false), label, "fname, coarse_id, middle_id, fine_id", ""), nil, []string{"train/label.csv:1:", `want the header "fname, coarse_id, middle_id, fine_id"`}},
		"dyml, header twice": {DyML{}, edit(dymlTree(t, false), label, "\n1.jpg",
			"\nfname, coarse_id, middle_id, fine_id1.jpg"), nil, []string{"train/label.csv:2:", "header occurs again"}},
		"dyml, bad number": {DyML{}, edit(dymlTree(t, false), label, "1.jpg, 1, 3", "1.jpg, 1, three"), nil, []string{"train/label.csv:2:", `label "three" of 1.jpg`}},
		"dyml, few columns": {DyML{}, edit(dymlTree(t, false), query, "1.jpg, 6", "1.jpg"), fine,
			[]string{"bmk_fine/query.csv:2:", "1 columns, want 2"}},
		"dyml, outside": {DyML{}, edit(dymlTree(t, false), query, "1.jpg, 6", "../../../1.jpg, 6"), fine,
			[]string{"bmk_fine/query.csv:2:", "../1.jpg"}},

		"in-shop, no list": {InShop{}, without(inShopTree(t), partition), nil,
			[]string{"in-shop", "no Eval/list_eval_partition.txt", "no list_eval_partition.txt"}},
		"in-shop, no count": {InShop{}, edit(inShopTree(t), partition, "5\n", ""), nil,
			[]string{partition + ":1:", "want the number of records"}},
		"in-shop, no header": {InShop{}, edit(inShopTree(t), partition, inShopColumns+"\n", ""), nil,
			[]string{partition + ":2:", "want the header"}},
		"in-shop, header twice": {InShop{}, edit(inShopTree(t), partition, "img/MEN", inShopColumns+"\nimg/MEN"), nil,
			[]string{partition + ":4:", "header occurs again"}},
		"in-shop, few columns": {InShop{}, edit(inShopTree(t), partition, "id_00000080 train", ""), nil,
			[]string{partition + ":4:", "1 columns, want 3"}},
		"in-shop, status":       {InShop{}, edit(inShopTree(t), partition, "query", "probe"), nil, []string{partition + ":5:", `evaluation_status "probe"`}},
		"in-shop, item":         {InShop{}, edit(inShopTree(t), partition, " id_00000080", " 00000080"), nil, []string{partition + ":4:", `item_id "00000080"`}},
		"in-shop, learned":      {InShop{}, edit(inShopTree(t), partition, "train", "gallery"), nil, nil},
		"in-shop, item in both": {InShop{}, edit(inShopTree(t), partition, "id_00000080 train", "id_00000003 train"), nil, []string{partition + ":5:", `item "id_00000003"`, partition + ":4"}},
		"in-shop, short path": {InShop{}, edit(inShopTree(t), partition, "img/MEN/Denim/id_00000080", "img"), nil,
			[]string{partition + ":4:", "want img/department/category"}},
		"in-shop, spaces in path": {InShop{}, edit(inShopTree(t), partition, "img/MEN/Denim/id_00000080",
			"img/MEN/Blue Denim/id_00000080"), nil, nil},
	}
}

func TestDamagedListsAreNamedWithFileAndLine(t *testing.T) {
	all := damagedSOP(t)
	maps.Copy(all, damagedOthers(t))
	for name, c := range all {
		got, err := items(t, c.by, Settings{Input: c.files.folder(t), Levels: c.levels})
		if c.want != nil {
			wantError(t, err, append([]string{"dataset: "}, c.want...)...)
		} else if err != nil || len(got) != 5 {
			t.Errorf("%s: %v, %d images", name, err, len(got))
		}
	}
}

func TestPublishedSetsRefuseSettingsOfOthers(t *testing.T) {
	input := sopTree(t).folder(t)
	for _, s := range []Settings{
		{Labels: "labels.csv"}, {Columns: Columns{Path: "path"}}, {Split: labels.Test}, {Images: "no such folder"},
	} {
		s.Input = input
		src, err := SOP{}.Open(t.Context(), s)
		if err == nil {
			src.Close()
			t.Errorf("%+v is taken", s)
		}
	}
}

// A class must have the same parent in all rows.
func TestTwoParentsOfAClassAreRefused(t *testing.T) {
	files := edit(sopTree(t), "Ebay_train.txt", "2 1 1 bicycle_final/1_1.JPG", "2 1 2 stapler_final/1_1.JPG")
	src := must.Get(SOP{}.Open(t.Context(), Settings{Input: files.folder(t)}))(t)
	defer src.Close()
	wantError(t, buildError(t, src), `product "1" has two parents`, "Ebay_train.txt:2", "Ebay_train.txt:3")
}

func buildError(tb testing.TB, src shards.Source) error {
	_, err := shards.Build(tb.Context(), src, tb.TempDir(), shards.Options{})
	return err
}
