package format

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"hgld/curate"
	"hgld/internal/csvfile"
	"hgld/labels"
)

// Ranked suggestions are CSV, or TSV, with the columns tag, group, score and source, by
// name in the first line; the last two may be missing. A tag may have several lines: the
// one with the highest score counts, of equal ones the first. Another program's suggestions
// are proposals and never decisions.

var suggestionColumns = []string{"tag", "group", "score", "source"}

func isSuggestions(data []byte) bool {
	line := strings.TrimRight(strings.ReplaceAll(firstLine(data), "\t", ","), "\r\n")
	return line == "tag,group" || strings.HasPrefix(line, "tag,group,score")
}

// suggestion is the best line of a tag.
type suggestion struct {
	group string
	score float64
	first int // place of the tag's first line
}

func readSuggestions(data []byte, name string, _ labels.ReadOptions) (*Document, error) {
	r := csvfile.NewReader(bytes.NewReader(data))
	r.Ragged() // suggest counts the columns
	header, err := r.Read()
	if err != nil {
		return nil, csvError(name, err)
	}
	if n := len(header); n < 2 || n > len(suggestionColumns) || !slices.Equal(header, suggestionColumns[:n]) {
		return nil, fmt.Errorf("%s:1: the columns are %.80q; want %s", name, header, strings.Join(suggestionColumns, ", "))
	}
	best, sources := map[string]suggestion{}, map[string]bool{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvError(name, err)
		}
		if err := suggest(best, row, len(header)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, r.Line(), err)
		}
		if len(row) == len(suggestionColumns) && row[3] != "" {
			sources[row[3]] = true
		}
	}
	if len(best) == 0 {
		return nil, fmt.Errorf("%s: has no suggestion; want a tag and its group on each line", name)
	}
	d := suggested(best)
	for source := range sources {
		d.Sources = append(d.Sources, source)
	}
	slices.Sort(d.Sources)
	return d, nil
}

// suggest takes a line of a file with the given number of columns.
func suggest(best map[string]suggestion, row []string, columns int) error {
	if len(row) != columns {
		return fmt.Errorf("%d columns; want %d as in the first line", len(row), columns)
	}
	tag, _ := unmark(row[0])
	group, _ := unmark(row[1])
	if tag == "" || group == "" {
		return errors.New("a tag or a group without a name")
	}
	s := suggestion{group: group, first: len(best)}
	if columns > 2 {
		var err error
		if s.score, err = strconv.ParseFloat(row[2], 64); err != nil || math.IsNaN(s.score) || math.IsInf(s.score, 0) {
			return fmt.Errorf("the score of %.80q is %.80q; want a number", tag, row[2])
		}
	}
	before, known := best[tag]
	if known {
		s.first = before.first
	}
	if !known || s.score > before.score {
		best[tag] = s
	}
	return nil
}

// suggested makes a document of proposals, those with the highest score first.
func suggested(best map[string]suggestion) *Document {
	names := make([]string, 0, len(best))
	for tag := range best {
		names = append(names, tag)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(best[b].score, best[a].score), cmp.Compare(best[a].first, best[b].first))
	})
	h := &labels.Hierarchy{}
	for _, level := range curate.DefaultLevels[:2] {
		h.Levels = append(h.Levels, labels.Level{Name: level})
	}
	for _, tag := range names {
		h.Levels[0].Classes = append(h.Levels[0].Classes, labels.Class{Name: tag, Parent: -1, Proposed: best[tag].group})
	}
	return &Document{Hierarchy: h}
}

func writeSuggestions(w io.Writer, d *Document) error {
	rows := [][]string{suggestionColumns[:2]}
	for _, c := range d.Hierarchy.Levels[0].Classes {
		if c.Proposed != "" {
			rows = append(rows, []string{mark(c.Name), mark(c.Proposed)})
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}
