//go:build browser

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"hgld/internal/testing/goldens"
	"hgld/labels"
)

// scripted curates on the page as a person who knows where each label belongs once it has
// been read on the screen. It counts what a person does and reads.
type scripted struct {
	b     *browser
	log   string
	truth map[string]string

	read         int // labels looked at to decide them, one that is looked at twice twice
	keys, clicks int
	began        int // edits of the import
}

// seen is a row of the screen: its labels, the group that is proposed, and its number.
type seen struct {
	Labels []string
	Group  string
	At     int
}

// press types keys and counts them.
func (c *scripted) press(keys ...string) {
	for _, k := range keys {
		c.keys += len([]rune(k))
	}
	c.b.keys(keys...)
}

// look lists the first n open rows in a section of the screen, "" for all of it, and
// counts them as read.
func (c *scripted) look(section string, n int) []seen {
	c.b.t.Helper()
	rows := eval[[]seen](c.b, fmt.Sprintf(`(() => { const out = []; let here = %q === "";
		for (const e of document.querySelector("#grid .space").children) {
			if (e.classList.contains("break") || e.querySelector(".break")) { here = %q === "" || e.innerText.startsWith(%q); continue; }
			if (!e.dataset.tag || !here || e.classList.contains("decided")) continue;
			out.push({Labels: e.title.split("\n"), Group: (e.querySelector(".facts").firstChild.textContent.match(/^(.*)\? /) || ["", ""])[1], At: Number(e.dataset.tag)});
		} return out; })()`, section, section, section))
	rows = rows[:max(0, min(n, len(rows)))]
	for _, r := range rows {
		c.read += len(r.Labels)
	}
	return rows
}

// of returns the group of a row by its first label.
func (c *scripted) of(r seen) string { return c.truth[r.Labels[0]] }

// mark clicks rows.
func (c *scripted) mark(rows []seen) {
	at := make([]int, len(rows))
	for i, r := range rows {
		at[i] = r.At
	}
	list, _ := json.Marshal(at)
	c.clicks += len(rows)
	c.b.run(evaluateVoid(fmt.Sprintf(`for (const i of %s) document.querySelector('#grid [data-tag="' + i + '"]').click(); 0`, list)))
}

// version is the number of edits that the page has had acknowledged.
func (c *scripted) version() int {
	c.b.until("all is saved", `/^saved #\d+$/.test(document.getElementById("saved").textContent)`)
	return eval[int](c.b, `Number(document.getElementById("saved").textContent.match(/\d+/)[0])`)
}

// move marks rows and moves them to a group: by a digit if it is suggested, or else by
// typing its name.
func (c *scripted) move(rows []seen, group string) {
	c.b.t.Helper()
	before := c.version()
	c.mark(rows)
	c.b.until("suggestions", `document.querySelector(".near:not(.stale) .suggestion")`)
	near := eval[[]string](c.b, `[...document.querySelectorAll(".near:not(.stale) .suggestion .name")].map((e) => e.innerText.replaceAll("␣", " "))`)
	if n := slices.Index(near, group); n >= 0 {
		c.press(fmt.Sprint(n + 1))
	} else {
		c.press("m")
		c.b.until("the dialog", `document.querySelector("dialog[open] input")`)
		c.press(group, kb.Enter)
		c.b.until("the dialog is closed", `!document.querySelector("dialog[open]")`)
	}
	c.b.saved(before + 1)
}

