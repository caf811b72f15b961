package cuda_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
)

// poisoned is emulated with memory full of NaN.
func poisoned(t *testing.T) *cuda.Backend {
	b := emulated(t)
	b.Poison = true
	return b
}

// put uploads x as an array with the given dimensions.
func put[T float32 | int32 | uint8](t testing.TB, b device.Memory, x []T, dims ...int) device.Array {
	t.Helper()
	d := device.F32
	switch any(x).(type) {
	case []int32:
		d = device.I32
	case []uint8:
		d = device.U8
	}
	data, err := binary.Append(nil, binary.NativeEndian, x)
	must.Do(t, err)
	a := device.New(b, d, dims...)
	b.Upload(a, data)
	return a
}

// get downloads an array.
func get[T float32 | int32 | uint8](t *testing.T, b device.Memory, a device.Array) []T {
	t.Helper()
	data := make([]byte, a.Len()*a.Type.Size())
	must.Do(t, b.Wait(b.Download(data, a)))
	x := make([]T, a.Len())
	if _, err := binary.Decode(data, binary.NativeEndian, x); err != nil {
		t.Fatal(err)
	}
	return x
}

// rankCall is an operation on some queries, and the arrays that it writes.
type rankCall struct {
	name    string
	run     func()
	results []device.Array
}

// rankCalls returns the operations on the same levels and scores. One eighth of the scores are
// ties, and one in positives items is a positive.
func rankCalls(t testing.TB, b device.Backend, queries, items, positives int) []rankCall {
	r := rand.New(rand.NewPCG(13, uint64(items)))
	scores, moves, levels := make([]float32, queries*items), make([]float32, queries*items), make([]uint8, queries*items)
	for i := range scores {
		scores[i] = float32(r.NormFloat64() * 0.15)
		moves[i] = float32(r.IntN(65)-32) / 1024
		switch {
		case r.IntN(positives) == 0:
			levels[i] = uint8(1 + r.IntN(2))
		case r.IntN(8) == 0:
			levels[i], scores[i] = device.AbsentLevel, float32(math.NaN())
		case r.IntN(8) == 0:
			scores[i] = float32(math.Round(float64(scores[i])*64) / 64)
		}
	}
	s, up := put(t, b, scores, queries, items), put(t, b, moves, queries, items)
	sh := put(t, b, levels, queries, items)
	f32 := func(dims ...int) device.Array { return device.New(b, device.F32, dims...) }
	i32 := func(dims ...int) device.Array { return device.New(b, device.I32, dims...) }
	rel, cnt, weight, loss := f32(queries, 3), i32(queries, 3), f32(queries), f32(queries)
	ds, rank, pairs := f32(queries, items), f32(queries, items), i32(queries, 2)
	first, order := device.New(b, device.U8, queries, items), i32(queries, items)
	sigmoid := device.Step{Kind: device.Sigmoid, Tau: 0.01}
	upper := device.Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Zero: 0.5, AutoOffset: true}
	exact := device.Step{Kind: device.Heaviside}
	steps := &device.Steps{Rank: [3]device.Step{sigmoid, exact, upper}, Plus: [3]device.Step{sigmoid, sigmoid, exact}}
	recall := &device.Score{Kind: device.ScoreRecall, At: []float32{1, 8}, Temp: []float32{1, 2}}
	calls := []rankCall{
		{"Relevance", func() { b.Relevance(rel, cnt, weight, sh, device.RelKind{Mode: device.RelPop, Divisor: 2}) },
			[]device.Array{rel, cnt, weight}},
		{"RankLoss", func() { b.RankLoss(loss, ds, s, sh, rel, cnt, steps, &device.Score{}) }, []device.Array{loss, ds}},
		{"RankLossRecall", func() { b.RankLoss(loss, ds, s, sh, rel, cnt, steps, recall) }, []device.Array{loss, ds}},
		{"Ranks", func() { b.Ranks(rank, s, sh, 1) }, []device.Array{rank}},
		{"RankScore", func() { b.RankScore(loss, ds, device.Array{}, rank, rank, sh, rel, cnt, recall) },
			[]device.Array{loss, ds}},
		{"Ranked", func() { b.Ranked(first, order, s, sh) }, []device.Array{first, order}},
		{"RanksGrad", func() { b.RanksGrad(ds, up, s, sh, 4) }, []device.Array{ds}},
		{"BinLoss", func() { b.BinLoss(loss, ds, s, sh, &device.Bins{N: 20, Min: -1, Max: 1}) }, []device.Array{loss, ds}},
		{"BinLossOfManyBins", func() { b.BinLoss(loss, ds, s, sh, &device.Bins{N: 1700, Min: -1, Max: 1}) },
			[]device.Array{loss, ds}},
	}
	for _, o := range []device.Pairs{
		{Kind: device.Contrastive, Mean: device.MeanTerms, PosMargin: 0.15, NegMargin: 0.05},
		{Kind: device.MultiSimilarity, PosScale: 2, NegScale: 40, Base: 0.1, Mine: true, PosMargin: 0.1, Ceiling: 0.3},
		{Kind: device.Triplet, Mean: device.MeanTerms, PosMargin: 0.05},
		{Kind: device.EasyTriplet, PosMargin: 0.05},
		{Kind: device.Levels, PosScale: 32, Margins: []float32{0.25, 0.45}},
		{Kind: device.Angular, PosScale: 30, PosMargin: 0.5, Smoothing: 0.1},
	} {
		calls = append(calls, rankCall{fmt.Sprint("PairLoss", o.Kind), func() { b.PairLoss(loss, pairs, ds, s, sh, &o) },
			[]device.Array{loss, pairs, ds}})
	}
	return calls
}

