package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withFurther writes also.csv: the landmark l0, of the test, is of the kind k1, too. wrong.csv and level.csv name
// a class and a level that no item has.
func withFurther(t *testing.T) {
	t.Helper()
	embeddingFiles(t)
	vectorSplits(t)
	for name, rows := range map[string]string{"also.csv": "landmark,l0,k1\nlandmark,x,k1\n",
		"wrong.csv": "landmark,L0,k1\n", "level.csv": "tag,bridge,k1\n", "more.csv": "landmark,l0,k1\nlandmark,l6,k1\n"} {
		if err := os.WriteFile(name, []byte("level,class,also\n"+rows), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// trainAlso returns the arguments of a training on vectors with a test.
func trainAlso(out string, more ...string) []string {
	return append(strings.Fields("train run --embeddings e.npy --labels split.csv --levels landmark,kind --query test "+
		"-o steps=2 -o model.dim=4 -o loss.name=happier -o sampler.batch=16 --out "+out), more...)
}

// A training measures its test by further parents, and so do evaluations of the run: with the figures of the same
// vectors from a file.
func TestTrainingsMeasureByFurtherParents(t *testing.T) {
	withFurther(t)
	measure := func(args ...string) map[string]float64 {
		t.Helper()
		if code, _, errs := run(t, args...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, errs)
		}
		path := "eval.json"
		if args[0] == "train" {
			path = filepath.Join(args[len(args)-3], path)
		}
		means := map[string]float64{}
		for _, v := range readResult(t, path).Values {
			means[v.Key] = float64(v.Mean)
		}
		return means
	}
	trained := measure(trainAlso("runs/also", "--also", "also.csv")...)
	if code, _, errs := run(t, "train", "export", "--run", "runs/also", "--split", "test", "x.npy"); code != 0 {
		t.Fatal(errs)
	}
	byRun := measure("eval", "run", "--run", "runs/also")
	if of := readResult(t, "eval.json").Of; !strings.HasSuffix(of.Data, ", further parents also.csv") {
		t.Errorf("the data are %q", of.Data)
	}
	files := strings.Fields("eval run --embeddings x.npy --labels x.csv --unit=false")
	byFile := measure(append(files, "--also", "also.csv")...)
	tree := measure(append(files[:len(files):len(files)], "--tree")...)
	byTree := measure("eval", "run", "--run", "runs/also", "--tree")
	byOther := measure("eval", "run", "--run", "runs/also", "--also", "more.csv") // l6 is no landmark of the test
	for key, want := range byFile {
		for name, got := range map[string]map[string]float64{"training": trained, "run": byRun, "other file": byOther} {
			if math.Abs(got[key]-want) > 1e-12 {
				t.Errorf("%s, %s: %v, of the vectors %v", key, name, got[key], want)
			}
		}
		if math.Abs(byTree[key]-tree[key]) > 1e-12 {
			t.Errorf("%s by the tree: %v, of the vectors %v", key, byTree[key], tree[key])
		}
	}
	if byFile["AP_level0"] != tree["AP_level0"] || byFile["AP_level1"] == tree["AP_level1"] ||
		byFile["H-AP"] == tree["H-AP"] {
		t.Errorf("with further parents %v, by the tree %v", byFile, tree)
	}
}

// A run continues with the further parents that it has, and with no others.
func TestRunsKnowTheirFurtherParents(t *testing.T) {
	withFurther(t)
	if code, _, errs := run(t, trainAlso("runs/also", "--also", "also.csv")...); code != 0 ||
		!strings.Contains(errs, "also.csv: 1 of 2 further parents apply here") {
		t.Fatal(errs)
	}
	code, _, errs := run(t, "train", "resume", "runs/also")
	if code != 0 || !strings.Contains(errs, "nothing is left to do") {
		t.Errorf("resumed: exit code %d\n%s", code, errs)
	}
	for _, more := range [][]string{{"--also", "more.csv"}, nil} {
		if code, _, errs := run(t, trainAlso("runs/also", more...)...); code != exitUsage ||
			!strings.Contains(errs, "the further parents of classes differ") {
			t.Errorf("%v: exit code %d\n%s", more, code, errs)
		}
	}
	if err := os.Remove("also.csv"); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, "eval", "run", "--run", "runs/also"); code == 0 ||
		!strings.Contains(errs, "--tree measures without any") {
		t.Errorf("a missing file: exit code %d\n%s", code, errs)
	}
	if code, _, errs := run(t, "eval", "run", "--run", "runs/also", "--tree"); code != 0 {
		t.Errorf("a missing file that is not read: exit code %d\n%s", code, errs)
	}
	if err := os.Rename("more.csv", "also.csv"); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, "eval", "run", "--run", "runs/also"); code != 0 ||
		!strings.Contains(errs, "has changed since the training") {
		t.Errorf("a changed file: exit code %d\n%s", code, errs)
	}
}

