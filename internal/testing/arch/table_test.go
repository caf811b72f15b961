package arch

import (
	"slices"
	"strings"
	"testing"
)

// mayOfPage returns what ARCHITECTURE.md lets each package of a row import: a list for all of them, then what some
// import also, as in "`a`, `b`; `x` also `c`".
func mayOfPage(packages []string, cell string) map[string][]string {
	list := map[string][]string{}
	for i, part := range strings.Split(cell, "; ") {
		to, what := packages, part
		if some, also, is := strings.Cut(part, " also "); is && i > 0 {
			to, what = quoted(some), also
		}
		for _, pkg := range to {
			list[pkg] = append(list[pkg], quoted(what)...)
		}
	}
	return list
}

// quoted returns the names in backquotes.
func quoted(text string) (names []string) {
	for _, m := range mdQuote.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// The page has one row for each package of the rules, with the same list of imports.
func TestArchitectureHasTheTableOfImports(t *testing.T) {
	rows := map[string][]string{}
	for line := range strings.Lines(documents(t)["ARCHITECTURE.md"]) {
		cells := strings.Split(strings.Trim(line, "|\n"), " | ")
		if len(cells) != 3 || !strings.HasPrefix(line, "| `") {
			continue
		}
		packages := quoted(cells[0])
		for pkg, list := range mayOfPage(packages, strings.TrimSpace(cells[2])) {
			if _, twice := rows[pkg]; twice {
				t.Errorf("ARCHITECTURE.md has two rows of %s", pkg)
			}
			if !slices.Contains(packages, pkg) {
				t.Errorf("ARCHITECTURE.md: the row of %v speaks of %s", packages, pkg)
			}
			rows[pkg] = list
		}
	}
	for pkg, list := range may {
		if pkg == "cmd/hgld" { // may import everything
			continue
		}
		want, got := slices.Sorted(slices.Values(list)), slices.Sorted(slices.Values(rows[pkg]))
		if _, is := rows[pkg]; !is {
			t.Errorf("ARCHITECTURE.md has no row of package %s", pkg)
		} else if !slices.Equal(got, want) {
			t.Errorf("ARCHITECTURE.md: %s may import %q, but the rules say %q", pkg, got, want)
		}
	}
}

func TestTheTableOfImportsIsRead(t *testing.T) {
	got := mayOfPage([]string{"x", "y", "z"}, "`a`, `b`; `x` and `z` also `c`; `y` also `d`")
	for pkg, want := range map[string]string{"x": "a b c", "y": "a b d", "z": "a b c"} {
		if text := strings.Join(got[pkg], " "); text != want {
			t.Errorf("%s: %q, want %q", pkg, text, want)
		}
	}
}
