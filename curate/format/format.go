// Package format reads and writes the files that exchange a curation: the spreadsheet
// of the authors of H-GLDv2, with two columns per cluster, GLDv2's published labels,
// lists of groups, SKOS, and hgld's own draft.json and hierarchy.json.
//
// Every format reads and writes a Document. Edits turns a Document into edits of a log,
// so that an import can be listed, reverted and replayed like any other curation. Lint
// finds damage that a person or a spreadsheet has done to a file, and Diff compares two
// files.
package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/labels"
)

// Document is the content of a file about a curation.
type Document struct {
	// Hierarchy holds the classes. Its finest level holds tags and may be empty; a
	// group may be without members.
	Hierarchy *labels.Hierarchy
	// Landmarks is the number of landmarks that carry a class, by level and name; nil
	// if the file has no counts.
	Landmarks []map[string]int
	Images    map[string]int // number of images of each tag, if the file counts them

	ExtraParents []labels.ExtraParent // extra parents of classes, if the file has any

	Sources []string // programs that made the proposals, if the file names them

	suggestions []suggestion // of each tag, if the file ranks them

	Draft *labels.Draft // file itself if it is a draft, otherwise nil
	Table *labels.Table // file itself if it is a label file, otherwise nil

	form labels.Form // form to write Table in; "" for the form it was read in
	read string      // name of the format that the document was read in

	separated string   // how its columns were separated, if not by commas
	language  string   // of its names, if they are of one
	languages []string // others that names are in

	place func(tag string) (row int, column string) // of a tag in the file; nil if the format does not know
}

// Format is a kind of file.
type Format struct {
	// Read reads a file in which Lint finds no error. Its errors begin with the file's
	// name and, if possible, the line.
	Read func(data []byte, name string, o labels.ReadOptions) (*Document, error)
	// Write writes a document.
	Write func(w io.Writer, d *Document) error

	holds holding
	is    func(data []byte) bool
	lint  func(data []byte, name string, o labels.ReadOptions) ([]Problem, *Document)
}

// Formats are the formats by name. A file is taken for the first format that it looks
// like.
var Formats = registry.Table[Format]{
	{Name: "hierarchy", About: "hierarchy.json", Value: Format{
		Read: readHierarchy, Write: writeHierarchy, is: isDocument("hgld_hierarchy"), lint: lintNames(readHierarchy),
		holds: holding{items: true, drops: true, open: true, proposals: true, notes: true, levels: true,
			empty: true, rules: true}}},
	{Name: "draft", About: "draft.json: clusters, to curate from", Value: Format{
		Read: readDraft, Write: writeDraft, is: isDocument("hgld_draft"), lint: lintNames(readDraft),
		holds: holding{items: true, open: true, counts: true}}},
	{Name: "labels", About: "GLDv2's published CSV, a row a landmark", Value: Format{
		Read: readLabels, Write: writeLabels, is: isLabels, lint: lintLabels,
		holds: holding{levels: true, counts: true}}},
	{Name: "skos", About: "SKOS with levels by XKOS, in Turtle", Value: Format{
		Read: readSKOS, Write: writeSKOS, is: isTurtle, lint: lintNames(readSKOS),
		holds: holding{items: true, drops: true, open: true, notes: true, levels: true, empty: true, counts: true,
			extra: true}}},
	{Name: "suggestions", About: "proposals of another program: tag, group, score, source; " +
		"as JSON lines with reasons", Value: Format{
		Read: readSuggestions, Write: writeSuggestions, is: isSuggestions, lint: lintNames(readSuggestions),
		holds: holding{proposals: true, proposalsOnly: true}}},
	{Name: "extra-parents", About: "extra parents of classes: level, class, extra_parent", Value: Format{
		Read: readExtra, Write: writeExtra, is: isExtra, lint: lintNames(readExtra),
		holds: holding{extra: true, extraOnly: true}}},
	{Name: "groups", About: "a list of groups: group, parent, landmarks", Value: Format{
		Read: readGroups, Write: writeGroups, is: isGroups, lint: lintNames(readGroups),
		holds: holding{open: true, levels: true, empty: true, groupsOnly: true}}},
	{Name: "sheet", About: "the authors' spreadsheet as CSV, two columns a group", Value: Format{
		Read: readSheet, Write: writeSheet, is: func([]byte) bool { return true }, lint: lintSheet,
		holds: holding{counts: true, empty: true}}},
}

