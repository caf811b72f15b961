package curate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Detail is what differs of a tag or a class between two versions of a log, besides the group of a tag.
type Detail struct {
	Level int `json:"level"` // that of the tag or class
	// Ref is its name, and the item of a tag. That of a renamed class is the later one.
	Ref
	// What is "name"; the name of the next coarser level, for its parent; "extra parents"; "note",
	// "flag", or "reason" of a drop; or "class" if only one of the versions has it.
	What string `json:"what"`
	Was  string `json:"was"` // earlier value, "" for none
	Is   string `json:"is"`  // later one
}

// DetailsBetween lists what differs between the state after edit from and that after edit to, besides what
// ChangesBetween lists: names, parents, extra parents, notes, flags and reasons. The coarsest level comes first. A
// class counts as renamed if another name has the same tags below it, at least one.
func (s *Session) DetailsBetween(from, to int) ([]Detail, error) {
	past, now, err := s.statesAt(from, to)
	if err != nil {
		return nil, err
	}
	list := []Detail{}
	for l := len(s.names) - 1; l > 0; l-- {
		for _, p := range classPairs(l, past, now) {
			list = append(list, s.details(l, past, now, p[0], p[1])...)
		}
	}
	for i := range now.levels[0] {
		list = append(list, s.details(0, past, now, int32(i), int32(i))...)
	}
	return list, nil
}

// classPairs lists the classes of a level as positions in two states, −1 where a state has none: those of the later
// state first, by name.
func classPairs(level int, past, now *state) (pairs [][2]int32) {
	var gone []int32
	for i, n := range past.levels[level] {
		if _, live := now.index[level][n.Ref]; !n.gone && !live {
			gone = append(gone, int32(i))
		}
	}
	then, below := past.tagsBelow(level), now.tagsBelow(level)
	for i, n := range now.levels[level] {
		if n.gone {
			continue
		}
		was, known := past.index[level][n.Ref]
		if !known {
			was = -1
			at := slices.IndexFunc(gone, func(g int32) bool { return below[i] != "" && then[g] == below[i] })
			if at >= 0 {
				was, gone = gone[at], slices.Delete(gone, at, at+1)
			}
		}
		pairs = append(pairs, [2]int32{was, int32(i)})
	}
	slices.SortStableFunc(pairs, func(x, y [2]int32) int {
		return strings.Compare(now.at(level, x[1]).Name, now.at(level, y[1]).Name)
	})
	for _, g := range gone {
		pairs = append(pairs, [2]int32{g, -1})
	}
	return pairs
}

// tagsBelow lists, for each class of a level, the positions of the tags below it as a text.
func (s *state) tagsBelow(level int) []string {
	lists := make([]strings.Builder, len(s.levels[level]))
	for i := range s.levels[0] {
		at := int32(i)
		for l := 0; l < level && at >= 0; l++ {
			at = s.at(l, at).parent
		}
		if at >= 0 {
			lists[at].WriteString(strconv.Itoa(i) + " ")
		}
	}
	texts := make([]string, len(lists))
	for i := range lists {
		texts[i] = lists[i].String()
	}
	return texts
}

// details compares a tag or class in two states, by its positions there.
func (s *Session) details(level int, past, now *state, was, is int32) (list []Detail) {
	switch {
	case is < 0:
		n := past.at(level, was)
		return []Detail{{Level: level, Ref: n.Ref, What: "class", Was: n.Name}}
	case was < 0:
		n := now.at(level, is)
		return []Detail{{Level: level, Ref: n.Ref, What: "class", Is: n.Name}}
	}
	before, after := past.at(level, was), now.at(level, is)
	add := func(what, x, y string) {
		if x != y {
			list = append(list, Detail{Level: level, Ref: after.Ref, What: what, Was: x, Is: y})
		}
	}
	add("name", before.Name, after.Name)
	if level > 0 && level+1 < len(s.names) {
		add(s.names[level+1], past.parentName(level, before), now.parentName(level, after))
	}
	add("extra parents", strings.Join(before.extraParents(), ", "), strings.Join(after.extraParents(), ", "))
	add("note", before.note, after.note)
	add("flag", before.flagText(), after.flagText())
	if before.dropped && after.dropped {
		add("reason", before.reason, after.reason)
	}
	return list
}

// parentName is the name of the parent of a node, "" for none.
func (s *state) parentName(level int, n *node) string {
	if n.parent < 0 {
		return ""
	}
	return s.at(level+1, n.parent).Name
}

// flagText is the reason of a flag, which may be empty, or "" without a flag.
func (n *node) flagText() string {
	if n.flagged && n.flag == "" {
		return "no reason"
	}
	return n.flag
}

// DetailsText lists details, one to a line.
func (s *Session) DetailsText(list []Detail) string {
	var b strings.Builder
	for _, d := range list {
		what := fmt.Sprintf("%s %s -> %s", d.What, valueText(d.Was), valueText(d.Is))
		switch {
		case d.What == "class" && d.Was == "":
			what = "new"
		case d.What == "class":
			what = "gone"
		}
		fmt.Fprintf(&b, "%s %v: %s\n", s.names[d.Level], d.Ref, what)
	}
	return b.String()
}

// valueText puts a value in quotes, as long as its text is.
func valueText(value string) string {
	if value == "" {
		return nowhere
	}
	return quoted(value)
}
