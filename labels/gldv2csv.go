package labels

// The names of GLDv2's published columns, and what they are called here:
//
//	landmark_id             LandmarkLabel.Landmark; unique within a split only
//	category                LandmarkLabel.Category: the Commons page
//	supercategory           LandmarkLabel.Tag: the raw "instance of" tag (!)
//	hierarchical_label      the class of level "supercategory": the curated class
//	natural_or_human_made   the class of level "kind"
//	cluster                 hierarchical_label in the older files
//	overall_cluster         natural_or_human_made in the older files
//
// and the columns of other data sets, and of what hgld adds:
//
//	level_0 … level_{L−1}   the classes, finest first
//	split, image_id, wikidata_id, tag, label_source, reason, detail
//
// These names occur in no other file.

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Form is the layout of a label file.
type Form string

// The forms of label files. The first four are GLDv2's.
const (
	HierarchicalForm Form = "hierarchical" // landmark_id,category,supercategory,hierarchical_label,natural_or_human_made
	ThreeColumnForm  Form = "three-column" // landmark_id,hierarchical_label,natural_or_human_made
	ClustersForm     Form = "clusters"     // landmark_id,cluster,overall_cluster
	CategoryForm     Form = "category"     // landmark_id,category
	LevelsForm       Form = "levels"       // split,landmark_id,…,level_0,…: any data set
	JSONForm         Form = "json"         // labels.json: everything hgld knows, level names included
)

// Forms lists every form.
var Forms = []Form{HierarchicalForm, ThreeColumnForm, ClustersForm, CategoryForm, LevelsForm, JSONForm}

// formColumns are the columns of a new file in each of GLDv2's forms.
var formColumns = map[Form][]string{
	HierarchicalForm: {"landmark_id", "category", "supercategory", "hierarchical_label", "natural_or_human_made"},
	ThreeColumnForm:  {"landmark_id", "hierarchical_label", "natural_or_human_made"},
	ClustersForm:     {"landmark_id", "cluster", "overall_cluster"},
	CategoryForm:     {"landmark_id", "category"},
}

// ReadOptions supply what a label file does not state itself.
type ReadOptions struct {
	Split      Split // of all rows, if neither a column nor the file's name gives it
	OneIDSpace bool  // the data set numbers its landmarks through all splits
}

// SplitUnknownError says that neither the file nor the options state the split of a
// label file.
type SplitUnknownError struct{ File string }

// Error names the file and the ways to state its split.
func (e *SplitUnknownError) Error() string {
	return fmt.Sprintf("%s: the split of this file is unknown; train and index number their landmarks separately, so "+
		"name the file train_… or index_…, add a column split, or name the split", e.File)
}

// SplitAskedError says that a label file, or one of its rows, is of another split than
// ReadOptions.Split.
type SplitAskedError struct {
	Where string // the file; with its line where a row says the split
	// Found is the split that the file states, Asked the one that the caller named.
	Found, Asked Split
	ByName       bool // the file's name says the split
}

// Error names both splits.
func (e *SplitAskedError) Error() string {
	if e.ByName {
		return fmt.Sprintf("%s: the name says split %s, but %s was asked for; their landmark ids are different id spaces",
			e.Where, e.Found, e.Asked)
	}
	return fmt.Sprintf("%s: split is %s, but %s was asked for", e.Where, e.Found, e.Asked)
}

// ParseCSV reads a label file of any form except JSON. The header determines the form;
// the order of columns does not matter, and unknown ones are kept. The split comes from
// a column, else from the file's name (train_label_to_hierarchical.csv), else from
// o.Split. Without any of them ParseCSV returns a *SplitUnknownError; if o.Split
// contradicts the others, a *SplitAskedError. Without a column landmark_id a landmark
// is a class of level_0, which all splits share. Table.Build makes the Hierarchy, and
// Table.Conflicts lists the rows that contradict each other.
func ParseCSV(r io.Reader, name string, o ReadOptions) (*Table, error) {
	s, err := readSheet(r, name)
	if err != nil {
		return nil, err
	}
	t := &Table{Version: TableVersion, OneIDSpace: o.OneIDSpace, name: name, sheet: s}
	if err := t.setForm(); err != nil {
		return nil, err
	}
	numbered := s.column("landmark_id") >= 0
	t.OneIDSpace = t.OneIDSpace || !numbered
	split, err := splitOf(s, o)
	if err != nil {
		return nil, err
	}
	cells, ids := t.cells(s.columns, t.form), map[string]LandmarkID{}
	t.Rows = make([]LandmarkLabel, len(s.rows))
	for i := range s.rows {
		l := &t.Rows[i]
		l.Split, l.from, l.row, l.Names = split, s, i, make([]string, len(t.Levels))
		for c := range cells {
			if cells[c].set == nil {
				continue
			}
			if err := cells[c].set(l, s.rows[i].fields[c]); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.where(i), s.columns[c], err)
			}
		}
		if !numbered {
			l.Landmark = number(ids, l.Names[0])
		}
		if t.form != LevelsForm {
			l.Names[0] = t.ClassName(l.Key())
		}
	}
	return t, t.checkRows()
}

