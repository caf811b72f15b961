package index

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/filelock"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/embeddings"
	"hgld/train/evaluation"
	"hgld/train/input"
	"hgld/train/retrieval"
)

// drawn is vectors of another model in two classes.
type drawn struct{ n int }

const drawnWidth = 6

func (d drawn) Len() int                 { return d.n }
func (d drawn) Levels() []string         { return []string{"kind"} }
func (d drawn) Classes(int) []string     { return []string{"even", "odd"} }
func (d drawn) Labels(i int) labels.Path { return labels.Path{int32(i % 2)} }
func (d drawn) ID(i int) string          { return fmt.Sprintf("v%03d", i) }
func (d drawn) Width() int               { return drawnWidth }
func (d drawn) Vector(i int) []float32 {
	r := rand.New(rand.NewPCG(uint64(i), 3))
	v := make([]float32, drawnWidth)
	for k := range v {
		v[k] = float32(r.NormFloat64()) + float32(i%2)
	}
	return v
}

func (d drawn) Image(context.Context, int) ([]byte, error) { return nil, errors.New("there are none") }

// head trains a head for two steps.
func head(t *testing.T) *evaluation.Model {
	t.Helper()
	c := config.Default()
	c.Model.Dim, c.Sampler.Batch, c.Sampler.M, c.Epochs, c.Steps, c.Run.Checkpoint = 4, 8, 4, 0, 2, 0
	b, dir := cpu.New(1), t.TempDir()
	r, err := train.New(c, train.Data{Train: drawn{64}}, train.Options{Backend: b, Dir: dir})
	must.Do(t, err)
	for _, err := range r.Events(t.Context()) {
		must.Do(t, err)
	}
	must.Do(t, r.Close())
	m, err := evaluation.Open(dir, b, nil, false)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must.Do(t, err)
	return data
}

// The files are those of an embedding in one go, however many parts there are.
func TestPartsChangeNoByte(t *testing.T) {
	m, d := head(t), drawn{200}
	all, err := m.EmbedAll(t.Context(), d, evaluation.EmbedOptions{})
	must.Do(t, err)
	files := map[string][]byte{}
	for _, rows := range []int{0, 64, 100, 200} {
		for _, kind := range []string{".npy", ".parquet"} {
			dir := t.TempDir()
			w := Writer{Path: filepath.Join(dir, "v"+kind), Data: "drawn", PartRows: rows}
			info, kept, err := w.Write(t.Context(), m, d)
			if err != nil || kept || info.Rows != d.n || info.Width != 4 {
				t.Fatalf("parts of %d: %+v, kept %t, %v", rows, info, kept, err)
			}
			list, err := os.ReadDir(dir)
			must.Do(t, err)
			for _, f := range list {
				if strings.HasSuffix(f.Name(), ".json") {
					continue // it has the folder of the model
				}
				data := read(t, filepath.Join(dir, f.Name()))
				if first, seen := files[f.Name()]; seen && !bytes.Equal(first, data) {
					t.Errorf("parts of %d: other bytes in %s", rows, f.Name())
				} else if !seen && rows > 0 {
					t.Errorf("parts of %d left %s", rows, f.Name())
				}
				files[f.Name()] = data
			}
		}
	}
	if !bytes.HasSuffix(files["v.npy"], all.Vectors.Data) || len(all.Vectors.Data) != 200*4*4 {
		t.Error("the vectors are not those of the model")
	}
	if want := "id,kind\nv000,even\nv001,odd\n"; !strings.HasPrefix(string(files["v.csv"]), want) {
		t.Errorf("the table begins %.40q", files["v.csv"])
	}
}

