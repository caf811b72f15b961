package retrieval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"hgld/labels"
)

// TaskHashes identifies what was ranked for what: equal hashes mean the same items with the same classes,
// whatever the classes are called and however the rows are ordered.
type TaskHashes struct {
	IDs     bool   `json:"ids"`            // items are known by their ids, and otherwise by their rows
	Items   string `json:"queries_sha256"` // of the queries
	Classes string `json:"truth_sha256"`   // of the queries with what is right for them
	Gallery string `json:"gallery_sha256"` // of the gallery and its classes
}

// ground computes the TaskHashes of an evaluation.
func (e *Evaluation) ground() *TaskHashes {
	queries, items := e.Query.order(), e.Gallery.order()
	g := &TaskHashes{IDs: queries != nil && items != nil}
	if !g.IDs {
		queries, items = nil, nil
	}
	classes := &numbering{}
	ranked := sha256.New()
	classes.write(ranked, &e.Gallery, items)
	g.Gallery = hex.EncodeToString(ranked.Sum(nil))
	asked, truth := sha256.New(), sha256.New()
	(&numbering{none: true}).write(asked, &e.Query, queries)
	classes.write(truth, &e.Query, queries)
	if of, has := e.Truth.(interface{ Hash(w io.Writer) }); has {
		of.Hash(truth)
	}
	g.Items, g.Classes = hex.EncodeToString(asked.Sum(nil)), hex.EncodeToString(truth.Sum(nil))
	return g
}

// order returns the rows sorted by id, or nil if they have no ids or one is there twice.
func (s *Side) order() []int {
	if len(s.IDs) != len(s.Labels) {
		return nil
	}
	rows := make([]int, len(s.IDs))
	for i := range rows {
		rows[i] = i
	}
	slices.SortFunc(rows, func(a, b int) int { return strings.Compare(s.IDs[a], s.IDs[b]) })
	for i, row := range rows[1:] {
		if s.IDs[row] == s.IDs[rows[i]] {
			return nil
		}
	}
	return rows
}

// numbering numbers the classes of each level in the order in which they are met.
type numbering struct {
	none   bool // write no classes
	levels []map[int32]uint32
}

// write writes the ids and classes of rows in an order, nil for their own.
func (n *numbering) write(to hash.Hash, s *Side, order []int) {
	var line []byte
	for i := range s.Labels {
		row := i
		line = line[:0]
		if order != nil {
			row = order[i]
			line = append(append(line, s.IDs[row]...), 0)
		}
		if !n.none {
			line = n.path(line, s.Labels[row])
		}
		if !n.none && len(s.Ignore) > 0 {
			line = n.number(line, len(s.Labels[row]), s.Ignore[row])
		}
		line = append(line, '\n')
		to.Write(line)
	}
}

func (n *numbering) path(line []byte, path labels.Path) []byte {
	for l, class := range path {
		line = n.number(line, l, class)
	}
	return line
}

// number appends the number of a class at a level; all ones for no class.
func (n *numbering) number(line []byte, level int, class int32) []byte {
	for len(n.levels) <= level {
		n.levels = append(n.levels, map[int32]uint32{})
	}
	number, known := n.levels[level][class]
	switch {
	case class < 0:
		number = ^uint32(0)
	case !known:
		number = uint32(len(n.levels[level]))
		n.levels[level][class] = number
	}
	return binary.LittleEndian.AppendUint32(line, number)
}

// TaskMismatch says why two results do not measure the same task, "" if they do, as far as they record it:
// they have other classes or another gallery. Other queries are no reason, if both have those compared.
func TaskMismatch(a, b *Result) string {
	switch {
	case a.Gallery > 0 && b.Gallery > 0 && a.Gallery != b.Gallery:
		return fmt.Sprintf("a gallery of %d items, and of %d", a.Gallery, b.Gallery)
	case len(a.Levels) != len(b.Levels):
		return fmt.Sprintf("the levels %s, and %s", strings.Join(a.Levels, ", "), strings.Join(b.Levels, ", "))
	case a.Gallery > 0 && b.Gallery > 0 && a.Queries == b.Queries && a.LeftOut != b.LeftOut:
		return fmt.Sprintf("%d queries left out of their own rankings, and %d", a.LeftOut, b.LeftOut)
	case a.Ground == nil || b.Ground == nil || a.Ground.IDs != b.Ground.IDs:
		return ""
	case a.Ground.Gallery != b.Ground.Gallery:
		return "other items or classes in the gallery"
	case a.Ground.Items == b.Ground.Items && a.Ground.Classes != b.Ground.Classes:
		return "other classes of the queries"
	}
	return ""
}
