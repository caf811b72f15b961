//go:build amd64

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/powercut"
)

// hgldIn is a command line of hgld in a folder, as a program of its own.
func hgldCut(t *testing.T, dir string, args ...string) *exec.Cmd {
	self := must.Get(os.Executable())(t)
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "hgld" // by which testscript knows that it is the command
	cmd.Dir = dir
	return cmd
}

// hgldOut runs hgldIn and returns what it printed.
func hgldOut(t *testing.T, dir string, args ...string) (string, error) {
	out, err := hgldCut(t, dir, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("hgld %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

var finishedAt = regexp.MustCompile(`"finished": "[^"]*"|,\n "sha256": "[0-9a-f]{64}"\n}\n$`)

// projectFiles are the files of a project, without locks and the times in stamps.
func projectFiles(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) == ".lock" {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = string(finishedAt.ReplaceAll(data, nil))
		return err
	})
	return all, err
}

// written finds the files that a stage has said to be written.
var written = regexp.MustCompile(`(?m)^(\S+) written: `)

// TestProjectSurvivesPowerCuts cuts the power at each call that hgld run makes on the
// files of a project: what it had announced is there, status reads the project, and the
// same command ends with the files of an undisturbed run.
func TestProjectSurvivesPowerCuts(t *testing.T) {
	tags := `{"hgld_tags":1,"tool":"hgld 1.0","source":"page"}` + "\n"
	for i, tag := range []string{"road bridge", "railway bridge", "road bridge", "church building", "church",
		"ocean area ", "bay area"} {
		tags += fmt.Sprintf(`{"landmark_id":%d,"split":"train","category":"http://commons.wikimedia.org/wiki/Category:C%d","outcome":"ok","tag":%q}`+"\n", i, i, tag)
	}
	const groups = "bridge,3,church,2,water,2\nroad bridge,2,church building,1,ocean area ,1\nrailway " +
		"bridge,1,church,1,bay area,1\n"
	const kinds = "group,parent,landmarks\nbridge,human-made,3\nchurch,human-made,2\nwater,natural,2\n"
	const settings = "hgld: 1\nembed: {encoder: hashing}\ncurate: {logs: [edits.jsonl]}\n"
	for name, c := range map[string]struct {
		curated bool
		before  string // what hgld.yaml adds in a run before; "": there is none
		now     string // and in the run that is cut
		until   string
	}{
		"the first run": {true, "", "cluster: {k: 3}\n", "labels"},
		"labels with another row": {true, "cluster: {k: 3}\n",
			"cluster: {k: 3}\nlabels: {include_unlabelled: true}\n", "labels"},
		"another draft": {false, "cluster: {k: 3}\n", "cluster: {k: 4}\nembed: {encoder: hashing, prompt: " +
			"photo}\n", "cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			put := func(name, text string) { must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) }
			configure := func(with string) {
				text := settings + with
				if strings.Count(text, "embed:") > 1 {
					text = strings.Replace(text, "embed: {encoder: hashing}\n", "", 1)
				}
				put("hgld.yaml", text)
			}
			run := []string{"run", "--until", c.until}
			call := func(args ...string) {
				t.Helper()
				_, err := hgldOut(t, dir, args...)
				must(err)
			}
			put("tags.jsonl", tags)
			configure(c.before)
			if c.curated {
				configure("cluster: {k: 3}\n")
				call("run", "--until", "cluster")
				put("sheet.csv", groups)
				put("kinds.csv", kinds)
				call("curate", "import", "--log", "edits.jsonl", "--by", "anna", "sheet.csv")
				call("curate", "import", "--log", "edits.jsonl", "kinds.csv")
			}
			if c.before != "" {
				configure(c.before)
				call(run...)
			} else {
				must(os.RemoveAll(filepath.Join(dir, ".hgld")))
				must(os.Remove(filepath.Join(dir, "draft.json")))
				must(os.Remove(filepath.Join(dir, "vectors.safetensors")))
			}
			configure(c.now)
			fresh := t.TempDir()
			must(os.CopyFS(fresh, os.DirFS(dir)))
			_, err := hgldOut(t, fresh, run...)
			must(err)
			want, err := projectFiles(fresh)
			must(err)

			screen, err := os.Create(filepath.Join(dir, powercut.Acknowledgements))
			must(err)
			defer screen.Close()
			cmd := hgldCut(t, dir, run...)
			cmd.Stdout = screen
			powercut.Record(t, cmd, dir).Check(t, func(dir string, cut *powercut.Crash) error {
				got, err := projectFiles(dir)
				if err != nil {
					return err
				}
				for _, m := range written.FindAllStringSubmatch(cut.Acknowledged, -1) {
					if got[m[1]] != want[m[1]] {
						return fmt.Errorf("%s was announced, and is not as it was written", m[1])
					}
				}
				if _, err := hgldOut(t, dir, "status"); err != nil {
					return err
				}
				if _, err := hgldOut(t, dir, run...); err != nil {
					return err
				}
				if got, err = projectFiles(dir); err != nil || maps.Equal(got, want) {
					return err
				}
				var differ bytes.Buffer
				for name := range want {
					if got[name] != want[name] {
						fmt.Fprintf(&differ, "%s is\n%s\nwant\n%s\n", name, got[name], want[name])
					}
				}
				for name := range got {
					if _, has := want[name]; !has {
						fmt.Fprintf(&differ, "%s should not be there\n", name)
					}
				}
				return fmt.Errorf("the run after it ends otherwise: %s", &differ)
			})
		})
	}
}
