package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/train/experiment/report"
)

// publishedFolders writes a made-up data set for every folder that
// docs/datasets.md speaks of, and the archives beside them.
func publishedFolders(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	animal, inat, inshop := dymlPictures(t, false), inatPictures(t), inShopPictures(t)
	for dir, tree := range map[string]publishedTree{
		"Stanford_Online_Products": sopPictures(t), "inat2018": inat, "CUB_200_2011": cubPictures(t),
		"dyml_animal": animal, "cars196": carsPictures(t),
		"dyml_product": dymlPictures(t, true), "inshop": inshop, "gldv2": gldv2Pictures(t),
	} {
		tree.write(t, dir)
	}
	var tarred, zipped bytes.Buffer
	tw, zw := tar.NewWriter(&tarred), zip.NewWriter(&zipped)
	for name, data := range inat.files {
		if strings.HasSuffix(name, ".jpg") {
			must.Do(t, tw.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644}))
			tw.Write([]byte(data))
		}
	}
	for name, data := range inshop.files {
		if member, image := strings.CutPrefix(name, "Img/"); image {
			w := must.Get(zw.Create(member))(t)
			w.Write([]byte(data))
		}
	}
	tw.Close()
	zw.Close()
	labelFile := "split,landmark_id,category,supercategory,hierarchical_label,natural_or_human_made\n"
	for name, data := range gldv2Pictures(t).files {
		if split, ok := strings.CutSuffix(strings.TrimPrefix(name, "metadata/"), "_label_to_hierarchical.csv"); ok {
			for _, row := range strings.Split(strings.TrimSpace(data), "\n")[1:] {
				labelFile += split + "," + row + "\n"
			}
		}
	}
	drawing := inat.files["train_val2018/Aves/0/0.jpg"]
	for name, data := range map[string]string{"train_val2018.tar": tarred.String(),
		"inshop/Img/img.zip": zipped.String(), "labels.csv": labelFile,
		"coco/val2017/1.jpg": drawing,
		"coco/annotations/instances_val2017.json": `{"images": [{"id": 1, "file_name": "1.jpg"}], "annotations":
			[{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4]}], "categories": [{"id": 1, "name": "cat", "supercategory": "animal"}]}`,
		"photos/fruit/apple/1.jpg": drawing, "photos.csv": "path,fine,coarse\nphotos/fruit/apple/1.jpg,apple,fruit\n",
		"inat2021/train_mini/00000_Plantae_Prunella_vulgaris/1.jpg": drawing,
		"ranks.csv": "species,genus,family,order,class,phylum,kingdom\n00000_Plantae_Prunella_vulgaris," +
			"Prunella (Lamiaceae),Lamiaceae,Lamiales,Magnoliopsida,Tracheophyta,Plantae\n",
		projectFile: publishedProject} {
		testfile.Write(t, ".", name, data)
	}
	for _, split := range []string{"train", "val", "test"} {
		testfile.Write(t, "fgvc-aircraft-2013b/data/images", split+".jpg", drawing)
		for _, level := range []string{"variant", "family", "manufacturer"} {
			testfile.Write(t, "fgvc-aircraft-2013b/data", "images_"+level+"_"+split+".txt", split+" 707-320\n")
		}
	}
}

// Every command of the document is run, in its order, but for the recipes, which
// train a ResNet-50.
func TestCommandsOfTheDataSetsDocumentRun(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(goldens.Root(), "docs", "datasets.md")))(t)
	publishedFolders(t)
	mirror := publishGLDv2(t, []byte("no image"))
	trained, commands := false, 0
	for line := range strings.Lines(string(text)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "hgld ")
		command, _, _ = strings.Cut(command, " # ")
		if !ok || !strings.HasPrefix(line, "    ") || strings.HasPrefix(command, "train run --config") {
			continue
		}
		if strings.HasPrefix(command, "eval") && !trained {
			trained = true
			succeeds(t, "train", "run", "--data", "animal", "--out", "runs/animal")
		}
		args := strings.Fields(command)
		if strings.HasPrefix(command, "shards fetch") {
			args = slices.Concat(args[:2], []string{"--from", mirror, "--limit", "1", "--out", "fetched"}, args[2:])
		}
		code, out, errs := run(t, args...)
		if code != 0 {
			t.Errorf("hgld %s: exit code %d\n%s%s", command, code, out, errs)
		}
		commands++
	}
	if commands < 15 {
		t.Errorf("%d commands found", commands)
	}
}

func TestOverallIsTheMeanOverBenchmarks(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"fine.json":   `{"hgld_eval":1,"levels":["fine"],"metrics":[{"key":"AP_level0","mean":0.5},{"key":"R@1_level0","mean":1},{"key":"H-AP","mean":0.1}],"overall":{}}`,
		"coarse.json": `{"hgld_eval":1,"levels":["coarse"],"metrics":[{"key":"AP_level0","mean":0.25},{"key":"R@1_level0","mean":0.5}],"overall":{}}`,
		"other.json":  `{"hgld_eval":1,"levels":["coarse"],"metrics":[{"key":"AP_level0","mean":0.25}],"overall":{}}`,
		"none.json":   `{}`,
		"newer.json":  `{"hgld_eval":99,"levels":["x"]}`,
	} {
		testfile.Write(t, ".", name, sealed(t, text))
	}
	code, out, errs := run(t, "eval", "compare", "--mean", "fine.json", "coarse.json")
	if want := "fine.json fine        50.00   100.00\ncoarse.json coarse    25.00    50.00\no" +
		"verall               37.50    " +
		"75.00\n"; code != 0 || !strings.HasSuffix(out, want) {
		t.Errorf("exit code %d\n%s%s\nwant\n%s", code, out, errs, want)
	}
	_, out, _ = run(t, "eval", "compare", "--mean", "--json", "fine.json", "coarse.json")
	var got report.MeanTable
	if err := json.Unmarshal([]byte(out), &got); err != nil || math.Abs(float64(got.Overall["AP"])-0.375) > 1e-12 ||
		len(got.Rows) != 2 {
		t.Errorf("%v, %+v", err, got)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "name results of"}, {[]string{"fine.json", "other.json"}, "other.json does not have the metrics of fine.json"},
		{[]string{"none.json"}, "not a result of `hgld eval run`"}, {[]string{"newer.json"}, "use a newer hgld"},
		{[]string{"missing.json"}, "missing.json"},
	} {
		if code, _, errs := run(t, slices.Concat([]string{"eval", "compare", "--mean"}, c.args)...); code == 0 ||
			!strings.Contains(errs, c.want) {
			t.Errorf("%v: exit code %d, no %q in\n%s", c.args, code, c.want, errs)
		}
	}
}
