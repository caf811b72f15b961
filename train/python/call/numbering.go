package call

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"hgld/labels"
)

// Numbering numbers the classes of a folder of shards, the same for all of its splits.
type Numbering struct {
	Names [][]string // names of the classes of each level, by number
	First []int      // of each level, the number of classes of the rows to train on, which are the first
	of    [][]int32  // number of each class of the folder, by level
}

// NewNumbering numbers all classes of a folder, whose names classes has by level: from 0 those of the rows to train
// on, as a training numbers them, then those that are held out of it, and then the others, each part in the order of
// the folder.
func NewNumbering(classes [][]string, train, held []labels.Path) *Numbering {
	n := new(Numbering)
	for level, names := range classes {
		numbers := slices.Repeat([]int32{-1}, len(names))
		var ordered []string
		add := func(present func(class int32) bool) {
			for c := range names {
				if numbers[c] < 0 && present(int32(c)) {
					numbers[c], ordered = int32(len(ordered)), append(ordered, names[c])
				}
			}
		}
		for _, rows := range [][]labels.Path{train, held} {
			seen := map[int32]bool{}
			for _, row := range rows {
				seen[row[level]] = true
			}
			add(func(class int32) bool { return seen[class] })
			if len(n.First) == level {
				n.First = append(n.First, len(ordered))
			}
		}
		add(func(int32) bool { return true })
		n.Names, n.of = append(n.Names, ordered), append(n.of, numbers)
	}
	return n
}

// Labels returns rows in this numbering.
func (n *Numbering) Labels(rows []labels.Path) []labels.Path {
	list := make([]labels.Path, len(rows))
	for i, row := range rows {
		list[i] = make(labels.Path, len(row))
		for level, class := range row {
			list[i][level] = -1
			if class >= 0 {
				list[i][level] = n.of[level][class]
			}
		}
	}
	return list
}

// ID returns a text that is equal for equal numberings alone.
func (n *Numbering) ID() string {
	text, err := json.Marshal(n.Names)
	if err != nil {
		panic(err) // lists of texts always have JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
