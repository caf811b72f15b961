//go:build browser

package browsertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/program"
	"hgld/internal/testing/tagdata"
	"hgld/labels"

	"github.com/chromedp/chromedp/kb"
)

// scripted is a script that curates as a person would who knows the group of each label after
// reading it on the screen. It counts the actions and the labels read.
type scripted struct {
	b     *page
	log   string
	truth map[string]string
	types bool // names of groups, instead of clicks in the tree

	read         int // labels read, counted once for each time
	keys, clicks int
	began        int // edits of the import
}

// seen is a row of the screen: its labels, the proposed group, and the number of its first label.
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
	c.b.Keys(keys...)
}

// look returns the first n open rows in a section of the screen, or in all sections for "", and
// counts their labels as read.
func (c *scripted) look(section string, n int) []seen {
	c.b.TB.Helper()
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

// mark clicks rows: each row that stands alone, and of rows that follow one another the first and, with Shift,
// the last.
func (c *scripted) mark(rows []seen) {
	at := make([]int, len(rows))
	for i, r := range rows {
		at[i] = r.At
	}
	list, _ := json.Marshal(at)
	c.clicks += eval[int](c.b, fmt.Sprintf(`(() => { const wanted = new Set(%s), runs = [];
		for (const e of document.querySelectorAll("#grid [data-tag]")) {
			const at = Number(e.getAttribute("aria-posinset"));
			if (!wanted.has(Number(e.dataset.tag))) continue;
			const last = runs.at(-1);
			if (last && last.end === at - 1) { last.end = at; last.last = e.dataset.tag; } else runs.push({first: e.dataset.tag, last: e.dataset.tag, end: at});
		}
		const click = (tag, shiftKey) => document.querySelector('#grid [data-tag="' + tag + '"]').dispatchEvent(new MouseEvent("click", {bubbles: true, shiftKey}));
		let clicks = 0;
		for (const r of runs) { click(r.first, false); clicks++; if (r.last !== r.first) { click(r.last, true); clicks++; } }
		return clicks; })()`, list))
}

// find types the name of a group in the open dialog, until the group is the first choice, and takes it.
func (c *scripted) find(group string) {
	c.b.TB.Helper()
	c.b.Until("the dialog", `document.querySelector("dialog[open] input")`)
	for _, letter := range group {
		if eval[string](c.b, `(document.querySelector("dialog[open] .choice.at:not(:has(.fresh)) .name") || {textContent: ""}).textContent.replaceAll("␣", " ")`) == group {
			break
		}
		c.press(string(letter))
	}
	c.press(kb.Enter)
	c.b.Until("the dialog is closed", `!document.querySelector("dialog[open]")`)
}

// drop marks rows and drops them with the reason that is offered.
func (c *scripted) drop(rows []seen) {
	c.b.TB.Helper()
	before := c.version()
	c.mark(rows)
	c.press("x")
	c.b.Until("the dialog", `document.querySelector("dialog[open] input")`)
	c.press(kb.Enter)
	c.b.saved(before + 1)
}

// version is the number of saved edits.
func (c *scripted) version() int {
	c.b.Until("all is saved", `/^saved #\d+$/.test(document.getElementById("saved").textContent)`)
	return eval[int](c.b, `Number(document.getElementById("saved").textContent.match(/\d+/)[0])`)
}

// move marks rows and moves them to a group: by a digit if it is suggested, or else by a click with Shift on the
// group in the tree, or, if the script types names, by typing its name.
func (c *scripted) move(rows []seen, group string) {
	c.b.TB.Helper()
	before := c.version()
	c.mark(rows)
	c.b.Until("suggestions", `document.querySelector(".near:not(.stale) .suggestion")`)
	near := eval[[]string](c.b, `[...document.querySelectorAll(".near:not(.stale) .suggestion .name")].map((e) => e.innerText.replaceAll("␣", " "))`)
	switch n := slices.Index(near, group); {
	case n >= 0:
		c.press(fmt.Sprint(n + 1))
	case c.types:
		c.press("m")
		c.find(group)
	default:
		c.clicks++
		c.b.Exec(fmt.Sprintf(`[...document.querySelectorAll("#tree .row")].find((e) => e.title === %q)
			.dispatchEvent(new MouseEvent("click", {bubbles: true, shiftKey: true}))`, group))
	}
	c.b.saved(before + 1)
}

// moveWrong moves the rows that belong elsewhere, with one edit for each target group, and returns
// the others.
func (c *scripted) moveWrong(rows []seen, here func(seen) string) (right []seen) {
	wrong := map[string][]seen{}
	for _, r := range rows {
		if to := c.of(r); to == here(r) {
			right = append(right, r)
		} else {
			wrong[to] = append(wrong[to], r)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(wrong)) {
		if group == dropped {
			c.drop(wrong[group])
		} else {
			c.move(wrong[group], group)
		}
	}
	return right
}

// walk reads every group and decides all its labels.
func (c *scripted) walk(labels int) {
	for turns := 0; !c.finished(labels); turns++ {
		if turns > 3*labels {
			c.b.TB.Fatal("the walk does not end")
		}
		heading := strings.ReplaceAll(c.b.heading(), "␣", " ")
		rows := c.look("", 1<<20)
		if len(rows) == 0 {
			c.press("a") // it decides nothing, and goes to the next group with open labels
			continue
		}
		right := c.moveWrong(rows, func(seen) string { return heading })
		if len(right) > 0 {
			c.edit("a")
		}
	}
}

func (c *scripted) finished(labels int) bool {
	return eval[bool](c.b, fmt.Sprintf(`[...document.querySelectorAll(".meter")].some((e) => e.title.startsWith("%d of %d labels"))`, labels, labels))
}

// answered waits until the screen of proposals is up to date with the last edit.
func (c *scripted) answered(stage string) {
	c.b.Until("the proposals are of the last edit", fmt.Sprintf(`document.getElementById("proposals").dataset.answered.startsWith("%s %d ")`, stage, c.version()))
}

// propose proposes all open labels, and clicks on the slider so that the n least sure are below it.
func (c *scripted) propose(n int) {
	c.answered("choose")
	c.press("}")
	c.b.proposalsSay("surest 100 %")
	c.edit("a")
	c.answered("check")
	share := eval[int](c.b, fmt.Sprintf(`(() => { const slider = document.querySelector("#share");
		slider.value = 100 - Math.ceil(100 * %d / document.querySelectorAll("#grid [data-tag]")[0].getAttribute("aria-setsize"));
		slider.dispatchEvent(new Event("input")); return Number(slider.value); })()`, n))
	c.clicks++
	c.b.proposalsSay(fmt.Sprintf("surest %d %%", share))
}

// edit presses a key that makes an edit.
func (c *scripted) edit(key string) {
	before := c.version()
	c.press(key)
	c.b.saved(before + 1)
}

// check moves the wrong rows and confirms the others as right.
func (c *scripted) check(rows []seen) {
	if right := c.moveWrong(rows, func(r seen) string { return r.Group }); len(right) > 0 {
		before := c.version()
		c.mark(right)
		c.press("y")
		c.b.saved(before + 1)
	}
}

// assign repeats for each n of reads: it proposes all open labels, checks a drawn sample and the
// least sure ones, n rows in all, ordered by their last words, and takes the rest back. Then it proposes once
// more, checks the sample and confirms the rest.
func (c *scripted) assign(reads []int) {
	c.press("R", "S")
	for _, n := range reads {
		c.propose(n)
		for left := n; left > 0; { // as many as are in sight at once
			rows := c.inSight(left)
			if len(rows) == 0 {
				break
			}
			left -= len(rows)
			c.check(rows)
			c.answered("check")
		}
		c.edit("W")
	}
	c.propose(sampleSize)
	c.check(c.look("drawn", sampleSize))
	c.edit("a")
}

// readProposed proposes all open labels and reads all of them, ordered by their last words, which puts labels
// with one target next to each other.
func (c *scripted) readProposed() {
	c.press("R", "S")
	c.propose(1 << 20)
	for !c.finished(len(c.truth)) {
		c.answered("check")
		c.check(c.inSight(1 << 20))
	}
}

// inSight returns at most n of the proposed labels in sight, first those drawn to check.
func (c *scripted) inSight(n int) []seen {
	rows := c.look("drawn", n)
	return append(rows, c.look("below", n-len(rows))...)
}

// dropped stands in the truth for a label that belongs to no group.
const dropped = "(dropped)"

// sampleSize is the number of labels that the page draws at first.
const sampleSize = 20

// TestScriptedCuratorLong curates the labels whose group is known. The 78 names of groups are
// declared. It walks through all groups, or assigns labels by proposals. It needs the weights
// of MiniLM; scripts/bench_curator runs it.
func TestScriptedCuratorLong(t *testing.T) {
	weights := os.Getenv("CURATOR_WEIGHTS")
	if weights == "" {
		t.Fatal("CURATOR_WEIGHTS is not set; scripts/bench_curator sets it")
	}
	pairs := tagdata.Table(t, '\t', filepath.Join(goldens.Dir(t, "cluster"), "tag_pairs.tsv"))[1:]
	t.Log("| labels | draft | strategy | seed | actions a label | edits a label | labels read | " +
		"keys | clicks | right | wrong |")
	for _, set := range []string{"all", "hand", "large"} {
		if only := os.Getenv("CURATOR_LABELS"); only != "" && only != set {
			continue
		}
		truth, hand := map[string]string{}, set == "hand"
		for _, row := range pairs {
			if row[1] != "" && (!hand || row[3] == "hand") {
				truth[row[0]] = row[1]
			}
		}
		if set == "large" {
			addLarge(t, truth)
		}
		dir := curatorProject(t, weights, truth)
		drafts, seeds := []string{"default", "--groups"}, 3
		if os.Getenv("CURATOR_QUICK") != "" {
			drafts, seeds = drafts[:1], 1
		}
		for _, draft := range drafts {
			for seed := 1; seed <= seeds; seed++ { // of the draft; the page draws its samples by a fixed seed
				k := "100"
				if set == "large" {
					k = "150"
				}
				args := []string{"cluster", "run", "--quiet", "--replace", "--k", k, "--seed", fmt.Sprint(seed)}
				if draft == "--groups" {
					args = append(args, "--groups", "groups.txt")
				}
				program.Run(t, dir, args...)
				for _, s := range strategies(len(truth)) {
					c := curateWith(t, dir, fmt.Sprintf("%s-%d", draft, seed), truth, s)
					wrong := c.wrong(dir)
					t.Logf("| %d | %s | %s | %d | %.3f | %.3f | %d | %d | %d | %.1f %% | %d |",
						len(truth), draft, s.name, seed,
						float64(c.keys+c.clicks)/float64(len(truth)), float64(c.version()-c.began)/float64(len(truth)),
						c.read, c.keys, c.clicks,
						100*(1-float64(wrong)/float64(len(truth))), wrong)
				}
			}
		}
	}
}

// strategy is a way to curate: a walk through all groups, proposals that are all read, or rounds of proposals with
// the number of labels to read in each.
type strategy struct {
	name  string
	reads []int
	walk  bool
	whole bool // reads all proposals
	types bool
}

func strategies(n int) []strategy {
	list := []strategy{{name: "walk", walk: true}, {name: "walk, typing names", walk: true, types: true},
		{name: "proposals, reads all", whole: true}, {name: "proposals, reads all, typing names", whole: true, types: true}}
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

// curatorProject has vectors of the labels and the names of the groups.
func curatorProject(t *testing.T, weights string, truth map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	tagdata.Write(t, filepath.Join(dir, "tags.jsonl"), slices.Sorted(maps.Keys(truth)))
	config := fmt.Sprintf("embed:\n  encoder: bert\n  weights: %s\n", weights)
	if err := os.WriteFile(filepath.Join(dir, "hgld.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, row := range tagdata.Table(t, ',',
		goldens.Shared(t, "data", "wikimedia", "gldv2", "hierarchical_labels_78_index_counts.csv"))[1:] {
		names.WriteString(row[0] + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "groups.txt"), []byte(names.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	program.Run(t, dir, "embed", "--quiet")
	return dir
}

// curateWith curates the draft of a folder from an empty log by a strategy.
func curateWith(t *testing.T, dir, draft string, truth map[string]string, how strategy) *scripted {
	t.Helper()
	log := "log" + strings.NewReplacer(" ", "-", ",", "", "[", "", "]", "").Replace(draft+how.name) + ".jsonl"
	program.Run(t, dir, "curate", "import", "--log", log, "groups.txt")
	s := startServer(t, dir, "--log", log)
	b := newPage(t, 1280, 7000, false) // all rows are in sight
	b.Open(s.url)
	c := &scripted{b: b, log: filepath.Join(dir, log), truth: truth, types: how.types}
	c.began = c.version()
	if eval[bool](b, `!!document.querySelector("dialog[open] .checks")`) { // clusters with the name of a group
		c.edit(kb.Enter)
	}
	b.Until("measured", `document.body.dataset.measured === "yes"`)
	switch {
	case how.walk:
		c.walk(len(truth))
	case how.whole:
		c.readProposed()
	default:
		c.assign(how.reads)
	}
	return c
}

// wrong counts the labels that are in a wrong group of the log's hierarchy.
func (c *scripted) wrong(dir string) (n int) {
	c.b.TB.Helper()
	out := filepath.Join(dir, "out.json")
	program.Run(c.b.TB, dir, "curate", "apply", "-o", "out="+out, "draft.json", c.log)
	h, err := labels.OpenHierarchy(out)
	if err != nil {
		c.b.TB.Fatal(err)
	}
	for i, class := range h.Levels[0].Classes {
		group := dropped
		if names := h.Names(h.PathOf(int32(i))); len(names) > 1 {
			group = names[1]
		}
		if group != c.truth[class.Name] {
			n++
		}
	}
	return n
}

// headNoun is the word that says what a label means: the last one before a preposition, without its plural.
func headNoun(label string) string {
	words := strings.Fields(strings.ToLower(label))
	for i, w := range words {
		if i > 0 && slices.Contains([]string{"of", "in", "on", "for", "with", "at", "(", "or", "and"},
			strings.TrimRight(w, "(")) {
			words = words[:i]
			break
		}
	}
	if len(words) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.Trim(words[len(words)-1], ",()."), "s")
}

// addLarge adds all labels of landmarks that the shared data have. Their group is that of most known labels with
// the same head noun; those without one are dropped. This is a rule's opinion, not a published truth.
func addLarge(t *testing.T, truth map[string]string) {
	t.Helper()
	votes := map[string]map[string]int{}
	for label, group := range truth {
		head := headNoun(label)
		if votes[head] == nil {
			votes[head] = map[string]int{}
		}
		votes[head][group]++
	}
	names, err := os.ReadFile(filepath.Join(goldens.Dir(t, "cluster"), "label_embeddings.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSuffix(string(names), "\n"), "\n")
	for _, file := range []string{"landmark_type_labels_combined.tsv", "osm_id_preset_labels.tsv"} {
		for _, row := range tagdata.Table(t, '\t', goldens.Shared(t, "data", "wikimedia", file))[1:] {
			all = append(all, row[0])
		}
	}
	for _, label := range all {
		if _, known := truth[label]; known || strings.TrimSpace(label) == "" {
			continue
		}
		truth[label] = dropped
		best := 0
		for _, group := range slices.Sorted(maps.Keys(votes[headNoun(label)])) {
			if n := votes[headNoun(label)][group]; n > best {
				best, truth[label] = n, group
			}
		}
	}
}
