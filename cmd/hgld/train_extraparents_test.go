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
	"slices"
	"strings"
	"testing"

	"hgld/internal/report"
	"hgld/internal/testing/must"
)

// withExtra writes also.csv: the landmark l0, of the test, is of the kind k1, too. wrong.csv and level.csv name
// a class and a level that no item has.
func withExtra(t *testing.T) {
	t.Helper()
	embeddingFiles(t)
	vectorSplits(t)
	for name, rows := range map[string]string{"also.csv": "landmark,l0,k1\nlandmark,x,k1\n",
		"wrong.csv": "landmark,L0,k1\n", "level.csv": "tag,bridge,k1\n", "more.csv": "landmark,l0,k1\nlandmark,l6,k1\n"} {
		must.Do(t, os.WriteFile(name, []byte("level,class,extra_parent\n"+rows), 0o644))
	}
}

// trainAlso returns the arguments of a training on vectors with a test.
func trainAlso(out string, more ...string) []string {
	return append(strings.Fields("train run --embeddings e.npy --labels split.csv --levels landmark,kind --query test "+
		"-o steps=2 -o model.dim=4 -o loss.name=happier -o sampler.batch=16 --out "+out), more...)
}

// A training measures its test by extra parents, and so do evaluations of the run: with the figures of the same
// vectors from a file.
func TestTrainingsMeasureByExtraParents(t *testing.T) {
	withExtra(t)
	measure := func(args ...string) map[string]float64 {
		t.Helper()
		succeeds(t, args...)
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
	trained := measure(trainAlso("runs/also", "--extra-parents", "also.csv")...)
	succeeds(t, "embed-images", "--run", "runs/also", "--split", "test", "--out", "x.npy")
	byRun := measure("eval", "run", "--run", "runs/also")
	if of := readResult(t, "eval.json").Of; !strings.HasSuffix(of.Data, ", extra parents also.csv") {
		t.Errorf("the data are %q", of.Data)
	}
	files := strings.Fields("eval run --embeddings x.npy --labels x.csv -o normalize=false")
	byFile := measure(append(files, "-o", "extra_parents=also.csv")...)
	tree := measure(append(files[:len(files):len(files)], "-o", "extra_parents=none")...)
	byTree := measure("eval", "run", "--run", "runs/also", "-o", "extra_parents=none")
	byOther := measure("eval", "run", "--run", "runs/also", "-o", "extra_parents=more.csv") // the test lacks l6
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
		t.Errorf("with extra parents %v, by the tree %v", byFile, tree)
	}
}

// A run continues with the extra parents that it has, and with no others.
func TestRunsKnowTheirExtraParents(t *testing.T) {
	withExtra(t)
	if code, _, errs := run(t, trainAlso("runs/also", "--extra-parents", "also.csv")...); code != 0 ||
		!strings.Contains(errs, "also.csv: 1 of 2 extra parents apply here") {
		t.Fatal(errs)
	}
	says(t, exitOK, "nothing is left to do", "train", "resume", "runs/also")
	for _, more := range [][]string{{"--extra-parents", "more.csv"}, nil} {
		says(t, exitUsage, "the extra parents of classes differ", trainAlso("runs/also", more...)...)
	}
	must.Do(t, os.Remove("also.csv"))
	if code, _, errs := run(t, "eval", "run", "--run", "runs/also"); code == 0 ||
		!strings.Contains(errs, "pass -o extra_parents=none to evaluate") {
		t.Errorf("a missing file: exit code %d\n%s", code, errs)
	}
	if code, _, errs := run(t, "eval", "run", "--run", "runs/also", "-o", "extra_parents=none"); code != 0 {
		t.Errorf("a missing file that is not read: exit code %d\n%s", code, errs)
	}
	must.Do(t, os.Rename("more.csv", "also.csv"))
	says(t, exitOK, "has changed since the training", "eval", "run", "--run", "runs/also")
}

