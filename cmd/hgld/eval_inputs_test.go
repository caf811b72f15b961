package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/half"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
)

// The inputs of these tests are twelve vectors of six classes, of which the nearest neighbour of each has
// its class, and so R@1 is 100 where rows and classes are read for what they are.
const inputRows = 12

// inputVectors are the vectors: row i has its class i/2, and a little of a number of its own. shift makes
// others of the same images.
func inputVectors(shift float32) []float32 {
	list := make([]float32, inputRows*8)
	for i := range inputRows {
		list[i*8+i/2] = 1
		list[i*8+6] = float32(i%2)/8 + shift
		list[i*8+7] = float32(i)/64 - shift
	}
	return list
}

// column writes a line for each row, with the cells of f behind their separators.
func column(head string, f func(i int) string) string {
	text := head + "\n"
	for i := range inputRows {
		text += f(i) + "\n"
	}
	return text
}

func arrayFile(t *testing.T, a tensorfile.Tensor) []byte {
	t.Helper()
	var file bytes.Buffer
	must.Do(t, tensorfile.WriteNPY(&file, a))
	return file.Bytes()
}

func int64Labels(of func(i int) int64) tensorfile.Tensor {
	list := make([]int64, inputRows)
	for i := range list {
		list[i] = of(i)
	}
	return tensorfile.NewI64("labels", []int{inputRows}, list)
}

// torchFile is {"embeddings": tensor, "labels": ["c0", "c0", "c1", …]} of torch.save.
func torchFile(t *testing.T, values []float32) []byte {
	t.Helper()
	text := func(s string) string { return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s }
	list := "]("
	for i := range inputRows {
		list += text(fmt.Sprintf("c%d", i/2))
	}
	pickle := "\x80\x02}(" + text("embeddings") + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
		"ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\x60tQK\x00(K\x0cK\x08t(K\x08K\x01t\x89}tR" +
		text("labels") + list + "eu."
	var data, file bytes.Buffer
	must.Do(t, binary.Write(&data, binary.LittleEndian, values))
	z := zip.NewWriter(&file)
	for _, m := range [][2]string{{"a/data.pkl", pickle}, {"a/data/0", data.String()}} {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: m[0], Method: zip.Store}))(t)
		w.Write([]byte(m[1]))
	}
	must.Do(t, z.Close())
	return file.Bytes()
}

// halfParquet has vectors of float16, and classes in columns of any name: of texts, and of floats with NaN.
func halfParquet(t *testing.T, values []float32) []byte {
	t.Helper()
	type row struct {
		Vector [][2]byte `parquet:"vector,list"`
		Kind   string    `parquet:"kind"`
		Number float64   `parquet:"number"`
	}
	rows := make([]row, inputRows)
	for i := range rows {
		for _, v := range values[i*8:][:8] {
			var b [2]byte
			binary.LittleEndian.PutUint16(b[:], half.ToF16(v))
			rows[i].Vector = append(rows[i].Vector, b)
		}
		rows[i].Kind, rows[i].Number = fmt.Sprintf("c%d", i/2), float64(i/2)
	}
	rows[11].Number = math.NaN()
	var file bytes.Buffer
	must.Do(t, parquet.Write(&file, rows))
	return file.Bytes()
}

