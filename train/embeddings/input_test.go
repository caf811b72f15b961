package embeddings

import (
	"bytes"
	"encoding/binary"
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

	"github.com/parquet-go/parquet-go"

	"hgld/internal/half"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/device/cpu"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

func file(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// numbers writes little-endian values as .npy.
func numbers(t *testing.T, dir, name, dtype string, shape []int, values any) string {
	t.Helper()
	var data, out bytes.Buffer
	must.Do(t, binary.Write(&data, binary.LittleEndian, values))
	must.Do(t, tensorfile.WriteNPY(&out, tensorfile.Tensor{DType: dtype, Shape: shape, Data: data.Bytes()}))
	return file(t, dir, name, out.String())
}

// said collects what an input says.
type said []string

func (s *said) log(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

// Four vectors, of which the rows 0 and 2 are queries and the rows 1 to 3 the gallery: the
// query of row 2 is row 1 of the gallery.
func TestOneTableHasBothSides(t *testing.T) {
	dir := t.TempDir()
	var s said
	in := Input{Embeddings: numbers(t, dir, "e.npy", "F32", []int{4, 2}, []float32{1, 0, 2, 0, 3, 0, 4, 0}),
		Labels: file(t, dir, "l.csv", "class,is_query,is_gallery\na,1,0\na,0,1\nb,1,1\nb,0,1\n"),
		Open:   Open, Labelling: Labelling{Log: s.log}}
	e, err := in.Load(cpu.New(1))
	must.Do(t, err)
	if !slices.Equal(e.Self, []int32{-1, 1}) || len(e.Gallery.Labels) != 3 || e.Query.Vectors.Dims[0] != 2 || e.Same {
		t.Errorf("%+v", e)
	}
	if len(s) != 1 || !strings.HasPrefix(s[0], "1 of 2 queries are also in the gallery") {
		t.Errorf("said %q", s)
	}
	in.Limit = 1
	if e, err = in.Load(cpu.New(1)); err != nil || e.Self != nil || len(e.Query.Labels) != 1 {
		t.Errorf("the first query alone: %+v, %v", e, err)
	}
}

// Vectors that stay in their files give the figures of those on the device, from each kind of
// file, with each width of number, and where only some rows of a table are taken. A float16 and a
// bfloat16 give those of the float32 that they stand for.
func TestVectorsThatStayGiveTheSameFigures(t *testing.T) {
	const rows, cols = 230, 19
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(5, 5))
	values, f16, bf16 := make([]float32, rows*cols), make([]uint16, rows*cols), make([]uint16, rows*cols)
	type row struct {
		Vector []float32 `parquet:"embedding,list"`
	}
	table := make([]row, rows)
	text := "class,kind,is_query,is_gallery\n"
	for i := range values {
		values[i] = half.BF16(half.ToBF16(float32(r.IntN(32)) - 15.5)) // exact in all three types
		f16[i], bf16[i] = half.ToF16(values[i]), half.ToBF16(values[i])
	}
	for i := range table {
		table[i].Vector = values[i*cols:][:cols]
		text += fmt.Sprintf("c%d,k%d,%d,%d\n", i%40, i%40%3, i%3/2, i%4/3^1)
	}
	var out bytes.Buffer
	must.Do(t, parquet.Write(&out, table))
	bits := make([]byte, 0, 2*len(bf16))
	for _, v := range bf16 {
		bits = binary.LittleEndian.AppendUint16(bits, v)
	}
	safe := new(bytes.Buffer)
	err := tensorfile.WriteSafetensors(safe, []tensorfile.Tensor{{Name: "embeddings", DType: "BF16",
		Shape: []int{rows, cols}, Data: bits}}, nil)
	must.Do(t, err)
	files := []string{numbers(t, dir, "e.npy", "F32", []int{rows, cols}, values),
		numbers(t, dir, "half.npy", "F16", []int{rows, cols}, f16),
		file(t, dir, "e.safetensors", safe.String()), file(t, dir, "e.parquet", out.String())}
	sheet := file(t, dir, "l.csv", text)
	for limit, want := range map[int]string{0: "", 11: ""} {
		for _, path := range files {
			for _, stay := range []bool{false, true} {
				in := Input{Embeddings: path, Labels: sheet, Unit: true, Limit: limit, InPlace: stay, Open: Open,
					Labelling: Labelling{Log: new(said).log}}
				got := figures(t, &in)
				if want == "" {
					want = got
				} else if got != want {
					t.Errorf("%s, stay %v, limit %d: other figures", filepath.Base(path), stay, limit)
				}
			}
		}
	}
}

// figures evaluates an input.
func figures(t *testing.T, in *Input) string {
	t.Helper()
	b := cpu.New(2)
	e, err := in.Load(b)
	must.Do(t, err)
	if inPlace := e.Gallery.Stored != nil; inPlace != in.InPlace {
		t.Fatalf("in place %v, want %v", inPlace, in.InPlace)
	}
	e.PerQuery = true
	if e.Metrics, err = metric.ParseSet([]string{"R@1", "AP", "H-AP"}); err != nil {
		t.Fatal(err)
	}
	result, err := retrieval.Evaluate(t.Context(), b, &e.Evaluation)
	if err = errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(result)
	must.Do(t, err)
	return string(text)
}

// A vector of zeros is told of, and one that is not finite is an error, wherever vectors are.
func TestOddVectorsAreFoundInTheirFiles(t *testing.T) {
	dir := t.TempDir()
	for _, stay := range []bool{false, true} {
		var s said
		in := Input{Embeddings: numbers(t, dir, "z.npy", "F32", []int{3, 1}, []float32{1, 0, 2}),
			Labels: file(t, dir, "l.csv", "id,class\nx,a\ny,a\nz,b\n"), InPlace: stay, Open: Open,
			Labelling: Labelling{Log: s.log}}
		e, err := in.Load(cpu.New(1))
		if err != nil || len(s) != 1 || !strings.Contains(s[0], "1 of 3 vectors of "+in.Embeddings+
			" are all zeros, the first in row 1 (y)") {
			t.Fatalf("stay %v: said %q, error %v", stay, s, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		in.Embeddings = numbers(t, dir, "n.npy", "F32", []int{3, 1}, []float32{1, float32(math.NaN()), 2})
		var bad *ValuesError
		if _, err := in.Load(cpu.New(1)); !errors.As(err, &bad) || bad.Path != in.Embeddings {
			t.Errorf("stay %v: error %v", stay, err)
		}
	}
}

// The labels stand in another order than the vectors, and have a row too many.
func TestLabelsAreMatchedByID(t *testing.T) {
	type row struct {
		ID     string    `parquet:"id"`
		Vector []float32 `parquet:"embedding,list"`
	}
	dir := t.TempDir()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[row](&out)
	if _, err := w.Write([]row{{"x", []float32{1, 0}}, {"y", []float32{0, 1}}, {"z", []float32{1, 1}}}); err != nil {
		t.Fatal(err)
	}
	must.Do(t, w.Close())
	var s said
	in := Input{Embeddings: file(t, dir, "e.parquet", out.String()),
		Labels: file(t, dir, "l.csv", "class,id\na,z\nb,extra\nc,x\na,y\n"),
		Open:   Open, Labelling: Labelling{Log: s.log}}
	e := must.Get(in.Load(cpu.New(1)))(t)
	if !slices.Equal(e.Query.IDs, []string{"x", "y", "z"}) || e.Query.Labels[1][0] != e.Query.Labels[2][0] ||
		e.Query.Labels[0][0] == e.Query.Labels[1][0] ||
		len(s) != 1 || !strings.HasSuffix(s[0], "by id; 1 rows have no vector") {
		t.Errorf("%v %v, said %q", e.Query.IDs, e.Query.Labels, s)
	}
	for want, text := range map[string]string{
		`vector 1 has the id "y", but no row`: "class,id\na,x\na,z\n",
		`have the same id, "x"`:               "class,id\na,x\na,y\na,z\na,x\n",
	} {
		in.Labels = file(t, dir, "odd.csv", text)
		if _, err := in.Load(cpu.New(1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	twice, _, err := (&Rows{IDs: []string{"x", "y"}}).Match([]string{"y", "x", "y"})
	if want := `vectors 0 and 2 have the same id, "y"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, error %v, want %q", twice, err, want)
	}
}

func TestRankingsAreReadFromBothKindsOfFile(t *testing.T) {
	dir := t.TempDir()
	in := Input{Labels: file(t, dir, "q.csv", "id,class\nq0,a\nq1,b\n"),
		GalleryLabels: file(t, dir, "g.csv", "id,class\ng0,a\ng1,b\ng2,b\n"), Labelling: Labelling{Log: new(said).log}}
	indices := numbers(t, dir, "i.npy", "I64", []int{2, 3}, []int64{2, 0, -1, 1, 2, 0})
	run := file(t, dir, "x.run", "q0 Q0 g0 1 0.25 me\nq0 Q0 g2 9 0.5 me\n\n"+
		"q1 Q0 g2 1 3000000000 me\nq1 Q0 g0 1 3000000000 me\nq1 Q0 g1 1 3000000001 me\n") // one in float32
	want := [][]int32{{2, 0}, {1, 2, 0}}
	for _, path := range []string{indices, run} {
		_, list, err := in.LoadRankings(path)
		must.Do(t, err)
		for q, rows := range want {
			if !slices.Equal(list[q].Rows, rows) {
				t.Errorf("%s: query %d has %v, want %v", path, q, list[q].Rows, rows)
			}
		}
		if path == run && !slices.Equal(list[1].Scores, []float64{3e9 + 1, 3e9, 3e9}) {
			t.Errorf("scores %v", list[1].Scores)
		}
	}
	for want, path := range map[string]string{
		`line 1: no query has the id "q9"`: file(t, dir, "a.run", "q9 Q0 g0 1 1 me\n"),
		`the query "q1" ranks the item "g2" twice`: file(t, dir, "twice.run",
			"q0 Q0 g2 1 2 me\nq1 Q0 g2 1 2 me\nq1 Q0 g0 2 1 me\nq1 Q0 g2 3 0 me\n"),
		`no item of the gallery has the id "g9"`: file(t, dir, "b.run", "q0 Q0 g9 1 1 me\n"),
		`the score is "NaN"`:                     file(t, dir, "c.run", "q0 Q0 g0 1 NaN me\n"),
		"line 1 has 5 columns":                   file(t, dir, "d.run", "q0 Q0 g0 1 1\n"),
		"1 rankings for 2 queries":               numbers(t, dir, "a.npy", "I64", []int{1, 2}, []int64{0, 1}),
		"F32[2 1], want integers":                numbers(t, dir, "b.npy", "F32", []int{2, 1}, []float32{0, 1}),
		"row 4294967296 is not in the gallery":   numbers(t, dir, "c.npy", "I64", []int{2, 1}, []int64{0, 1 << 32}),
	} {
		if _, _, err := in.LoadRankings(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Labels that a damaged file may have are not said to be missing.
func TestDamagedVectorsAreNamedBeforeTheirLabels(t *testing.T) {
	in := &Input{Embeddings: file(t, t.TempDir(), "e.safetensors", "\x04\x00\x00\x00\x00\x00\x00\x00{[}]")}
	err := in.Complete()
	if err == nil || errors.As(err, new(*NoLabelsError)) || !strings.Contains(err.Error(), "e.safetensors") {
		t.Errorf("%v", err)
	}
}
