package sample

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// data has classes of the given sizes, four classes to a super-class.
func data(sizes ...int) []labels.Path {
	var rows []labels.Path
	for class, n := range sizes {
		for range n {
			rows = append(rows, labels.Path{int32(class), int32(class / 4)})
		}
	}
	return rows
}

// every sampler of the table, fit for data(…) of eight classes.
func small() map[string]Sampler {
	return map[string]Sampler{
		"m-per-class":        &MPerClass{Batch: 12, M: 4},
		"random-m-per-class": &RandomMPerClass{Batch: 12, M: 4, Batches: 9},
		"balanced":           &Balanced{Batch: 12, M: 4},
		"dyml":               &DyML{Batch: 16, M: 4},
		"random":             &Shuffled{Batch: 12},
		"hierarchical":       &Hierarchical{Batch: 16, M: 4, PerTuple: 3, Supers: 2, Outer: 1},
	}
}

func TestEpochIsAFunctionOfSeedAndEpoch(t *testing.T) {
	rows := data(20, 12, 9, 30, 8, 8, 17, 25)
	for _, e := range All {
		s, ok := small()[e.Name]
		if !ok {
			t.Errorf("%s is not tested", e.Name)
			continue
		}
		get := func(seed uint64, epoch int) string {
			batches, err := s.Epoch(rows, seed, epoch)
			must.Do(t, err)
			return fmt.Sprint(batches)
		}
		if first, again := get(3, 5), get(3, 5); first != again {
			t.Errorf("%s: the same epoch differs", e.Name)
		}
		if get(3, 5) == get(3, 6) || get(3, 5) == get(4, 5) || get(3, 5) == get(5, 3) {
			t.Errorf("%s: another epoch or seed gives the same batches", e.Name)
		}
	}
}

