package shards

import (
	"fmt"
	"strconv"
	"strings"

	"hgld/internal/terminal"
)

// Text formats a manifest as tables for a person: the files, and of each level the first limit
// classes with their images in every split; limit 0 lists all classes,
// and more says how to do that.
func (m *Manifest) Text(limit int, more string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-40s %10s %10s\n", "file", "rows", "size")
	for _, f := range m.Files {
		fmt.Fprintf(&b, "%-40s %10d %10s\n", f.Name, f.Rows, FormatSize(f.Bytes))
	}
	for _, c := range m.Companions {
		rows := ""
		if c.Rows > 0 {
			rows = strconv.Itoa(c.Rows)
		}
		fmt.Fprintf(&b, "%-40s %10s %10s\n", c.Name, rows, FormatSize(c.Bytes))
	}
	splits := m.Splits()
	for _, l := range m.Levels {
		fmt.Fprintf(&b, "\n%-40s", fmt.Sprintf("%s (%s): %s", l.Name, l.Column, terminal.Count(len(l.Classes), "class")))
		for _, split := range splits {
			fmt.Fprintf(&b, " %10s", split)
		}
		b.WriteString("\n")
		for c, name := range l.Classes {
			if limit > 0 && c == limit {
				fmt.Fprintf(&b, "… %d more; %s\n", len(l.Classes)-c, more)
				break
			}
			fmt.Fprintf(&b, "%-40s", name)
			for _, split := range splits {
				fmt.Fprintf(&b, " %10d", l.Rows[split][c])
			}
			b.WriteString("\n")
		}
		without, row := 0, fmt.Sprintf("%-40s", "no class")
		for _, split := range splits {
			n := l.lacking(m, split)
			without += n
			row += fmt.Sprintf(" %10d", n)
		}
		if without > 0 {
			b.WriteString(row + "\n")
		}
	}
	switch n := m.Failures.Rows; {
	case n == 1:
		fmt.Fprintf(&b, "\n1 image left out: see %s\n", FailuresFile)
	case n > 1:
		fmt.Fprintf(&b, "\n%d images left out: see %s\n", n, FailuresFile)
	}
	return b.String()
}
