package labels

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
)

// CheckedFile is the result of CheckFile.
type CheckedFile struct {
	File     string    `json:"file"`     // path
	Kind     string    `json:"kind"`     // labels, tags, draft or hierarchy
	Errors   int       `json:"errors"`   // number of errors
	Warnings int       `json:"warnings"` // number of warnings: problems that may be intended
	Problems []Problem `json:"problems"` // errors and warnings, in the order of the file
	Table    *Table    `json:"-"`        // content of a label file, nil if it cannot be read
	Summary  string    `json:"-"`        // the content in a few words, "" if it cannot be read
}

var kindOfFile = regexp.MustCompile(`"hgld_(tags|draft|hierarchy)"\s*:`)

// CheckFile detects which file of this package the content is, and lists its faults. It
// returns an error only if the options do not fit a label file: a *SplitUnknownError,
// *SplitAskedError or *SplitError.
func CheckFile(path string, data []byte, o ReadOptions) (CheckedFile, error) {
	f := CheckedFile{File: path, Kind: fileKind(data), Problems: []Problem{}}
	r := bytes.NewReader(data)
	var err error
	switch f.Kind {
	case "tags":
		var records []Record
		_, records, err = ReadTags(r, path)
		f.Summary = fmt.Sprintf("%d landmarks", len(records))
		if len(records) == 1 {
			f.Summary = "1 landmark"
		}
	case "draft":
		var d *Draft
		if d, err = ReadDraft(r, path); err == nil {
			f.Summary = fmt.Sprintf("%d tags in %d clusters", len(d.Tags), len(d.Clusters))
		}
	case "hierarchy":
		var h *Hierarchy
		if h, err = ReadHierarchy(r, path); err == nil {
			f.lint(h)
		}
	default:
		if f.Table, err = Parse(r, path, o); err == nil {
			f.Problems = append(f.Problems, f.Table.Check()...)
			f.Summary = fmt.Sprintf("%d rows, %d with a label", len(f.Table.Rows), len(f.Table.Labelled().Rows))
		} else if errors.As(err, new(*SplitUnknownError)) || errors.As(err, new(*SplitAskedError)) ||
			errors.As(err, new(*SplitError)) {
			return f, err
		}
	}
	if err != nil {
		f.Problems = append(f.Problems, ProblemOf(path, err))
	}
	for _, p := range f.Problems {
		if p.Warning {
			f.Warnings++
		} else {
			f.Errors++
		}
	}
	return f, nil
}

// fileKind recognises the JSON files of hgld by their first key. Everything else is a
// label file.
func fileKind(data []byte) string {
	m := kindOfFile.FindSubmatch(data[:min(len(data), 1<<16)])
	if m == nil || !bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff"))), []byte("{")) {
		return "labels"
	}
	return string(m[1])
}

// lint checks the class names of all levels above the tags, which keep the spelling of
// the source.
func (f *CheckedFile) lint(h *Hierarchy) {
	for i, level := range h.Levels {
		names := map[string]bool{}
		for _, class := range level.Classes {
			names[class.Name] = true
		}
		if i > 0 {
			f.Problems = append(f.Problems, Lint(level.Name, names)...)
			f.Summary += " < "
		}
		f.Summary += fmt.Sprintf("%d %s", len(level.Classes), level.Name)
	}
	f.Summary += fmt.Sprintf("; %d without a parent", len(h.Unassigned()))
}