// number returns the number of distinct names.
func number(ids map[string]LandmarkID, name string) LandmarkID {
	id, ok := ids[name]
	if !ok {
		id = LandmarkID(len(ids))
		ids[name] = id
	}
	return id
}

var levelColumn = regexp.MustCompile(`^level_(0|[1-9][0-9]?)$`)

// setForm determines the form and the levels from the header.
func (t *Table) setForm() error {
	s := t.sheet
	has := func(name string) bool { return s.column(name) >= 0 }
	need := func(names ...string) error {
		for _, name := range names {
			if !has(name) {
				return fmt.Errorf("%s:1: column %.80q is missing; got %s", s.name, name, s.headers())
			}
		}
		return nil
	}
	for _, same := range [][2]string{{"supercategory", "tag"}, {"hierarchical_label", "cluster"},
		{"natural_or_human_made", "overall_cluster"}} {
		if has(same[0]) && has(same[1]) {
			return fmt.Errorf("%s:1: columns %s and %s mean the same; remove or rename one", s.name, same[0], same[1])
		}
	}
	t.Levels = []string{LandmarkLevel, SupercategoryLevel, KindLevel}
	switch {
	case slices.ContainsFunc(s.columns, levelColumn.MatchString):
		return t.setLevels(need)
	case has("cluster"), has("overall_cluster"):
		t.form = ClustersForm
		return need("landmark_id", "cluster", "overall_cluster")
	case has("hierarchical_label"), has("natural_or_human_made"):
		t.form = HierarchicalForm
		if !has("category") && !has("supercategory") {
			t.form = ThreeColumnForm
		}
		return need("landmark_id", "hierarchical_label", "natural_or_human_made")
	}
	t.form, t.Levels = CategoryForm, t.Levels[:1]
	return need("landmark_id", "category")
}

func (t *Table) setLevels(need func(...string) error) error {
	t.form, t.Levels = LevelsForm, nil
	for _, c := range t.sheet.columns {
		if levelColumn.MatchString(c) {
			t.Levels = append(t.Levels, fmt.Sprintf("level_%d", len(t.Levels)))
		}
	}
	return need(t.Levels...)
}

// splitOf returns the split of rows without a column for it.
func splitOf(s *sheet, o ReadOptions) (Split, error) {
	if o.Split != "" && !slices.Contains(Splits, o.Split) {
		return "", fmt.Errorf("%s: unknown split %.80q; want one of %v", s.name, o.Split, Splits)
	}
	named := SplitInName(s.name)
	if c := s.column("split"); c >= 0 {
		for i := range s.rows {
			if f := s.rows[i].fields[c]; o.Split != "" && f != string(o.Split) && slices.Contains(Splits, Split(f)) {
				return "", &SplitAskedError{Where: s.where(i), Found: Split(f), Asked: o.Split}
			}
		}
		return "", nil
	}
	switch {
	case o.Split != "" && named != "" && named != o.Split:
		return "", &SplitAskedError{Where: s.name, Found: named, Asked: o.Split, ByName: true}
	case o.Split != "":
		return o.Split, nil
	case named != "":
		return named, nil
	}
	return "", &SplitUnknownError{File: s.name}
}