// bytes runs a call on cleared results and returns what it wrote.
func (c *rankCall) bytes(t *testing.T, b device.Memory) (all [][]byte) {
	t.Helper()
	for _, a := range c.results {
		b.Upload(a, slices.Repeat([]byte{0xFF}, a.Len()*a.Type.Size()))
	}
	c.run()
	for _, a := range c.results {
		data := make([]byte, a.Len()*a.Type.Size())
		if err := b.Wait(b.Download(data, a)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		all = append(all, data)
	}
	return all
}

// Rows longer than any tile, with positives for several rounds of a block, match the CPU:
// integers and places exactly, sums within the tolerance of conformance's gradients.
func TestRankOperationsOfLongRowsEqualTheCPUs(t *testing.T) {
	b, plain := poisoned(t), cpu.New(1)
	b.Poison = true
	calls, reference := rankCalls(t, b, 2, 4500, 10), rankCalls(t, plain, 2, 4500, 10)
	for i, c := range calls {
		got, want := c.bytes(t, b), reference[i].bytes(t, plain)
		c.compare(t, got, want)
	}
}

// rankLossCase is a RankLoss of queries with the given numbers of positives, of three levels and with ties.
func rankLossCase(t testing.TB, b device.Backend, items int, positives []int, h *device.Steps, nan int) rankCall {
	r, q := rand.New(rand.NewPCG(17, uint64(items))), len(positives)
	scores, levels := make([]float32, q*items), make([]uint8, q*items)
	for i := range scores {
		scores[i] = float32(r.NormFloat64() * 0.15)
		if i%3 == 0 {
			scores[i] = float32(math.Round(float64(scores[i])*32) / 32)
		}
	}
	for query, n := range positives {
		for _, i := range r.Perm(items)[:n] {
			levels[query*items+i] = uint8(1 + r.IntN(3))
		}
	}
	if nan >= 0 {
		scores[nan] = float32(math.NaN())
	}
	s, sh := put(t, b, scores, q, items), put(t, b, levels, q, items)
	f32 := func(dims ...int) device.Array { return device.New(b, device.F32, dims...) }
	rel, cnt, weight := f32(q, 4), device.New(b, device.I32, q, 4), f32(q)
	b.Relevance(rel, cnt, weight, sh, device.RelKind{Mode: device.RelPop, Divisor: 3, Alpha: 1})
	loss, ds := f32(q), f32(q, items)
	return rankCall{"RankLoss", func() { b.RankLoss(loss, ds, s, sh, rel, cnt, h, &device.Score{}) },
		[]device.Array{loss, ds}}
}

// rankLossSteps returns steps of each kind of kernel.
func rankLossSteps() map[string]*device.Steps {
	smooth, exact := device.Step{Kind: device.Sigmoid, Tau: 0.01}, device.Step{Kind: device.Heaviside}
	upper := device.Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Zero: 1, AutoOffset: true}
	leak := device.Step{Kind: device.Leak, LeakSlope: 10, Beta: 25, Gamma: 0.5}
	all := func(s device.Step) [3]device.Step { return [3]device.Step{s, s, s} }
	return map[string]*device.Steps{
		"smooth": {Rank: all(smooth), Plus: all(smooth)},
		"sup":    {Rank: [3]device.Step{exact, exact, upper}, Plus: all(exact)},
		"hrank":  {Rank: [3]device.Step{exact, exact, upper}, Plus: [3]device.Step{leak, exact, exact}},
	}
}

