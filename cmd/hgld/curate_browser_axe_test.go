//go:build browser

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
)

// axeSource is axe-core, which finds what is not accessible. It is no part of the
// repository: scripts/check_browser installs it and sets HGLD_AXE.
var axeSource = sync.OnceValues(func() (string, error) {
	path := os.Getenv("HGLD_AXE")
	if path == "" {
		return "", fmt.Errorf("HGLD_AXE is not set; scripts/check_browser sets it to axe.min.js of axe-core 4")
	}
	data, err := os.ReadFile(path)
	return string(data), err
})

// runAxe runs all rules, and the one that says that an accessible name holds the
// text that is seen, which is off by default. Contrast is judged by audit, which
// sees through what axe calls undecided.
const runAxe = `axe.run(document, {resultTypes: ["violations"], rules: {"label-content-name-mismatch": {enabled: true}}}).then((r) => { window.axed = JSON.stringify(r.violations.map((v) => v.id + " (" + v.impact + "): " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + (n.any[0]?.message || n.all[0]?.message || n.none[0]?.message || "")).join(" | "))); }, (e) => { window.axed = JSON.stringify(["axe: " + e.message]); })`

// accessible expects no violation on the screen.
func (b *browser) accessible(name string) {
	b.t.Helper()
	source, err := axeSource()
	if err != nil {
		b.t.Fatal(err)
	}
	if !eval[bool](b, `"axe" in window`) {
		b.run(evaluateVoid(source + "\n;0"))
	}
	b.run(evaluateVoid(`window.axed = ""; ` + runAxe + `; 0`))
	b.until("axe is done", `window.axed !== ""`)
	var found []string
	if err := json.Unmarshal([]byte(eval[string](b, `window.axed`)), &found); err != nil {
		b.t.Fatal(err)
	}
	for _, what := range found {
		b.t.Errorf("%s: %s", name, strings.Join(strings.Fields(what), " "))
	}
}
