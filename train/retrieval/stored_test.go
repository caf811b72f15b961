package retrieval

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// pages counts what is given back.
type pages struct {
	*Matrix
	lo, hi []int
}

func (p *pages) GiveBack(lo, hi int) { p.lo, p.hi = append(p.lo, lo), append(p.hi, hi) }

// broken cannot be read from a row on.
type broken struct {
	*Matrix
	from int
}

func (v broken) ReadRows(dst []float32, lo int) error {
	if lo >= v.from {
		return fmt.Errorf("row %d is on a bad sector", lo)
	}
	return v.Matrix.ReadRows(dst, lo)
}

// Vectors of more than a panel, with a row of zeros and one of unit length already, give the
// same bytes from the device and from where they are stored, for any size of the blocks and any
// number of threads; and all their pages are given back.
func TestStoredVectorsGiveTheBytesOfUploadedOnes(t *testing.T) {
	const cols = 9_001
	rows := panelElements/cols + 37
	r := rand.New(rand.NewPCG(11, 12))
	m := &Matrix{cols, make([]float32, rows*cols)}
	for i := range m.Values {
		m.Values[i] = float32(r.IntN(64)) - 31.5
	}
	clear(m.Values[5*cols : 6*cols])
	clear(m.Values[6*cols : 7*cols])
	m.Values[6*cols+3] = 1
	copy(m.Values[9*cols:10*cols], m.Values[8*cols:9*cols]) // equal scores
	list := make([]labels.Path, rows)
	for i := range list {
		list[i] = labels.Path{int32(i % 50), int32(i % 50 % 3)}
	}
	b := cpu.New(2)
	for _, unit := range []bool{true, false} {
		on, err := Upload(b, m, unit)
		must.Do(t, err)
		file := &pages{Matrix: m}
		stored, err := Store(file, unit)
		must.Do(t, err)
		if count, first := stored.Zeros(); count != 1 || first != 5 {
			t.Errorf("%d rows of zeros, the first %d, want one, row 5", count, first)
		}
		evaluate := func(query, gallery Side, memory, threads int) string {
			var seen []float32
			observer := &Observer{Queries: []int{2, 8}, Vector: func(_ int, v []float32) error {
				seen = append(seen, v...)
				return nil
			}}
			got, err := Evaluate(t.Context(), b, &Evaluation{Query: query, Gallery: gallery, Levels: []string{"a", "b"},
				Metrics: allMetrics(t), Memory: memory, Threads: threads, PerQuery: true, Observer: observer})
			must.Do(t, err)
			text, err := json.Marshal([]any{got, seen})
			must.Do(t, err)
			return string(text)
		}
		uploaded, left := Side{Vectors: on, Labels: list}, Side{Stored: stored, Labels: list}
		first := Side{Vectors: on.RowRange(0, 21), Labels: list[:21]}
		firstLeft := Side{Stored: stored.First(21), Labels: list[:21]}
		want := evaluate(first, uploaded, 0, 1)
		for _, c := range []struct{ memory, threads int }{{0, 1}, {1, 2}, {10 * 4 * (rows + cols), 3}} {
			file.lo, file.hi = nil, nil
			if got := evaluate(firstLeft, left, c.memory, c.threads); got != want {
				t.Errorf("unit %v, %d bytes of memory, %d threads: another result", unit, c.memory, c.threads)
			}
			if !slices.Contains(file.hi, rows) || !slices.Contains(file.lo, 0) || len(file.lo) < 3 {
				t.Errorf("rows given back: from %v to %v", file.lo, file.hi)
			}
		}
		if evaluate(firstLeft, uploaded, 0, 1) != want || evaluate(first, left, 0, 1) != want {
			t.Errorf("unit %v: one side on the device gives another result", unit)
		}
		b.Free(on.Buf)
	}
}

func TestStoreNamesTheFirstRowThatIsNotFinite(t *testing.T) {
	values := make([]float32, 400_000)
	for _, at := range []int{399_000, 210_000, 120_001} { // each before the last
		values[at] = float32(math.Inf(-1))
		_, err := Store(&Matrix{2, values}, true)
		want := fmt.Sprintf("embedding %d has a value that is not finite (column %d)", at/2, at%2)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := Store(&Matrix{1, nil}, true); err == nil || !strings.Contains(err.Error(), "the embeddings are 0×1") {
		t.Errorf("no rows: error %v", err)
	}
}

// An error of the file names the first rows that cannot be read, while the rows are checked and
// while they are ranked.
func TestStoredVectorsThatCannotBeRead(t *testing.T) {
	m := &Matrix{2, make([]float32, 400_000)}
	if _, err := Store(broken{m, 40_000}, true); err == nil || !strings.Contains(err.Error(), "row 65536 is on") {
		t.Errorf("error %v", err) // the parts that are read at once begin there
	}
	good, list := cloud(20)
	stored, err := Store(good, true)
	must.Do(t, err)
	stored.from = broken{good, 0}
	side := Side{Stored: stored, Labels: list}
	_, err = Evaluate(t.Context(), cpu.New(1), &Evaluation{Query: side, Gallery: side, Levels: []string{"a", "b"},
		Metrics: allMetrics(t)})
	if err == nil || !strings.Contains(err.Error(), "evaluation: row 0 is on a bad sector") {
		t.Errorf("error %v", err)
	}
}

func TestStoredVectorsNeedTheHost(t *testing.T) {
	m, list := cloud(20)
	stored, err := Store(m, true)
	must.Do(t, err)
	side := Side{Stored: stored, Labels: list}
	var b device.Backend = sortingDevice{cpu.New(1)}
	_, err = Evaluate(t.Context(), b, &Evaluation{Query: side, Gallery: side, Levels: []string{"a", "b"},
		Metrics: allMetrics(t)})
	if !errors.Is(err, errNotHost) {
		t.Errorf("error %v", err)
	}
}
