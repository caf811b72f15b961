package sample

import (
	"fmt"
	"slices"

	"hgld/labels"
)

// Hierarchical makes batches of Supers super-classes, so that most negatives are hard (Cakir et
// al., "Deep Metric Learning to Rank", CVPR 2019). Every set of that many super-classes gets
// PerTuple batches per epoch. In a batch each super-class gives Batch/Supers rows, M of each of
// its classes in random order. Rows of a class repeat only if it has fewer than M. A super-class
// with too few classes gives fewer rows, and the batch is short.
type Hierarchical struct {
	Batch    int `yaml:"batch"`                    // rows of a batch, a multiple of Supers·M
	M        int `yaml:"m"`                        // rows of a class in a batch, at least 2
	PerTuple int `yaml:"per_tuple" range:"1 1000"` // batches of each set of super-classes
	Supers   int `yaml:"supers"`                   // super-classes per batch
	Inner    int `yaml:"inner"`                    // level of the classes; 0 is the finest
	Outer    int `yaml:"outer"`                    // level of the super-classes
	Restrict int `yaml:"restrict"`                 // most batches per epoch, drawn at random; 0: all
}

// Size is Batch.
func (s *Hierarchical) Size() int { return s.Batch }

// PerClass is M.
func (s *Hierarchical) PerClass() int { return s.M }

// Epoch goes through the sets of super-classes.
func (s *Hierarchical) Epoch(rows []labels.Path, seed uint64, epoch int) ([][]int, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	supers, err := s.group(rows)
	if err != nil {
		return nil, err
	}
	if len(supers) < s.Supers {
		return nil, fmt.Errorf("sample: a batch needs %d super-classes, but level %d has %d", s.Supers, s.Outer,
			len(supers))
	}
	r := NewRandom(seed, uint64(epoch))
	var batches [][]int
	for tuple := range combinations(len(supers), s.Supers) {
		for range s.PerTuple {
			var batch []int
			for _, at := range tuple {
				inner := supers[at]
				n := min(s.Batch/s.Supers/s.M, len(inner))
				for _, c := range r.Choose(len(inner), n) {
					batch = append(batch, draw(r, inner[c], s.M)...)
				}
			}
			shuffle(r, batch)
			batches = append(batches, batch)
		}
	}
	shuffle(r, batches)
	if s.Restrict > 0 {
		batches = batches[:min(s.Restrict, len(batches))]
	}
	return batches, nil
}

func (s *Hierarchical) check() error {
	switch {
	case s.Supers < 1 || s.PerTuple < 1:
		return fmt.Errorf("sample: supers is %d and per_tuple %d, want at least 1", s.Supers, s.PerTuple)
	case s.Batch%s.Supers != 0:
		return fmt.Errorf("sample: batch is %d, want a multiple of supers = %d", s.Batch, s.Supers)
	case s.Outer <= s.Inner:
		return fmt.Errorf("sample: outer is level %d, want a coarser level than inner, %d", s.Outer, s.Inner)
	}
	return checkBatch(s.Batch/s.Supers, s.M)
}

// group returns the classes of each super-class, both ordered by number.
func (s *Hierarchical) group(rows []labels.Path) ([][]class, error) {
	outer, err := classes(rows, s.Outer)
	if err != nil {
		return nil, err
	}
	supers := make([][]class, len(outer))
	for i, o := range outer {
		within := make([]labels.Path, len(o.rows))
		for j, row := range o.rows {
			within[j] = rows[row]
		}
		if supers[i], err = classes(within, s.Inner); err != nil {
			return nil, err
		}
		for _, c := range supers[i] {
			for j := range c.rows {
				c.rows[j] = o.rows[c.rows[j]]
			}
		}
	}
	return slices.DeleteFunc(supers, func(inner []class) bool { return len(inner) == 0 }), nil
}

// combinations yields every set of k of n numbers, ascending, in lexicographic order.
func combinations(n, k int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		at := make([]int, k)
		for i := range at {
			at[i] = i
		}
		for yield(at) {
			i := k - 1
			for i >= 0 && at[i] == n-k+i {
				i--
			}
			if i < 0 {
				return
			}
			at[i]++
			for j := i + 1; j < k; j++ {
				at[j] = at[j-1] + 1
			}
		}
	}
}