func TestOrderOfRowsOnlyRenumbersThem(t *testing.T) {
	rows := data(20, 12, 9, 30, 8, 8, 17, 25)
	r := NewRandom(1)
	at := r.Choose(len(rows), len(rows)) // new row i is old row at[i]
	slices.SortFunc(at, func(a, b int) int {
		// Any mixture of the classes that keeps the order inside each.
		if ca, cb := rows[a][0], rows[b][0]; ca != cb {
			return int(cb - ca)
		}
		return a - b
	})
	mixed := make([]labels.Path, len(rows))
	for i, old := range at {
		mixed[i] = rows[old]
	}
	for name, s := range small() {
		want, err := s.Epoch(rows, 2, 7)
		must.Do(t, err)
		got, err := s.Epoch(mixed, 2, 7)
		must.Do(t, err)
		for _, batch := range got {
			for i, row := range batch {
				batch[i] = at[row]
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: another order of the rows gives other batches", name)
		}
	}
}

func TestRowsWithoutClassAreLeftOut(t *testing.T) {
	rows := append(data(8, 8, 8, 8, 8, 8, 8, 8), labels.Path{-1, 0}, labels.Path{-1, -1}, labels.Path{-1, 1},
		labels.Path{-1, 0})
	for name, s := range small() {
		for epoch := range 5 {
			batches, err := s.Epoch(rows, 1, epoch)
			must.Do(t, err)
			for _, batch := range batches {
				if slices.Max(batch) >= 64 {
					t.Fatalf("%s: a row without a class is drawn", name)
				}
			}
		}
	}
}

// Counts are binomial; the goldens ask for five standard deviations.
func within5Deviations(t *testing.T, what string, hits, trials int, share float64) {
	t.Helper()
	deviation := math.Sqrt(float64(trials) * share * (1 - share))
	if off := math.Abs(float64(hits) - float64(trials)*share); off > 5*deviation {
		t.Errorf("%s: %d of %d, expected a share of %v", what, hits, trials, share)
	}
}

func TestClassesAreDrawnEquallyOften(t *testing.T) {
	const batches = 2000
	rows := data(4, 4, 4, 4, 4, 4, 4, 4, 4, 4)
	drawn, err := (&RandomMPerClass{Batch: 12, M: 4, Batches: batches}).Epoch(rows, 1, 0)
	must.Do(t, err)
	hits := map[int]int{}
	for _, batch := range drawn {
		for class := range counts(rows, batch, 0) {
			hits[class]++
		}
	}
	for class := range 10 {
		within5Deviations(t, "random-m-per-class", hits[class], batches, 0.3)
	}
	// Super-classes of eight classes, four of which are in a half batch.
	rows = nil
	for class := range 16 {
		for range 5 {
			rows = append(rows, labels.Path{int32(class), int32(class / 8)})
		}
	}
	drawn, err = (&Hierarchical{Batch: 16, M: 2, PerTuple: batches, Supers: 2, Outer: 1}).Epoch(rows, 1, 0)
	must.Do(t, err)
	clear(hits)
	for _, batch := range drawn {
		for class := range counts(rows, batch, 0) {
			hits[class]++
		}
	}
	for class := range 16 {
		within5Deviations(t, "hierarchical", hits[class], batches, 0.5)
	}
}

func TestReduceDrawsAnewEachEpoch(t *testing.T) {
	rows := data(100, 100, 100)
	s := &MPerClass{Batch: 12, M: 4, Reduce: 8}
	seen := map[int]bool{}
	for epoch := range 30 {
		batches, err := s.Epoch(rows, 1, epoch)
		must.Do(t, err)
		for _, batch := range batches {
			for _, row := range batch {
				seen[row] = true
			}
		}
	}
	// 30 draws of 8 of 100: a row is missed with probability 0.92^30 = 8 %.
	if len(seen) < 250 {
		t.Errorf("30 epochs saw %d of 300 rows", len(seen))
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	rows := data(8, 8, 8, 8, 8, 8, 8, 8)
	for hint, s := range map[string]Sampler{
		"want a multiple of m = 4":       &MPerClass{Batch: 10, M: 4},
		"at least 2 rows":                &MPerClass{Batch: 10, M: 1},
		"uses level 2":                   &MPerClass{Batch: 8, M: 4, Level: 2},
		"uses level -1":                  &MPerClass{Batch: 8, M: 4, Level: -1},
		"reduce is -1":                   &MPerClass{Batch: 8, M: 4, Reduce: -1},
		"only 8 of 8":                    &MPerClass{Batch: 64, M: 4},
		"batches is 0":                   &RandomMPerClass{Batch: 8, M: 4},
		"needs 16 classes":               &RandomMPerClass{Batch: 64, M: 4, Batches: 1},
		"want a multiple of m = 4 rows":  &DyML{Batch: 12, M: 4},
		"too few to fill a batch of 160": &DyML{Batch: 160, M: 4},
		"batch is 65":                    &Shuffled{Batch: 65},
		"batches is -1":                  &Balanced{Batch: 8, M: 4, Batches: -1},
		"level 1 has 2":                  &Hierarchical{Batch: 24, M: 4, PerTuple: 1, Supers: 3, Outer: 1},
		"want a multiple of supers":      &Hierarchical{Batch: 9, M: 4, PerTuple: 1, Supers: 2, Outer: 1},
		"want a coarser level":           &Hierarchical{Batch: 8, M: 4, PerTuple: 1, Supers: 2, Outer: 0},
		"per_tuple 0, want at leas":      &Hierarchical{Batch: 8, M: 4, Supers: 2, Outer: 1},
	} {
		if _, err := s.Epoch(rows, 1, 0); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%+v: %v, want %q", s, err, hint)
		}
	}
	flat := []labels.Path{{0}, {0}, {1}, {1}} // labels of one level
	_, err := (&Hierarchical{Batch: 4, M: 2, PerTuple: 1, Supers: 2, Outer: 1}).Epoch(flat, 1, 0)
	want := "uses level 1 (0 is the finest), but labels have 1 in all"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("one level: %v, want %q", err, want)
	}
}

