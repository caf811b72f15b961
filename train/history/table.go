package history

import (
	"encoding/csv"
	"fmt"
	"hgld/internal/texttable"
	"io"
	"strconv"
	"strings"
)

// GroupFormats are the formats of [WriteGroups].
var GroupFormats = []string{"text", "markdown", "csv"}

// WriteGroups writes the metrics of keys for every group, in a format of GroupFormats. Text also
// lists the settings in which the groups differ from the first.
func WriteGroups(w io.Writer, groups []*Group, keys []string, format string) error {
	switch format {
	case "csv":
		return writeGroupsCSV(w, groups, keys)
	case "markdown":
		if _, err := io.WriteString(w, groupsMarkdown(groups, keys)); err != nil {
			return err
		}
		return writeDifferences(w, groups, keys, format)
	}
	if _, err := io.WriteString(w, groupsText(groups, keys)); err != nil {
		return err
	}
	if err := writeDifferences(w, groups, keys, format); err != nil {
		return err
	}
	_, err := io.WriteString(w, changesText(groups))
	return err
}

// String formats the mean in percent, and the deviation if there are several values.
func (s Sample) String() string {
	text := s.Mean.Decimals(2, "–")
	if s.Count > 1 {
		text += " ± " + s.Deviation.Decimals(2, "–")
	}
	return text
}

// groupsText has a column for each group. A single group also gets its intervals.
func groupsText(groups []*Group, keys []string) string {
	head, columns := []string{"metric (%)"}, []texttable.Column{{Left: true}}
	for _, g := range groups {
		head = append(head, g.Name)
		columns = append(columns, texttable.Column{Least: len("00.00 ± 0.00"), Gap: 2})
	}
	columns = append(columns, texttable.Column{Left: true, Gap: 2}) // the interval
	rows := [][]string{head}
	for _, k := range keys {
		row := []string{k}
		for _, g := range groups {
			row = append(row, g.Metrics[k].String())
		}
		if m := groups[0].Metrics[k]; len(groups) == 1 && m.Count > 1 {
			row = append(row, fmt.Sprintf("[%.2f, %.2f]", float64(m.Low), float64(m.High)))
		}
		rows = append(rows, row)
	}
	text := texttable.Lines(rows, columns...)
	if len(groups) == 1 && len(groups[0].Members) > 1 {
		text += fmt.Sprintf("\nmean ± deviation over %d runs, and Student's 95 %% interval of the mean\n",
			len(groups[0].Members))
	}
	return text
}

// changesText lists the settings in which each group differs from the first.
func changesText(groups []*Group) string {
	var b strings.Builder
	for _, g := range groups[1:] {
		fmt.Fprintf(&b, "\n%s\n", g.Name)
		for _, d := range Changes(groups[0].Members[0].Settings, g.Members[0].Settings) {
			fmt.Fprintf(&b, "  %s is %s, in %s %s\n", d.Key, d.To, groups[0].Name, d.From)
		}
	}
	return b.String()
}

// groupsMarkdown has a row for each group.
func groupsMarkdown(groups []*Group, keys []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| run | n | %s |\n|---|---|%s\n", strings.Join(keys, " | "), strings.Repeat("---|", len(keys)))
	for _, g := range groups {
		cells := []string{g.Name, strconv.Itoa(len(g.Members))}
		for _, k := range keys {
			cells = append(cells, g.Metrics[k].String())
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// writeGroupsCSV writes one line for each group and metric, so that a script can find them by
// name. The columns from difference on are those of SeedDifference. They are empty for groups
// that were not compared seed by seed.
func writeGroupsCSV(to io.Writer, groups []*Group, keys []string) error {
	w := csv.NewWriter(to)
	if err := w.Write([]string{"run", "metric", "mean", "deviation", "count",
		"difference", "low", "high", "p", "pairs", "verdict", "p_holm"}); err != nil {
		return err
	}
	for _, g := range groups {
		for _, k := range keys {
			m := g.Metrics[k]
			row := []string{g.Name, k, m.Mean.Decimals(4, ""), m.Deviation.Decimals(4, ""), strconv.Itoa(m.Count)}
			if err := w.Write(append(row, g.Differences[k].Fields()...)); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

// writeDifferences writes a table for each group that was compared with the first.
func writeDifferences(w io.Writer, groups []*Group, keys []string, format string) error {
	for _, g := range groups[1:] {
		if g.Differences == nil {
			continue
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		if err := SeedTable(g.Name, groups[0].Name, keys, g.Differences).Write(w, format); err != nil {
			return err
		}
		if g.ByQuery == nil {
			continue
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		if err := g.ByQuery.Table().Write(w, format); err != nil {
			return err
		}
	}
	return nil
}
