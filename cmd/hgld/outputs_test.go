package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/img"
	"hgld/internal/pipeline"
	"hgld/internal/seal"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/train/device/cuda"
)

// occupied are files and folders of a project, with contents that no command gets to read.
var occupied = map[string]string{
	"hgld.yaml": "hgld: 1\n", "categories.csv": "landmark_id,category\n0,a\n", "tags.jsonl": `{"hgld_tags":1}`,
	"vectors.safetensors": `        {"__metadata__":{"format":"hgld-vectors/1"}}`, "draft.json": `{"hgld_draft": 1}`,
	"edits.jsonl": `{"hgld_edits":1}`, "hierarchy.json": `{"hgld_hierarchy": 1}`,
	"labels.csv": "landmark_id,hierarchical_label,natural_or_human_made\n", "eval.json": `{"hgld_eval": 1}`,
	"images.csv": "path,landmark_id\na.jpg,0\n", "images/a.jpg": "picture", "photos/a/b.jpg": "picture",
	"shards/MANIFEST.json": `{"hgld_shards": 1}`, "runs/default/run.yaml": "steps: 1\n",
	"runs/default/checkpoints/step-1/model.safetensors": "weights", "e.npy": "vectors", "l.csv": "id,class\na,b\n",
	"notes.txt": "mine",
	// Files of others that look like those of hgld.
	"train_label_to_hierarchical.csv": "landmark_id,category,supercategory,hierarchical_label,natural_or_human_made\n",
	"levels.csv":                      "split,landmark_id,category,tag,level_0\n", "tree.ttl": "@prefix rdf: <x> .\n",
	"list.csv": "split,landmark_id,category,tag,reason,detail\n", "votes.csv": "split,landmark_id,class,share,a\n",
	"changes.jsonl":       `{"landmark_id":1,"split":"","category":"","after":""}`,
	"package.json":        `{"version": 1, "name": "x"}`,
	"runs/other/run.yaml": string(seal.Lines([]byte("steps: 1\n"))),
	"x.run":               "a Q0 b 1 0.5 other\n", "x.qrels": "a 0 b 1\n",
	"tags.csv": "landmark_id,outcome,tag\n", "log.jsonl": `{"at":1,"action":"page"}`,
}

// writers are command lines with a place for the output, the ending that it must have, and the files that
// they may replace.
var writers = []struct{ line, ending, own string }{
	{"scrape run --contact a@b.c --out OUT", "", "tags.jsonl"},
	{"scrape run --contact a@b.c --state OUT", "", ""}, {"scrape import --out OUT images.csv", "", "tags.jsonl"},
	{"embed --encoder hashing --out OUT", "", "vectors.safetensors"},
	{"embed --encoder hashing -o cache=OUT", "", ""}, {"cluster run --out OUT", "", "draft.json"},
	{"cluster show --report OUT", "", ""}, {"cluster sweep --plots OUT", "/inertia.svg", ""},
	{"curate apply --out OUT", "", "hierarchy.json"}, {"curate serve --out OUT", "", "hierarchy.json"},
	{"curate export --to sheet hierarchy.json OUT", "", ""}, {"curate export --to draft hierarchy.json OUT", "", ""},
	{"labels build --out OUT", ".csv", ""},
	{"curate export --to skos hierarchy.json OUT", "", ""}, {"labels build --unlabelled OUT", "", ""},
	{"labels convert --to levels labels.csv OUT", ".csv", ""}, {"shards build --out OUT", "", "shards"},
	{"shards convert --to webdataset --out OUT", "", ""},
	{"shards build --out OUT --slice 1/2", "", "shards"}, {"train run --out OUT", "", "runs/default"},
	{"study run --data shards --out OUT demo", "", ""},
	{"models fetch --from e.npy --out OUT.safetensors resnet18", ".json", ""},
	{"train export OUT", ".onnx", ""}, {"eval run --out OUT", "", "eval.json"},
	{"eval run --report OUT", "", ""}, {"eval run --trec OUT", ".run", ""}, {"eval run --trec OUT", ".qrels", ""},
	{"eval run --embeddings e.npy --labels l.csv --out OUT", "", "eval.json"},
	{"eval run --export OUT", ".json", "eval.json"}, {"eval run --export OUT", ".scores.npy", ""},
	{"embed-images --run r --out OUT photos", ".npy", ""}, {"embed-images --run r --out OUT.npy photos", ".csv", ""},
	{"embed-images --weights e.npy --out OUT photos", ".npy", ""},
	{"embed-images --weights e.npy --out OUT.npy photos", ".csv", ""},
	{"eval compare --report OUT eval.json l.csv", "", ""}, {"search --report OUT photos/a/b.jpg", "", ""},
	{"runs plot --out OUT runs/default", ".svg", ""}, {"runs plot --out OUT.svg runs/default", ".csv", ""},
	{"figure steps --out OUT", ".svg", ""}, {"figure steps --out OUT.png", ".csv", ""},
	{"loss --loss sup-ap --embeddings e.npy --labels l.csv --per-query OUT", ".csv", ""},
	{"loss --loss happier --embeddings e.npy --labels l.csv --gradient OUT", ".npy", ""},
	{"dev fake-wikimedia --port 0 --categories OUT", "", ""}, {"dev fake-wikimedia --port 0 --expect OUT", "", ""},
	{"dev fake-wikimedia --port 0 --log OUT", "", ""},
}

