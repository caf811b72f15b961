package sample

import (
	"fmt"

	"hgld/labels"
)

// RandomMPerClass draws Batch/M classes for every batch, each at most once in it,
// and M rows of each, with repeats if and only if the class has fewer. Rows may
// come again in another batch of the epoch, which has Batches batches whatever
// the data: the sampler of pytorch-metric-learning, used for GLDv2.
type RandomMPerClass struct {
	Batch   int `yaml:"batch"`                    // rows of a batch, a multiple of M
	M       int `yaml:"m"`                        // rows of a class in a batch, at least 2
	Level   int `yaml:"level"`                    // whose classes; 0 is the finest
	Batches int `yaml:"batches" range:"0 100000"` // batches of an epoch
}

// Size is Batch.
func (s *RandomMPerClass) Size() int { return s.Batch }

// PerClass is M.
func (s *RandomMPerClass) PerClass() int { return s.M }

// Epoch draws.
func (s *RandomMPerClass) Epoch(rows []labels.Path, seed uint64, epoch int) ([][]int, error) {
	list, err := drawable(rows, s.Level, s.Batch, s.M)
	if err != nil {
		return nil, err
	}
	if s.Batches < 1 {
		return nil, fmt.Errorf("sample: batches is %d, want at least 1", s.Batches)
	}
	r := NewRandom(seed, uint64(epoch))
	batches := make([][]int, s.Batches)
	for i := range batches {
		for _, c := range r.Choose(len(list), s.Batch/s.M) {
			batches[i] = append(batches[i], draw(r, list[c], s.M)...)
		}
		shuffle(r, batches[i])
	}
	return batches, nil
}

// drawable returns the classes of a level if a batch can have m rows of each of
// batch/m of them.
func drawable(rows []labels.Path, level, batch, m int) ([]class, error) {
	if err := checkBatch(batch, m); err != nil {
		return nil, err
	}
	list, err := classes(rows, level)
	if err == nil && len(list) < batch/m {
		err = fmt.Errorf("sample: a batch of %d needs %d classes, and there are %d", batch, batch/m, len(list))
	}
	return list, err
}
