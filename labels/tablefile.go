package labels

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
)

// TableVersion is the format version of labels.json that this version of hgld writes;
// it reads every version up to it.
const TableVersion = 1

// MarshalJSON writes Extra beside the fields.
func (t Table) MarshalJSON() ([]byte, error) {
	type plain Table
	return encodeObject((*plain)(&t), t.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (l LandmarkLabel) MarshalJSON() ([]byte, error) {
	type plain LandmarkLabel
	return encodeObject((*plain)(&l), l.Extra)
}

// ParseTable reads labels.json. Table.Build makes its Hierarchy, and Table.Conflicts
// lists the rows that contradict each other.
func ParseTable(r io.Reader, name string) (*Table, error) {
	doc, err := readDocument(r, name)
	if err != nil {
		return nil, err
	}
	t := &Table{name: name}
	if t.Version, err = doc.version("hgld_labels", TableVersion); err != nil {
		return nil, err
	}
	if err := doc.decode(t); err != nil {
		return nil, err
	}
	for i, l := range t.Rows {
		if l.Landmark < 0 || !slices.Contains(Splits, l.Split) {
			rows := doc.members(doc.root())
			all := rows[slices.IndexFunc(rows, func(m member) bool { return m.key == "rows" })].value
			return nil, doc.errorf(doc.elements(all)[i].start, "%.80q landmark %d: want an id from 0 up and a split of %v",
				l.Split, l.Landmark, Splits)
		}
	}
	for i := range t.Rows {
		if got := len(t.Rows[i].Names); got != len(t.Levels) {
			return nil, fmt.Errorf("%s: %d names, want one for each of the %d levels", t.where(i), got, len(t.Levels))
		}
	}
	return t, t.checkRows()
}

// WriteTable writes labels.json with one row per line, in the current format version.
func WriteTable(w io.Writer, t *Table) error {
	current := *t
	current.Version, current.Rows = TableVersion, []LandmarkLabel{}
	var frame bytes.Buffer
	if err := writeDocument(&frame, "labels", current.MarshalJSON); err != nil {
		return err
	}
	// The first such text begins the rows: in a string, an escape stands for a line break.
	const rows = "\n  \"rows\": ["
	begin, end, _ := bytes.Cut(frame.Bytes(), []byte(rows))
	b := bufio.NewWriter(w)
	b.Write(begin)
	b.WriteString(rows)
	var line bytes.Buffer
	n := 0
	for l := range t.all() {
		data, err := l.MarshalJSON()
		if err != nil {
			return fmt.Errorf("labels: %w", err)
		}
		line.Reset()
		separate(&line, n, "    ")
		d := &document{data: data}
		d.layout(&line, d.root(), "    ", true)
		b.Write(line.Bytes())
		n++
	}
	if n > 0 {
		b.WriteString("\n  ")
	}
	b.Write(end)
	return b.Flush()
}

// Write writes t in the given form: labels.json or a CSV.
func (t *Table) Write(w io.Writer, form Form) error {
	if form == JSONForm {
		return WriteTable(w, t)
	}
	return WriteCSV(w, t, form)
}

// Read reads a label file of any form, recognised by its first character, and makes its
// Hierarchy. If the rows are not a tree, it returns a *ParentsError.
func Read(r io.Reader, name string, o ReadOptions) (*Table, error) {
	t, err := Parse(r, name, o)
	if err != nil {
		return nil, err
	}
	return t, t.Build()
}

// Parse is Read without the Hierarchy and Paths, for Table.Conflicts.
func Parse(r io.Reader, name string, o ReadOptions) (*Table, error) {
	all := bufio.NewReader(r)
	first, err := all.Peek(len("\ufeff{")) // the reader decides about a byte order mark
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !bytes.HasPrefix(bytes.TrimPrefix(first, []byte("\ufeff")), []byte("{")) {
		return ParseCSV(all, name, o)
	}
	t, err := ParseTable(all, name)
	if err != nil {
		return nil, err
	}
	t.OneIDSpace = t.OneIDSpace || o.OneIDSpace
	return t, t.only(o.Split)
}

// only rejects a table with rows of another split than the requested one.
func (t *Table) only(split Split) error {
	for i := range t.Rows {
		if split != "" && t.Rows[i].Split != split {
			return &SplitAskedError{Where: t.where(i), Found: t.Rows[i].Split, Asked: split}
		}
	}
	return nil
}
