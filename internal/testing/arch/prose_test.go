package arch

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unnatural matches the turns that no page and no message has: a pronoun in place of its noun, a negated noun in place
// of a negated verb, and the old words of warnings and hints.
var unnatural = regexp.MustCompile(`(?i)\bthat of\b|\bthose of\b|\bis no |\bcareful: |\bthe same command continues\b`)

var (
	thereIsNo    = regexp.MustCompile(`(?i)\bthere is no `)
	abbreviation = regexp.MustCompile(`(?:\b(?:e\.g|i\.e|vs|cf|al|etc|Fig|Sec|Eq|No|St|Dr|approx)|\b[A-Z])\.$`)
	sentenceEnd  = regexp.MustCompile(`[.!?][)"'*_]* +[A-Z0-9\[(*]|[.!?][)"'*_]* +hgld `)
	leadIn       = regexp.MustCompile(`^\*\*[^*]+[.?]\*\* +`)
	listMark     = regexp.MustCompile(`^\s*(?:[-*]|\d+\.) +`)
	quotedCode   = regexp.MustCompile("`[^`]*`")
)

// proseFaults returns the faults of a page: lines of two sentences and unnatural turns. Quotations of programs (blocks,
// fences, code) and the generated formulas of losses are not read; a row of a table may have two sentences.
func proseFaults(text string) (faults []string) {
	fenced, generated := false, false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
			continue
		case strings.HasPrefix(trimmed, "<!-- formulas: generated"):
			generated = true
		case strings.HasPrefix(trimmed, "<!-- end of the formulas"):
			generated = false
		}
		if fenced || generated || strings.HasPrefix(line, "    ") {
			continue
		}
		prose := quotedCode.ReplaceAllString(line, "Code") // a quotation may begin or end a sentence
		if at := unnatural.FindString(thereIsNo.ReplaceAllString(prose, "")); at != "" {
			faults = append(faults, fmt.Sprintf("line %d: %q", i+1, strings.TrimSpace(at)))
		}
		if strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "#") {
			continue
		}
		prose = leadIn.ReplaceAllString(listMark.ReplaceAllString(prose, ""), "")
		for _, at := range sentenceEnd.FindAllStringIndex(prose, -1) {
			if !abbreviation.MatchString(prose[:at[0]+1]) {
				faults = append(faults, fmt.Sprintf("line %d has two sentences: …%.40s", i+1, prose[at[0]:]))
				break
			}
		}
	}
	return faults
}

// Pages have one sentence per line, so that a change shows which sentences it changes.
func TestPagesHaveOneSentencePerLine(t *testing.T) {
	pages := documents(t)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		faults := proseFaults(pages[page])
		for _, fault := range faults[:min(len(faults), 10)] {
			t.Errorf("%s: %s", page, fault)
		}
	}
}

// A warning begins with its word, and a hint says what to type.
func TestMessagesWarnInOneWord(t *testing.T) {
	old := regexp.MustCompile(`\bcareful: |\bthe same command continues\b`)
	for _, f := range parseAll(t) {
		if f.pkg == "internal/testing/arch" {
			continue
		}
		for _, l := range literals(f.ast) {
			if text, err := strconv.Unquote(l.Value); err == nil && old.MatchString(text) {
				t.Errorf("%s: %.80s; write \"warning: …\", or \"run the same command again to resume\"",
					f.set.Position(l.Pos()), l.Value)
			}
		}
	}
}

func TestFaultsOfProseAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"One sentence. Another one.":                      1,
		"It ends in `code`. `code` begins the next.":      1,
		"It ends here. hgld begins the next.":             1,
		"- **Lead-in.** One sentence.":                    0,
		"- a point. And another":                          1,
		"1. A step.":                                      0,
		"The vectors of B. Smith et al. Next is no rule.": 1,
		"Smith et al. 2019, e.g. Fig. 3":                  0,
		"The value is that of its parent.":                1,
		"There is no shared generator.":                   0,
		"This is no image.":                               1,
		"    hgld: careful: output. Of a program.":        0,
		"```\nOutput. Of a program.\n```":                 0,
		"| a cell. With two sentences |":                  0,
		"| those of a cell |":                             1,
		"`that of` quoted":                                0,
		"Version 1.26 is enough.":                         0,
	} {
		if faults := proseFaults(text); len(faults) != want {
			t.Errorf("%q: %q, want %d", text, faults, want)
		}
	}
}
