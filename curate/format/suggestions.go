package format

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
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
// name in the first line; the last two may be missing. Or they are JSON lines, an object each:
//
//	{"tag":"chapel","qid":"Q108325","group":"church","score":0.93,"reason":"a small church","source":"model a"}
//
// where tag and group are required, and hgld ignores other fields. A tag may have several lines: the
// one with the highest score counts, of equal ones the first. Another program's suggestions
// are proposals and never decisions. The log keeps their scores and reasons.

var suggestionColumns = []string{"tag", "group", "score", "source"}

func isSuggestions(data []byte) bool {
	if isJSONSuggestions(data) {
		return true
	}
	line := strings.TrimRight(strings.ReplaceAll(firstLine(data), "\t", ","), "\r\n")
	return line == "tag,group" || strings.HasPrefix(line, "tag,group,score")
}

// suggestion is the best line of a tag.
type suggestion struct {
	group  string
	score  float64
	scored bool
	reason string
	first  int // place of the tag's first line
}

func readSuggestions(data []byte, name string, _ labels.ReadOptions) (*Document, error) {
	if isJSONSuggestions(data) {
		return readJSONSuggestions(data, name)
	}
	r := csvfile.NewReader(bytes.NewReader(data))
	r.Ragged() // suggest counts the columns
	header, err := r.Read()
	if err != nil {
		return nil, csvError(name, err)
	}
	if n := len(header); n < 2 || n > len(suggestionColumns) || !slices.Equal(header, suggestionColumns[:n]) {
		return nil, fmt.Errorf("%s:1: the columns are %.80q; want %s", name, header, strings.Join(suggestionColumns, ", "))
	}
	best, sources := map[curate.Ref]suggestion{}, map[string]bool{}
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
	return suggested(name, best, sources)
}

// isJSONSuggestions reports whether the first line is an object with a tag.
func isJSONSuggestions(data []byte) bool {
	var line jsonSuggestion
	return json.Unmarshal([]byte(firstLine(data)), &line) == nil && line.Tag != ""
}

// jsonSuggestion is a line of JSON lines.
type jsonSuggestion struct {
	Tag    string   `json:"tag"`
	QID    string   `json:"qid"`
	Group  string   `json:"group"`
	Score  *float64 `json:"score"`
	Reason string   `json:"reason"`
	Source string   `json:"source"`
}

func readJSONSuggestions(data []byte, name string) (*Document, error) {
	best, sources, number := map[curate.Ref]suggestion{}, map[string]bool{}, 0
	for text := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		number++
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		var line jsonSuggestion
		if err := json.Unmarshal(text, &line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		if line.Tag == "" || line.Group == "" {
			return nil, fmt.Errorf("%s:%d: got the tag %.80q and the group %.80q; want the names of both", name, number,
				line.Tag, line.Group)
		}
		s := suggestion{group: line.Group, reason: line.Reason, scored: line.Score != nil}
		if s.scored {
			s.score = *line.Score
		}
		keepBest(best, curate.Ref{Name: line.Tag, QID: line.QID}, s)
		if line.Source != "" {
			sources[line.Source] = true
		}
	}
	return suggested(name, best, sources)
}

// suggested makes a document of the best suggestion of each tag.
func suggested(name string, best map[curate.Ref]suggestion, sources map[string]bool) (*Document, error) {
	if len(best) == 0 {
		return nil, fmt.Errorf("%s: has no suggestion; want a tag and its group on each line", name)
	}
	d := rank(best)
	for source := range sources {
		d.Sources = append(d.Sources, source)
	}
	slices.Sort(d.Sources)
	return d, nil
}

// suggest takes a line of a file with the given number of columns.
func suggest(best map[curate.Ref]suggestion, row []string, columns int) error {
	if len(row) != columns {
		return fmt.Errorf("%d columns; want %d as in the first line", len(row), columns)
	}
	if err := isGroupName(row[1]); err != nil {
		return err
	}
	tag, _ := unmark(row[0])
	group, _ := unmark(row[1])
	if tag == "" || group == "" {
		return errors.New("a tag or a group without a name")
	}
	s := suggestion{group: group, scored: columns > 2}
	if s.scored {
		var err error
		if s.score, err = strconv.ParseFloat(row[2], 64); err != nil || math.IsNaN(s.score) || math.IsInf(s.score, 0) {
			return fmt.Errorf("the score of %.80q is %.80q; want a number", tag, row[2])
		}
	}
	keepBest(best, curate.Ref{Name: tag}, s)
	return nil
}

// keepBest keeps a suggestion for a tag if it is the first, or better than the one before.
func keepBest(best map[curate.Ref]suggestion, tag curate.Ref, s suggestion) {
	before, known := best[tag]
	s.first = len(best)
	if known {
		s.first = before.first
	}
	if !known || s.score > before.score {
		best[tag] = s
	}
}

// rank makes a document of proposals, those with the highest score first.
func rank(best map[curate.Ref]suggestion) *Document {
	names := make([]curate.Ref, 0, len(best))
	for tag := range best {
		names = append(names, tag)
	}
	slices.SortFunc(names, func(a, b curate.Ref) int {
		return cmp.Or(cmp.Compare(best[b].score, best[a].score), cmp.Compare(best[a].first, best[b].first))
	})
	h := &labels.Hierarchy{}
	for _, level := range curate.DefaultLevels[:2] {
		h.Levels = append(h.Levels, labels.Level{Name: level})
	}
	d := &Document{Hierarchy: h}
	for _, tag := range names {
		h.Levels[0].Classes = append(h.Levels[0].Classes, labels.Class{Name: tag.Name, QID: tag.QID, Parent: -1,
			Proposed: best[tag].group})
		d.suggestions = append(d.suggestions, best[tag])
	}
	return d
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
