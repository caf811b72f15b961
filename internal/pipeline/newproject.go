package pipeline

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/settings"
)

// NewProject describes the hgld.yaml of a project that is about to start.
type NewProject struct {
	// Head is the text above the stages.
	Head string
	// Stages names the stages in use. If empty, all of them are.
	Stages []string
	// Values holds the settings to write, as YAML on one line, by their keys: "train.optim.lr". All
	// other settings of the stages in use are listed with their defaults, commented out.
	Values map[string]string
}

// Text returns the hgld.yaml.
func (l *Pipeline) Text(n NewProject) (string, error) {
	var b strings.Builder
	b.WriteString(n.Head)
	if len(n.Stages) > 0 {
		fmt.Fprintf(&b, "\n# the stages in use; the others are off\n%s: [%s]\n", StagesKey, strings.Join(n.Stages, ", "))
	}
	for _, s := range l.Stages {
		if len(n.Stages) > 0 && !slices.Contains(n.Stages, s.Name) {
			continue
		}
		fmt.Fprintf(&b, "\n%s:                # hgld %s\n", s.Name, s.Command)
		for _, f := range settings.Fields(s.Settings()) {
			line, err := f.Commented()
			if value := n.Values[s.Name+"."+f.Key()]; value != "" {
				line = f.Line(value)
			}
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&b, line)
		}
	}
	return b.String(), nil
}

// PathFrom returns a path relative to a folder, as the hgld.yaml in that folder names it. It
// returns an absolute path unchanged.
func PathFrom(folder, path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	from, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(from, to)
	return filepath.ToSlash(rel), err
}

// List returns texts as a YAML list on one line, and "" for none.
func List(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = strconv.Quote(text)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
