//go:build browser

package browsertest

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/program"
	"hgld/internal/testing/tagdata"
	"hgld/labels"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// dropped stands in the truth for a label that belongs to no group.
const dropped = "D"

// goal is the share of labels in their right group at which the work is counted.
const goal = 0.98

// scripted is a script that curates on the class screens, in a window of 1280 by 800 pixels, as a person would who
// knows the group of a label once it has been on the screen. It counts every key and every click. Moving the pointer
// and scrolling the tree cost nothing.
type scripted struct {
	b     *page
	truth map[string]string

	keys, clicks, screens int
	shown                 map[string]bool   // labels that have been on the screen
	in                    map[string]string // groups of the decided labels
	atGoal                float64           // actions a label at the goal; 0 before
}

// seen is a line of the screen: the class it stands under, its word, if it has one, and its names. A name is its
// variants, with the place of its beginning on the screen.
type seen struct {
	Class string
	Word  []float64
	Names []struct {
		Labels []string
		At     []float64
	}
}

const linesInSight = `(() => { const box = document.querySelector("#grid").getBoundingClientRect();
	const middle = (e) => { const r = e.getBoundingClientRect(); return [r.x + Math.min(r.width, 20) / 2, r.y + r.height / 2]; };
	const inSight = (e) => { const r = e.getBoundingClientRect(); return r.top >= box.top && r.bottom <= box.bottom && r.right <= box.right &&
		e.scrollWidth <= e.clientWidth + 1 && e.scrollHeight <= e.clientHeight + 1; };
	const place = (e) => e.getBoundingClientRect().top, breaks = [...document.querySelectorAll("#grid .break span")];
	const classOf = (e) => breaks.filter((x) => place(x) < place(e)).sort((x, y) => place(y) - place(x))[0].textContent
		.replace(/ · [^·]*$/, "").replaceAll("␣", " ");
	return [...document.querySelectorAll("#grid .words")].map((e) => ({Class: classOf(e), Word: e.querySelector(".word") ? middle(e.querySelector(".word")) : null,
		Names: [...e.querySelectorAll(".part:not(.decided)")].filter(inSight).map((p) => ({Labels: p.title.split("\n"), At: middle(p)}))}));
})()`

// press types keys and counts them.
func (c *scripted) press(keys ...string) {
	for _, k := range keys {
		c.keys += len([]rune(k))
	}
	c.b.Keys(keys...)
}

// point moves the pointer, and returns the groups that the digits take there.
func (c *scripted) point(at []float64) []string {
	c.b.TB.Helper()
	c.b.Mouse(input.DispatchMouseEventTypeMouseMoved, [2]float64{at[0], at[1]}, 0)
	return awaited[[]string](c.b, `new Promise((done) => setTimeout(() => done([...document.querySelectorAll("#side .suggestion .name")].map((e) => e.textContent)), 0))`)
}

// decided notes where labels are now.
func (c *scripted) decided(group string, names ...string) {
	for _, name := range names {
		c.in[name] = group
	}
	right := 0
	for name, in := range c.in {
		if c.truth[name] == in {
			right++
		}
	}
	if c.atGoal == 0 && float64(right) >= goal*float64(len(c.truth)) {
		c.atGoal = float64(c.keys+c.clicks) / float64(len(c.truth))
	}
}

// send decides what is at a place by one key, and reports whether a key does so. It waits for the reason of the first
// drop of a sitting.
func (c *scripted) send(at []float64, group string) bool {
	c.b.TB.Helper()
	offered := c.point(at)
	if group == dropped {
		c.press("x")
		if eval[bool](c.b, `!!document.querySelector("dialog[open] input")`) {
			c.press(kb.Enter)
			c.b.Until("the dialog is closed", `!document.querySelector("dialog[open]")`)
		}
		return true
	}
	n := slices.Index(offered, strings.ReplaceAll(group, "ocean area ", "ocean area␣"))
	if n >= 0 {
		c.press(fmt.Sprint(n + 1))
	}
	return n >= 0
}

