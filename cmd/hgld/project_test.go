package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hgld/internal/pipeline"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// The state of a project is the same from wherever it is asked for, with inputs that
// lie outside it, named from it or from the root.
func TestStatusIsTheSameFromEveryFolder(t *testing.T) {
	pictureShards(t)
	root := must.Get(os.Getwd())(t)
	for _, input := range []string{"../pictures/train", filepath.Join(root, "pictures", "train")} {
		project := filepath.Join(root, "project")
		must.Do(t, os.RemoveAll(project))
		must.Do(t, os.MkdirAll(filepath.Join(project, "sub"), 0o755))
		text := "shards: {dataset: folder, input: " + input + "}\n" + tinyProject
		must.Do(t, os.WriteFile(filepath.Join(project, projectFile), []byte(text), 0o644))
		t.Chdir(project)
		for _, args := range [][]string{{"shards", "build"}, {"train", "run"}} {
			succeeds(t, args...)
		}
		var texts, states []string
		for _, from := range []struct {
			dir  string
			args []string
		}{{project, nil}, {filepath.Join(project, "sub"), nil}, {root, []string{"-C", "project"}},
			{"/", []string{"-C", project}}, {project, []string{"-C", "."}}} {
			t.Chdir(from.dir)
			_, text, errs := run(t, append([]string{"status"}, from.args...)...)
			if len(from.args) > 0 {
				text = strings.ReplaceAll(text, " "+strings.Join(from.args, " "), "")
			}
			texts = append(texts, text+errs)
			_, out, _ := run(t, append([]string{"status", "--json"}, from.args...)...)
			var answer struct{ Stages []pipeline.State }
			must.Do(t, json.Unmarshal([]byte(out), &answer))
			data := must.Get(json.Marshal(answer.Stages))(t)
			states = append(states, string(data))
		}
		if len(slices.Compact(texts)) != 1 || len(slices.Compact(states)) != 1 ||
			!strings.Contains(texts[0], "shards   done") || !strings.Contains(texts[0], "train    done") {
			t.Errorf("input %s:\n%s", input, strings.Join(texts, "\n---\n"))
		}
		t.Chdir(root)
	}
}

// A stamp of an hgld that did not have a setting yet is not stale for it.
func TestStampWithoutANewSettingIsStillGood(t *testing.T) {
	pictureShards(t)
	succeeds(t, "train", "run")
	path := filepath.Join(".hgld", "train.json")
	data := must.Get(os.ReadFile(path))(t)
	before := strings.Replace(string(data), `    proxy_weight_decay: 0\n`, "", 1)
	if before == string(data) {
		t.Fatalf("the stamp does not name the setting:\n%s", data)
	}
	if _, out, _ := run(t, "status"); !strings.Contains(out, "train    done") {
		t.Errorf("status\n%s", out)
	}
	testfile.Write(t, ".hgld", "train.json", before)
	if _, out, _ := run(t, "status"); !strings.Contains(out, "train    stale    .hgld/train.json: it is damaged") {
		t.Errorf("status of a changed stamp\n%s", out)
	}
	before, _, _ = strings.Cut(before, ",\n \"sha256\"")
	testfile.Write(t, ".hgld", "train.json", sealed(t, before+"}"))
	if _, out, _ := run(t, "status"); !strings.Contains(out, "train    done") {
		t.Errorf("status\n%s", out)
	}
}

// Every line of the file that hgld init writes can be uncommented by itself, and means
// the default that it says; so can all of them.
func TestCommentsOfANewProjectAreSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	succeeds(t, "init", ".")
	text := must.Get(os.ReadFile(projectFile))(t)
	_, defaults, _ := run(t, "config", "show")
	lines := strings.Split(string(text), "\n")
	check := func(what string, lines []string) {
		t.Helper()
		must.Do(t, os.WriteFile(projectFile, []byte(strings.Join(lines, "\n")), 0o644))
		code, out, errs := run(t, "config", "show")
		if code != 0 || out != defaults {
			t.Errorf("%s: exit code %d, other settings: %v\n%s", what, code, out != defaults, errs)
		}
		if code, _, errs := run(t, "config", "check"); code != 0 {
			t.Errorf("%s: config check: exit code %d\n%s", what, code, errs)
		}
	}
	all, settings := slices.Clone(lines), map[int]string{} // by line
	for i, line := range lines {
		if !strings.HasPrefix(line, "  #") && line != "#device: auto" && line != "#threads: 0" {
			continue
		}
		settings[i+1] = line
		all[i] = strings.Replace(line, "#", "", 1)
		if effort.Exhaustive() {
			one := slices.Clone(lines)
			one[i] = all[i]
			check(line, one)
		}
	}
	check("all lines", all)
	// What a line sets is the one key that it names.
	_, out, _ := run(t, "config", "show", "--origin")
	from := map[string]int{}
	for _, origin := range regexp.MustCompile(regexp.QuoteMeta(projectFile)+`:\d+`).FindAllString(out, -1) {
		from[origin]++
	}
	for i, line := range settings {
		unset := strings.Contains(line, ": {}") || strings.Contains(line, ": null")
		if n := from[fmt.Sprint(projectFile, ":", i)]; n != 1 && !unset {
			t.Errorf("%s: %d settings come from the line", line, n)
		}
	}
	if len(settings) < 120 {
		t.Errorf("%d settings", len(settings))
	}
}

// A key with dots is one of a group, and the same key twice is an error.
func TestDottedKeysNameMembersOfGroups(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		"train:\n  optim.lr: 0.5\n  loss.settings.tau: 0.25\n  model.backbone: resnet18\n": "",
		"train:\n  optim.lr: 0.5\n  optim: {lr: 0.25}\n":                                   `hgld.yaml:3: key "train.optim.lr" appears twice, first in line 2`,
		"train:\n  optim.rate: 0.5\n":                                                      `did you mean "train.optim.lr"`,
		"train:\n  optim.lr: fast\n": "hgld.yaml:2: " +
			"train.optim.lr: \"fast\" is not a number",
	} {
		must.Do(t, os.WriteFile(projectFile, []byte(text), 0o644))
		code, out, errs := run(t, "config", "show")
		if want != "" {
			if code != exitUsage || !strings.Contains(errs, want) {
				t.Errorf("%s: exit code %d\n%s", text, code, errs)
			}
			continue
		}
		for _, set := range []string{"lr: 0.5", "tau: 0.25", "name: resnet18"} {
			if code != 0 || !strings.Contains(out, set) {
				t.Errorf("%s: exit code %d, no %s\n%s", text, code, set, errs)
			}
		}
	}
}

// The stages that a project uses are among its settings.
func TestStagesInUseAreShown(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]bool{"stages: [shards, train]\n": true, "hgld: 1\n": false} {
		must.Do(t, os.WriteFile(projectFile, []byte(text), 0o644))
		code, out, errs := run(t, "config", "show")
		if code != 0 || strings.Contains(out, "stages: [shards, train]\n") != want {
			t.Errorf("%s: exit code %d\n%s%s", text, code, out, errs)
		}
	}
}
