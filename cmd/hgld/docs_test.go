//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/jpeg"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/sketch"
	"hgld/scrape/testing/fakecommons"
)

// A world is what the commands of a document find in their folder.
type world struct {
	give      func(dir string) error // writes files of the user
	begin     string                 // commands before the first, which the text around implies
	apart     bool                   // every block begins in the folder of the first
	landmarks int                    // of the fake Commons; 0: 60
	slow      bool                   // several trainings: with effort.Exhaustive only
}

var worlds = map[string]world{
	"clustering.md": {give: giveNames, begin: namedTags + classedTags},
	"encoders.md":   {give: giveNames, begin: namedTags},
	"scraping.md":   {give: giveLists, begin: namesLists},
	"evaluation.md": {give: giveEvaluations, begin: trainedRuns, slow: true},
	"embeddings.md": {give: giveEvaluations, begin: trainedRuns, slow: true},
	"figures.md":    {give: giveEvaluations, begin: trainedRuns, slow: true},
	"losses.md":     {give: giveEvaluations, begin: twoLevels, slow: true},
	"training.md":   {give: giveEvaluations, begin: twoLevels, slow: true},
	"reproduce.md":  {give: giveEvaluations},
	"gpu.md":        {give: giveEvaluations},
	"configuration.md": {give: giveEvaluations,
		begin: "hgld() { command hgld \"$@\" || test $? = 2; }"},
	"landmarks.md": {give: giveTutorial, begin: `cd() { builtin cd "$@" && cp ../tutorial.yaml hgld.yaml; }`,
		landmarks: 300},
	"your-images.md": {give: giveLayouts, apart: true, begin: trainsInside},
}

// namesLists makes every project name the lists of categories, as the page asks for.
const namesLists = `cd() {
  builtin cd "$@" && sed -i 's/ #source: .*/ source: api/
    s/ #categories: .*/ categories: [train_label_to_category.csv, index_label_to_category.csv]/' hgld.yaml
}`

// trainsInside makes every project that is entered hold a run and images to search for.
const trainsInside = `cd() { builtin cd "$@" && cp -r $WORK/new.jpg $WORK/new-photos . && hgld run -q; }`

// namedTags makes tags of 400 names.
const namedTags = "hgld scrape import --split train rows.csv -q"

// classedTags gives every tag a class, as the API route does.
const classedTags = `
sed 's/"landmark_id":\([0-9]*\),\(.*\),"raw":\("[^"]*"\)/"landmark_id":\1,\2,"raw":\3,"qid":"Q7\1"/' tags.jsonl > classed.jsonl
export HGLD_EMBED_TAGS=classed.jsonl HGLD_CLUSTER_TAGS=classed.jsonl`

// twoLevels makes shards.
const twoLevels = `export HGLD_TRAIN_SAMPLER_BATCH=8 HGLD_TRAIN_SAMPLER_M=2
mkdir -p split/train split/test
cp -r photos/church photos/castle split/train
cp -r photos/bridge photos/lighthouse split/test
hgld shards build -q --dataset folder --input split
`

// trainedRuns makes the runs and folders that docs/evaluation.md speaks of.
const trainedRuns = twoLevels + `export HGLD_TRAIN_QUERY=test HGLD_TRAIN_GALLERY=test
hgld shards build -q --dataset folder --input split --out elsewhere
hgld train run -q --out runs/happier -o loss=happier -o run.evaluate=3 -o run.eval_on=test
HGLD_TRAIN_QUERY= HGLD_TRAIN_GALLERY= hgld train run -q --embeddings e.npy --labels l.csv --hold-out 0 -o model.dim=2 -o model.standard=none -o sampler.batch=4 -o sampler.m=2 --out runs/head
hgld embed-images -q --run runs/happier --split query --out e.parquet
hgld eval run -q --embeddings e.npy --labels l.csv -o top_k=11 --export n
mv n.neighbours.npy neighbours.npy
hgld eval run -q --embeddings q.npy --labels q.csv --gallery-embeddings g.npy --gallery-labels g.csv --trec x
rm -f eval.json
for r in default a b; do hgld train run -q --out runs/$r; hgld eval run -q --per-query --run runs/$r --out runs/$r/eval.json; done
`