// Detect returns the name of the format that a file looks like.
func Detect(data []byte) string {
	at := slices.IndexFunc(Formats, func(e registry.Entry[Format]) bool { return e.Value.is(data) })
	return Formats[at].Name
}

// The kinds of files of hgld that no format reads.
const (
	EditsFile = "a log of edits"
	TagsFile  = "the tags of stage 1"
)

// ownFiles are these kinds by the first field of a file.
var ownFiles = map[string]string{"hgld_edits": EditsFile, "hgld_tags": TagsFile}

// OtherError is the error for a file of hgld that is not in one of the formats.
type OtherError struct {
	Name string // of the file
	Kind string // EditsFile or TagsFile
}

// Error names the file and what it is instead.
func (e *OtherError) Error() string {
	return fmt.Sprintf("%s: none of the formats of a curation, but %s", e.Name, e.Kind)
}

// ErrNoLandmarks is the error of writing a document without landmarks as a label file.
var ErrNoLandmarks = errors.New("a label file has one row per landmark, and this document has no landmarks")

// noText returns an error if a file contains zero bytes, as a crash or a failing disk
// leaves them and UTF-16 has them. Almost any other file could be a list of groups.
func noText(data []byte, name string) error {
	at := bytes.IndexByte(data, 0)
	if at < 0 {
		return nil
	}
	line := 1 + bytes.Count(data[:at], []byte("\n"))
	if zeros := bytes.Count(data, []byte{0}); zeros == len(data) {
		return fmt.Errorf("%s: all of its %d bytes are zero: the file is damaged; take it from a backup", name, zeros)
	}
	return fmt.Errorf("%s:%d: contains a zero byte: the file is damaged, or not in UTF-8", name, line)
}

// Named returns the format of a name, to which SKOS may add the language of the names that are read: skos:fr.
func Named(name string) (Format, error) {
	base, language, chosen := strings.Cut(name, ":")
	if !chosen || base != "skos" || language == "" {
		return Formats.Get("format", name)
	}
	f, err := Formats.Get("format", base)
	f.Read = func(data []byte, name string, o labels.ReadOptions) (*Document, error) {
		return readSKOSIn(data, name, primary(language))
	}
	f.lint = lintNames(f.Read)
	return f, err
}

// choose returns a format by its name or, if that is "", the format that the data look
// like.
func choose(data []byte, name, format string) (string, Format, error) {
	if format == "" {
		for field, kind := range ownFiles {
			if isDocument(field)(data) {
				return "", Format{}, &OtherError{name, kind}
			}
		}
		format = Detect(data)
	}
	f, err := Named(format)
	format, _, _ = strings.Cut(format, ":")
	return format, f, err
}

// Read reads a file of the named format or, if format is "", of the format that it
// looks like.
func Read(data []byte, name, format string, o labels.ReadOptions) (*Document, error) {
	data, separated, err := plain(data, name, format)
	if err != nil {
		return nil, err
	}
	if err := noText(data, name); err != nil {
		return nil, err
	}
	format, f, err := choose(data, name, format)
	if err != nil {
		return nil, err
	}
	d, err := f.Read(data, name, o)
	if err != nil {
		return nil, err
	}
	d.read, d.separated = format, separated
	return d, nil
}

