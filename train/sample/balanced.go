package sample

import (
	"fmt"

	"hgld/labels"
)

// Balanced draws Batch/M classes anew for every batch and takes the next M rows of each. A class
// goes through its rows in random order, and is reshuffled when fewer than M are left
// (ProxyNCA++, Teh et al., ECCV 2020). All rows of a class are used about equally often, and the
// rows of small classes most often. A class with fewer than M rows gives M draws with repeats;
// the released code gives only the rows it has.
type Balanced struct {
	Batch   int `yaml:"batch"`                    // rows of a batch, a multiple of M
	M       int `yaml:"m"`                        // rows of a class in a batch, at least 2
	Level   int `yaml:"level"`                    // level of the classes; 0 is the finest
	Batches int `yaml:"batches" range:"0 100000"` // batches per epoch; 0: as many as the rows fill
	Rest    `yaml:",inline"`
}

// Size is Batch.
func (s *Balanced) Size() int { return s.Batch }

// PerClass is M.
func (s *Balanced) PerClass() int { return s.M }

// Epoch draws the classes of each batch in turn.
func (s *Balanced) Epoch(rows []labels.Path, seed uint64, epoch int) ([][]int, error) {
	list, err := drawable(rows, s.Level, s.Batch, s.M, s.Rest)
	if err != nil {
		return nil, err
	}
	n := s.Batches
	if n == 0 {
		for _, c := range list {
			n += len(c.rows)
		}
		n = max(1, n/s.Batch)
	}
	if n < 0 {
		return nil, fmt.Errorf("sample: batches is %d, want a positive number, or 0 for as many as the rows fill", n)
	}
	r := NewRandom(seed, uint64(epoch))
	next := make([]int, len(list))
	for i, c := range list {
		next[i] = len(c.rows) // shuffled at its first draw
	}
	batches := make([][]int, n)
	for i := range batches {
		for _, c := range r.Choose(len(list), s.Batch/s.M) {
			of := list[c]
			if len(of.rows) < s.M {
				batches[i] = append(batches[i], draw(r, of, s.M)...)
				continue
			}
			if next[c]+s.M > len(of.rows) {
				shuffle(r, of.rows)
				next[c] = 0
			}
			batches[i] = append(batches[i], of.rows[next[c]:next[c]+s.M]...)
			next[c] += s.M
		}
		shuffle(r, batches[i])
	}
	return batches, nil
}
