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

// mostPaths is how many paths a class may have in a training, whose losses compare each with each.
const mostPaths = 8

// wide returns the labels of the training's items as losses read them (loss.Batch), with the number of their paths.
// full are the classes by the numbers of the data, and dense by those of the run. Without further parents, dense is
// wide. Classes that no item of the training has in the tree get numbers beyond the others.
func (d *Data) wide(full, dense []labels.Path) (wide []labels.Path, paths int, err error) {
	parents, err := d.parents()
	if err != nil || parents == nil {
		return dense, 1, err
	}
	numbers := make([]map[int32]int32, len(full[0]))
	for l := range numbers {
		numbers[l] = map[int32]int32{}
		for i, p := range full {
			numbers[l][p[l]] = dense[i][l]
		}
	}
	of := map[int32][]labels.Path{} // by finest class
	for _, p := range full {
		if of[p[0]] == nil {
			of[p[0]] = parents.Paths(p[0])
			paths = max(paths, len(of[p[0]]))
		}
		if paths > mostPaths {
			return nil, 0, fmt.Errorf("further parents give the %s %.80q %d paths, want at most %d", d.Train.Levels()[0],
				d.Train.Classes(0)[p[0]], paths, mostPaths)
		}
	}
	rows := map[int32]labels.Path{} // by finest class
	for _, p := range full {
		if rows[p[0]] == nil {
			rows[p[0]] = sideBySide(of[p[0]], paths, numbers)
		}
		wide = append(wide, rows[p[0]])
	}
	return wide, paths, nil
}

// sideBySide joins paths to one of n, the last one repeated, by the numbers of the classes at each level. A class
// without a number gets the next one.
func sideBySide(list []labels.Path, n int, numbers []map[int32]int32) (row labels.Path) {
	for i := range n {
		for l, c := range list[min(i, len(list)-1)] {
			number, known := numbers[l][c]
			if !known {
				number = int32(len(numbers[l]))
				numbers[l][c] = number
			}
			row = append(row, number)
		}
	}
	return row
}

// furtherPrint identifies the further parents of the data, whatever their order; "": none.
func (d *Data) furtherPrint() string {
	if len(d.Further) == 0 {
		return ""
	}
	var list []string
	for _, f := range d.Further {
		list = append(list, strings.Join([]string{f.Level, f.Class, f.Parent}, "\x00"))
	}
	slices.Sort(list)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(list), "\x00\x00")))
	return hex.EncodeToString(sum[:])
}
