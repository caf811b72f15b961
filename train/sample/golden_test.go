package sample

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// samplerCase is a case of samplers.json. Rows are numbered class after class.
type samplerCase struct {
	Name       string `json:"name"`
	Sizes      []int  `json:"class_sizes"`
	Super      []int  `json:"super_of_class"`
	Batch      int    `json:"batch"`
	M          int    `json:"m"`
	Reduce     int    `json:"reduce_per_class"`
	PerTuple   int    `json:"batches_per_tuple"`
	Supers     int    `json:"super_classes_per_batch"`
	Restrict   int    `json:"restrict_number_of_batches"`
	Iterations int    `json:"iterations"`
	Expected   struct {
		Seen         []int          `json:"batches_seen_in_20_epochs"`
		Most         int            `json:"most_batches_possible"`
		NeverUsed    []int          `json:"classes_never_used"`
		PerBatch     int            `json:"classes_per_batch"`
		PerEpoch     int            `json:"batches_per_epoch"`
		PerTupleEach *int           `json:"batches_per_tuple_each_epoch"`
		SizesSeen    []int          `json:"batch_sizes_seen"`
		PerSuper     map[string]int `json:"rows_per_super_class"`
		Twice        bool           `json:"same_row_twice_in_a_batch_seen"`
		RowsOfClass  int            `json:"rows_of_each_class_in_a_batch"`
		Batches      int            `json:"batches"`
		Repeats      bool           `json:"repeats_seen"`
		MayRepeat    []int          `json:"classes_that_may_repeat_rows"`
	} `json:"expected"`
}

func (c samplerCase) paths() []labels.Path {
	var rows []labels.Path
	for class, n := range c.Sizes {
		super := int32(0)
		if c.Super != nil {
			super = int32(c.Super[class])
		}
		for range n {
			rows = append(rows, labels.Path{int32(class), super})
		}
	}
	return rows
}

// counts tells how many rows of each class a batch has.
func counts(rows []labels.Path, batch []int, level int) map[int]int {
	n := map[int]int{}
	for _, row := range batch {
		n[int(rows[row][level])]++
	}
	return n
}

func repeats(batch []int) bool {
	sorted := slices.Sorted(slices.Values(batch))
	return len(slices.Compact(sorted)) < len(batch)
}

const epochs = 20 // as many as the released samplers were run

func TestGoldenSamplers(t *testing.T) {
	var file struct {
		MPerClass    []samplerCase `json:"m_per_class"`
		Hierarchical []samplerCase `json:"hierarchical"`
		Random       []samplerCase `json:"random_m_per_class"`
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "samplers"), "samplers.json"), &file)
	for _, c := range file.MPerClass {
		t.Run("samplers/"+c.Name, c.checkMPerClass)
	}
	for _, c := range file.Hierarchical {
		t.Run("samplers/"+c.Name, c.checkHierarchical)
	}
	for _, c := range file.Random {
		t.Run("samplers/"+c.Name, c.checkRandom)
	}
}

func (c samplerCase) checkMPerClass(t *testing.T) {
	rows := c.paths()
	s := &MPerClass{Batch: c.Batch, M: c.M, Reduce: c.Reduce}
	for epoch := range epochs {
		batches, err := s.Epoch(rows, 1, epoch)
		if c.Expected.Most == 0 {
			if err == nil {
				t.Fatalf("%d batches where none can be filled", len(batches))
			}
			return
		}
		must.Do(t, err)
		// The released walk leaves batches unused; this one makes as many as there are.
		if len(batches) != c.Expected.Most {
			t.Fatalf("epoch %d: %d batches, %d are possible", epoch, len(batches), c.Expected.Most)
		}
		var all []int
		used := map[int]int{}
		for _, batch := range batches {
			all = append(all, batch...)
			n := counts(rows, batch, 0)
			if len(batch) != c.Batch || len(n) != c.Expected.PerBatch {
				t.Fatalf("batch of %d rows, %d classes", len(batch), len(n))
			}
			for class, rows := range n {
				used[class] += rows
				if rows != c.M {
					t.Fatalf("%d rows of class %d in a batch", rows, class)
				}
			}
		}
		if repeats(all) {
			t.Fatal("a row appears twice in an epoch")
		}
		for class, n := range c.Sizes {
			if c.Reduce > 0 {
				n = min(n, c.Reduce)
			}
			if used[class] > n/c.M*c.M || slices.Contains(c.Expected.NeverUsed, class) && used[class] > 0 {
				t.Fatalf("class %d gives %d rows", class, used[class])
			}
		}
	}
}