func writeInputs(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	class := func(i int) string { return fmt.Sprintf("c%d", i/2) }
	shape := []int{inputRows, 8}
	vectors := arrayFile(t, tensorfile.NewF32("", shape, inputVectors(0)))
	others := arrayFile(t, tensorfile.NewF32("", shape, inputVectors(0.3)))
	var safe bytes.Buffer
	must.Do(t, tensorfile.WriteSafetensors(&safe, []tensorfile.Tensor{
		tensorfile.NewF32("image_embeds", shape, inputVectors(0)),
		int64Labels(func(i int) int64 { return int64(i / 2) })}, nil))
	hot := make([]int64, inputRows*6)
	names := ""
	for i := range inputRows {
		hot[i*6+i/2] = 1
		names += string([]byte{'c', 0, 0, 0, byte('0' + i/2), 0, 0, 0})
	}
	files := map[string][]byte{"e.npy": vectors, "q.npy": vectors, "same.npy": vectors, "other.npy": others,
		"e.pt": torchFile(t, inputVectors(0)), "half.parquet": halfParquet(t, inputVectors(0)),
		"st.safetensors": safe.Bytes(),
		"hot.npy":        arrayFile(t, tensorfile.NewI64("", []int{inputRows, 6}, hot)),
		"minus.npy":      arrayFile(t, int64Labels(func(i int) int64 { return []int64{-1, -2, -3, 4, 5, 6}[i/2] })),
		"names.npy":      npyOf(dict("'<U2'", "False", "(12,)"), []byte(names)),
		"big.npy":        npyOf(dict("'>f4'", "False", "(12, 8)"), bigEndian(inputVectors(0)))}
	for name, text := range map[string]string{
		"spaced.csv":   column(" id , fine ", func(i int) string { return fmt.Sprintf("%d.jpg, %s", i, class(i)) }),
		"both.csv":     column("fine", func(i int) string { return []string{"-1", "nan", "b", "c", "d", "e"}[i/2] }),
		"good.csv":     column("fine", class),
		"ids.csv":      column("id,fine", func(i int) string { return fmt.Sprintf("%d.jpg,%s", i, class(i)) }),
		"nfd.csv":      column("id,fine", func(i int) string { return fmt.Sprintf("e\u0301%d.jpg,%s", i, class(i)) }),
		"nfc.csv":      column("id,fine", func(i int) string { return fmt.Sprintf("\u00e9%d.jpg,%s", i, class(i)) }),
		"turned.csv":   column("id,fine", func(i int) string { return fmt.Sprintf("%d.jpg,%s", i, class(11-i)) }),
		"index.csv":    column(",fine", func(i int) string { return fmt.Sprintf("%d,%s", i, class(i)) }),
		"reversed.csv": column(",fine", func(i int) string { return fmt.Sprintf("%d,%s", 11-i, class(i)) }),
		"constant.csv": column("fine,source,name", func(i int) string {
			return fmt.Sprintf("%s,web,n%d", class(i), i)
		}),
		"single.csv": column("source", func(int) string { return "web" }),
		"order.csv":  column("coarse,fine", func(i int) string { return fmt.Sprintf("g%d,%s", i/6, class(i)) }),
		"alike.csv":  column("fine,name", func(i int) string { return fmt.Sprintf("%s,of %s", class(i), class(i)) }),
		"oml.csv": column("label,path,split,is_query,is_gallery,x_1,x_2,y_1,y_2,category", func(i int) string {
			if i < 2 {
				return fmt.Sprintf("%d,i/%d.jpg,train,,,0,9,0,9,%d", i/2, i, i/6)
			}
			return fmt.Sprintf("%d,i/%d.jpg,validation,%v,%v,0,9,0,9,%d", i/2, i, i%2 == 0, i%2 == 1, i/6)
		}),
		"dummies.csv": column("cat,dog,cow,hen,emu,fox", func(i int) string {
			cells := strings.Split(strings.Repeat("False ", 6), " ")[:6]
			cells[i/2] = "True"
			return strings.Join(cells, ",")
		}),
		"none.csv": column("fine", func(i int) string { return []string{"None", "a", "b", "c", "d", "e"}[i/2] }),
		"doubt.csv": column("id,fine", func(i int) string {
			return fmt.Sprintf("%d,%s", i, []string{"None", "", "b", "c", "d", "e"}[i/2])
		}),
		"codes.csv": column("land", func(i int) string { return []string{"NA", "ZA", "DE", "FR", "AT", "CH"}[i/2] }),
		"floats.csv": column("fine", func(i int) string {
			return []string{`""`, "1.0", "2.0", "3.0", "4.0", "5.0"}[i/2]
		}),
		"excel.csv": column("id;fine;;", func(i int) string { return fmt.Sprintf("%d.jpg;%s;;", i, class(i)) }),
		"ints.csv":  column("fine", func(i int) string { return fmt.Sprint(i / 2) }),
		"words.csv": column("fine", func(i int) string { return "class " + fmt.Sprint(i/2) }),
		"cases.csv": column("fine", func(i int) string {
			return []string{"Cafe\u0301", "caf\u00e9", "b", "c", "d", "e"}[i/2]
		}),
		"forms.csv": column("fine", func(i int) string {
			return []string{"caf\u00e9", "cafe\u0301"}[i%2] + fmt.Sprint(i/2)
		}),
		"foreign.csv": column("fine", func(i int) string { return "other " + fmt.Sprint(i/2) }),
		"blank.csv": column("id,fine", func(i int) string {
			return fmt.Sprintf("\"a b\u00a0%d %%\",%s", i, class(i))
		}),
		"twice.csv": column("id,fine", func(i int) string { return fmt.Sprintf("%d,%s", i%11, class(i)) }),
	} {
		files[name] = []byte(text)
	}
	for name, data := range files {
		must.Do(t, os.WriteFile(name, data, 0o644))
	}
}

