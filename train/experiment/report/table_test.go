package report

import (
	"encoding/csv"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

// Every format has the values of every group; a deviation stands only where there are several.
func TestGroupsAreWrittenInEveryFormat(t *testing.T) {
	group := func(name string, values ...retrieval.Number) *Group {
		g := &Group{Name: name, Metrics: map[string]Sample{"H-AP": SampleOf(values)}}
		for range values {
			g.Members = append(g.Members, &runs.Run{Settings: &runs.Settings{}})
		}
		return g
	}
	groups := []*Group{group("one", 12.5), group("two", 20, 22)}
	for format, want := range map[string][]string{
		"text":     {"metric (%)", "  12.50", "21.00 ± 1.41"},
		"markdown": {"| one | 1 | 12.50 |\n", "| two | 2 | 21.00 ± 1.41 |\n"},
		"csv":      {"one,H-AP,12.5000,,1,", "two,H-AP,21.0000,1.4142,2,"},
	} {
		var b strings.Builder
		must.Do(t, WriteGroups(&b, groups, []string{"H-AP"}, format))
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s has no %q:\n%s", format, w, b.String())
			}
		}
		if format == "csv" {
			if _, err := csv.NewReader(strings.NewReader(b.String())).ReadAll(); err != nil {
				t.Error(err) // rows of different lengths
			}
		}
	}
}
