package evaluation

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"hgld/labels"
	"hgld/train/input"
	"hgld/train/retrieval"
)

// ParentsOf joins the parents of the classes of data sets that have the same classes with parents ones; see
// [labels.NewParents]. Nil data sets are ignored.
func ParentsOf(list []labels.ExtraParent, sets ...input.Dataset) (*labels.Parents, error) {
	var first input.Dataset
	var rows [][]labels.Path
	for _, d := range sets {
		if d == nil {
			continue
		}
		if first == nil {
			first = d
		}
		rows = append(rows, PathsOf(d))
	}
	return labels.NewParents(first.Levels(), first.Classes, list, rows...)
}

// TruthOf returns what decides in an evaluation by extra parents, or nil without any: the labels do. A nil gallery
// is the queries.
func TruthOf(list []labels.ExtraParent, query, gallery input.Dataset) (retrieval.Truth, error) {
	if len(list) == 0 {
		return nil, nil
	}
	asked := PathsOf(query)
	ranked := asked
	if gallery != nil {
		ranked = PathsOf(gallery)
	}
	t, err := retrieval.NewMultiParent(query.Levels(), query.Classes, asked, ranked, list)
	if err != nil {
		return nil, err // not a nil *MultiParent, which would be a Truth
	}
	return t, nil
}

// PathsOf returns the labels of all items.
func PathsOf(d input.Dataset) []labels.Path {
	list := make([]labels.Path, d.Len())
	for i := range list {
		list[i] = d.Labels(i)
	}
	return list
}

// ExtraParentsPrint identifies extra parents of classes, whatever their order; "": none.
func ExtraParentsPrint(parents []labels.ExtraParent) string {
	if len(parents) == 0 {
		return ""
	}
	var list []string
	for _, f := range parents {
		list = append(list, strings.Join([]string{f.Level, f.Class, f.Parent}, "\x00"))
	}
	slices.Sort(list)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(list), "\x00\x00")))
	return hex.EncodeToString(sum[:])
}