// In the test, l0, l1 and l2 have a kind each and 5 images. By the tree, a query has 4 positives, of its landmark. With
// l0 of the kind of l1, too, the images of these two share one level with one another.
func TestOutputsShowExtraParents(t *testing.T) {
	withExtra(t)
	must.Do(t, os.Mkdir("photos", 0o755))
	for i := range 60 {
		small := new(bytes.Buffer)
		err := png.Encode(small, image.NewGray(image.Rect(0, 0, 4, 4)))
		must.Do(t, errors.Join(err, os.WriteFile(fmt.Sprintf("photos/img%d.png", i), small.Bytes(), 0o644)))
	}
	succeeds(t, trainAlso("runs/also", "--extra-parents", "also.csv")...)
	succeeds(t, "embed-images", "--run", "runs/also", "--split", "test", "--out", "x.npy")
	for name, args := range map[string]string{"a run": "--run runs/also", "vectors": "--embeddings x.npy --labels x.csv " +
		"-o extra_parents=also.csv --report r.html --images photos"} {
		succeeds(t, strings.Fields("eval run --replace --trec t -o trec_min_level=1 "+args)...)
		qrels := readText(t, "t.qrels")
		if two, one := strings.Count(qrels, " 2\n"), strings.Count(qrels, " 1\n"); two != 60 || one != 50 {
			t.Errorf("%s: %d positives share two levels and %d one, want 60 and 50", name, two, one)
		}
	}
	if !slices.ContainsFunc(explored(t, readText(t, "r.html")).Queries, func(q report.Query) bool {
		return slices.Contains(q.Shared[0], 1)
	}) {
		t.Error("the page shows no item that shares one level")
	}
	for also, want := range map[string]int{"": 4, " -o extra_parents=also.csv": 9} {
		args := "figure curves --embeddings x.npy --labels x.csv --query img0 --level kind --replace --out c.svg"
		succeeds(t, strings.Fields(args+also)...)
		if got := strings.Count(readText(t, "c.csv"), "\n") - 1; got != want {
			t.Errorf("the curve has %d positives, want %d", got, want)
		}
		gap := "figure gap --embeddings x.npy --labels x.csv --sizes 5 --metric AP_level1 --replace --out g.svg"
		succeeds(t, strings.Fields(gap+also)...)
		args = "eval run --embeddings x.npy --labels x.csv --metrics AP --out g.json --replace"
		succeeds(t, strings.Fields(args+also)...)
		ap := fmt.Sprintf("%.7g", 100*readResult(t, "g.json").Mean("AP_level1"))
		if text := readText(t, "g.csv"); !strings.Contains(text, ap[:6]) {
			t.Errorf("the table of the gap has no AP of %s:\n%s", ap, text)
		}
	}
	for also, want := range map[string]int{"": 0, " -o extra_parents=also.csv": 5} {
		args := "figure retrieved --embeddings x.npy --labels x.csv --images photos --query img0 --top-k 14 --replace " +
			"--out f.svg"
		succeeds(t, strings.Fields(args+also)...)
		if got := strings.Count(readText(t, "f.csv"), ",1\n"); got != want {
			t.Errorf("%d items of 14 share one level, want %d", got, want)
		}
	}
	says(t, exitUsage, "leave one out", strings.Fields("figure retrieved --embeddings x.npy --labels x.csv "+
		"-o extra_parents=also.csv --qrels t.qrels --images photos --query img0 --out f.svg")...)
}

// What no training can use is refused before it begins.
func TestExtraParentsThatDoNotFit(t *testing.T) {
	withExtra(t)
	for want, args := range map[string][]string{
		`wrong.csv:2: no item has the landmark "L0"`: trainAlso("runs/x", "--extra-parents", "wrong.csv"),
		`level.csv:2: the level is "tag"`:            trainAlso("runs/x", "--extra-parents", "level.csv"),
		"labels build --extra-parents level.csv":     trainAlso("runs/x", "--extra-parents", "level.csv"),
		"want level,class,extra_parent":              trainAlso("runs/x", "--extra-parents", "split.csv"),
		"need a class at every level": trainAlso("runs/x", "--extra-parents", "also.csv", "-o", "splits=train,hidden",
			"-o", "partial_labels=keep"),
		"and these have": strings.Fields("train run --embeddings e.npy --labels l.csv --levels landmark " +
			"--extra-parents also.csv --out runs/x"),
		"with --levels independent, ignore or --qrels": strings.Fields(
			"eval run --embeddings e.npy --labels l.csv -o extra_parents=also.csv --levels independent"),
	} {
		code, _, errs := run(t, args...)
		if _, err := os.Stat("runs/x"); code != exitUsage || !strings.Contains(errs, want) || err == nil {
			t.Errorf("%v: exit code %d, want %q\n%s", args, code, want, errs)
		}
	}
}

// Losses of several levels see that l6 is of the kind k1, too; those of the finest level do not, nor does a run whose
// extra parent is the one of the tree. Equal weights are equal bytes.
func TestLossesOfATrainingTakeExtraParents(t *testing.T) {
	withExtra(t)
	must.Do(t, os.WriteFile("tree.csv", []byte("level,class,extra_parent\nlandmark,l6,k0\n"), 0o644))
	weights := func(out string, more ...string) string {
		t.Helper()
		args := trainAlso(out, append([]string{"--device", "cpu", "-o", "memory.size=32"}, more...)...)
		succeeds(t, args...)
		return readText(t, filepath.Join(out, "checkpoints", "step-00000002", "model.safetensors"))
	}
	happier := weights("runs/happier")
	if weights("runs/more", "--extra-parents", "more.csv") == happier {
		t.Error("extra parents of training classes change no weight")
	}
	if weights("runs/same", "--extra-parents", "tree.csv") != happier ||
		weights("runs/test", "--extra-parents", "also.csv") != happier {
		t.Error("extra parents that no training class has change the weights")
	}
	finest := []string{"-o", "loss.name=smooth-ap"}
	if weights("runs/finest", append(finest, "--extra-parents", "more.csv")...) != weights("runs/ap", finest...) {
		t.Error("extra parents change the weights of a loss of the finest level")
	}
	for _, args := range [][]string{{"-o", "loss.name=csl"}, {"-o", "loss.name=nsm", "-o", "loss.settings.level=1"},
		{"-o", "loss.name=sum-nsm"}} {
		says(t, exitUsage, "compares an item with one class of level 1, and extra parents",
			trainAlso("runs/x", append(args, "--extra-parents", "more.csv")...)...)
	}
}