// screen decides all labels in sight: those of a line at once where most of them belong elsewhere, then one after the
// other the wrong ones, and takes the others.
func (c *scripted) screen() {
	c.b.TB.Helper()
	c.screens++
	type place struct {
		labels []string
		at     []float64
	}
	later := map[string][]place{} // of groups that no digit takes
	right := map[string][]string{}
	for _, line := range eval[[]seen](c.b, linesInSight) {
		class := line.Class
		if class == "drop" {
			class = dropped
		}
		here, counts := class, map[string]int{}
		for _, name := range line.Names {
			counts[c.truth[name.Labels[0]]]++
			for _, l := range name.Labels {
				c.shown[l] = true
			}
		}
		for _, g := range slices.Sorted(maps.Keys(counts)) {
			if line.Word != nil && counts[g] > counts[here]+1 {
				here = g
			}
		}
		if here != class && !c.send(line.Word, here) {
			here = class
		}
		for _, name := range line.Names {
			to := c.truth[name.Labels[0]]
			switch {
			case to == here && here == class:
				right[class] = append(right[class], name.Labels...)
			case to == here || c.send(name.At, to):
				c.decided(to, name.Labels...)
			default:
				later[to] = append(later[to], place{name.Labels, name.At})
			}
		}
	}
	for _, group := range slices.Sorted(maps.Keys(later)) {
		for _, p := range later[group] {
			c.point(p.at)
			c.press(" ")
		}
		c.clicks++
		c.scrollTree(group)
		c.b.takeInTree(group)
		for _, p := range later[group] {
			c.decided(group, p.labels...)
		}
	}
	c.press("a")
	for class, names := range right {
		c.decided(class, names...)
	}
}

// scrollTree scrolls the tree until a group is in sight.
func (c *scripted) scrollTree(group string) {
	c.b.TB.Helper()
	awaited[bool](c.b, fmt.Sprintf(`(async () => { const tree = document.getElementById("tree");
		for (tree.scrollTop = 0; ; tree.scrollTop += 200) {
			await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
			if ([...tree.querySelectorAll(".row")].some((e) => e.title === %q)) return true;
			if (tree.scrollTop + tree.clientHeight >= tree.scrollHeight - 1) throw new Error("no such group");
		} })()`, group))
}

// curate reads the classes until no label is open.
func (c *scripted) curate() {
	c.b.TB.Helper()
	c.press("q")
	for {
		c.b.Until("a class, or the end", `document.querySelector("#grid .part:not(.decided)") && document.querySelector("#side .suggestion") ||
			document.getElementById("proposals").innerText.includes("No tag is open")`)
		if eval[bool](c.b, `document.getElementById("proposals").innerText.includes("No tag is open")`) {
			return
		}
		shown := eval[string](c.b, `document.querySelector("#grid .words").textContent`)
		c.screen()
		c.b.Until("the next screen", fmt.Sprintf(`document.querySelector("#grid .words")?.textContent !== %q`, shown))
	}
}

// TestScriptedCuratorLong curates the labels of shared/curation whose group an expert has told, with the 78 published
// names declared: without further knowledge, after an earlier log that decides the labels of tag_pairs.tsv, and with
// suggestions of which a tenth are wrong, drawn from the groups of all labels. It needs the weights of MiniLM;
// scripts/bench_curator runs it.
func TestScriptedCuratorLong(t *testing.T) {
	weights := os.Getenv("CURATOR_WEIGHTS")
	if weights == "" {
		t.Fatal("CURATOR_WEIGHTS is not set; scripts/bench_curator sets it")
	}
	truth, pairs := expertTruth(t)
	dir := curatorProject(t, weights, truth)
	maps.DeleteFunc(pairs, func(name, _ string) bool { return truth[name] == "" })
	t.Log("| begins with | actions a label, 98 % right | all read | keys | clicks | screens | right | confirmed unseen |")
	for _, begins := range []string{"names", "an earlier log", "suggestions, 90 % right"} {
		if !strings.Contains(begins, os.Getenv("CURATOR_ONLY")) {
			continue
		}
		log := "log-" + strings.Fields(begins)[0] + ".jsonl"
		program.Run(t, dir, "curate", "import", "--log", log, goldens.Shared(t, "curation", "groups78.csv"))
		c := &scripted{truth: truth, shown: map[string]bool{}, in: map[string]string{}}
		switch begins {
		case "an earlier log":
			suggest(t, dir, log, pairs)
			program.Run(t, dir, "curate", "review", "--log", log, "--confirm", "all")
			maps.Copy(c.in, pairs)
		case "suggestions, 90 % right":
			suggest(t, dir, log, withErrors(truth, 0.1))
		}
		s := startServer(t, dir, "--log", log)
		c.b = newPage(t, 1280, 800, false)
		c.b.Open(s.url)
		if eval[bool](c.b, `!!document.querySelector("dialog[open] .checks")`) { // clusters with the name of a group
			c.press(kb.Enter)
			c.b.Until("the dialog is closed", `!document.querySelector("dialog[open]")`)
		}
		c.curate()
		c.b.Until("all is saved", `/^saved #\d+$/.test(document.getElementById("saved").textContent)`)
		unseen := 0
		for _, e := range s.edits() {
			for _, p := range e.Parts {
				for _, r := range p.Members {
					if e.Op == curate.Confirm && e.Note == "read" && !c.shown[r.Name] {
						unseen++
					}
				}
			}
		}
		s.stop()
		t.Logf("| %s | %.3f | %.3f | %d | %d | %d | %.1f %% | %d |", begins, c.atGoal,
			float64(c.keys+c.clicks)/float64(len(truth)), c.keys, c.clicks, c.screens, 100*c.right(dir, log), unseen)
	}
}