// Queries with few positives, whose pairs are added up, and with many, whose rows are sorted, match the
// CPU beside each other. How many are sorted at a time changes no byte.
func TestRankLossOfFewAndManyPositives(t *testing.T) {
	items, positives := 5000, []int{0, 20, 64, 65, 2000}
	if effort.Long() {
		items, positives = 60000, []int{0, 4, 60, 1000, 15000}
	}
	b, plain := poisoned(t), cpu.New(2)
	for name, h := range rankLossSteps() {
		c, want := rankLossCase(t, b, items, positives, h, -1), rankLossCase(t, plain, items, positives, h, -1)
		c.name += " " + name
		b.RankWithin(1 << 30)
		got := c.bytes(t, b)
		c.compare(t, got, want.bytes(t, plain))
		b.RankWithin(1)
		for i, again := range c.bytes(t, b) {
			if !bytes.Equal(again, got[i]) {
				t.Errorf("%s: result %d of single queries differs", c.name, i)
			}
		}
	}
}

// A score that is not a number makes the loss of its query, and of no other, not a number.
func TestRankLossOfNaN(t *testing.T) {
	const items = 300
	b := poisoned(t)
	for name, h := range rankLossSteps() {
		for query := range 2 { // with few positives, and with many
			c := rankLossCase(t, b, items, []int{20, 100}, h, query*items+7)
			loss := c.bytes(t, b)[0]
			for q := range 2 {
				v := float64(math.Float32frombits(binary.NativeEndian.Uint32(loss[4*q:])))
				if math.IsNaN(v) != (q == query) {
					t.Errorf("%s: NaN in query %d gives query %d the loss %v", name, query, q, v)
				}
			}
		}
	}
}

// compare compares the results of a call with the expected ones: floats in relative L2, with
// conformance's absolute error for gradients whose terms cancel.
func (c *rankCall) compare(t *testing.T, got, want [][]byte) {
	t.Helper()
	for k, a := range c.results {
		if a.Type != device.F32 {
			if !bytes.Equal(got[k], want[k]) {
				t.Errorf("%s: result %d differs", c.name, k)
			}
			continue
		}
		diff, norm := 0.0, 0.0
		for e := 0; e < len(got[k]); e += 4 {
			x := float64(math.Float32frombits(binary.NativeEndian.Uint32(got[k][e:])))
			y := float64(math.Float32frombits(binary.NativeEndian.Uint32(want[k][e:])))
			diff += (x - y) * (x - y)
			norm += y * y
		}
		if diff, norm = math.Sqrt(diff), math.Sqrt(norm); !(diff <= 2e-5*norm+1e-6) {
			t.Errorf("%s: result %d: error %.3g of %.3g", c.name, k, diff, norm)
		}
	}
}

// Neither repetition nor the order of blocks and threads changes a byte.
func TestRankOperationsGiveTheSameBytesInAnyOrder(t *testing.T) {
	b := poisoned(t)
	b.Poison = true
	orders, setOrder := []string{"a GPU's own", "a GPU's own"}, func(string) {}
	if !conformance.OnCard() {
		orders = []string{"forward", "shuffled:1"}
		if effort.Exhaustive() {
			orders = []string{"forward", "forward", "reversed", "shuffled:1", "shuffled:2"}
		}
		setOrder = emu.Open(t, os.Getenv(cuda.LibrariesVariable)).Order
	}
	want := map[string][][]byte{}
	for _, order := range orders {
		setOrder(order)
		for _, c := range rankCalls(t, b, 3, 700, 4) {
			got := c.bytes(t, b)
			if want[c.name] == nil {
				want[c.name] = got
			}
			for k := range got {
				if !bytes.Equal(got[k], want[c.name][k]) {
					t.Errorf("%s: result %d of the order %s differs", c.name, k, order)
				}
			}
		}
	}
}