// targets lists the files and folders that a command must not replace.
func targets() (list []string) {
	for name := range occupied {
		list = append(list, name)
	}
	slices.Sort(list)
	return append(list, "images", "photos", "shards", "runs/default", "runs")
}

// contents reads all files below the current folder.
func contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	must.Do(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	}))
	return all
}

// Every output of every command refuses every file that is not its own, by a symbolic link where it needs
// an ending. Without the exhaustive suite, a command meets every fourth.
func TestOutputsReplaceOnlyTheirOwnKind(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range occupied {
		testfile.Write(t, filepath.Dir(name), filepath.Base(name), text)
	}
	before := contents(t)
	for i, w := range writers {
		for k, target := range targets() {
			if !effort.Exhaustive() && (i+k)%4 != 0 {
				continue
			}
			out := target
			if w.ending != "" && !strings.HasSuffix(target, w.ending) {
				link := fmt.Sprintf("link-%d-%d", i, k)
				must.Do(t, os.MkdirAll(filepath.Dir(link+w.ending), 0o755))
				whole, err := filepath.Abs(target)
				if err == nil {
					err = os.Symlink(whole, link+w.ending)
				}
				if err != nil {
					t.Fatal(err)
				}
				out = link + w.ending
			}
			if strings.Contains(w.line, "OUT.") || w.ending != "" && !slices.Contains([]string{".npy", ".onnx", ".svg", ".csv"},
				w.ending) || strings.Contains(w.line, "--export") {
				out = strings.TrimSuffix(out, w.ending)
			}
			if target == w.own {
				continue
			}
			args := strings.Fields(strings.Replace(w.line, "OUT", out, 1))
			code, _, errs := run(t, args...)
			refused := slices.ContainsFunc([]string{"would be overwritten", "would get more files", "; want the name of a "},
				func(text string) bool { return strings.Contains(errs, text) })
			if code != exitUsage || !refused {
				t.Errorf("hgld %s, which is %s: exit code %d: %s", strings.Join(args, " "), target, code, errs)
			}
		}
	}
	after := contents(t)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
	for name := range after {
		if _, there := before[name]; !there {
			t.Errorf("%s was added", name)
		}
	}
}