// apart lists the commands of documents that no test runs, with the reason.
var apart = []struct{ command, reason string }{
	{"--weights all-MiniLM-L6-v2/", "published weights"},
	{"--weights clip-vit-base-patch32/", "published weights"},
	{"vectors=photo.safetensors", "vectors by published weights"},
	{"…", "abbreviated"},
	{"models list --fits resnet50.pth", "published weights"},
	{"--input Stanford_Online_Products", "see TestCommandsOfTheDataSetsDocumentRun"},
	{"train run --config", "trains a ResNet-50"},
	{"--device cuda", "needs a GPU"},
	{"--qrels", "judgements of a benchmark"},
	{"eval landmarks", "images of a benchmark"},
	{"run.eval_on=landmarks", "see TestSolutionsOfGoogleLandmarksAreWatched"},
	{"eval compare --mean", "see TestCommandsOfTheDataSetsDocumentRun"},
	{"eval compare --paper", "the result of a published data set"},
	{"--images grocery", "written by pyarrow in scripts/check_readers"},
	{"--images train_val2018.tar", "see TestCommandsOfTheDataSetsDocumentRun"},
}

// elsewhereRun lists the documents whose commands other tests run, or that have none to run.
var elsewhereRun = map[string]string{
	"datasets.md":         "TestCommandsOfTheDataSetsDocumentRun",
	"curation-formats.md": "testdata/script/curate_compare.txt",
	"label-semantics.md":  "TestTrainingsMeasureByExtraParents, testdata/script/curate_extra.txt",
	"labels.md": "TestLabelsAreTakenFromLandmarksThatLookAlike, TestTrainingsMeasureByExtraParents, " +
		"testdata/scrape/items.txt",
	"studies.md":              "testdata/script/shared_study.txt, with a study of seconds",
	"export.md":               "scripts/check_export",
	"pretrained-weights.md":   "TestModelsFetchKeepsWeightsInTheProject",
	"python.md":               "scripts/check_python",
	"batch-jobs.md":           "scripts/check_slurm and scripts/check_kubernetes",
	"distributed-training.md": "scripts/check_ranks",
	"s3.md":                   "scripts/check_s3",
	"shards.md":               "TestFinishedSlicesEqualABuild of package shards",
	"external-loss.md":        "scripts/check_python",
}

// smaller replaces sizes that a small set of pictures cannot fill.
var smaller = strings.NewReplacer("--sizes 32,64,128", "--sizes 4,8", "--sizes 32", "--sizes 8",
	"--k 150", "--k 12", "--ks 50,100,150,200", "--ks 4,8", "--ks 150", "--ks 8",
	"sampler.batch=4096", "sampler.batch=8 -o sampler.m=2", "passes.chunk=128", "passes.chunk=4",
	"memory.size=60000", "memory.size=16", "--steps 900", "--steps 3", "--trials 9", "--trials 3",
	"-o steps=300", "-o steps=3", "model.dim=128", "model.dim=2",
	"R@1,R@10,mAP@100", "R@1,R@5", "R@1,mAP@100", "R@1,mAP@5",
	"cats/1.jpg", "church/kind0/1.jpg", "img7", "church/kind1/0.jpg", "--of gallery", "--of query",
	"mv runs/default runs/first", "cd mine && mv runs/default runs/first",
	"hgld cluster run --keep-groups",
	"! hgld cluster run --keep-groups") // it keeps a curated draft and says so with exit code 1

// documentCommand is a command of a document, of one line or continued.
type documentCommand struct {
	text  string
	first bool // of its block
	fails bool // what is printed below is an error
}

var remark = regexp.MustCompile(`(?: {3,}.*| {2,}#.*)$`)

// documentCommands returns the commands of a document in order.
func documentCommands(t *testing.T, name string) (list []documentCommand) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(goldens.Root(), "docs", name)))(t)
	continued, fenced, typed, first := false, false, false, true
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		body, block := strings.CutPrefix(line, "    ")
		prompt := strings.HasPrefix(body, "$ ")
		body = strings.TrimPrefix(body, "$ ")
		switch {
		case !block || fenced:
			typed, first = false, true
			continue
		case continued:
			list[len(list)-1].text += " " + strings.TrimSpace(strings.TrimSuffix(body, "\\"))
		case strings.HasPrefix(body, "hgld: ") && typed:
			list[len(list)-1].fails = true
		case strings.HasPrefix(body, "hgld ") || strings.HasPrefix(body, "cd ") || strings.HasPrefix(body, "mv "):
			command := strings.TrimSpace(strings.TrimSuffix(remark.ReplaceAllString(body, ""), "\\"))
			list = append(list, documentCommand{text: command, first: first})
			typed, first = prompt, false
		default:
			continue
		}
		continued = strings.HasSuffix(body, "\\")
	}
	return list
}

