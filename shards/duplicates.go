package shards

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"hgld/internal/terminal"
	"hgld/labels"
)

// Duplicates counts images whose bytes a data set has more than once. Bytes are compared by half of
// their SHA-256.
type Duplicates struct {
	Images         int            `json:"images"`                    // rows with the bytes of an earlier row
	BetweenSplits  []SharedImages `json:"between_splits,omitempty"`  // each two splits that share images
	BetweenClasses *SharedImages  `json:"between_classes,omitempty"` // images with different finest classes
}

// SharedImages counts the images of a split that another has too.
type SharedImages struct {
	Split    labels.Split `json:"split,omitempty"`   // whose images are counted
	AlsoIn   labels.Split `json:"also_in,omitempty"` // where they are, too
	Images   int          `json:"images"`            // of the split
	Examples [][2]string  `json:"examples"`          // paths of a few, and of the other image
}

// examplesListed is how many examples are kept of a kind.
const examplesListed = 5

// Notes says in words what spoils a training or the evaluation of some splits, or of any if none is named.
func (d *Duplicates) Notes(of ...labels.Split) (list []string) {
	if d == nil {
		return nil
	}
	for _, s := range d.BetweenSplits {
		if len(of) == 0 || slices.Contains(of, s.Split) || slices.Contains(of, s.AlsoIn) {
			list = append(list, s.note())
		}
	}
	if s := d.BetweenClasses; s != nil {
		list = append(list, fmt.Sprintf("%s the bytes of one of another class: %s is %s",
			terminal.Count(s.Images, "image")+map[bool]string{true: " has", false: " have"}[s.Images == 1], s.Examples[0][0],
			s.Examples[0][1]))
	}
	return list
}

// note says how many images two splits share.
func (s *SharedImages) note() string {
	is := map[bool]string{true: "is", false: "are"}[s.Images == 1]
	return fmt.Sprintf("%s of %s %s also in %s, byte for byte: %s is %s", terminal.Count(s.Images, "image"), s.Split, is,
		s.AlsoIn, s.Examples[0][0], s.Examples[0][1])
}

// sameBytes finds duplicates. It takes 24 bytes per row.
type sameBytes struct{ rows []hashedRow }

type hashedRow struct {
	key   [2]uint64
	row   int32 // in the order of the shards
	split int8  // by its place in labels.Splits
	class int32 // finest; −1 for none
}

func (b *sameBytes) add(r *Row) {
	key := [2]uint64{binary.LittleEndian.Uint64(r.SHA256[:]), binary.LittleEndian.Uint64(r.SHA256[8:])}
	b.rows = append(b.rows, hashedRow{key, int32(len(b.rows)), int8(slices.Index(labels.Splits, r.Split)), r.Labels[0]})
}

// pair is a kind of duplicates: of two splits, or of classes if both are −1.
type pair struct{ split, other int8 }

// find returns the duplicates, nil if there are none. path names rows.
func (b *sameBytes) find(paths func(rows map[int32]string) error) (*Duplicates, error) {
	slices.SortFunc(b.rows, func(x, y hashedRow) int {
		return cmp.Or(cmp.Compare(x.key[0], y.key[0]), cmp.Compare(x.key[1], y.key[1]), cmp.Compare(x.row, y.row))
	})
	d := &Duplicates{}
	counts, examples := map[pair]int{}, map[pair][][2]int32{}
	for start, end := 0, 0; start < len(b.rows); start = end {
		for end = start + 1; end < len(b.rows) && b.rows[end].key == b.rows[start].key; end++ {
		}
		same := b.rows[start:end]
		d.Images += len(same) - 1
		count(same, func(kind pair, row, other int32) {
			counts[kind]++
			if len(examples[kind]) < examplesListed {
				examples[kind] = append(examples[kind], [2]int32{row, other})
			}
		})
	}
	if d.Images == 0 {
		return nil, nil
	}
	names := map[int32]string{}
	for _, list := range examples {
		for _, e := range list {
			names[e[0]], names[e[1]] = "", ""
		}
	}
	if err := paths(names); err != nil {
		return nil, err
	}
	kinds := slices.SortedFunc(maps.Keys(counts), func(x, y pair) int {
		return cmp.Or(cmp.Compare(x.other, y.other), cmp.Compare(x.split, y.split))
	})
	for _, kind := range kinds {
		s := SharedImages{Images: counts[kind]}
		for _, e := range examples[kind] {
			s.Examples = append(s.Examples, [2]string{names[e[0]], names[e[1]]})
		}
		if kind.split < 0 {
			d.BetweenClasses = &s
			continue
		}
		s.Split, s.AlsoIn = labels.Splits[kind.split], labels.Splits[kind.other]
		d.BetweenSplits = append(d.BetweenSplits, s)
	}
	return d, nil
}

// count finds the duplicates among rows with the same bytes, in their order: each row once for each
// earlier split that has them, and once if an earlier row has another class. It takes linear time, since
// thousands of images may be one placeholder.
func count(same []hashedRow, found func(kind pair, row, other int32)) {
	first := make([]int32, len(labels.Splits)) // by split: its first row
	for i := range first {
		first[i] = -1
	}
	for _, r := range slices.Backward(same) {
		first[r.split] = r.row
	}
	var one, another *hashedRow // the first rows with two classes
	for i, r := range same {
		for split := range r.split {
			if i > 0 && first[split] >= 0 {
				found(pair{r.split, split}, r.row, first[split])
			}
		}
		switch {
		case r.class < 0:
		case one == nil:
			one = &same[i]
		case r.class != one.class:
			found(pair{-1, -1}, r.row, one.row)
			if another == nil {
				another = &same[i]
			}
		case another != nil:
			found(pair{-1, -1}, r.row, another.row)
		}
	}
}

// duplicates finds the duplicates among rows. It reads the shards again for the paths of examples.
func (s *Set) duplicates(ctx context.Context, b *sameBytes) (*Duplicates, error) {
	return b.find(func(rows map[int32]string) error {
		n := int32(0)
		for _, split := range s.manifest.Splits() {
			for _, sh := range s.of(split) {
				err := s.each(ctx, sh, func(_ int, row *Row) error {
					if _, wanted := rows[n]; wanted {
						rows[n] = row.Path
					}
					n++
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// ReadDuplicates returns what STATS.json says of images that the data set in dir has more than once, nil if
// there are none.
func ReadDuplicates(ctx context.Context, dir string) (*Duplicates, error) {
	text, err := ReadFile(ctx, dir, StatsFile)
	if err != nil {
		return nil, err
	}
	var stats Stats
	if err := json.Unmarshal(text, &stats); err != nil {
		return nil, fmt.Errorf("shards: %s: %w", dir, &DamageError{StatsFile, -1, err.Error()})
	}
	return stats.Duplicates, nil
}
