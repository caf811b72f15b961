package qrels

import (
	"fmt"
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