func (c samplerCase) checkHierarchical(t *testing.T) {
	rows := c.paths()
	s := &Hierarchical{Batch: c.Batch, M: c.M, PerTuple: c.PerTuple, Supers: c.Supers, Outer: 1, Restrict: c.Restrict}
	twice := false
	for epoch := range epochs {
		batches, err := s.Epoch(rows, 1, epoch)
		must.Do(t, err)
		if len(batches) != c.Expected.PerEpoch {
			t.Fatalf("%d batches, want %d", len(batches), c.Expected.PerEpoch)
		}
		tuples := map[string]int{}
		for _, batch := range batches {
			twice = twice || repeats(batch)
			if !slices.Contains(c.Expected.SizesSeen, len(batch)) {
				t.Fatalf("batch of %d rows, want one of %v", len(batch), c.Expected.SizesSeen)
			}
			supers := counts(rows, batch, 1)
			if len(supers) != c.Supers {
				t.Fatalf("%d super-classes in a batch", len(supers))
			}
			tuples[fmt.Sprint(supers)]++ // maps print with sorted keys
			for super, n := range supers {
				if n != c.Expected.PerSuper[fmt.Sprint(super)] {
					t.Fatalf("%d rows of super-class %d", n, super)
				}
			}
			for class, n := range counts(rows, batch, 0) {
				if n != c.Expected.RowsOfClass {
					t.Fatalf("%d rows of class %d in a batch", n, class)
				}
			}
			c.checkRepeats(t, rows, batch)
		}
		for tuple, n := range tuples {
			if want := c.Expected.PerTupleEach; want != nil && n != *want {
				t.Fatalf("%s has %d batches, want %d", tuple, n, *want)
			}
		}
	}
	if twice != c.Expected.Twice {
		t.Errorf("a row twice in a batch: %v, want %v", twice, c.Expected.Twice)
	}
}

// checkRepeats: rows of a class repeat in a batch only if the class is smaller
// than m.
func (c samplerCase) checkRepeats(t *testing.T, rows []labels.Path, batch []int) {
	t.Helper()
	seen := map[int]bool{}
	for _, row := range batch {
		if class := rows[row][0]; seen[row] && c.Sizes[class] >= c.M {
			t.Fatalf("row %d of class %d, which has %d rows, repeats", row, class, c.Sizes[class])
		}
		seen[row] = true
	}
}

func (c samplerCase) checkRandom(t *testing.T) {
	rows := c.paths()
	s := &RandomMPerClass{Batch: c.Batch, M: c.M, Batches: c.Iterations}
	for epoch := range epochs {
		batches, err := s.Epoch(rows, 1, epoch)
		must.Do(t, err)
		if len(batches) != c.Expected.Batches {
			t.Fatalf("%d batches, want %d", len(batches), c.Expected.Batches)
		}
		repeating := false
		for _, batch := range batches {
			n := counts(rows, batch, 0)
			if len(n) != c.Expected.PerBatch {
				t.Fatalf("%d classes in a batch, want %d", len(n), c.Expected.PerBatch)
			}
			for class, rows := range n {
				if rows != c.Expected.RowsOfClass {
					t.Fatalf("%d rows of class %d", rows, class)
				}
			}
			c.checkRepeats(t, rows, batch)
			repeating = repeating || repeats(batch)
		}
		if repeating != c.Expected.Repeats {
			t.Errorf("epoch %d: a row repeats in a batch: %v, want %v", epoch, repeating, c.Expected.Repeats)
		}
	}
}