func bigEndian(values []float32) (data []byte) {
	for _, v := range values {
		data = binary.BigEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// What people bring is read for what it is, said where it may surprise, and refused where it may be
// something else. In each line stand the arguments, R@1 of the finest level ("" for an error) and what is
// said.
func TestEvalReadsWhatPeopleBring(t *testing.T) {
	writeInputs(t)
	const gallery = " --gallery-embeddings e.npy --gallery-labels "
	for _, c := range [][3]string{
		// ids
		{"--embeddings q.npy --labels index.csv" + gallery + "reversed.csv",
			"100.00", "the queries of q.npy are rows of e.npy"},
		{"--embeddings other.npy --labels index.csv" + gallery + "reversed.csv",
			"100.00", "has no name and numbers the rows"},
		{"--embeddings q.npy --labels ids.csv" + gallery + "ids.csv",
			"100.00", "12 of 12 queries are also in the gallery"},
		{"--embeddings q.npy --labels nfd.csv" + gallery + "nfc.csv",
			"100.00", "12 of 12 queries are also in the gallery"},
		{"--embeddings q.npy --labels ids.csv" + gallery + "turned.csv",
			"", `the id "0.jpg", but with different classes (12 of 12`},
		{"--embeddings other.npy --labels ids.csv" + gallery + "ids.csv",
			"", `the id "0.jpg", but with different vectors (12 of 12`},
		{"--embeddings other.npy --labels ids.csv -o equal_ids=other" + gallery + "ids.csv",
			"100.00", "12 gallery items, 1 level"},
		{"--embeddings other.npy --labels ids.csv -o equal_ids=same" + gallery + "ids.csv",
			"100.00", "12 of 12 queries are also"},
		{"--embeddings e.npy --labels good.csv" + gallery + "good.csv",
			"100.00", "12 of 12 queries are also in the gallery"},
		{"--embeddings e.npy --labels ids.csv" + gallery + "nfc.csv",
			"100.00", "warning: 12 of 12 queries of e.npy have the vector"},
		// columns
		{"--embeddings e.npy --labels constant.csv",
			"100.00", "name has another class in each row, so it is not used as a level unless"},
		{"--embeddings e.npy --labels constant.csv --levels fine", "100.00", "1 level"},
		{"--embeddings e.npy --labels constant.csv --levels FINE,source", "100.00", "2 levels"},
		{"-o eval.levels=independent,source,fine --embeddings e.npy --labels constant.csv", "100.00", "2 levels"},
		{"--embeddings e.npy --labels constant.csv --levels kind", "", `unknown column "kind"`},
		{"--embeddings e.npy --labels single.csv", "", `source has the one class "web", so it is not used as a level`},
		{"--embeddings e.npy --labels alike.csv", "100.00", "warning: alike.csv: fine and name divide the rows alike"},
		{"--embeddings e.npy --labels order.csv", "100.00", "the levels are read as fine,coarse, finest first: in"},
		{"--embeddings e.npy --labels oml.csv", "100.00", "10 of 12 rows are used, those with the split validation"},
		{"--embeddings e.npy --labels dummies.csv", "100.00", "cat to fox are read as 6 classes of one level"},
		{"--embeddings e.npy --labels hot.npy", "100.00", "level_0 to level_5 are read as 6 classes of one level"},
		{"--embeddings half.parquet", "", "its columns are kind, number: name those of classes in levels"},
		{"--embeddings half.parquet --levels kind", "100.00", "1 level"},
		{"--embeddings half.parquet --levels number", "100.00", `1 of 12 rows have no class at number ("nan")`},
		{"--embeddings e.pt", "100.00", "1 level"},
		{"--embeddings st.safetensors", "100.00", "1 level"},
		{"--embeddings big.npy --labels names.npy", "100.00", "1 level"},
		// missing values
		{"--embeddings e.npy --labels none.csv", "100.00", `2 of 12 rows have no class at fine ("None")`},
		{"--embeddings e.npy --labels none.csv -o na_values=empty", "100.00", "1 level"},
		{"--embeddings e.npy --labels doubt.csv",
			"", `"None" means no class in most tables, but other cells are empty`},
		{"--embeddings e.npy --labels doubt.csv -o na_values=None",
			"100.00", `4 of 12 rows have no class at fine ("None", empty)`},
		{"--embeddings e.npy --labels codes.csv", "", `"NA" means no class in most tables, but the classes are codes`},
		{"--embeddings e.npy --labels codes.csv -o na_values=empty", "100.00", "1 level"},
		{"--embeddings e.npy --labels minus.npy", "100.00", `2 of 12 rows have no class at level_0 ("-1")`},
		{"--embeddings e.npy --labels both.csv", "", `"nan" means no class in most tables, but other cells are "-1"`},
		{"--embeddings e.npy --labels both.csv -o na_values=nan", "100.00", `4 of 12 rows have no class at fine ("-1", "nan")`},
		{"--embeddings e.npy --labels both.csv -o na_values=-1", "100.00", `2 of 12 rows have no class at fine ("-1")`},
		{"--embeddings e.npy --labels spaced.csv", "100.00", "1 level"},
		{"--embeddings e.npy --labels excel.csv", "100.00", "1 level"},
		// names
		{"--embeddings other.npy --labels floats.csv" + gallery + "ints.csv", "100.00", "are read without the point"},
		{"--embeddings other.npy --labels words.csv" + gallery + "ints.csv", "",
			`fine: the classes of ints.csv are numbers (0) and those of words.csv are names ("class 0")`},
		{"--embeddings e.npy --labels cases.csv", "100.00", `note: fine: "Café" and "café" are two classes`},
		{"--embeddings e.npy --labels forms.csv", "100.00", `note: fine: "café0" is written in two forms of Unicode`},
		{"--embeddings other.npy --labels foreign.csv" + gallery + "good.csv",
			"", `the first fine is "other 0" and "c0"`},
		// TREC
		{"--embeddings e.npy --labels blank.csv --trec x",
			"100.00", "12 ids have white space or % and are escaped in x.run"},
		{"--ranking x.run --labels blank.csv", "100.00", "1 level"},
		{"--embeddings e.npy --labels blank.csv --qrels x.qrels", "100.00", "1 level"},
		{"--embeddings e.npy --labels twice.csv --trec y", "", `queries: rows 0 and 11 have the same id, "0"`},
	} {
		args := append([]string{"eval", "run", "--metrics", "R@1", "-o", "intervals=false"}, strings.Fields(c[0])...)
		code, out, errs := run(t, args...)
		want := 0
		if c[1] == "" {
			want = exitUsage
		}
		if code != want || !strings.Contains(errs, c[2]) || c[1] != "" && !strings.Contains(out, c[1]) {
			t.Errorf("%s: exit code %d, want %d, R@1 %s and %q\n%s%s", c[0], code, want, c[1], c[2], out, errs)
		}
	}
}

// Loss, search and training read labels by the same rules.
func TestLossSearchAndTrainingReadWhatPeopleBring(t *testing.T) {
	writeInputs(t)
	const loss = "loss --loss triplet --embeddings e.npy --labels "
	const training = "train run --dry-run --embeddings e.npy --hold-out 0.4 --out run --labels "
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{loss + "constant.csv", "source has the one class", 0},
		{loss + "single.csv", "to use this column anyway, pass --levels source", exitUsage},
		{loss + "constant.csv --levels fine", "fine: 12 queries with a positive", 0},
		{loss + "doubt.csv", "or to -1 to treat it as a class", exitUsage},
		{loss + "ids.csv --gallery-embeddings other.npy --gallery-labels ids.csv", "set equal_ids to same", exitUsage},
		{"search --index e.npy --labels cases.csv --id 0", `note: fine: "Café" and "café" are two classes`, 0},
		{"search --index e.npy --labels nfd.csv --id \u00e93.jpg", "e\u03012.jpg", 0},
		{"search --index e.npy --labels ids.csv --id 3.JPG", `row 3 has "3.jpg"`, exitUsage},
		{training + "oml.csv", "2 of 12 rows are used, those with the split train", exitUsage},
		{training + "single.csv", "to use this column anyway, pass --levels source", exitUsage},
	} {
		code, out, errs := run(t, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", c.args, code, c.code, c.want, out, errs)
		}
	}
}
