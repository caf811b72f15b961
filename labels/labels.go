// Package labels defines landmarks and their classes, and reads and writes the files that
// pass between the stages of hgld: tags.jsonl (stage 1 to 2), draft.json (2 to 3),
// hierarchy.json (3 to 4), labels.csv and the label files of GLDv2.
//
// It imports only the standard library. No stage imports another; they meet in the types
// and files of this package.
package labels

import "slices"

// LandmarkID is the number of a landmark in the GLDv2 files. Train and index number
// their landmarks independently, so an id means nothing without its Split.
type LandmarkID int32

// Split names the part of a data set that an image or a landmark belongs to.
type Split string

// The splits of GLDv2 (train, index, test) and of retrieval benchmarks (query,
// gallery, val).
const (
	Train   Split = "train"
	Index   Split = "index"
	Test    Split = "test"
	Query   Split = "query"
	Gallery Split = "gallery"
	Val     Split = "val"
)

// Splits lists every known split.
var Splits = []Split{Train, Index, Test, Query, Gallery, Val}

// Tag is an "instance of" value as a curator sees it: its text, kept byte for byte, and
// its Wikidata item if the source has it. Qualifiers are the texts in parentheses after
// the value in the infobox.
type Tag struct {
	Name       string   `json:"name"`                 // the text, byte for byte
	QID        string   `json:"qid,omitempty"`        // Wikidata item of the class, "" if unknown
	Qualifiers []string `json:"qualifiers,omitempty"` // texts in parentheses behind the value
}

// Path holds the classes of one landmark, finest first: [landmark, supercategory, kind]
// for GLDv2, seven levels for iNaturalist, two for SOP. A class is the index of its
// name in the Level; −1 is none.
type Path []int32

// Shared returns the number of levels that two paths have in common, counted from the
// coarsest: 0 for a negative, len(p) for the same landmark. In a tree this equals the
// number of equal columns.
func (p Path) Shared(q Path) int {
	n := 0
	for l := len(p) - 1; l >= 0 && p[l] == q[l] && p[l] >= 0; l-- {
		n++
	}
	return n
}

// Related returns how many of the levels [from, to) two paths share, seen from p, or false if that
// is not known. A level that one of them lacks is known if the tree implies it: paths that share a
// class share all coarser levels, and paths that differ at a level differ at all finer ones. The
// number is known if p has a class in [from, to), and each level at which it has one is known.
//
// For paths that lack no level it is the number of equal columns.
func (p Path) Related(q Path, from, to int) (shared int, known bool) {
	equal, differ := len(p), -1 // the finest equal level, and the coarsest different one
	for l := len(p) - 1; l >= 0; l-- {
		switch {
		case p[l] < 0 || q[l] < 0:
		case p[l] == q[l]:
			equal = l
		default:
			differ = max(differ, l)
		}
	}
	for l := from; l < to; l++ {
		known = known || p[l] >= 0
		switch {
		case p[l] >= 0 && q[l] >= 0:
			if p[l] == q[l] {
				shared++
			}
		case equal < l:
			shared++
		case differ > l:
		case p[l] >= 0:
			return 0, false
		}
	}
	return shared, known
}

// Complete fills in the classes that rows lack and that other rows imply: if one row of a class names
// its parent, all rows of the class have it. It returns rows itself if none lacks a class that is
// implied, and otherwise a list in which it shares all other paths with rows.
func Complete(rows ...[]Path) [][]Path {
	known := map[int]map[int32]Path{} // by level and class: what is coarser
	uneven := false
	for _, list := range rows {
		for _, p := range list {
			n := p.Depth()
			uneven = uneven || n > 0 && n < len(p)
		}
	}
	if !uneven {
		return rows
	}
	for _, list := range rows {
		for _, p := range list {
			learn(known, p)
		}
	}
	all := make([][]Path, len(rows))
	for i, list := range rows {
		all[i] = make([]Path, len(list))
		for j, p := range list {
			all[i][j] = completed(known, p)
		}
	}
	return all
}

// learn notes the coarser classes of each class of a path.
func learn(known map[int]map[int32]Path, p Path) {
	for l, c := range p {
		if c < 0 {
			continue
		}
		if known[l] == nil {
			known[l] = map[int32]Path{}
		}
		of := known[l][c]
		for k := l + 1; k < len(p); k++ {
			if p[k] < 0 {
				continue
			}
			if of == nil {
				of = slices.Repeat(Path{-1}, len(p))
			}
			if of[k] < 0 {
				of[k] = p[k]
			}
		}
		if of != nil {
			known[l][c] = of
		}
	}
}

// completed returns p with what its classes imply.
func completed(known map[int]map[int32]Path, p Path) Path {
	own := p
	for l := range p {
		if own[l] < 0 {
			continue
		}
		for k, c := range known[l][own[l]] {
			if k > l && c >= 0 && own[k] < 0 {
				if &own[0] == &p[0] {
					own = slices.Clone(p)
				}
				own[k] = c
			}
		}
	}
	return own
}

// Depth counts the levels at which p has a class.
func (p Path) Depth() (n int) {
	for _, c := range p {
		if c >= 0 {
			n++
		}
	}
	return n
}