// Write writes a document in a format, and lists what the format cannot hold of it.
func (d *Document) Write(w io.Writer, format string) (lost []string, err error) {
	f, err := Formats.Get("format", format)
	if err != nil {
		return nil, err
	}
	if d.read != format {
		lost = d.lost(f.holds)
	}
	return lost, f.Write(w, d)
}

// holding says what a format can hold in addition to tags and their groups.
type holding struct {
	items, drops, open, proposals, notes, levels, empty, counts bool
	rules                                                       bool
	groupsOnly                                                  bool
	proposalsOnly                                               bool
	extra, extraOnly                                            bool
}

// lost lists what a file of the format cannot hold of d.
func (d *Document) lost(h holding) []string {
	var list []string
	say := func(held bool, n int, one, many string) {
		if held || n == 0 {
			return
		}
		if n > 1 {
			one = many
		}
		list = append(list, fmt.Sprintf("%d %s", n, one))
	}
	var items, dropped, open, proposals, notes, upper int
	members := map[int32]bool{}
	levels := d.Hierarchy.Levels
	for l, level := range levels {
		for i, c := range level.Classes {
			if c.Note != "" {
				notes++
			}
			if c.QID != "" {
				items++
			}
			if l == 0 && d.proposes(i) {
				proposals++
			}
			switch {
			case l > 1:
				upper++
			case l > 0 || len(levels) == 1:
			case c.Dropped != "":
				dropped++
			case c.Parent < 0:
				open++
			default:
				members[c.Parent] = true
			}
		}
	}
	empty := 0
	if len(levels) > 1 {
		empty = len(levels[1].Classes) - len(members)
	}
	say(h.extra, len(d.ExtraParents), "extra parent", "extra parents")
	say(h.rules, len(d.Hierarchy.Rules), "rule", "rules")
	if h.proposalsOnly {
		say(false, len(levels[0].Classes)-proposals, "tag that is not proposed", "tags that are not proposed")
		return list
	}
	say(!h.groupsOnly && !h.extraOnly, len(levels[0].Classes), "tag", "tags")
	say(h.items, items, "Wikidata item", "Wikidata items")
	say(h.drops || h.groupsOnly, dropped, "dropped tag with its reason", "dropped tags with their reasons")
	say(h.open, open, "tag without a group", "tags without a group")
	say(h.proposals || h.groupsOnly, proposals, "proposal", "proposals")
	say(h.notes, notes, "note", "notes")
	say(h.levels, upper, "class above the groups", "classes above the groups")
	say(h.empty, empty, "group without members", "groups without members")
	say(h.counts || h.groupsOnly, len(d.count(0)), "count of landmarks", "counts of landmarks")
	return list
}

// ReadAs says as which format the document was read, and how its columns were separated.
func (d *Document) ReadAs() string {
	text := d.read
	if at := slices.Index(Formats.Names(), d.read); at >= 0 {
		text += " (" + Formats[at].About + ")"
	}
	if d.language != "" {
		text += fmt.Sprintf(", with names in %.20q", d.language)
	}
	if d.separated != "" {
		text += ", with " + d.separated + " between the columns"
	}
	return text
}

// Languages returns the language of the names, and the others that the file has.
func (d *Document) Languages() (language string, others []string) { return d.language, d.languages }

// Groups returns the names of the groups in their order.
func (d *Document) Groups() []string {
	if len(d.Hierarchy.Levels) < 2 {
		return nil
	}
	var names []string
	for _, c := range d.Hierarchy.Levels[1].Classes {
		names = append(names, c.Name)
	}
	return names
}

// count returns the landmarks of the classes of a level; it may be nil.
func (d *Document) count(level int) map[string]int {
	if level >= len(d.Landmarks) {
		return nil
	}
	return d.Landmarks[level]
}