// All queries are computed, also where their number exceeds 16 bits, as only one dimension of a grid
// may.
func TestRankOperationsOfManyQueries(t *testing.T) {
	queries := 1000
	if effort.Long() {
		queries = 1<<16 + 1
	}
	b, plain := poisoned(t), cpu.New(1)
	calls, reference := rankCalls(t, b, queries, 2, 2), rankCalls(t, plain, queries, 2, 2)
	for i, c := range calls {
		if slices.Contains([]string{"Relevance", "RankLoss", "RankScore", "Ranks", "BinLoss"}, c.name) {
			c.compare(t, c.bytes(t, b), reference[i].bytes(t, plain))
		}
	}
}

// Arguments that the CPU rejects, and tables that exceed a kernel's arguments, panic at the
// call.
func TestRankOperationsPanicOnWrongShapes(t *testing.T) {
	b := poisoned(t)
	f32 := func(dims ...int) device.Array { return device.New(b, device.F32, dims...) }
	i32 := func(dims ...int) device.Array { return device.New(b, device.I32, dims...) }
	u8 := func(dims ...int) device.Array { return device.New(b, device.U8, dims...) }
	s, ds, loss, rel, cnt, sh := f32(2, 5), f32(2, 5), f32(2), f32(2, 3), i32(2, 3), u8(2, 5)
	none, pairs, steps := device.Array{}, i32(2, 2), &device.Steps{}
	long := &device.Score{Kind: device.ScoreRecall, At: make([]float32, 17), Temp: make([]float32, 17)}
	for name, call := range map[string]func(){
		"Shared: rows":      func() { b.Shared(sh, i32(3, 2), i32(5, 2), none, device.SharedKind{}) },
		"Shared: columns":   func() { b.Shared(sh, i32(2, 2), i32(5, 3), none, device.SharedKind{}) },
		"Shared: range":     func() { b.Shared(sh, i32(2, 2), i32(5, 2), none, device.SharedKind{From: 2}) },
		"Shared: self":      func() { b.Shared(sh, i32(2, 2), i32(5, 2), i32(3), device.SharedKind{}) },
		"Shared: type":      func() { b.Shared(s, i32(2, 2), i32(5, 2), none, device.SharedKind{}) },
		"Relevance: counts": func() { b.Relevance(rel, i32(2, 4), loss, sh, device.RelKind{}) },
		"Relevance: weight": func() { b.Relevance(rel, cnt, f32(3), sh, device.RelKind{}) },
		"Relevance: map": func() {
			b.Relevance(rel, cnt, loss, sh, device.RelKind{Mode: device.RelMap, Weights: []float32{1}})
		},
		"Relevance: levels": func() {
			b.Relevance(f32(2, 34), i32(2, 34), loss, sh, device.RelKind{Mode: device.RelMap, Weights: make([]float32, 33)})
		},
		"RankScore: plus": func() { b.RankScore(loss, ds, ds, s, none, sh, rel, cnt, &device.Score{}) },
		"RankScore: rank": func() { b.RankScore(loss, ds, ds, f32(2, 4), s, sh, rel, cnt, &device.Score{}) },
		"RankScore: log": func() {
			b.RankScore(loss, ds, ds, s, none, sh, rel, cnt, &device.Score{Kind: device.ScoreLog})
		},
		"RankScore: at":      func() { b.RankScore(loss, ds, ds, s, s, sh, rel, cnt, long) },
		"RankLoss: at":       func() { b.RankLoss(loss, ds, s, sh, rel, cnt, steps, long) },
		"RankLoss: loss":     func() { b.RankLoss(f32(3), ds, s, sh, rel, cnt, steps, &device.Score{}) },
		"RankLoss: ds":       func() { b.RankLoss(loss, f32(2, 4), s, sh, rel, cnt, steps, &device.Score{}) },
		"Ranks: rank":        func() { b.Ranks(f32(3, 5), s, sh, 0) },
		"Ranked: rows":       func() { b.Ranked(u8(3, 5), none, s, sh) },
		"Ranked: order":      func() { b.Ranked(u8(2, 3), i32(2, 4), s, sh) },
		"RanksGrad: lambda":  func() { b.RanksGrad(ds, s, s, sh, 0) },
		"RanksGrad: drank":   func() { b.RanksGrad(ds, f32(2, 4), s, sh, 1) },
		"BinLoss: bins":      func() { b.BinLoss(loss, ds, s, sh, &device.Bins{N: 1, Max: 1}) },
		"BinLoss: ds":        func() { b.BinLoss(loss, f32(2, 4), s, sh, &device.Bins{N: 2, Max: 1}) },
		"PairLoss: counts":   func() { b.PairLoss(loss, i32(2, 3), ds, s, sh, &device.Pairs{}) },
		"PairLoss: loss":     func() { b.PairLoss(f32(1), pairs, ds, s, sh, &device.Pairs{}) },
		"PairLoss: no level": func() { b.PairLoss(loss, pairs, ds, s, i32(2, 5), &device.Pairs{}) },
		"PairLoss: margins": func() {
			b.PairLoss(loss, pairs, ds, s, sh, &device.Pairs{Kind: device.Levels, Margins: make([]float32, 33)})
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

func TestRankOperationsWithoutQueries(t *testing.T) {
	b, plain := poisoned(t), cpu.New(1)
	calls, reference := rankCalls(t, b, 0, 5, 2), rankCalls(t, plain, 0, 5, 2)
	for i, c := range calls {
		c.compare(t, c.bytes(t, b), reference[i].bytes(t, plain))
	}
}

// Rows of more items than a tile has take all passes of the sort. Queries whose rows exceed its
// scratch memory are sorted in turn.
func TestRankedSortsLongRows(t *testing.T) {
	queries, items, scratch := 3, 2*4096+100, 256<<10
	if effort.Long() {
		queries, items, scratch = 17, 1_000_000, 256<<20
	}
	b := poisoned(t)
	b.SortWithin(scratch)
	r := rand.New(rand.NewPCG(13, 1))
	scores, levels := make([]float32, queries*items), make([]uint8, queries*items)
	for i := range scores {
		scores[i] = float32(r.IntN(items/4)-items/8) / float32(items/8) // four items share a score
		if levels[i] = uint8(r.IntN(3)); r.IntN(16) == 0 {
			levels[i], scores[i] = device.AbsentLevel, float32(math.NaN())
		}
	}
	shared, order := device.New(b, device.U8, queries, items), device.New(b, device.I32, queries, items)
	b.Ranked(shared, order, put(t, b, scores, queries, items), put(t, b, levels, queries, items))
	gotShared, gotOrder := get[uint8](t, b, shared), get[int32](t, b, order)
	for q := range queries {
		row := q * items
		checkRanked(t, gotShared[row:row+items], gotOrder[row:row+items], scores[row:row+items], levels[row:row+items])
	}
}

// checkRanked checks that a row is sorted: scores fall, rows rise among equal scores, and
// every existing item occurs once.
func checkRanked(t *testing.T, shared []uint8, order []int32, scores []float32, levels []uint8) {
	t.Helper()
	exist := 0
	for _, l := range levels {
		if l != device.AbsentLevel {
			exist++
		}
	}
	for place, row := range order {
		if place >= exist {
			if row != -1 || shared[place] != device.AbsentLevel {
				t.Fatalf("place %d of %d: row %d, level %d", place, exist, row, shared[place])
			}
			continue
		}
		want := levels[row]
		if place > 0 {
			before := order[place-1]
			if scores[before] == scores[row] {
				want |= 0x80
			}
			if !(scores[before] > scores[row] || scores[before] == scores[row] && before < row) {
				t.Fatalf("place %d: row %d of score %v after row %d of score %v", place, row, scores[row], before, scores[before])
			}
		}
		if shared[place] != want {
			t.Fatalf("place %d: level %d, want %d", place, shared[place], want)
		}
	}
}