// In the test, l0, l1 and l2 have a kind each and 5 images. By the tree, a query has 4 positives, of its landmark. With
// l0 of the kind of l1, too, the images of these two share one level with one another.
func TestOutputsShowFurtherParents(t *testing.T) {
	withFurther(t)
	if err := os.Mkdir("photos", 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		small := new(bytes.Buffer)
		err := png.Encode(small, image.NewGray(image.Rect(0, 0, 4, 4)))
		if err := errors.Join(err, os.WriteFile(fmt.Sprintf("photos/img%d.png", i), small.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, errs := run(t, trainAlso("runs/also", "--also", "also.csv")...); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := run(t, "train", "export", "--run", "runs/also", "--split", "test", "x.npy"); code != 0 {
		t.Fatal(errs)
	}
	for name, args := range map[string]string{"a run": "--run runs/also", "vectors": "--embeddings x.npy --labels x.csv " +
		"--also also.csv --report r.html --images photos"} {
		if code, _, errs := run(t, strings.Fields("eval run --replace --trec t --trec-least 1 "+args)...); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", args, code, errs)
		}
		qrels := readText(t, "t.qrels")
		if two, one := strings.Count(qrels, " 2\n"), strings.Count(qrels, " 1\n"); two != 60 || one != 50 {
			t.Errorf("%s: %d positives share two levels and %d one, want 60 and 50", name, two, one)
		}
	}
	if page := readText(t, "r.html"); !strings.Contains(page, "1 of 2 levels shared") {
		t.Error("the page shows no item that shares one level")
	}
	for also, want := range map[string]int{"": 4, " --also also.csv": 9} {
		args := "figure curves --embeddings x.npy --labels x.csv --query img0 --level kind --replace --out c.svg"
		if code, _, errs := run(t, strings.Fields(args+also)...); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", args, code, errs)
		}
		if got := strings.Count(readText(t, "c.csv"), "\n") - 1; got != want {
			t.Errorf("the curve has %d positives, want %d", got, want)
		}
		gap := "figure gap --embeddings x.npy --labels x.csv --sizes 5 --metric AP_level1 --replace --out g.svg"
		if code, _, errs := run(t, strings.Fields(gap+also)...); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", gap, code, errs)
		}
		args = "eval run --embeddings x.npy --labels x.csv --metrics AP --out g.json --replace"
		if code, _, errs := run(t, strings.Fields(args+also)...); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", args, code, errs)
		}
		ap := fmt.Sprintf("%.7g", 100*readResult(t, "g.json").Mean("AP_level1"))
		if text := readText(t, "g.csv"); !strings.Contains(text, ap[:6]) {
			t.Errorf("the table of the gap has no AP of %s:\n%s", ap, text)
		}
	}
	for also, want := range map[string]int{"": 0, " --also also.csv": 5} {
		args := "figure retrieved --embeddings x.npy --labels x.csv --images photos --query img0 --places 14 --replace " +
			"--out f.svg"
		if code, _, errs := run(t, strings.Fields(args+also)...); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", args, code, errs)
		}
		if got := strings.Count(readText(t, "f.csv"), ",1\n"); got != want {
			t.Errorf("%d items of 14 share one level, want %d", got, want)
		}
	}
	code, _, errs := run(t, strings.Fields("figure retrieved --embeddings x.npy --labels x.csv --also also.csv "+
		"--qrels t.qrels --images photos --query img0 --out f.svg")...)
	if code != exitUsage || !strings.Contains(errs, "leave one out") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// What no training can use is refused before it begins.
func TestFurtherParentsThatDoNotFit(t *testing.T) {
	withFurther(t)
	for want, args := range map[string][]string{
		`wrong.csv:2: no item is of the landmark "L0"`: trainAlso("runs/x", "--also", "wrong.csv"),
		`level.csv:2: the level is "tag"`:              trainAlso("runs/x", "--also", "level.csv"),
		"labels build --also level.csv":                trainAlso("runs/x", "--also", "level.csv"),
		"want level,class,also":                        trainAlso("runs/x", "--also", "split.csv"),
		"need a class at every level": trainAlso("runs/x", "--also", "also.csv", "--splits", "train,hidden",
			"--uneven"),
		"and these have": strings.Fields("train run --embeddings e.npy --labels l.csv --levels landmark --also also.csv " +
			"--out runs/x"),
		"with --levels independent, --ignore, --qrels or --tree": strings.Fields(
			"eval run --embeddings e.npy --labels l.csv --also also.csv --tree"),
	} {
		code, _, errs := run(t, args...)
		if _, err := os.Stat("runs/x"); code != exitUsage || !strings.Contains(errs, want) || err == nil {
			t.Errorf("%v: exit code %d, want %q\n%s", args, code, want, errs)
		}
	}
}

// Losses of several levels see that l6 is of the kind k1, too; those of the finest level do not, nor does a run whose
// further parent is the one of the tree. Equal weights are equal bytes.
func TestLossesOfATrainingTakeFurtherParents(t *testing.T) {
	withFurther(t)
	if err := os.WriteFile("tree.csv", []byte("level,class,also\nlandmark,l6,k0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	weights := func(out string, more ...string) string {
		t.Helper()
		args := trainAlso(out, append([]string{"-o", "run.device=cpu", "-o", "memory.size=32"}, more...)...)
		if code, _, errs := run(t, args...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", more, code, errs)
		}
		return readText(t, filepath.Join(out, "checkpoints", "step-00000002", "model.safetensors"))
	}
	happier := weights("runs/happier")
	if weights("runs/further", "--also", "more.csv") == happier {
		t.Error("further parents of training classes change no weight")
	}
	if weights("runs/same", "--also", "tree.csv") != happier || weights("runs/test", "--also", "also.csv") != happier {
		t.Error("further parents that no training class has change the weights")
	}
	finest := []string{"-o", "loss.name=smooth-ap"}
	if weights("runs/finest", append(finest, "--also", "more.csv")...) != weights("runs/ap", finest...) {
		t.Error("further parents change the weights of a loss of the finest level")
	}
	for _, args := range [][]string{{"-o", "loss.name=csl"}, {"-o", "loss.name=nsm", "-o", "loss.settings.level=1"},
		{"-o", "loss.name=sum-nsm"}} {
		code, _, errs := run(t, trainAlso("runs/x", append(args, "--also", "more.csv")...)...)
		if code != exitUsage || !strings.Contains(errs, "compares an item with one class of level 1, and further parents") {
			t.Errorf("%v: exit code %d\n%s", args, code, errs)
		}
	}
}
