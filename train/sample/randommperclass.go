package sample

import (
	"fmt"

	"hgld/labels"
)

// RandomMPerClass draws Batch/M classes for every batch, each at most once in it, and M rows of
// each class. Rows repeat within a batch only if the class has fewer than M, but may come again
// in later batches. An epoch has Batches batches whatever the data. This is the sampler of
// pytorch-metric-learning, used for GLDv2.
type RandomMPerClass struct {
	Batch   int `yaml:"batch"`                    // rows of a batch, a multiple of M
	M       int `yaml:"m"`                        // rows of a class in a batch, at least 2
	Level   int `yaml:"level"`                    // level of the classes; 0 is the finest
	Batches int `yaml:"batches" range:"0 100000"` // batches per epoch
	Rest    `yaml:",inline"`
}

// Size is Batch.
func (s *RandomMPerClass) Size() int { return s.Batch }

// PerClass is M.
func (s *RandomMPerClass) PerClass() int { return s.M }

// Epoch draws every batch independently.
func (s *RandomMPerClass) Epoch(rows []labels.Path, seed uint64, epoch int) ([][]int, error) {
	list, err := drawable(rows, s.Level, s.Batch, s.M, s.Rest)
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

// drawable returns the classes of a level. It fails unless a batch can have m rows of each of
// batch/m classes.
func drawable(rows []labels.Path, level, batch, m int, o Rest) ([]class, error) {
	if err := checkBatch(batch, m); err != nil {
		return nil, err
	}
	list, err := o.groups(rows, level)
	if err == nil && len(list) < batch/m {
		err = fmt.Errorf("sample: a batch of %d needs %d classes, but the data have %d", batch, batch/m, len(list))
	}
	return list, err
}
