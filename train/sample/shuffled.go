package sample

import (
	"fmt"

	"hgld/labels"
)

// Shuffled visits all rows that have a finest class, or with Rest any, in random order, each once per epoch. Rows
// that do not fill the last batch are dropped. It does not group rows by class, so a ranking loss
// may find queries without a positive. Use it for losses with proxies.
type Shuffled struct {
	Batch int `yaml:"batch"` // rows of a batch
	M     int `yaml:"m"`     // ignored: the number of rows per class is random
	Rest  `yaml:",inline"`
}

// Size is Batch.
func (s *Shuffled) Size() int { return s.Batch }

// Epoch cuts a permutation of the rows into batches.
func (s *Shuffled) Epoch(rows []labels.Path, seed uint64, epoch int) ([][]int, error) {
	order := byPath(rows, s.Rest.Rest)
	if s.Batch < 1 || len(order) < s.Batch {
		return nil, fmt.Errorf("sample: batch is %d, want from 1 to %d, the number of rows with a class", s.Batch, len(order))
	}
	shuffle(NewRandom(seed, uint64(epoch)), order)
	batches := make([][]int, len(order)/s.Batch)
	for i := range batches {
		batches[i] = order[i*s.Batch : (i+1)*s.Batch]
	}
	return batches, nil
}