// CountBy takes the counts of landmarks and images from a draft with the same tags, and
// the Wikidata items that d lacks. A document without tags keeps its own counts.
func (d *Document) CountBy(draft *labels.Draft) {
	if len(d.Hierarchy.Levels[0].Classes) == 0 {
		return
	}
	counts, items := map[string]int{}, map[string]string{}
	d.Images = map[string]int{}
	for _, t := range draft.Tags {
		counts[t.Name] += t.Landmarks
		if t.Images > 0 {
			d.Images[t.Name] += t.Images
		}
		if _, twin := items[t.Name]; twin {
			t.QID = "" // one text with two items
		}
		items[t.Name] = t.QID
	}
	above := map[string]int{}
	tags := d.Hierarchy.Levels[0].Classes
	for i := range tags {
		if tags[i].QID == "" {
			tags[i].QID = items[tags[i].Name]
		}
		if tags[i].Parent >= 0 && len(d.Hierarchy.Levels) > 1 {
			above[d.Hierarchy.Levels[1].Classes[tags[i].Parent].Name] += counts[tags[i].Name]
		}
	}
	d.Landmarks = []map[string]int{counts, above}
}

// CountByTags takes the counts of landmarks from the records of stage 1. A document
// without tags keeps its own counts.
func (d *Document) CountByTags(records []labels.Record) {
	if len(d.Hierarchy.Levels[0].Classes) == 0 {
		return
	}
	counts := map[string]int{}
	for _, r := range records {
		if r.Outcome == labels.OK {
			counts[r.Tag]++
		}
	}
	d.Landmarks = []map[string]int{{}, {}}
	for _, c := range d.Hierarchy.Levels[0].Classes {
		d.Landmarks[0][c.Name] = counts[c.Name]
		if c.Parent >= 0 {
			d.Landmarks[1][d.Hierarchy.Levels[1].Classes[c.Parent].Name] += counts[c.Name]
		}
	}
}

// LabelBy gives d the landmarks of stage 1, so that it can be written as labels.
func (d *Document) LabelBy(records []labels.Record) error {
	table, err := labels.Build(records, d.Hierarchy)
	if err != nil {
		return err
	}
	d.Table, d.form = table.Labelled(), labels.HierarchicalForm
	return nil
}

// entry is one row of a file: a tag with the classes above it, finest first, or a group
// alone if the tag is "".
type entry struct {
	names []string
	qid   string
	where string
}

// gather makes the hierarchy of entries, with classes in the order of the file. A class
// with two parents is a *labels.ParentsError.
func gather(levels []string, entries []entry) (*labels.Hierarchy, error) {
	groups, tags := labels.NewBuilder(levels[1:]...), labels.NewBuilder(levels[:2]...)
	items := map[string]string{}
	for _, e := range entries {
		if e.names[1] != "" {
			if _, err := groups.Add(labels.Row{Names: e.names[1:], Where: e.where}); err != nil {
				return nil, err
			}
		}
		if e.names[0] != "" {
			if _, err := tags.Add(labels.Row{Names: e.names[:2], Where: e.where}); err != nil {
				return nil, err
			}
			items[e.names[0]] = e.qid
		}
	}
	h, below := groups.Hierarchy(), tags.Hierarchy()
	at := map[string]int32{}
	for i, c := range h.Levels[0].Classes {
		at[c.Name] = int32(i)
	}
	finest := below.Levels[0]
	for i := range finest.Classes {
		c := &finest.Classes[i]
		c.QID = items[c.Name]
		if c.Parent >= 0 {
			c.Parent = at[below.Levels[1].Classes[c.Parent].Name]
		}
	}
	h.Levels = slices.Insert(h.Levels, 0, finest)
	return h, h.Check()
}

// isDocument recognises hgld's JSON documents by the field of their version.
func isDocument(field string) func([]byte) bool {
	return func(data []byte) bool {
		head := bytes.TrimSpace(data[:min(len(data), 1<<16)])
		return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"`+field+`"`))
	}
}

func firstLine(data []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
	return string(bytes.TrimSuffix(line, []byte("\r")))
}