// expertTruth returns the groups of all labels that an expert has told, and those of tag_pairs.tsv among them.
func expertTruth(t *testing.T) (truth, pairs map[string]string) {
	t.Helper()
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(goldens.Shared(t, "curation", "truth.json")))(t), &truth))
	pairs = map[string]string{}
	for _, row := range tagdata.Table(t, '\t', filepath.Join(goldens.Dir(t, "cluster"), "tag_pairs.tsv"))[1:] {
		if row[1] != "" {
			pairs[row[0]], truth[row[0]] = row[1], row[1]
		}
	}
	return truth, pairs
}

// curatorProject has a draft of the labels whose group is known, with their vectors. It takes away the truth of others.
func curatorProject(t *testing.T, weights string, truth map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("embed:\n  encoder: bert\n  weights: %s\n", weights)
	must.Do(t, os.WriteFile(filepath.Join(dir, "hgld.yaml"), []byte(config), 0o644))
	packed := must.Get(os.Open(goldens.Shared(t, "curation", "tags.jsonl.gz")))(t)
	defer packed.Close()
	lines := bufio.NewScanner(must.Get(gzip.NewReader(packed))(t))
	out := must.Get(os.Create(filepath.Join(dir, "tags.jsonl")))(t)
	used := map[string]bool{}
	for lines.Scan() {
		var r struct{ Tag string }
		must.Do(t, json.Unmarshal(lines.Bytes(), &r))
		if _, known := truth[r.Tag]; known || r.Tag == "" {
			used[r.Tag] = true
			must.Get(fmt.Fprintf(out, "%s\n", lines.Bytes()))(t)
		}
	}
	maps.DeleteFunc(truth, func(name, _ string) bool { return !used[name] })
	must.Do(t, lines.Err())
	must.Do(t, out.Close())
	program.Run(t, dir, "embed", "--quiet")
	program.Run(t, dir, "cluster", "run", "--quiet", "--k", "150")
	return dir
}

// suggest imports groups of labels as suggestions of another program.
func suggest(t *testing.T, dir, log string, groups map[string]string) {
	t.Helper()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		line := map[string]any{"tag": name, "group": groups[name]}
		if groups[name] == dropped {
			line["group"] = nil
		}
		text.Write(append(must.Get(json.Marshal(line))(t), '\n'))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "s.jsonl"), []byte(text.String()), 0o644))
	program.Run(t, dir, "curate", "import", "--log", log, "s.jsonl")
}

// withErrors returns groups of which a share is wrong: the group of another label, drawn at random.
func withErrors(truth map[string]string, share float64) map[string]string {
	random, names, groups := rand.New(rand.NewPCG(1, 1)), slices.Sorted(maps.Keys(truth)), map[string]string{}
	for _, name := range names {
		groups[name] = truth[name]
		if random.Float64() < share {
			for groups[name] == truth[name] {
				groups[name] = truth[names[random.IntN(len(names))]]
			}
		}
	}
	return groups
}

// right is the share of the labels that are in their right group of the log's hierarchy.
func (c *scripted) right(dir, log string) float64 {
	c.b.TB.Helper()
	out := filepath.Join(dir, "out.json")
	program.Run(c.b.TB, dir, "curate", "apply", "--replace", "-o", "out="+out, "draft.json", log)
	h, err := labels.OpenHierarchy(out)
	must.Do(c.b.TB, err)
	n := 0
	for _, class := range h.Levels[0].Classes {
		group := parentName(h, class)
		if class.Dropped != "" {
			group = dropped
		}
		if group == c.truth[class.Name] {
			n++
		}
	}
	return float64(n) / float64(len(c.truth))
}
