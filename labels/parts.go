package labels

import "strings"

// SplitPlaceholder stands for the name of a split in the name of a file.
const SplitPlaceholder = "{split}"

// Part is the content of one file of labels.
type Part struct {
	Path string // the name of the file

	Table *Table // holds its rows
}

// BySplit assigns the rows of t to files. A name with SplitPlaceholder stands for one file for
// each split, in GLDv2's published layout with the tags as scraped; any other name takes all
// rows as they are.
func (t *Table) BySplit(name string) []Part {
	if !strings.Contains(name, SplitPlaceholder) {
		return []Part{{name, t}}
	}
	var parts []Part
	for _, split := range t.Splits() {
		table := t.filter(func(l *LandmarkLabel) bool { return l.Split == split }).withRaw()
		parts = append(parts, Part{strings.ReplaceAll(name, SplitPlaceholder, string(split)), table})
	}
	return parts
}

// withRaw returns a table whose tags are as scraped. The rows of t are not used again.
func (t *Table) withRaw() *Table {
	out := *t
	raw := func(yield func(*LandmarkLabel) bool) {
		for l := range t.all() {
			if l.Tag = l.Raw; !yield(l) {
				return
			}
		}
	}
	if out.made = raw; t.made == nil {
		out.Rows, out.made = out.collect(), nil
	}
	return &out
}

// PartNames lists the files that a name may stand for, as in [Table.BySplit]: for a name with
// SplitPlaceholder one for each of Splits, otherwise the name itself.
func PartNames(name string) (files []string) {
	if !strings.Contains(name, SplitPlaceholder) {
		return []string{name}
	}
	for _, split := range Splits {
		files = append(files, strings.ReplaceAll(name, SplitPlaceholder, string(split)))
	}
	return files
}
