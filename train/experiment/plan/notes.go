package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"hgld/internal/texttable"
)

// Notes describes a study: what it asks, needs and varies.
func (p *Plan) Notes() string {
	s, w := p.Study, &strings.Builder{}
	fmt.Fprintf(w, "%s: %s\n", s.Name, s.Title)
	line := func(name, text string) { note(w, 12, name, text) }
	line("about", s.About)
	line("needs", s.Needs)
	line("differs", strings.Join(s.Differs, "; "))
	for _, f := range s.Factors {
		var labels []string
		for _, o := range f.Options {
			labels = append(labels, o.Label)
		}
		line("varies", fmt.Sprintf("%s: %s", f.Name, strings.Join(labels, ", ")))
	}
	line("runs", fmt.Sprintf("%d: %d variants, seeds %s", len(p.Runs), len(p.Variants), numbers(s.Seeds)))
	line("metrics", strings.Join(s.Metrics, ", "))
	for _, t := range s.Tables {
		line("table", t.Title)
	}
	for _, c := range s.Comparisons {
		line("compares", c.Title)
	}
	for _, f := range s.Figures {
		line("figure", f.Title)
	}
	return w.String()
}

// numbers lists seeds.
func numbers(seeds []uint64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(seeds), " ", ", "), "[]")
}

// noteWidth is the longest line of a note, in characters.
const noteWidth = 96

// note writes a text after its kind, in lines of readable length that begin in the same column; nothing for an
// empty text.
func note(w *strings.Builder, column int, kind, text string) {
	line := ""
	end := func() {
		if line != "" {
			fmt.Fprintf(w, "%-*s%s\n", column, kind, line)
			kind, line = "", ""
		}
	}
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > noteWidth {
			end()
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	end()
}

// StatesText lists the runs with their states, and counts them.
func (p *Plan) StatesText(states []*State) string {
	rows := [][]string{{"run", "state", "seed", "variant"}}
	count := map[Phase]int{}
	for _, s := range states {
		count[s.Phase]++
		rows = append(rows, []string{s.Run.Name, cmp.Or(s.Step, string(s.Phase)), fmt.Sprint(s.Run.Seed),
			s.Run.Variant.Label()})
	}
	text := texttable.Format("%-24s  %s  %1s  %s", rows...)
	text += fmt.Sprintf("%d runs: %d finished, %d begun, %d pending", len(states), count[Finished], count[Begun],
		count[Pending])
	if n := count[Diverged]; n > 0 {
		text += fmt.Sprintf(", %d diverged", n)
	}
	for _, s := range states {
		switch {
		case s.Left > 0:
			left := time.Duration(s.Left * float64(time.Hour)).Round(time.Second)
			text += fmt.Sprintf("\n%s: trained by %s, %v left", s.Run.Name, s.By, left)
		case s.By != "":
			text += fmt.Sprintf("\n%s: trained by %s", s.Run.Name, s.By)
		}
	}
	return text + "\n"
}