// sortOut moves rows that are not in the group where they belong, those of one group at
// once, and returns the others.
func (c *scripted) sortOut(rows []seen, here func(seen) string) (right []seen) {
	wrong := map[string][]seen{}
	for _, r := range rows {
		if to := c.of(r); to == here(r) {
			right = append(right, r)
		} else {
			wrong[to] = append(wrong[to], r)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(wrong)) {
		c.move(wrong[group], group)
	}
	return right
}

// walk reads every group and decides all that is in it.
func (c *scripted) walk(labels int) {
	for turns := 0; !c.finished(labels); turns++ {
		if turns > 3*labels {
			c.b.t.Fatal("the walk does not end")
		}
		heading := strings.ReplaceAll(c.b.heading(), "␣", " ")
		rows := c.look("", 1<<20)
		if len(rows) == 0 {
			c.press("j")
			continue
		}
		right := c.sortOut(rows, func(seen) string { return heading })
		if len(right) > 0 {
			c.edit("a")
		} else {
			c.press("j")
		}
	}
}

func (c *scripted) finished(labels int) bool {
	return eval[bool](c.b, fmt.Sprintf(`[...document.querySelectorAll(".meter")].some((e) => e.title.startsWith("%d of %d labels"))`, labels, labels))
}

// answered waits until the screen of proposals is of the last edit.
func (c *scripted) answered(stage string) {
	c.b.until("the proposals are of the last edit", fmt.Sprintf(`document.getElementById("rest").dataset.answered.startsWith("%s %d ")`, stage, c.version()))
}

// propose proposes all that is open and puts all of it below the slider, least sure first.
func (c *scripted) propose() {
	c.answered("choose")
	c.press(strings.Repeat("]", 20))
	c.b.restSays("surest 100 %")
	c.edit("a")
	c.answered("check")
	c.press(strings.Repeat("[", 20))
	c.b.restSays("surest 0 %")
}

// edit presses a key that makes an edit.
func (c *scripted) edit(key string) {
	before := c.version()
	c.press(key)
	c.b.saved(before + 1)
}

// check reads rows, moves the wrong ones and calls the others right.
func (c *scripted) check(rows []seen) {
	if right := c.sortOut(rows, func(r seen) string { return r.Group }); len(right) > 0 {
		before := c.version()
		c.mark(right)
		c.press("y")
		c.b.saved(before + 1)
	}
}

// assign proposes all that is open, reads a drawn sample and the n least sure, sorts them
// out, takes the others back and proposes again by what was learned, once for each n. At
// last it checks the sample and confirms the rest.
func (c *scripted) assign(reads []int) {
	c.press("R")
	for _, n := range reads {
		c.propose()
		drawn := c.look("drawn", n)
		c.check(append(drawn, c.look("below", n-len(drawn))...))
		c.edit("W")
	}
	c.propose()
	c.check(c.look("drawn", sampleSize))
	c.edit("a")
}

// sampleSize is the number of labels that the page draws.
const sampleSize = 20

// TestBrowserCuratorLong curates the labels whose group is known, with the 78 names declared:
// it walks through all groups, or assigns by proposals. It needs the weights of MiniLM, and
// is run by scripts/bench_curator.
func TestBrowserCuratorLong(t *testing.T) {
	weights := os.Getenv("CURATOR_WEIGHTS")
	if weights == "" {
		t.Fatal("CURATOR_WEIGHTS is not set; scripts/bench_curator sets it")
	}
	pairs := readTable(t, '\t', filepath.Join(goldens.Dir(t, "cluster"), "tag_pairs.tsv"))[1:]
	t.Log("| labels | draft | strategy | seed | actions a label | labels read | keys | clicks | right | wrong |")
	for _, hand := range []bool{false, true} {
		if only := os.Getenv("CURATOR_LABELS"); only != "" && (only == "hand") != hand {
			continue
		}
		truth := map[string]string{}
		for _, row := range pairs {
			if row[1] != "" && (!hand || row[3] == "hand") {
				truth[row[0]] = row[1]
			}
		}
		dir := curatorProject(t, weights, truth)
		for _, draft := range []string{"default", "--groups"} {
			for seed := 1; seed <= 3; seed++ { // of the draft; the page draws its samples by a fixed seed
				args := []string{"cluster", "run", "--quiet", "--replace", "--k", "100", "--seed", fmt.Sprint(seed)}
				if draft == "--groups" {
					args = append(args, "--groups", "groups.txt")
				}
				runHgld(t, dir, args...)
				for _, s := range strategies(len(truth)) {
					c := curateWith(t, dir, fmt.Sprintf("%s-%d", draft, seed), truth, s)
					wrong := c.wrong(dir)
					t.Logf("| %d | %s | %s | %d | %.3f | %d | %d | %d | %.1f %% | %d |", len(truth), draft, s.name, seed,
						float64(c.version()-c.began)/float64(len(truth)), c.read, c.keys, c.clicks,
						100*(1-float64(wrong)/float64(len(truth))), wrong)
				}
			}
		}
	}
}

// strategy is a way to curate: the number of labels to read in each round of proposals; a
// walk through all groups if there are none.
type strategy struct {
	name  string
	reads []int
	walk  bool
}

func strategies(n int) []strategy {
	list := []strategy{{name: "walk", walk: true}}
	for _, share := range [][]float64{{}, {.2}, {.37}, {.48}, {.55}, {.19, .19}, {.26, .26}} {
		s := strategy{name: "proposals"}
		for _, x := range share {
			s.reads = append(s.reads, int(x*float64(n)))
		}
		s.name = fmt.Sprintf("proposals, reads %v", append(s.reads, sampleSize))
		list = append(list, s)
	}
	if only := os.Getenv("CURATOR_ONLY"); only != "" {
		list = slices.DeleteFunc(list, func(s strategy) bool { return !strings.Contains(s.name, only) })
	}
	return list
}

// curatorProject is a project with vectors of the labels and the names of the groups.
func curatorProject(t *testing.T, weights string, truth map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	writeTags(t, filepath.Join(dir, "tags.jsonl"), slices.Sorted(maps.Keys(truth)))
	config := fmt.Sprintf("embed:\n  encoder: bert\n  weights: %s\n", weights)
	if err := os.WriteFile(filepath.Join(dir, "hgld.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, row := range readTable(t, ',',
		goldens.Shared(t, "data", "wikimedia", "gldv2", "hierarchical_labels_78_index_counts.csv"))[1:] {
		names.WriteString(row[0] + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "groups.txt"), []byte(names.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	runHgld(t, dir, "embed", "--quiet")
	return dir
}

// curateWith curates the draft of a folder from the start by a strategy.
func curateWith(t *testing.T, dir, draft string, truth map[string]string, how strategy) *scripted {
	t.Helper()
	log := "log" + strings.NewReplacer(" ", "-", ",", "", "[", "", "]", "").Replace(draft+how.name) + ".jsonl"
	runHgld(t, dir, "curate", "import", "--log", log, "groups.txt")
	s := serveIn(t, dir, "--port", "0", "--log", log)
	b := newBrowser(t, 1280, 7000, false) // all that is read is in sight
	b.open(s.url)
	c := &scripted{b: b, log: filepath.Join(dir, log), truth: truth}
	c.began = c.version()
	b.until("measured", `document.body.dataset.measured === "yes"`)
	if how.walk {
		c.walk(len(truth))
	} else {
		c.assign(how.reads)
	}
	b.clean()
	return c
}

// wrong counts the labels that are not where they belong, as the hierarchy of the log says.
func (c *scripted) wrong(dir string) (n int) {
	c.b.t.Helper()
	out := filepath.Join(dir, "out.json")
	runHgld(c.b.t, dir, "curate", "apply", "-o", "out="+out, "draft.json", c.log)
	h, err := labels.OpenHierarchy(out)
	if err != nil {
		c.b.t.Fatal(err)
	}
	for i, class := range h.Levels[0].Classes {
		if names := h.Names(h.PathOf(int32(i))); len(names) < 2 || names[1] != c.truth[class.Name] {
			n++
		}
	}
	return n
}
