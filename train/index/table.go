package index

import (
	"fmt"
	"slices"

	"hgld/internal/texttable"
)

// Table lists hits with their classes, and with their paths if any is known.
func (x *Index) Table(hits []Hit) texttable.Table {
	t := texttable.Table{Head: append([]string{"id", "place", "score"}, x.Levels...)}
	located := slices.ContainsFunc(hits, func(h Hit) bool { return h.Path != "" })
	if located {
		t.Head = append(t.Head, "path")
	}
	for _, h := range hits {
		row := append([]string{h.ID, fmt.Sprint(h.Place), fmt.Sprintf("%.4f", h.Score)}, h.Classes...)
		if located {
			row = append(row, h.Path)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
