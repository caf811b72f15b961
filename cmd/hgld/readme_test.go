//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"image/jpeg"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/sketch"
	"hgld/scrape/testing/fakecommons"
)

// aside are the commands of a shell around README's. A page is served and stopped, and what a
// curator would decide in it is imported. A project gets the files that README asks for. The data are
// small, the training is short, and the evaluation is not of SOP.
const aside = `set -e
export HGLD_SCRAPE_BASE_URL=$COMMONS HGLD_SCRAPE_WIKIDATA_URL=$COMMONS HGLD_SCRAPE_RATE=0 HGLD_TRAIN_STEPS=3 HGLD_TRAIN_INPUT_SIZE=24 HGLD_CLUSTER_K=20
cd() { builtin cd "$@" && cp ../given/* .; }
hgld() {
  case "$1 $2" in
  "curate serve")
    rm -f page.txt
    command hgld "$@" --port 0 > page.txt 2>&1 &
    until grep -q 'open in a browser' page.txt; do kill -0 $! || { cat page.txt; exit 1; }; sleep 0.02; done
    kill -TERM $! # a shell lets no command in the background see an INT
    wait $! || test $? = 130
    case "$*" in
    *--adjudicate*) ;; # they agree
    *anna.jsonl*) command hgld curate import --log anna.jsonl --by Anna draft.json
      command hgld curate import --log ben.jsonl --by Ben draft.json ;;
    *) command hgld curate import draft.json ;;
    esac ;;
  "eval compare") case "$3" in --paper) set -- eval compare --other-data "${@:3}" ;; esac
    command hgld "$@" ;;
  *) command hgld "$@" ;;
  esac
}
`

// commandLine is a command in a document, and what follows it on its line.
var commandLine = regexp.MustCompile(`^    ((?:hgld|cd) .*?)(?: {2,}#.*)?$`)

// commandsOf returns the commands in the sections of a document, by heading.
func commandsOf(t *testing.T, name string) map[string][]string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(goldens.Root(), name)))(t)
	commands, heading := map[string][]string{}, ""
	for _, line := range strings.Split(string(text), "\n") {
		if rest, is := strings.CutPrefix(line, "## "); is {
			heading = rest
		} else if m := commandLine.FindStringSubmatch(line); m != nil {
			commands[heading] = append(commands[heading], m[1])
		}
	}
	return commands
}

// What README prints works as printed, in an empty folder, section by section.
func TestCommandsOfREADME(t *testing.T) {
	commands := commandsOf(t, "README.md")
	for name, c := range map[string]struct {
		sections []string
		give     func(dir string) error
	}{
		"landmarks": {[]string{"Label landmarks from Wikimedia", "Curate with others"}, giveCategories},
		"photos":    {[]string{"Train on a folder of photographs"}, givePhotos},
		"vectors":   {[]string{"Evaluate any embeddings"}, giveVectors},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := aside
			for _, section := range c.sections {
				if len(commands[section]) < 3 {
					t.Fatalf("README has %d commands in %q", len(commands[section]), section)
				}
				for _, line := range commands[section] {
					script += fmt.Sprintf("echo '$' %q\n%s\n", line, line)
				}
			}
			file := filepath.Join(t.TempDir(), "readme.txt")
			must.Do(t, os.WriteFile(file, []byte("exec bash ../script.sh\n"), 0o644))
			testscript.Run(t, testscript.Params{Files: []string{file}, Setup: func(e *testscript.Env) error {
				server := httptest.NewServer(fakecommons.New(fakecommons.Corpus(60)))
				e.Defer(server.Close)
				e.Setenv("COMMONS", server.URL)
				if err := os.WriteFile(filepath.Join(e.WorkDir, "..", "script.sh"), []byte(script), 0o644); err != nil {
					return err
				}
				return errors.Join(os.Mkdir(filepath.Join(e.WorkDir, "given"), 0o755), c.give(e.WorkDir))
			}})
		})
	}
}

// giveCategories writes the list that a project of landmarks starts with.
func giveCategories(dir string) error {
	return writeCategories(filepath.Join(dir, "given", "train_label_to_category.csv"), fakecommons.Corpus(60))
}

// givePhotos draws class folders, and a photograph to search for.
func givePhotos(dir string) error {
	for class := range 12 {
		for view := range 4 {
			path := filepath.Join(dir, "photos", sketch.Forms[class/3], fmt.Sprint("kind", class), fmt.Sprintf("%d.jpg", view))
			var data bytes.Buffer
			if err := jpeg.Encode(&data, sketch.Picture(class/3, class, view, 24), nil); err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, data.Bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	first := filepath.Join("..", "photos", sketch.Forms[0], "kind0", "0.jpg")
	return os.Symlink(first, filepath.Join(dir, "given", "new.jpg"))
}

// giveVectors writes the vectors of two models for 12 items in two levels, and their labels.
func giveVectors(dir string) error {
	labels := "id,fine,coarse\n"
	for i := range 12 {
		labels += fmt.Sprintf("item%d,class%d,group%d\n", i, i/2, i/6)
	}
	for name, period := range map[string]int{"a.npy": 5, "b.npy": 4} {
		values := make([]float32, 0, 24)
		for i := range 12 {
			values = append(values, float32(i%period)+1, float32(i%3)-1)
		}
		var data bytes.Buffer
		if err := tensorfile.WriteNPY(&data, tensorfile.NewF32("", []int{12, 2}, values)); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "l.csv"), []byte(labels), 0o644)
}