// SplitInName returns the split that a file's name contains as a word
// (train_label_to_category.csv), "" if it contains none or several.
func SplitInName(name string) Split {
	words := strings.FieldsFunc(strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/"))), func(r rune) bool { return r < 'a' || r > 'z' })
	var found Split
	for _, s := range Splits {
		if slices.Contains(words, string(s)) {
			if found != "" {
				return ""
			}
			found = s
		}
	}
	return found
}

// cell reads and writes the field of one column; both are nil for an unknown
// column.
type cell struct {
	get func(*LandmarkLabel) string
	set func(*LandmarkLabel, string) error
}

// cells returns the meaning of each column in a file of the given form with the
// classes of t.
func (t *Table) cells(columns []string, form Form) []cell {
	list := make([]cell, len(columns))
	for i, name := range columns {
		switch name {
		case "landmark_id":
			list[i] = cell{func(l *LandmarkLabel) string { return strconv.Itoa(int(l.Landmark)) }, setLandmark}
		case "split":
			list[i] = cell{func(l *LandmarkLabel) string { return string(l.Split) }, setSplit}
		case "reason":
			list[i] = cell{func(l *LandmarkLabel) string { return string(l.Reason) },
				func(l *LandmarkLabel, s string) error { l.Reason = Reason(s); return nil }}
		case "image_id":
			list[i] = textCell(func(l *LandmarkLabel) *string { return &l.Image })
		case "category":
			list[i] = textCell(func(l *LandmarkLabel) *string { return &l.Category })
		case "wikidata_id":
			list[i] = textCell(func(l *LandmarkLabel) *string { return &l.Item })
		case "supercategory", "tag":
			list[i] = textCell(func(l *LandmarkLabel) *string { return &l.Tag })
		case "label_source":
			list[i] = textCell(func(l *LandmarkLabel) *string { return &l.Source })
		case "detail":
			list[i] = textCell(func(l *LandmarkLabel) *string { return &l.Detail })
		default:
			if level := levelOf(name, form); 0 <= level && level < len(t.Levels) {
				list[i] = textCell(func(l *LandmarkLabel) *string { return &l.Names[level] })
			}
		}
	}
	return list
}

// levelOf returns the level whose class names a column holds, −1 for none.
func levelOf(column string, form Form) int {
	if form == LevelsForm {
		if m := levelColumn.FindStringSubmatch(column); m != nil {
			level, _ := strconv.Atoi(m[1]) // one or two digits
			return level
		}
		return -1
	}
	switch column {
	case "hierarchical_label", "cluster":
		return 1
	case "natural_or_human_made", "overall_cluster":
		return 2
	}
	return -1
}

func textCell(field func(*LandmarkLabel) *string) cell {
	return cell{
		func(l *LandmarkLabel) string { return *field(l) },
		func(l *LandmarkLabel, s string) error { *field(l) = s; return nil },
	}
}

func setLandmark(l *LandmarkLabel, s string) error {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return fmt.Errorf("got %.80q, want a whole number from 0 to 2147483647", s)
	}
	l.Landmark = LandmarkID(n)
	return nil
}

func setSplit(l *LandmarkLabel, s string) error {
	if !slices.Contains(Splits, Split(s)) {
		return fmt.Errorf("got %.80q, want one of %v", s, Splits)
	}
	l.Split = Split(s)
	return nil
}

// landmark reads the landmark of a row. split applies if no column states it.
func (s *sheet) landmark(row int, split Split) (LandmarkKey, error) {
	l := LandmarkLabel{Split: split}
	for _, c := range []struct {
		name string
		set  func(*LandmarkLabel, string) error
	}{{"landmark_id", setLandmark}, {"split", setSplit}} {
		at := s.column(c.name)
		if at < 0 {
			continue
		}
		if err := c.set(&l, s.rows[row].fields[at]); err != nil {
			return LandmarkKey{}, fmt.Errorf("%s: %s: %w", s.where(row), c.name, err)
		}
	}
	return l.Key(), nil
}

// WriteCSV writes a table as CSV. In the form it was read in ("" means that form) the
// file is the same byte for byte, except for rows that were changed, removed or added.
// Another form gets the published layout: LF line ends, no byte order mark, and quotes
// only around a field with a comma, quote or line end. A column split is added if the
// rows are of several splits, and image_id if they are images.
func WriteCSV(w io.Writer, t *Table, form Form) error {
	if form == "" {
		form = t.form
	}
	if form == t.form && t.sheet != nil {
		if t.any(isPropagated) {
			return t.withColumn("label_source").rewrite(w)
		}
		return t.rewrite(w)
	}
	columns, err := t.newColumns(form)
	if err != nil {
		return err
	}
	return t.writeColumns(w, columns, form, func(*LandmarkLabel) bool { return true })
}

// WriteUnlabelled writes the landmarks without a label and the reason:
// split,landmark_id,category,tag,reason,detail. ParseCSV reads it as the form
// "category".
func WriteUnlabelled(w io.Writer, t *Table) error {
	columns := []string{"split", "landmark_id", "category", "tag", "reason", "detail"}
	return t.writeColumns(w, columns, CategoryForm, func(l *LandmarkLabel) bool { return !l.Labelled() })
}