func TestBalancedClassesGoThroughTheirRowsInTurn(t *testing.T) {
	rows := data(9, 8, 4, 3)
	batches, err := (&Balanced{Batch: 8, M: 4, Batches: 200}).Epoch(rows, 1, 0)
	must.Do(t, err)
	turn, drawn := map[int]map[int]bool{}, map[int]int{} // rows of a class since it was shuffled
	for _, batch := range batches {
		of := map[int][]int{}
		for _, row := range batch {
			of[int(rows[row][0])] = append(of[int(rows[row][0])], row)
		}
		if len(of) != 2 {
			t.Fatalf("%d classes in a batch", len(of))
		}
		for class, list := range of {
			if len(list) != 4 {
				t.Fatalf("%d rows of class %d", len(list), class)
			}
			if class == 3 {
				continue // has three rows, which repeat
			}
			if drawn[class]++; drawn[class]%2 == 1 || class == 2 { // two times four rows to a turn, or one
				turn[class] = map[int]bool{}
			}
			for _, row := range list {
				if turn[class][row] {
					t.Fatalf("row %d of class %d comes again in one turn", row, class)
				}
				turn[class][row] = true
			}
		}
	}
}

// The released data set gives each class of a level to as many items as every other.
func TestDyMLItemsHaveRowsOfEveryLevel(t *testing.T) {
	rows := data(20, 12, 9, 30, 8, 8, 17, 25) // 129 rows, 32 items; 8 classes, 2 super-classes
	batches, err := (&DyML{Batch: 8, M: 4}).Epoch(rows, 1, 0)
	must.Do(t, err)
	if len(batches) != 32 {
		t.Fatalf("%d batches of one item, want 32", len(batches))
	}
	fine := map[int]int{}
	for _, batch := range batches {
		best, n := counts(rows, batch, 0), 0
		for class, of := range best {
			if of >= 4 {
				fine[class]++
				n++
			}
		}
		if n == 0 || len(batch) != 8 {
			t.Fatalf("no four rows of a class among %v", batch)
		}
	}
	for class := range 8 {
		if fine[class] < 4 { // more where the coarse draw fell on one class
			t.Errorf("class %d has %d items, want 4", class, fine[class])
		}
	}
}

func TestShuffledRowsComeOnceAnEpoch(t *testing.T) {
	batches, err := (&Shuffled{Batch: 12}).Epoch(data(20, 12, 9), 1, 0)
	must.Do(t, err)
	if all := slices.Concat(batches...); len(all) != 36 || repeats(all) {
		t.Errorf("%d rows of 41, or repeats", len(all))
	}
}

func TestChooseIsAFairSample(t *testing.T) {
	r := NewRandom(7)
	hits := make([]int, 9)
	first := make([]int, 9)
	for range 3000 {
		chosen := r.Choose(9, 4)
		if repeats(chosen) {
			t.Fatalf("%v repeats", chosen)
		}
		first[chosen[0]]++
		for _, c := range chosen {
			hits[c]++
		}
	}
	for i := range hits {
		within5Deviations(t, "chosen", hits[i], 3000, 4.0/9)
		within5Deviations(t, "first", first[i], 3000, 1.0/9)
	}
}

// The rule by which the goldens are filled is SplitMix64 from the hash of a name.
func TestRandomIsSplitMix64(t *testing.T) {
	var rule struct {
		Unit []struct {
			Hash  string   `json:"fnv1a64"`
			Index []uint64 `json:"index"`
			Z     []string `json:"z"`
		} `json:"unit"`
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "samplers"), "..", "rule.json"), &rule)
	hex := func(s string) uint64 {
		v, err := strconv.ParseUint(s, 16, 64)
		must.Do(t, err)
		return v
	}
	for _, u := range rule.Unit {
		for i, at := range u.Index {
			r := &Random{state: hex(u.Hash) + at*0x9E3779B97F4A7C15}
			if got := r.Uint64(); got != hex(u.Z[i]) {
				t.Errorf("number %d after %s is %x, want %s", at, u.Hash, got, u.Z[i])
			}
		}
	}
}

func TestStreamsOfDifferentKeysDiffer(t *testing.T) {
	if NewRandom(1, 2).Uint64() == NewRandom(1, 2, 0).Uint64() {
		t.Error("a key and its continuation share a stream")
	}
	if NewRandom(1, 2).Uint64() == NewRandom(2, 1).Uint64() {
		t.Error("the order of a key does not matter")
	}
}
