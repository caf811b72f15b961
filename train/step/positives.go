package step

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"hgld/labels"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/input"
	"hgld/train/loss"
)

// undefined returns the comparisons of which at least one must find a positive, or the loss of a
// step is undefined. There are none for a loss against proxies, or if negatives alone define the
// loss.
func (o *Objective) undefined() []loss.Comparison {
	return slices.DeleteFunc(o.comparisons(), func(c loss.Comparison) bool { return c.Defined })
}

func (o *Objective) comparisons() []loss.Comparison {
	if c, ok := o.Loss.(loss.Compared); ok {
		return c.Comparisons()
	}
	return nil
}

// HasPositive reports whether the loss of a batch is defined: one of its queries has a positive
// in the batch or in the memory that the next step reads. at is the time of the schedules, in
// steps or epochs. It runs on the device's thread before the step.
func (s *Step) HasPositive(from *input.Batch, at int) (bool, error) {
	needed := s.Objective.undefined()
	if len(needed) == 0 {
		return true, nil
	}
	levels := s.In.Labels.Cols()
	rows := make([][]int32, len(from.Rows))
	for i := range rows {
		rows[i] = from.Labels[i*levels : (i+1)*levels]
	}
	seen := s.Objective.newLabelSet(needed)
	for _, row := range rows {
		if seen.share(row) {
			return true, nil
		}
		seen.add(row)
	}
	remembered, err := s.Objective.memory.labels(s.n.Backend, from.Rows, s.Update.Steps, at)
	return slices.ContainsFunc(remembered, seen.share), err
}

// CheckPairs returns an error if no query of the first epoch has a positive, or none has a negative, in its batch or
// in the memory. Nothing could then be learnt.
func (o *Objective) CheckPairs(c *config.Config, rows []labels.Path, epoch [][]int) error {
	compared := o.comparisons()
	if len(compared) == 0 {
		return nil
	}
	batches := epoch
	if o.memory.ring != nil {
		batches = [][]int{slices.Concat(epoch...)}
	}
	positive, negative := false, false
	for _, batch := range batches {
		seen := o.newLabelSet(compared)
		for _, i := range batch {
			positive = positive || seen.share(rows[i])
			negative = negative || !slices.Equal(seen.of(rows[i]), seen.of(rows[batch[0]]))
			seen.add(rows[i])
		}
		if positive && negative {
			return nil
		}
	}
	if positive {
		return fmt.Errorf("loss.name is %s, which compares %s of different classes, but each of %d batches of sampler "+
			"%s has %[2]s of one class: set sampler.m below sampler.batch, which is %[5]d", c.Loss.Name,
			config.ItemsText(c.OfVectors()), len(epoch), c.Sampler.Name, c.Sampler.Batch)
	}
	return fmt.Errorf("loss.name is %s, which compares %s of the same class, but in %d batches of sampler "+
		"%s no two %[2]s are of one class: "+
		"use classes of at least 2 %[2]s with sampler.name=m-per-class, or a loss with proxies such as nsm",
		c.Loss.Name, config.ItemsText(c.OfVectors()), len(epoch), c.Sampler.Name)
}

// labelSet holds the labels of items at the compared levels.
type labelSet struct {
	compared      []loss.Comparison
	levels, paths int // of a row
	has           map[levelLabel]bool
}

type levelLabel struct {
	level int
	class int32
}

func (o *Objective) newLabelSet(compared []loss.Comparison) *labelSet {
	return &labelSet{compared: compared, levels: o.levels, paths: o.paths, has: map[levelLabel]bool{}}
}

// share reports whether an item of the set is a positive of an item with the labels row.
func (s *labelSet) share(row []int32) bool {
	return slices.ContainsFunc(s.of(row), func(l levelLabel) bool { return s.has[l] })
}

func (s *labelSet) add(row []int32) {
	for _, l := range s.of(row) {
		s.has[l] = true
	}
}

func (s *labelSet) of(row []int32) (list []levelLabel) {
	for _, c := range s.compared {
		to := c.To
		if to == 0 {
			to = s.levels
		}
		for path := range s.paths {
			for level := c.From; level < to; level++ {
				if class := row[path*s.levels+level]; class >= 0 {
					list = append(list, levelLabel{level, class})
				}
			}
		}
	}
	return list
}

// labels downloads the labels that the next step finds in the ring, in addition to those of its
// batch. There are none if the step does not read the ring. The arguments are those of prepare.
func (m *Memory) labels(b device.Backend, items []int, batches, at int) ([][]int32, error) {
	if m.ring == nil || at+1 < m.Start {
		return nil, nil
	}
	from := m.states[ringPrefix+"labels"]
	size, levels := from.Dims[0], from.Dims[1]
	data := make([]byte, 4*size*levels)
	if err := b.Wait(b.Download(data, from.Value)); err != nil {
		return nil, err
	}
	replaced := map[int]bool{} // rows that the batch overwrites before the ring is read
	for i := range items {
		switch {
		case m.First:
		case m.Unique:
			replaced[items[i]] = true
		default:
			replaced[m.ring.First(batches)+i] = true
		}
	}
	var rows [][]int32
	for i := range size {
		if replaced[i] {
			continue
		}
		row := make([]int32, levels)
		for level := range row {
			row[level] = int32(math.Float32frombits(binary.LittleEndian.Uint32(data[4*(i*levels+level):])))
		}
		rows = append(rows, row)
	}
	return rows, nil
}