// Slices, in any order and with one that was stopped, give the bytes of one embedding. Without all of them, Finish
// names those that are missing.
func TestSlicesGiveTheBytesOfOneEmbedding(t *testing.T) {
	m, d := head(t), drawn{200} // 4 parts of 64
	for _, of := range []int{1, 3, 6} {
		dir := t.TempDir()
		one := Writer{Path: filepath.Join(dir, "one.npy"), Data: "drawn", PartRows: 64}
		if _, _, err := one.Write(t.Context(), m, d); err != nil {
			t.Fatal(err)
		}
		w := Writer{Path: filepath.Join(dir, "v.npy"), Data: "drawn", PartRows: 64}
		finish := w
		finish.Finish = true
		var missing *MissingPartsError
		if _, _, err := finish.Write(t.Context(), m, d); !errors.As(err, &missing) || len(missing.Parts) != 4 {
			t.Fatalf("finish of nothing: %v", err)
		}
		items := 0
		for n := of; n >= 1; n-- {
			s, err := w.WriteSlice(t.Context(), m, d, n, of)
			if err != nil || s.Kept != 0 {
				t.Fatalf("slice %d of %d: %+v, %v", n, of, s, err)
			}
			items += s.Items
			if again, err := w.WriteSlice(t.Context(), m, d, n, of); err != nil || again.Kept != s.Parts {
				t.Errorf("slice %d of %d again: %+v, %v", n, of, again, err)
			}
			if n == 2 {
				_, _, err := finish.Write(t.Context(), m, d)
				if !errors.As(err, &missing) || !slices.Equal(missing.Slices(of), []int{1}) {
					t.Errorf("without slice 1 of %d: %v, %+v", of, err, missing)
				}
			}
		}
		if info, kept, err := finish.Write(t.Context(), m, d); err != nil || kept || info.Rows != 200 || items != 200 {
			t.Fatalf("%d slices: %+v, %v, %d items", of, info, err, items)
		}
		for _, end := range []string{".npy", ".csv"} {
			if !bytes.Equal(read(t, filepath.Join(dir, "v"+end)), read(t, filepath.Join(dir, "one"+end))) {
				t.Errorf("%d slices: other bytes in v%s", of, end)
			}
		}
		if s, err := w.WriteSlice(t.Context(), m, d, 1, of); err != nil || s.Kept != s.Parts {
			t.Errorf("a slice of finished files: %+v, %v", s, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*parts*")); len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
	}
	// Items that fit into one part are saved by a slice, too.
	w := Writer{Path: filepath.Join(t.TempDir(), "v.parquet"), Data: "drawn"}
	if s, err := w.WriteSlice(t.Context(), m, drawn{10}, 1, 2); err != nil || s.Parts != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	w.Finish = true
	if info, _, err := w.Write(t.Context(), m, drawn{10}); err != nil || info.Rows != 10 {
		t.Errorf("%+v, %v", info, err)
	}
}

// overflowing has vectors that a network cannot compute with.
type overflowing struct{ drawn }

func (o overflowing) Vector(i int) []float32 {
	v := o.drawn.Vector(i)
	if i == 3 {
		v[0] = float32(math.Inf(1))
	}
	return v
}

func TestVectorsThatAreNotFiniteAreNotWritten(t *testing.T) {
	m := head(t)
	w := Writer{Path: filepath.Join(t.TempDir(), "v.npy"), Data: "drawn"}
	_, _, err := w.Write(t.Context(), m, overflowing{drawn{8}})
	if err == nil || !strings.Contains(err.Error(), "the embedding of v003 has a value that is not finite (column 0)") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(w.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// What was embedded before an interruption is not embedded again, unless it is damaged.
func TestInterruptedIndexContinues(t *testing.T) {
	m, d := head(t), drawn{300}
	whole := Writer{Path: filepath.Join(t.TempDir(), "v.npy"), PartRows: 64}
	if _, _, err := whole.Write(t.Context(), m, d); err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []bool{false, true} {
		w := Writer{Path: filepath.Join(t.TempDir(), "v.npy"), PartRows: 64}
		ctx, stop := context.WithCancel(t.Context())
		w.Progress = func(done, _ int) {
			if done > 130 {
				stop()
			}
		}
		if _, _, err := w.Write(ctx, m, d); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		parts, err := filepath.Glob(w.Path + ".parts-*/*")
		if err != nil || len(parts) < 2 {
			t.Fatalf("parts %q, %v", parts, err)
		}
		first := 64*len(parts) + 1
		if damaged {
			must.Do(t, os.Truncate(parts[0], 90))
			first = 1
		}
		least := d.n
		w.Progress = func(done, _ int) { least = min(least, done) }
		if _, kept, err := w.Write(t.Context(), m, d); err != nil || kept {
			t.Fatal(kept, err)
		}
		if least < first || damaged && least > 64 {
			t.Errorf("damaged %t: it went on from %d, want %d or later", damaged, least, first)
		}
		if !bytes.Equal(read(t, w.Path), read(t, whole.Path)) {
			t.Errorf("damaged %t: other vectors than without an interruption", damaged)
		}
		if left, _ := filepath.Glob(w.Path + ".parts-*"); len(left) > 0 {
			t.Errorf("%q are left", left)
		}
	}
}

// A second process would take the parts of the first for its own, and remove them when it is done.
func TestTwoProcessesDoNotWriteOneIndex(t *testing.T) {
	m, d := head(t), drawn{130}
	w := Writer{Path: filepath.Join(t.TempDir(), "v.npy"), PartRows: 64}
	second, tried := w, false
	w.Progress = func(done, _ int) {
		if tried || done < 65 {
			return
		}
		tried = true
		if _, _, err := second.Write(t.Context(), m, d); !errors.As(err, new(*filelock.LockedError)) {
			t.Errorf("error %v, want that the index is locked", err)
		}
	}
	if _, _, err := w.Write(t.Context(), m, d); err != nil || !tried {
		t.Errorf("tried %t: %v", tried, err)
	}
}

func TestCompleteIndexIsKept(t *testing.T) {
	m := head(t)
	w := Writer{Path: filepath.Join(t.TempDir(), "v.npy")}
	write := func(d input.Dataset) bool {
		t.Helper()
		_, kept, err := w.Write(t.Context(), m, d)
		must.Do(t, err)
		return kept
	}
	if write(drawn{70}) || !write(drawn{70}) {
		t.Error("the second time it is not kept")
	}
	if left, _ := filepath.Glob(w.Path + ".parts-*"); len(left) > 0 {
		t.Errorf("%q are left, as if the files were unfinished", left)
	}
	if write(drawn{71}) {
		t.Error("an index of other items is kept")
	}
	sum, err := m.WeightsSum()
	must.Do(t, err)
	made := func(weights string, d input.Dataset) bool {
		x := Made(t.Context(), filepath.Dir(w.Path), weights, d, embeddings.Open)
		return x != nil && x.Path == w.Path && x.Close() == nil
	}
	if !made(sum, drawn{71}) || made("other", drawn{71}) || made(sum, drawn{70}) {
		t.Error("the index is not found, or found for another model or other items")
	}
	must.Do(t, os.WriteFile(w.Path, []byte("damage"), 0o644))
	if _, err := Open(t.Context(), w.Path, "", func(string) (embeddings.Vectors, error) {
		return &retrieval.Matrix{Cols: 4, Values: make([]float32, 284)}, nil
	}); !errors.As(err, new(*ChangedError)) {
		t.Errorf("vectors that were changed: %v", err)
	}
	if made(sum, drawn{71}) {
		t.Error("a damaged index is found")
	}
	if write(drawn{71}) {
		t.Error("a damaged index is kept")
	}
}

// The files of an index are known by its record or, if Write was interrupted, by the finished parts.
func TestOwnsTheFilesOfAnIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v[1].npy")
	owns := func() bool {
		ours, err := Owns(beside(path, ".csv"))
		if err != nil {
			t.Error(err)
		}
		return ours
	}
	if owns() {
		t.Error("a file without a record")
	}
	must.Do(t, os.WriteFile(InfoFile(path), []byte(`{"mine": 1}`), 0o644))
	if owns() {
		t.Error("a record of another program")
	}
	must.Do(t, os.Mkdir(path+".parts-0123456789ab", 0o755))
	if !owns() {
		t.Error("finished parts do not count")
	}
}

// The neighbours are those of all cosines in float64, and the query is not among them. Scores are
// of sums of six float32 products: 1e-6.
func TestNearestAreTheGreatestCosines(t *testing.T) {
	const n = 90
	d := drawn{n}
	var values []float32
	for i := range n {
		values = append(values, d.Vector(i)...)
	}
	path := filepath.Join(t.TempDir(), "v.npy")
	var npy, csv bytes.Buffer
	must.Do(t, tensorfile.WriteNPY(&npy, tensorfile.NewF32("", []int{n, drawnWidth}, values)))
	csv.WriteString("id\tkind\n")
	for i := range n {
		fmt.Fprintf(&csv, "%s\t%s\n", d.ID(min(i, n-2)), d.Classes(0)[i%2]) // the last two have one id
	}
	if err := errors.Join(os.WriteFile(path, npy.Bytes(), 0o644),
		os.WriteFile(beside(path, ".tsv"), csv.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	x, err := Open(t.Context(), path, "", embeddings.Open)
	must.Do(t, err)
	defer x.Close()
	row, err := x.Row("v007")
	if err != nil || row != 7 {
		t.Fatal(row, err)
	}
	for id, want := range map[string]string{"v088": "rows 88 and 89 of", "none": "no row of"} {
		if _, err := x.Row(id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	query, err := x.Vector(row)
	must.Do(t, err)
	cosine := func(i int) float64 {
		a, b, ab := 0.0, 0.0, 0.0
		for k, y := range d.Vector(i) {
			a, b, ab = a+float64(query[k])*float64(query[k]), b+float64(y)*float64(y), ab+float64(query[k])*float64(y)
		}
		return ab / math.Sqrt(a*b)
	}
	var order []int
	for i := range n {
		if i != row {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if cosine(a) > cosine(b) {
			return -1
		}
		return 1
	})
	hits, err := x.Nearest(t.Context(), cpu.New(2), query, 9, row)
	if err != nil || len(hits) != 9 {
		t.Fatal(len(hits), err)
	}
	for i, h := range hits {
		if h.Row != order[i] || h.Place != i+1 || math.Abs(float64(h.Score)-cosine(h.Row)) > 1e-6 ||
			!slices.Equal(h.Classes, []string{d.Classes(0)[h.Row%2]}) {
			t.Errorf("place %d: %+v, want row %d with %v", i+1, h, order[i], cosine(order[i]))
		}
	}
}

func TestQueryMustBeOfTheModelOfTheIndex(t *testing.T) {
	vectors := &retrieval.Matrix{Cols: 4, Values: make([]float32, 12)}
	x := &Index{Path: "v.npy", vectors: vectors, Info: &Info{Weights: "abc", Run: "r"}}
	if err := x.Fits("abc", "runs/r", 4); err != nil {
		t.Error(err)
	}
	for _, err := range []error{x.Fits("abd", "runs/s", 4), x.Fits("abc", "runs/r", 5)} {
		if !errors.As(err, new(*ModelError)) {
			t.Error(err)
		}
	}
}

func TestLaterIndexIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.npy")
	text, err := json.Marshal(Info{Version: Version + 1})
	if err == nil {
		err = os.WriteFile(InfoFile(path), text, 0o644)
	}
	must.Do(t, err)
	if _, err := readInfo(path); err == nil || !strings.Contains(err.Error(), "format version 2") {
		t.Error(err)
	}
}
