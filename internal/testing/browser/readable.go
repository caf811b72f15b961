//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
)

// axeSource is the source of axe-core, which finds barriers to accessibility. It is not part
// of the repository: scripts/check_browser downloads it and sets HGLD_AXE.
var axeSource = sync.OnceValues(func() (string, error) {
	path := os.Getenv("HGLD_AXE")
	if path == "" {
		return "", fmt.Errorf("HGLD_AXE is not set; scripts/check_browser sets it to axe.min.js of axe-core 4")
	}
	data, err := os.ReadFile(path)
	return string(data), err
})

// Rules of axe: all that are on by default, with the rule that an accessible name contains the
// visible text, or those of colours alone. audit checks the contrast, too: it decides cases that axe
// leaves open.
const (
	allRules    = `rules: {"label-content-name-mismatch": {enabled: true}}`
	colourRules = `runOnly: ["color-contrast", "link-in-text-block"]`
)

// runAxe runs some rules.
const runAxe = `axe.run(document, {resultTypes: ["violations"], %s}).then((r) => { window.axed = JSON.stringify(r.violations.map((v) => v.id + " (" + v.impact + "): " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + (n.any[0]?.message || n.all[0]?.message || n.none[0]?.message || "")).join(" | "))); }, (e) => { window.axed = JSON.stringify(["axe: " + e.message]); })`

// Accessible fails the test if axe-core finds a violation of its rules on the screen.
func (b *Tab) Accessible(name string) {
	b.TB.Helper()
	b.accessible(name, allRules)
}

func (b *Tab) accessible(name, rules string) {
	b.TB.Helper()
	source, err := axeSource()
	if err != nil {
		b.TB.Fatal(err)
	}
	if !Eval[bool](b, `"axe" in window`) {
		b.Exec(source + "\n;0")
	}
	b.Exec(`window.axed = ""; ` + fmt.Sprintf(runAxe, rules) + `; 0`)
	b.Until("axe is done", `window.axed !== ""`)
	var found []string
	if err := json.Unmarshal([]byte(Eval[string](b, `window.axed`)), &found); err != nil {
		b.TB.Fatal(err)
	}
	for _, what := range found {
		b.TB.Errorf("%s: %s", name, strings.Join(strings.Fields(what), " "))
	}
}

// audit lists what is hard to read on a page: text with less contrast than WCAG 2.2 AA requires
// (4.5:1, and 3:1 for large text), buttons and headings that are cut off, cells of tables so narrow that
// words break, and content wider than the window.
const audit = `(() => {
	const bad = [], wide = document.documentElement.clientWidth;
	const rgba = (c) => { const m = c.match(/[\d.]+/g).map(Number); return [m[0], m[1], m[2], m.length > 3 ? m[3] : 1]; };
	const over = (a, b) => a.slice(0, 3).map((x, i) => x * a[3] + b[i] * (1 - a[3])).concat(1);
	const light = (c) => { const [r, g, b] = c.map((x) => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ground = (e) => { const layers = []; for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); layers.push(c); if (c[3] === 1) break; } return layers.reverse().reduce((b, c) => over(c, b), [255, 255, 255, 1]); };
	const open = document.querySelector("dialog[open]");
	for (const e of (open || document.body).querySelectorAll("*")) {
		const box = e.getBoundingClientRect();
		if (!e.checkVisibility({opacityProperty: true}) || !box.width || box.bottom < 0 || box.top > innerHeight || e.closest("noscript")) continue;
		const name = e.tagName + "." + e.className + " " + e.textContent.slice(0, 40);
		if (/^(BUTTON|H1|H2|H3|SELECT|INPUT|DT|TH)$/.test(e.tagName) && (box.left < -1 || box.right > wide + 1 || (e.tagName !== "INPUT" && e.scrollWidth > e.clientWidth + 1))) bad.push("cut off: " + name);
		if (/^T[DH]$/.test(e.tagName) && box.width < 50) {
			const text = document.createRange();
			text.selectNodeContents(e);
			if (text.getBoundingClientRect().height > 90) bad.push("squeezed: " + name);
		}
		if (![...e.childNodes].some((c) => c.nodeType === 3 && c.data.trim()) || e.closest(":disabled") || e.closest(".stale")) continue;
		const style = getComputedStyle(e), under = ground(e);
		const a = light(over(rgba(style.color), under)), b = light(under);
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size = parseFloat(style.fontSize);
		if (contrast < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5)) bad.push("contrast " + contrast.toFixed(2) + ": " + name);
	}
	if (document.documentElement.scrollWidth > wide) bad.push("the window scrolls sideways");
	return bad;
})()`

// Readable checks what is on the screen, by audit and by axe, and takes a screenshot of it.
func (b *Tab) Readable(name string) {
	b.TB.Helper()
	for _, what := range Eval[[]string](b, audit) {
		b.TB.Errorf("%s: %s", name, what)
	}
	switch { // the other schemes and sizes have the elements of the light one at 1280
	case strings.HasPrefix(name, "dark-"):
		b.accessible(name, colourRules)
	case !strings.Contains(name, "-1920-"):
		b.Accessible(name)
	}
	b.Shot(name)
}