// script returns the commands of a document that run here as a script for bash.
func (w world) script(t *testing.T, name string) string {
	script := "set -e\n" + docsAside + w.begin + "\n"
	for _, c := range documentCommands(t, name) {
		text := smaller.Replace(c.text)
		if slices.ContainsFunc(apart, func(a struct{ command, reason string }) bool { return strings.Contains(c.text, a.command) }) {
			continue
		}
		if c.fails && name != "configuration.md" {
			text = "! " + text
		}
		if w.apart && c.first {
			script += "builtin cd $WORK\n"
		}
		script += fmt.Sprintf("echo '$' %q\n%s\n", text, text)
	}
	return script
}

// docsAside is the shell around the commands: short trainings, the fake Commons, and a page that is served and
// stopped; what a curator would decide in it is imported.
const docsAside = `export HGLD_SCRAPE_BASE_URL=$COMMONS HGLD_SCRAPE_WIKIDATA_URL=$COMMONS HGLD_SCRAPE_RATE=0
export HGLD_TRAIN_STEPS=3 HGLD_TRAIN_INPUT_SIZE=24 HGLD_TRAIN_INPUT_RESIZE=24 HGLD_CLUSTER_K=12
hgld() {
  case "$1 $2" in
  "train run") case "$*" in *--out*) ;; *) rm -rf runs/default ;; esac; command hgld "$@" ;; # the next example
  "dev fake-wikimedia") ;; # which serves at $COMMONS
  "curate serve") command hgld curate import draft.json ;;
  *) command hgld "$@" ;;
  esac
}
`

// What the documents print works as printed, in a folder with what they speak of.
func TestCommandsOfDocuments(t *testing.T) {
	files := must.Get(filepath.Glob(filepath.Join(goldens.Root(), "docs", "*.md")))(t)
	for _, file := range files {
		name := filepath.Base(file)
		w, known := worlds[name]
		switch {
		case !known && elsewhereRun[name] == "" && len(documentCommands(t, name)) > 0:
			t.Errorf("%s has commands that no test runs", name)
			continue
		case !known || w.slow && !effort.Exhaustive():
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "document.txt")
			must.Do(t, os.WriteFile(script, []byte("exec bash script.sh\n"), 0o644))
			testscript.Run(t, testscript.Params{Files: []string{script}, Setup: func(e *testscript.Env) error {
				pages := fakecommons.Corpus(cmp.Or(w.landmarks, 60))
				site := fakecommons.New(pages)
				site.Add(fakecommons.CorpusItems(pages)...)
				server := httptest.NewServer(site)
				e.Defer(server.Close)
				e.Setenv("COMMONS", server.URL)
				return errors.Join(w.give(e.WorkDir),
					os.WriteFile(filepath.Join(e.WorkDir, "script.sh"), []byte(w.script(t, name)), 0o644))
			}})
		})
	}
}

// giveNames writes 400 landmarks with as many tags, groups of them and names of groups.
func giveNames(dir string) error {
	rows, groups, names := "landmark_id,category,supercategory\n", "tag\tgroup\n", ""
	kinds := []string{"church", "bridge", "tower", "lake", "mountain", "museum", "park", "castle", "harbour", "mill"}
	for i := range 400 {
		kind := kinds[i%len(kinds)]
		tag := kind
		if i >= len(kinds) {
			tag = fmt.Sprintf("%s of the %dth kind", kind, i/len(kinds))
		}
		rows += fmt.Sprintf("%d,http://commons.wikimedia.org/wiki/Category:A%d,%s\n", i, i, tag)
		groups += tag + "\t" + kind + "\n"
	}
	for _, kind := range kinds[:4] {
		names += kind + "\n"
	}
	items := "{\"hgld_items\":1}\n"
	for i := range 400 { // see classedTags
		items += fmt.Sprintf("{\"id\":\"Q7%d\",\"label\":\"class %d\",\"subclass_of\":[\"Q8%d\"]}\n", i, i, i%len(kinds))
	}
	for i, kind := range kinds {
		items += fmt.Sprintf("{\"id\":\"Q8%d\",\"label\":\"%s\"}\n", i, kind)
	}
	vectors := make([]float32, 400*4)
	for i := range vectors {
		vectors[i] = float32(i*i%97) - 48
	}
	var npy bytes.Buffer
	return errors.Join(tensorfile.WriteNPY(&npy, tensorfile.NewF32("", []int{400, 4}, vectors)), give(dir, map[string]string{
		"rows.csv": rows, "groups.tsv": groups, "names.txt": names, "mine.npy": npy.String(),
		"items.jsonl": items}))
}

