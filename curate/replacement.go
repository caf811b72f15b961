package curate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hgld/labels"
)

// Replacement says what is lost when a hierarchy takes the place of one that other logs made,
// such as that of two curators and their adjudicator.
type Replacement struct {
	Path string   // path of the hierarchy that is replaced
	Logs []string // names of the logs that it was made from
	// Changes are the classes that change their parent: the class, its parent there, and the new
	// one. The tags come first.
	Changes [][3]string
	// Changed and Tags are the numbers of tags that change, and of all.
	Changed, Tags int
}

// Replaces compares h, made from own logs, with the hierarchy at path. It returns nil if there is
// none, if own names every log that it was made from, or if no class changes its parent.
func Replaces(path string, own []string, h *labels.Hierarchy) (*Replacement, error) {
	old, logs, err := othersHierarchy(path, own)
	if err != nil || old == nil {
		return nil, err
	}
	r := &Replacement{Path: path, Logs: logs, Tags: len(h.Levels[0].Classes)}
	for l := range h.Levels {
		was, now := parentsByName(old, l), parentsByName(h, l)
		for _, class := range h.Levels[l].Classes {
			if before, known := was[class.Name]; known && before != now[class.Name] {
				r.Changes = append(r.Changes, [3]string{class.Name, before, now[class.Name]})
			}
		}
		if l == 0 {
			r.Changed = len(r.Changes)
		}
	}
	if len(r.Changes) == 0 {
		return nil, nil
	}
	return r, nil
}

// MadeByOthers reports whether the hierarchy at path was made from logs that own does not name. There
// need not be one.
func MadeByOthers(path string, own []string) (bool, error) {
	old, _, err := othersHierarchy(path, own)
	return old != nil, err
}

// othersHierarchy reads the hierarchy at path with the names of its logs. It returns nil if there is
// none, or if own names all of its logs.
func othersHierarchy(path string, own []string) (*labels.Hierarchy, []string, error) {
	h, err := labels.OpenHierarchy(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var origin struct {
		Logs []struct {
			Name string `json:"name"`
		} `json:"logs"`
	}
	if len(h.Origin) == 0 || json.Unmarshal(h.Origin, &origin) != nil {
		return nil, nil, nil
	}
	var names []string
	others := false
	for _, l := range origin.Logs {
		names = append(names, l.Name)
		others = others || !slices.ContainsFunc(own, func(path string) bool { return filepath.Base(path) == l.Name })
	}
	if !others {
		return nil, nil, nil
	}
	return h, names, nil
}

// parentsByName returns the name of the parent of each class of a level.
func parentsByName(h *labels.Hierarchy, level int) map[string]string {
	if level >= len(h.Levels) {
		return nil
	}
	parents := map[string]string{}
	for _, class := range h.Levels[level].Classes {
		switch {
		case class.Dropped != "":
			parents[class.Name] = Category{Dropped: true}.String()
		case class.Parent < 0 || level+1 >= len(h.Levels):
			parents[class.Name] = "(none)"
		default:
			parents[class.Name] = h.Levels[level+1].Classes[class.Parent].Name
		}
	}
	return parents
}

// mostChanges is the number of changes that Text lists.
const mostChanges = 8

// Text says what would be lost.
func (r *Replacement) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s was made from %s. %d of %d tags would be in another group", r.Path, strings.Join(r.Logs, ", "),
		r.Changed, r.Tags)
	if groups := len(r.Changes) - r.Changed; groups > 0 {
		fmt.Fprintf(&b, "; groups under another parent: %d", groups)
	}
	b.WriteByte('\n')
	for _, change := range r.Changes[:min(len(r.Changes), mostChanges)] {
		fmt.Fprintf(&b, "  %s: %s → %s\n", change[0], change[1], change[2])
	}
	if more := len(r.Changes) - mostChanges; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
