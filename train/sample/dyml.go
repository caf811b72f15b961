package sample

import (
	"fmt"

	"hgld/labels"
)

// DyML makes batches of items. Each item has M rows of one class of every level: with three
// levels, M rows of a fine, M of a middle and M of a coarse class (Sun et al., "Dynamic Metric
// Learning", CVPR 2021, whose released data set has M = 4). At each level, item i has the class
// number i modulo the number of classes there. An epoch has N/M items in random order. The rows
// of a class are drawn without repeats if it has M, and with repeats otherwise. Items that do not
// fill a batch are dropped, and so are rows without a finest class.
type DyML struct {
	Batch int `yaml:"batch"` // rows of a batch, a multiple of M times the levels
	M     int `yaml:"m"`     // rows of a class in an item, at least 2
}

// Size is Batch.
func (s *DyML) Size() int { return s.Batch }

// Epoch makes the items of each batch.
func (s *DyML) Epoch(rows []labels.Path, seed uint64, epoch int) ([][]int, error) {
	if err := checkBatch(s.Batch, s.M); err != nil {
		return nil, err
	}
	order := byPath(rows, false)
	if len(order) == 0 {
		return nil, fmt.Errorf("sample: no row has a class at the finest level")
	}
	levels, err := s.levels(rows, order)
	if err != nil {
		return nil, err
	}
	perItem := s.M * len(levels)
	if s.Batch%perItem != 0 {
		return nil, fmt.Errorf("sample: batch is %d, want a multiple of m = %d rows at each of %d levels",
			s.Batch, s.M,
			len(levels))
	}
	items := len(order) / s.M
	batches := make([][]int, items*perItem/s.Batch)
	if len(batches) == 0 {
		return nil, fmt.Errorf("sample: %d rows with a class make %d items of %d, too few to fill a batch of %d", len(order),
			items, perItem, s.Batch)
	}
	r := NewRandom(seed, uint64(epoch))
	turn := r.Choose(items, items)
	for i := range batches {
		for range s.Batch / perItem {
			item := turn[0]
			turn = turn[1:]
			for _, list := range levels {
				batches[i] = append(batches[i], draw(r, list[item%len(list)], s.M)...)
			}
		}
		shuffle(r, batches[i])
	}
	return batches, nil
}

// levels returns the classes of each level, for rows in the given order. Rows without a finest
// class are in none.
func (s *DyML) levels(rows []labels.Path, order []int) (levels [][]class, err error) {
	sorted := make([]labels.Path, len(order))
	for i, row := range order {
		sorted[i] = rows[row]
	}
	for l := range rows[0] {
		list, err := classes(sorted, l)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("sample: no row has a class at level %d", l)
		}
		for _, c := range list {
			for i, at := range c.rows {
				c.rows[i] = order[at]
			}
		}
		levels = append(levels, list)
	}
	return levels, nil
}
