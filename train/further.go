package train

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"hgld/labels"
	"hgld/train/input"
	"hgld/train/retrieval"
)

// ParentsOf joins the parents of the classes of data sets that have the same classes with further ones; see
// [labels.NewParents]. Nil data sets are ignored.
func ParentsOf(list []labels.FurtherParent, sets ...input.Dataset) (*labels.Parents, error) {
	var first input.Dataset
	var rows [][]labels.Path
	for _, d := range sets {
		if d == nil {
			continue
		}
		if first == nil {
			first = d
		}
		rows = append(rows, pathsOf(d))
	}
	return labels.NewParents(first.Levels(), first.Classes, list, rows...)
}

// TruthOf returns what decides in an evaluation by further parents, or nil without any: the labels do. A nil gallery
// is the queries.
func TruthOf(list []labels.FurtherParent, query, gallery input.Dataset) (retrieval.Truth, error) {
	if len(list) == 0 {
		return nil, nil
	}
	asked := pathsOf(query)
	ranked := asked
	if gallery != nil {
		ranked = pathsOf(gallery)
	}
	t, err := retrieval.NewFurther(query.Levels(), query.Classes, asked, ranked, list)
	if err != nil {
		return nil, err // not a nil *Further, which would be a Truth
	}
	return t, nil
}

// pathsOf returns the labels of all items.
func pathsOf(d input.Dataset) []labels.Path {
	list := make([]labels.Path, d.Len())
	for i := range list {
		list[i] = d.Labels(i)
	}
	return list
}

// parents joins the parents of the classes of the data with the further ones, of which at least one must be of a class
// there. nil: there are none.
func (d *Data) parents() (*labels.Parents, error) {
	if len(d.Further) == 0 {
		return nil, nil
	}
	p, err := ParentsOf(d.Further, d.Train, d.Validation, d.Query, d.Gallery)
	if err != nil {
		return nil, err
	}
	return p, p.CheckUsed(d.Further)
}

// furtherPrint identifies the further parents of the data, whatever their order; "": none.
func (d *Data) furtherPrint() string {
	if len(d.Further) == 0 {
		return ""
	}
	var list []string
	for _, f := range d.Further {
		list = append(list, fmt.Sprintf("%q %q %q", f.Level, f.Class, f.Parent))
	}
	slices.Sort(list)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(list), "\n")))
	return hex.EncodeToString(sum[:])
}