// A file that a finished data set names is not replaced, even by its own kind.
func TestFilesOfADataSetAreNotReplaced(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.Mkdir("set", 0o755))
	draw := []string{"figure", "steps", "-q", "--replace", "--out", "set/f.svg"}
	succeeds(t, draw...)
	testfile.Write(t, "set", "SHA256SUMS", "00  f.svg\n00  data/f.svg\n00  MANIFEST.json\n")
	must.Do(t, errors.Join(os.Symlink("set/f.svg", "f.svg"), os.MkdirAll("set/data", 0o755),
		os.Link("set/f.svg", "set/data/f.svg")))
	for _, path := range []string{"set/f.svg", "f.svg", "set/data/f.svg"} {
		draw[len(draw)-1] = path
		says(t, exitUsage, path+" is a file of a data set and would be overwritten", draw...)
	}
	testfile.Write(t, "set", "SHA256SUMS", "00  f.svg\n") // of another program
	succeeds(t, draw...)
}

// A file without a mark is replaced as long as it has the bytes that hgld has written, and no others.
func TestFilesWithoutAMarkAreKnownByTheirBytes(t *testing.T) {
	for place, file := range map[string]string{"a project": projectFile, "no project": "other.yaml"} {
		t.Run(place, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("XDG_CONFIG_HOME", t.TempDir())
			testfile.Write(t, ".", file, "hgld: 1\n")
			draw := []string{"figure", "steps", "--out", "f.svg", "-q"}
			succeeds(t, draw...)
			succeeds(t, draw...)
			ours := must.Get(os.ReadFile("f.csv"))(t)
			testfile.Write(t, ".", "f.csv", string(ours)+"mine\n")
			says(t, exitUsage, "f.csv is a file that hgld may not have written", draw...)
			testfile.Write(t, ".", "f.csv", string(ours))
			succeeds(t, draw...)
			must.Do(t, os.Rename("f.csv", "l.csv"))
			testfile.Write(t, ".", "x.csv", "landmark_id,category\n")
			says(t, exitUsage, "l.csv is a file that hgld may not have written", // of another kind
				"labels", "convert", "--to", "levels", "x.csv", "l.csv")
			testfile.Write(t, ".", "f.csv", "mine\n")
			succeeds(t, append(draw, "--replace")...)
			succeeds(t, draw...)
		})
	}
}

// hgld config check refuses the same outputs in hgld.yaml.
func TestConfigCheckKnowsOutputs(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range occupied {
		testfile.Write(t, filepath.Dir(name), filepath.Base(name), text)
	}
	for i, w := range []struct{ stage, key, own string }{
		{"scrape", "out", "tags.jsonl"}, {"scrape", "state", ""},
		{"embed", "out", "vectors.safetensors"}, {"cluster", "out", "draft.json"}, {"curate", "out", "hierarchy.json"},
		{"labels", "out", ""}, {"labels", "unlabelled", ""}, {"shards", "out", "shards"},
		{"train", "out", "runs/default"}, {"eval", "out", "eval.json"}, {"eval", "report", ""},
	} {
		for k, target := range targets() {
			if !effort.Exhaustive() && (i+k)%4 != 0 {
				continue
			}
			testfile.Write(t, ".", "hgld.yaml", fmt.Sprintf("%s: {%s: ./images/../%s}\n", w.stage, w.key, target))
			p := must.Get(stages().Open(""))(t)
			err := p.Check(stages().Stages)
			if refused := errors.As(err, new(*pipeline.OutputError)); refused == (target == w.own) {
				t.Errorf("%s.%s: %s: %v", w.stage, w.key, target, err)
			}
		}
	}
}

// hgld config check reads the variables that configure the machine, too.
func TestConfigCheckReadsTheVariablesOfTheMachine(t *testing.T) {
	projectHere(t, "")
	for _, name := range []string{img.JPEGVariable, img.HEIFVariable, cuda.VendorVariable} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "rubbish")
			says(t, exitUsage, name, "config", "check")
		})
	}
	if code, _, errs := run(t, "config", "check"); code != exitOK {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
