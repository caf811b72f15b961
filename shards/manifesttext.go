package shards

import (
	"fmt"
	"strconv"
	"strings"

	"hgld/internal/terminal"
	"hgld/internal/texttable"
)

// Text formats a manifest as tables for a person: the files, and of each level the first limit
// classes with their images in every split; limit 0 lists all classes,
// and more says how to do that.
func (m *Manifest) Text(limit int, more string) string {
	var b strings.Builder
	rows := [][]string{{"file", "rows", "size"}}
	for _, f := range m.Files {
		rows = append(rows, texttable.Row(f.Name, f.Rows, FormatSize(f.Bytes)))
	}
	for _, c := range m.Companions {
		n := ""
		if c.Rows > 0 {
			n = strconv.Itoa(c.Rows)
		}
		rows = append(rows, []string{c.Name, n, FormatSize(c.Bytes)})
	}
	b.WriteString(texttable.Format("%-40s %10s %10s", rows...))
	splits := m.Splits()
	for _, l := range m.Levels {
		title := fmt.Sprintf("%s (%s): %s", l.Name, l.Column, terminal.Count(len(l.Classes), "class"))
		head := []string{title}
		for _, split := range splits {
			head = append(head, string(split))
		}
		rows := [][]string{head}
		for c, name := range l.Classes {
			if limit > 0 && c == limit {
				rows = append(rows, []string{fmt.Sprintf("… %d more; %s", len(l.Classes)-c, more)})
				break
			}
			row := []string{name}
			for _, split := range splits {
				row = append(row, strconv.Itoa(l.Rows[split][c]))
			}
			rows = append(rows, row)
		}
		without, row := 0, []string{"no class"}
		for _, split := range splits {
			n := l.lacking(m, split)
			without, row = without+n, append(row, strconv.Itoa(n))
		}
		if without > 0 {
			rows = append(rows, row)
		}
		b.WriteString("\n" + texttable.Format("%-40s"+strings.Repeat(" %10s", len(splits)), rows...))
	}
	switch n := m.Failures.Rows; {
	case n == 1:
		fmt.Fprintf(&b, "\n1 image left out: see %s\n", FailuresFile)
	case n > 1:
		fmt.Fprintf(&b, "\n%d images left out: see %s\n", n, FailuresFile)
	}
	return b.String()
}