// writeColumns writes a new file with the rows for which take is true.
func (t *Table) writeColumns(w io.Writer, columns []string, form Form, take func(*LandmarkLabel) bool) error {
	s := newSheet(columns...)
	cells := t.cells(columns, form)
	return s.write(w, func(yield func(sheetRow) bool) {
		for l := range t.all() {
			if !take(l) {
				continue
			}
			fields := make([]string, len(columns))
			for c := range cells {
				fields[c] = cells[c].get(l)
			}
			if !yield(sheetRow{fields: fields}) {
				return
			}
		}
	})
}

// rewrite writes the table into its own CSV.
func (t *Table) rewrite(w io.Writer) error {
	cells := t.cells(t.sheet.columns, t.form)
	rows := make([]sheetRow, len(t.Rows))
	for i := range t.Rows {
		l := &t.Rows[i]
		old := l.from == t.sheet
		if old {
			rows[i] = t.sheet.rows[l.row]
		} else {
			rows[i].fields = make([]string, len(cells))
		}
		for c := range cells {
			if cells[c].get == nil {
				continue
			}
			now := cells[c].get(l)
			if now == rows[i].fields[c] {
				continue
			}
			if old {
				rows[i].fields, rows[i].raw, old = slices.Clone(rows[i].fields), "", false
			}
			rows[i].fields[c] = now
		}
	}
	return t.sheet.write(w, slices.Values(rows))
}

// newColumns returns the header of a new file.
func (t *Table) newColumns(form Form) ([]string, error) {
	columns := slices.Clone(formColumns[form])
	if form == LevelsForm {
		return t.levelColumns(), nil
	}
	if columns == nil {
		return nil, fmt.Errorf("form %.80q is not a CSV form; want one of %v", form, Forms[:5])
	}
	if form != CategoryForm && len(t.Levels) != 3 {
		return nil, fmt.Errorf("form %s has the levels landmark, supercategory and kind; these labels have %d (%s): write "+
			"the form %s", form, len(t.Levels), strings.Join(t.Levels, ", "), LevelsForm)
	}
	if form == HierarchicalForm && t.any(hasItem) {
		columns = append(columns, "wikidata_id")
	}
	if t.any(isPropagated) {
		columns = append(columns, "label_source")
	}
	if len(t.Splits()) > 1 {
		columns = append(columns, "split")
	}
	if t.any(func(l *LandmarkLabel) bool { return l.Image != "" }) {
		columns = append(columns, "image_id")
	}
	return columns, nil
}

// isPropagated reports whether a label is a guess, which a file must say in every form.
func isPropagated(l *LandmarkLabel) bool { return l.Source == Propagated }

// withColumn returns the table with another column in its CSV, if that lacks it.
func (t *Table) withColumn(name string) *Table {
	if t.sheet.column(name) >= 0 {
		return t
	}
	s := *t.sheet
	s.columns = append(slices.Clone(s.columns), name)
	s.header.fields, s.header.raw = append(slices.Clone(s.header.fields), name), ""
	s.rows = slices.Clone(s.rows)
	for i := range s.rows {
		s.rows[i].fields, s.rows[i].raw = append(slices.Clone(s.rows[i].fields), ""), ""
	}
	wide := *t
	wide.sheet, wide.Rows = &s, slices.Clone(t.Rows)
	for i := range wide.Rows {
		if wide.Rows[i].from == t.sheet {
			wide.Rows[i].from = &s
		}
	}
	return &wide
}

func hasItem(l *LandmarkLabel) bool { return l.Item != "" }

func (t *Table) levelColumns() []string {
	columns := []string{"split", "landmark_id"}
	for _, c := range []struct {
		name string
		used func(*LandmarkLabel) bool
	}{
		{"image_id", func(l *LandmarkLabel) bool { return l.Image != "" }},
		{"category", func(l *LandmarkLabel) bool { return l.Category != "" }},
		{"wikidata_id", hasItem},
		{"tag", func(l *LandmarkLabel) bool { return l.Tag != "" }},
		{"label_source", func(l *LandmarkLabel) bool { return l.Source != "" }},
	} {
		if t.any(c.used) {
			columns = append(columns, c.name)
		}
	}
	for l := range t.Levels {
		columns = append(columns, fmt.Sprintf("level_%d", l))
	}
	return columns
}

func (t *Table) any(is func(*LandmarkLabel) bool) bool {
	for l := range t.all() {
		if is(l) {
			return true
		}
	}
	return false
}
