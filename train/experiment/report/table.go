package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"hgld/internal/texttable"
	"hgld/train/experiment/runs"
)

// GroupFormats are the formats of [WriteGroups].
var GroupFormats = []string{"text", "markdown", "csv"}

// WriteGroups writes the metrics of keys for every group, in a format of GroupFormats. Text also
// lists the settings in which the groups differ from the first.
func WriteGroups(w io.Writer, groups []*Group, keys []string, format string) error {
	var err error
	switch format {
	case "csv":
		return groupsCSV(groups, keys).Write(w, format)
	case "markdown":
		err = groupsTable(groups, keys).Write(w, format)
	default:
		_, err = io.WriteString(w, groupsText(groups, keys))
	}
	for _, t := range differences(groups, keys) {
		if err == nil {
			_, err = io.WriteString(w, "\n")
		}
		if err == nil {
			err = t.Write(w, format)
		}
	}
	if err == nil && format == "text" {
		_, err = io.WriteString(w, changesText(groups))
	}
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
	rows := [][]string{{"metric (%)"}}
	for _, g := range groups {
		rows[0] = append(rows[0], g.Name)
	}
	for _, k := range keys {
		row := []string{k}
		for _, g := range groups {
			row = append(row, g.Metrics[k].String())
		}
		if m := groups[0].Metrics[k]; len(groups) == 1 && m.Count > 1 && !math.IsNaN(float64(m.Low)) {
			row = append(row, fmt.Sprintf("[%.2f, %.2f]", float64(m.Low), float64(m.High)))
		}
		rows = append(rows, row)
	}
	text := texttable.Format("%s"+strings.Repeat("  %13s", len(groups))+"  %s", rows...)
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
		for _, d := range runs.Changes(groups[0].Members[0].Settings, g.Members[0].Settings) {
			fmt.Fprintf(&b, "  %s is %s, in %s %s\n", d.Key, d.To, groups[0].Name, d.From)
		}
	}
	return b.String()
}

// groupsTable has a row for each group.
func groupsTable(groups []*Group, keys []string) texttable.Table {
	t := texttable.Table{Head: append([]string{"run", "n"}, keys...)}
	for _, g := range groups {
		cells := []string{g.Name, strconv.Itoa(len(g.Members))}
		for _, k := range keys {
			cells = append(cells, g.Metrics[k].String())
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// groupsCSV has one line for each group and metric, so that a script can find them by name. The columns
// from difference on are those of SeedDifference. They are empty for groups that were not compared seed
// by seed.
func groupsCSV(groups []*Group, keys []string) texttable.Table {
	t := texttable.Table{Head: []string{"run", "metric", "mean", "deviation", "count",
		"difference", "low", "high", "p", "pairs", "verdict", "p_holm"}}
	for _, g := range groups {
		for _, k := range keys {
			m := g.Metrics[k]
			row := []string{g.Name, k, m.Mean.Decimals(4, ""), m.Deviation.Decimals(4, ""), strconv.Itoa(m.Count)}
			t.Rows = append(t.Rows, append(row, g.Differences[k].Fields()...))
		}
	}
	return t
}

// differences returns the tables of the groups that were compared with the first.
func differences(groups []*Group, keys []string) (list []texttable.Table) {
	for _, g := range groups[1:] {
		if g.Differences == nil {
			continue
		}
		list = append(list, SeedTable(g.Name, groups[0].Name, keys, g.Differences))
		if g.ByQuery != nil {
			list = append(list, g.ByQuery.Table())
		}
	}
	return list
}
