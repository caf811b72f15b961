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
//	{"tag":"audiologist","group":null,"reason":"a profession"}
//
// where tag and group are required, and hgld ignores other fields. An array of such objects is read, too. A group that
// is null, empty or "(dropped)" suggests to drop the tag. A tag may have several lines: the
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
	group  string // "" to drop the tag
	score  float64
	scored bool
	reason string
	where  string // file and line
	first  int    // place of the tag's first line
}

func readSuggestions(data []byte, name string, _ labels.ReadOptions) (*Document, error) {
	if text := bytes.TrimLeft(data, "\ufeff \t\r\n"); len(text) > 0 && (text[0] == '{' || text[0] == '[') {
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
		where := fmt.Sprintf("%s:%d", name, r.Line())
		if err := suggest(best, row, len(header), where); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if len(row) == len(suggestionColumns) && row[3] != "" {
			sources[row[3]] = true
		}
	}
	return suggested(name, best, sources)
}

// isJSONSuggestions reports whether the first line is an object with a tag, or the file an array of such objects. Types
// are checked when it is read.
func isJSONSuggestions(data []byte) bool {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if bytes.HasPrefix(data, []byte("[")) {
		data = bytes.TrimSpace(data[1:])
	} else {
		data = []byte(firstLine(data))
	}
	var line map[string]json.RawMessage
	return json.NewDecoder(bytes.NewReader(data)).Decode(&line) == nil && line["tag"] != nil
}

func readJSONSuggestions(data []byte, name string) (*Document, error) {
	best, sources := map[curate.Ref]suggestion{}, map[string]bool{}
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	d := json.NewDecoder(bytes.NewReader(text))
	line := func() int { return 1 + bytes.Count(text[:min(int(d.InputOffset()), len(text))], []byte("\n")) }
	array := bytes.HasPrefix(bytes.TrimSpace(text), []byte("["))
	if array {
		if _, err := d.Token(); err != nil {
			return nil, fmt.Errorf("%s:1: %w", name, err)
		}
	}
	for d.More() {
		rest := text[d.InputOffset():]
		lead := len(rest) - len(bytes.TrimLeft(rest, " \t\r\n,"))
		where := fmt.Sprintf("%s:%d", name, line()+bytes.Count(rest[:lead], []byte("\n")))
		var fields map[string]any
		if err := d.Decode(&fields); err != nil {
			if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
				err = fmt.Errorf("a %s stands where an object is wanted: {\"tag\": …, \"group\": …}", wrong.Value)
			}
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		tag, s, source, err := suggestionOf(fields)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		s.where = where
		keepBest(best, tag, s)
		if source != "" {
			sources[source] = true
		}
	}
	if array {
		if _, err := d.Token(); err != nil {
			return nil, fmt.Errorf("%s:%d: the array is not closed: %w", name, line(), err)
		}
	}
	return suggested(name, best, sources)
}

// suggestionOf reads the fields of a suggestion in JSON.
func suggestionOf(fields map[string]any) (tag curate.Ref, s suggestion, source string, err error) {
	text := func(key string) string {
		value := fields[key]
		t, is := value.(string)
		if value != nil && !is && err == nil {
			err = fmt.Errorf("%s is %s; want a text", key, jsonText(value))
		}
		return t
	}
	tag = curate.Ref{Name: text("tag"), QID: text("qid")}
	s, source = suggestion{group: text("group"), reason: text("reason")}, text("source")
	if err != nil {
		return tag, s, source, err
	}
	if _, there := fields["group"]; tag.Name == "" || !there {
		return tag, s, source, errors.New(`want a "tag" and its "group", which is null to drop the tag`)
	}
	s.drop()
	switch score := fields["score"].(type) {
	case nil:
	case float64:
		s.score, s.scored = score, true
	case string:
		s.score, err = scoreOf(tag.Name, score)
		s.scored = true
	default:
		err = fmt.Errorf("the score of %.80q is %s; want a number", tag.Name, jsonText(score))
	}
	return tag, s, source, err
}

// jsonText is a value of JSON as a message shows it.
func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "unreadable"
	}
	return fmt.Sprintf("%.80s", text)
}

// drop makes a suggestion of the word by which hgld writes a drop one to drop the tag.
func (s *suggestion) drop() {
	if s.group == (curate.Category{Dropped: true}).String() {
		s.group = ""
	}
}

// scoreOf reads the score of a tag.
func scoreOf(tag, text string) (float64, error) {
	score, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(score) || math.IsInf(score, 0) {
		return 0, fmt.Errorf("the score of %.80q is %.80q; want a number", tag, text)
	}
	return score, nil
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
func suggest(best map[curate.Ref]suggestion, row []string, columns int, where string) (err error) {
	if len(row) != columns {
		return fmt.Errorf("%d columns; want %d as in the first line", len(row), columns)
	}
	if err := isGroupName(row[1]); err != nil {
		return err
	}
	tag, _ := unmark(row[0])
	group, _ := unmark(row[1])
	if tag == "" {
		return errors.New("a tag without a name")
	}
	s := suggestion{group: group, scored: columns > 2, where: where}
	s.drop()
	if s.scored {
		s.score, err = scoreOf(tag, row[2])
	}
	keepBest(best, curate.Ref{Name: tag}, s)
	return err
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
