package sample

import (
	"fmt"

	"hgld/labels"
)

// MPerClass fills a batch with M rows of each of Batch/M classes. No row appears twice in an
// epoch. It skips classes with fewer than M rows, and the rows of a class that do not fill M.
// Rows, batches and the order inside a batch are shuffled.
//
// Classes with the most rows left are served first, ties at random. The released code (of SupRank
// and of Smooth-AP) instead starts at the head of one shuffled list of classes for every batch,
// and so makes fewer batches. Of classes of 100, 8, 8 and 8 rows it makes 2 batches of 3 × 4;
// MPerClass makes 3, the most possible if a class occurs at most once per batch.
type MPerClass struct {
	Batch  int `yaml:"batch"`  // rows of a batch, a multiple of M
	M      int `yaml:"m"`      // rows of a class in a batch, at least 2
	Level  int `yaml:"level"`  // level of the classes; 0 is the finest
	Reduce int `yaml:"reduce"` // most rows that a class gives per epoch, drawn anew each time; 0: all
	Rest   `yaml:",inline"`
}

// Size is Batch.
func (s *MPerClass) Size() int { return s.Batch }

// PerClass is M.
func (s *MPerClass) PerClass() int { return s.M }

// Epoch serves the classes from buckets by the number of times they still have M rows.
func (s *MPerClass) Epoch(rows []labels.Path, seed uint64, epoch int) ([][]int, error) {
	if err := checkBatch(s.Batch, s.M); err != nil {
		return nil, err
	}
	if s.Reduce < 0 {
		return nil, fmt.Errorf("sample: reduce is %d, want a number of rows per class, or 0 for all", s.Reduce)
	}
	list, err := s.groups(rows, s.Level)
	if err != nil {
		return nil, err
	}
	r := NewRandom(seed, uint64(epoch))
	var buckets [][]class // buckets[n]: classes with n·M rows left
	usable := 0
	for _, c := range list {
		shuffle(r, c.rows)
		if s.Reduce > 0 {
			c.rows = c.rows[:min(s.Reduce, len(c.rows))]
		}
		if n := len(c.rows) / s.M; n > 0 {
			for len(buckets) <= n {
				buckets = append(buckets, nil)
			}
			buckets[n] = append(buckets[n], c)
			usable++
		}
	}
	perBatch := s.Batch / s.M
	if usable < perBatch {
		return nil, fmt.Errorf("sample: a batch of %d needs %d classes with %d rows, but only %d of %d classes have as "+
			"many; take a smaller batch or m, or random-m-per-class, which repeats the rows of a small class",
			s.Batch, perBatch, s.M, usable, len(list))
	}
	var batches [][]int
	for usable >= perBatch {
		batch, spent := s.serve(r, buckets, perBatch)
		usable -= spent
		batches = append(batches, batch)
	}
	shuffle(r, batches)
	return batches, nil
}

// serve takes M rows of each of n classes, starting with the fullest buckets, and moves these
// classes one bucket down. spent counts the classes that have fewer than M rows left.
func (s *MPerClass) serve(r *Random, buckets [][]class, n int) (batch []int, spent int) {
	served := make([]class, 0, n)
	for left := len(buckets) - 1; len(served) < n; left-- {
		for len(buckets[left]) > 0 && len(served) < n {
			bucket := buckets[left]
			last := len(bucket) - 1
			at := r.IntN(last + 1)
			bucket[at], bucket[last] = bucket[last], bucket[at]
			served = append(served, bucket[last])
			buckets[left] = bucket[:last]
		}
	}
	for _, c := range served {
		batch = append(batch, c.rows[:s.M]...)
		c.rows = c.rows[s.M:]
		left := len(c.rows) / s.M
		buckets[left] = append(buckets[left], c)
		if left == 0 {
			spent++
		}
	}
	shuffle(r, batch)
	return batch, spent
}
