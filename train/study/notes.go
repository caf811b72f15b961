package study

import (
	"cmp"
	"fmt"
	"strings"

	"hgld/internal/texttable"
)

// Notes describes a study: what it asks, needs and varies.
func (p *Plan) Notes() string {
	s, w := p.Study, &strings.Builder{}
	fmt.Fprintf(w, "%s: %s\n", s.Name, s.Title)
	line := func(name, text string) {
		for i, part := range wrap(text, 96) {
			fmt.Fprintf(w, "%-12s%s\n", map[bool]string{true: name}[i == 0], part)
		}
	}
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

// wrap breaks a text into lines of at most width characters, none for an empty one.
func wrap(text string, width int) (list []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			list, line = append(list, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line == "" {
		return nil
	}
	return append(list, line)
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
	text := texttable.Lines(rows, texttable.Column{Left: true, Least: 24}, texttable.Column{Left: true, Gap: 2},
		texttable.Column{Gap: 2}, texttable.Column{Left: true, Gap: 2})
	text += fmt.Sprintf("%d runs: %d finished, %d begun, %d pending", len(states), count[Finished], count[Begun],
		count[Pending])
	if n := count[Diverged]; n > 0 {
		text += fmt.Sprintf(", %d diverged", n)
	}
	return text + "\n"
}