// giveLists writes the two lists of categories where docs/scraping.md asks for them.
func giveLists(dir string) error {
	project := filepath.Join(dir, "my-project")
	if err := os.Mkdir(project, 0o755); err != nil {
		return err
	}
	corpus := fakecommons.Corpus(60)
	return errors.Join(writeCategories(filepath.Join(project, "train_label_to_category.csv"), corpus[:40]),
		writeCategories(filepath.Join(project, "index_label_to_category.csv"), corpus[40:]))
}

// giveTutorial writes the list of the landmarks of docs/landmarks.md, and the settings that the page shows.
func giveTutorial(dir string) error {
	page, err := os.ReadFile(filepath.Join(goldens.Root(), "docs", "landmarks.md"))
	_, settings, _ := strings.Cut(string(page), "```yaml\n")
	settings, _, _ = strings.Cut(settings, "```")
	return errors.Join(err, give(dir, map[string]string{"tutorial.yaml": settings}),
		writeCategories(filepath.Join(dir, "categories.csv"), fakecommons.Corpus(300)))
}

// giveEvaluations draws photographs, and writes vectors and labels under the names that documents use.
func giveEvaluations(dir string) error {
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "given"), 0o755), givePhotos(dir), giveVectors(dir)); err != nil {
		return err
	}
	for from, to := range map[string]string{"a.npy": "e.npy q.npy", "b.npy": "g.npy", "l.csv": "e.csv q.csv g.csv table.csv",
		"photos/church/kind0/0.jpg": "new.jpg queries/new.jpg"} {
		data, err := os.ReadFile(filepath.Join(dir, from))
		if err != nil {
			return err
		}
		if from == "l.csv" { // its items are photographs
			for class := range 12 {
				item := fmt.Sprintf("\nitem%d,", class)
				photo := fmt.Sprintf("\n%s/kind%d/0.jpg,", sketch.Forms[class/3], class)
				data = bytes.Replace(data, []byte(item), []byte(photo), 1)
			}
			to += " l.csv"
		}
		for _, name := range strings.Fields(to) {
			text := string(data)
			switch name {
			case "table.csv":
				text = strings.Replace(text, "fine,coarse\n", "product,category,colour,shape\n", 1)
				lines := strings.SplitAfter(strings.TrimSpace(text)+"\n", "\n")
				for i, line := range lines[1 : len(lines)-1] {
					lines[i+1] = fmt.Sprintf("%s,colour%d,shape%d\n", strings.TrimSpace(line), i%3, i%2)
				}
				text = strings.Join(lines, "")
			case "g.csv": // other images than the queries
				text = strings.ReplaceAll(text, "/0.jpg", "/1.jpg")
				text = strings.ReplaceAll(text, "\nitem", "\nother")
			}
			if err := give(dir, map[string]string{name: text}); err != nil {
				return err
			}
		}
	}
	return nil
}

// give writes files.
func give(dir string, files map[string]string) error {
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// giveLayouts draws the photographs of docs/your-images.md in the layouts that it shows.
func giveLayouts(dir string) error {
	table, addresses := "path;fine;coarse\n", "url,label\n"
	for i := range 24 {
		var data bytes.Buffer
		if err := jpeg.Encode(&data, sketch.Picture(i/6, i/2, i, 16), nil); err != nil {
			return err
		}
		side := [2]string{"images_background", "images_evaluation"}[i%2]
		files := map[string]string{}
		for _, name := range []string{
			fmt.Sprintf("photos/class%d/kind%d/%d.jpg", i/12, i/4, i), fmt.Sprintf("My Photos/class%d/%d.jpg", i/4, i),
			fmt.Sprintf("omniglot/%s/alphabet%d/character%d/%d.jpg", side, i%4, i/8, i),
			fmt.Sprintf("csvimg/%d.jpg", i), fmt.Sprintf("new-photos/%d.jpg", i),
			fmt.Sprintf("pictures/pictures/class%d/%d.jpg", i/6, i), "ragged/fruit/apple/0.jpg", "ragged/nuts/0.jpg", "new.jpg"} {
			files[name] = data.String()
		}
		if err := give(dir, files); err != nil {
			return err
		}
		table += fmt.Sprintf("csvimg/%d.jpg;fine%d;coarse%d\n", i, i/4, i/12)
		addresses += fmt.Sprintf("https://x.org/%d.jpg,label%d\n", i, i/8)
	}
	zipped := filepath.Join(dir, "pictures.zip")
	return errors.Join(give(dir, map[string]string{"semi.csv": table, "urls.csv": addresses}),
		zipFolder(zipped, filepath.Join(dir, "pictures")))
}

// zipFolder packs a folder.
func zipFolder(path, dir string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := zip.NewWriter(f)
	return errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), f.Close())
}
