package qrels

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

// Name returns an id as a name in a TREC file, whose columns are separated by white space: white space
// and percent signs are escaped as in addresses, and an empty id is a lone percent sign.
func Name(id string) string {
	if id == "" {
		return "%"
	}
	if !strings.ContainsFunc(id, escaped) {
		return id
	}
	var name strings.Builder
	for _, r := range id {
		if !escaped(r) {
			name.WriteRune(r)
			continue
		}
		for _, b := range []byte(string(r)) {
			fmt.Fprintf(&name, "%%%02X", b)
		}
	}
	return name.String()
}

func escaped(r rune) bool { return r == '%' || unicode.IsSpace(r) }

// Names maps ids and their names to rows. A name in a file is looked up as hgld writes it, and then as
// the id itself, as other programs write it.
func Names(ids []string) (map[string]int, error) {
	row := make(map[string]int, len(ids))
	for i, id := range ids {
		name := Name(id)
		if first, twice := row[name]; twice {
			return nil, fmt.Errorf("rows %d and %d have the same id, %.80q", first, i, id)
		}
		row[name] = i
	}
	for i, id := range ids {
		if _, taken := row[id]; !taken {
			row[id] = i
		}
	}
	return row, nil
}

// Stem returns the name of an image without folders and extension, as the ground truths of landmarks name it.
func Stem(id string) string {
	name := path.Base(id)
	return strings.TrimSuffix(name, path.Ext(name))
}

// stems adds the stems of ids to the rows of Names. Those of several ids lead to ambiguous.
func stems(row map[string]int, ids []string) {
	added := map[string]bool{}
	for i, id := range ids {
		stem := Stem(id)
		if _, taken := row[stem]; !taken {
			row[stem], added[stem] = i, true
		} else if added[stem] {
			row[stem] = ambiguous
		}
	}
}

// ambiguous stands for the row of a name that several ids have.
const ambiguous = -1
