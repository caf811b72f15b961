package embeddings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/parquetfile"
	"hgld/internal/registry"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// write makes a file in a temporary folder.
func write(t *testing.T, name string, fill func(io.Writer) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(fill(f), f.Close()))
	return path
}

func text(t *testing.T, name, content string) string {
	t.Helper()
	return write(t, name, func(w io.Writer) error { _, err := io.WriteString(w, content); return err })
}

// record is a row of a Parquet file of embeddings that another program wrote.
type record struct {
	ID     string    `parquet:"id"`
	Fine   *int64    `parquet:"level_0,optional"`
	Coarse string    `parquet:"level_1"`
	Vector []float64 `parquet:"vector,list"`
}

func table3(t *testing.T) string {
	return write(t, "e.parquet", func(w io.Writer) error {
		return parquet.Write(w, []record{{"a", new(int64(4)), "x", []float64{1, 2}},
			{"b", new(int64(5)), "x", []float64{3, 4}},
			{"c", nil, "", []float64{0, 0}}}, parquet.KeyValueMetadata("hgld.level_0", "species"))
	})
}

func TestEveryKindOfFileGivesTheSameMatrix(t *testing.T) {
	values := []float32{1, 2, 3, 4, 0, 0}
	tensor := func(name string) tensorfile.Tensor { return tensorfile.NewF32(name, []int{3, 2}, values) }
	for _, path := range []string{
		write(t, "e.npy", func(w io.Writer) error { return tensorfile.WriteNPY(w, tensor("")) }),
		write(t, "e.safetensors", func(w io.Writer) error {
			return tensorfile.WriteSafetensors(w, []tensorfile.Tensor{tensor("mine")}, nil)
		}),
		table3(t),
	} {
		v := must.Get(Open(path))(t)
		zeros := &ZeroRows{Vectors: v}
		rows, cols := v.Rows()
		got := make([]float32, 4)
		if err := zeros.ReadRows(got, 1); err != nil || rows != 3 || cols != 2 || !slices.Equal(got, values[2:]) {
			t.Errorf("%s: %d×%d, %v, %v", filepath.Base(path), rows, cols, got, err)
		}
		if zeros.Count != 1 || zeros.First != 2 {
			t.Errorf("%s: %d rows of zeros, the first %d", filepath.Base(path), zeros.Count, zeros.First)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open("e.txt"); !errors.As(err, new(*registry.UnknownError)) {
		t.Error(err)
	}
}

func TestEqualNamesAreEqualClassesInEveryFile(t *testing.T) {
	var c Classes
	fromParquet, err := c.Read(table3(t))
	must.Do(t, err)
	parquetLabels, ids := fromParquet.Labels, fromParquet.IDs
	if !slices.Equal(ids, []string{"a", "b", "c"}) || !slices.Equal(c.Levels(), []string{"species", "level_1"}) {
		t.Errorf("ids %q, levels %q", ids, c.Levels())
	}
	for _, file := range []string{
		text(t, "l.csv", "species,id,level_1\n5,q,x\n4,r,x\n,,\n"),
		text(t, "l.tsv", "species\tid\tlevel_1\n5\tq\tx\n4\tr\tx\n\t\t\n"),
	} {
		rows, err := c.Read(file)
		must.Do(t, err)
		for i, row := range []int{1, 0, 2} {
			if !slices.Equal(rows.Labels[i], parquetLabels[row]) {
				t.Errorf("%s: row %d has the classes %v, want %v", file, i, rows.Labels[i], parquetLabels[row])
			}
		}
	}
	if want := (labels.Path{-1, -1}); !slices.Equal(parquetLabels[2], want) {
		t.Errorf("a row without classes has %v, want %v", parquetLabels[2], want)
	}
	if names := c.Names(0); !slices.Equal(names, []string{"4", "5"}) {
		t.Errorf("the classes are %q", names)
	}
	_, err = c.Read(text(t, "other.csv", "genus\na\n"))
	if err == nil || !strings.Contains(err.Error(), "its levels are genus") {
		t.Errorf("other levels: %v", err)
	}
}

func TestLabelsInArraysMayHaveOneLevel(t *testing.T) {
	var c Classes
	rows, err := c.Read(write(t, "l.npy", func(w io.Writer) error {
		return tensorfile.WriteNPY(w, tensorfile.Tensor{DType: "I32", Shape: []int{3},
			Data: []byte{7, 0, 0, 0, 255, 255, 255, 255, 7, 0, 0, 0}})
	}))
	must.Do(t, err)
	if list := rows.Labels; rows.IDs != nil || len(list) != 3 || list[0][0] != 0 || list[1][0] != -1 || list[2][0] != 0 {
		t.Errorf("%+v", rows)
	}
}

func TestTextVectorsNeedOneColumnOfEach(t *testing.T) {
	type row struct {
		Text   string    `parquet:"text"`
		Note   string    `parquet:"note"`
		Vector []float32 `parquet:"vector,list"`
	}
	file := func(rows ...row) string {
		return write(t, "v.parquet", func(w io.Writer) error { return parquet.Write(w, rows) })
	}
	sound := file(row{"church", "", []float32{1, 2}}, row{"bay", "", []float32{3, 4}})
	var column *ColumnError
	_, err := ReadTextVectors(sound, "", "")
	if !errors.As(err, &column) || column.Of != OfTexts || len(column.Found) != 2 {
		t.Errorf("two columns of texts: %v", err)
	}
	if _, err := ReadTextVectors(sound, "text", "none"); !errors.As(err, &column) || column.Of != OfVectors {
		t.Errorf("no column of vectors: %v", err)
	}
	v, err := ReadTextVectors(sound, "text", "")
	if err != nil || !slices.Equal(v.Texts, []string{"church", "bay"}) || v.Cols != 2 ||
		!slices.Equal(v.Values, []float32{1, 2, 3, 4}) {
		t.Errorf("%+v, %v", v, err)
	}
	for want, path := range map[string]string{
		"want a text with 2": file(row{"church", "", []float32{1, 2}}, row{"bay", "", []float32{3}}),
		"with 0 values":      file(row{"church", "", []float32{1, 2}}, row{"bay", "", nil}),
		"with 0":             file(row{"church", "", nil}),
	} {
		if _, err := ReadTextVectors(path, "text", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestDamagedParquetIsAFormatError(t *testing.T) {
	whole := must.Get(os.ReadFile(table3(t)))(t)
	for n := 0; n < len(whole); n += 5 {
		path := text(t, "cut.parquet", string(whole[:n]))
		_, err := Open(path)
		if !errors.As(err, new(*parquetfile.FormatError)) || !strings.Contains(err.Error(), "cut.parquet") {
			t.Errorf("cut to %d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// Coarse before fine: each coarse class would have several parents. The error names the
// order that is a tree.
func TestColumnsInAnotherOrderAreReadFinestFirst(t *testing.T) {
	for name, file := range map[string]string{
		"csv": "id,family,species,genus\n1,a,s1,g1\n2,a,s2,g1\n3,a,s3,g2\n4,b,s4,g3\n",
		"tsv": "family\tspecies\tgenus\na\ts1\tg1\na\ts2\tg1\na\ts3\tg2\nb\ts4\tg3\n",
	} {
		var remark string
		c := Classes{Labelling: Labelling{Log: func(format string, args ...any) { remark = fmt.Sprintf(format, args...) }}}
		rows, err := c.Read(text(t, "l."+name, file))
		if err != nil || !slices.Equal(c.Levels(), []string{"species", "genus", "family"}) ||
			!slices.Equal(rows.Labels[2], labels.Path{2, 1, 0}) ||
			!strings.HasPrefix(remark, "the levels are read as species,genus,family, finest first: ") {
			t.Errorf("%s: %v, levels %q, %+v, %q", name, err, c.Levels(), rows, remark)
		}
	}
	_, err := new(Classes).Read(text(t, "l.csv", "a,b\nx,1\nx,2\ny,1\ny,2\n"))
	if !errors.As(err, new(*NoTreeError)) {
		t.Error(err)
	}
}

func TestIndependentLevelsAreNoTree(t *testing.T) {
	c := Classes{Labelling: Labelling{Independent: true}}
	rows := must.Get(c.Read(text(t, "l.csv", "colour,shape\nred,round\nred,square\nblue,round\n,square\n,\n")))(t)
	for i, want := range []labels.Path{{0, 0}, {0, 1}, {1, 0}, {-1, 1}, {-1, -1}} {
		if !slices.Equal(rows.Labels[i], want) {
			t.Errorf("row %d is %v, want %v", i, rows.Labels[i], want)
		}
	}
	if names := c.Names(1); !slices.Equal(names, []string{"round", "square"}) {
		t.Errorf("the shapes are %q", names)
	}
}

func TestColumnsBesideTheLevels(t *testing.T) {
	c := Classes{Labelling: Labelling{Ignore: "camera"}}
	rows, err := c.Read(text(t, "l.csv", "id,is_query,person,camera,is_gallery\n"+
		"a,1,p,c1,0\nb,false,p,c2,true\nc,0,q,,1\n"))
	must.Do(t, err)
	if !slices.Equal(c.Levels(), []string{"person"}) || !slices.Equal(rows.IDs, []string{"a", "b", "c"}) ||
		!slices.Equal(rows.IsQuery, []bool{true, false, false}) || !slices.Equal(rows.IsGallery, []bool{false, true, true}) ||
		!slices.Equal(rows.Ignore, []int32{0, 1, -1}) {
		t.Errorf("levels %q, %+v", c.Levels(), rows)
	}
	other, err := c.Read(text(t, "g.csv", "camera,person\nc2,p\nc3,q\n"))
	if err != nil || !slices.Equal(other.Ignore, []int32{1, 2}) || other.IsQuery != nil {
		t.Errorf("%+v, %v", other, err)
	}
	for want, file := range map[string]string{
		`no column "camera"`:                  "person\np\n",
		`is_query is "maybe", want 1 or 0`:    "person,camera,is_query\np,c,maybe\n",
		`column "id" occurs twice`:            "id,person,id,camera\n1,p,2,c\n",
		"its levels are persona, want person": "persona,camera\np,c\n",
	} {
		if _, err := c.Read(text(t, "w.csv", file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// Spreadsheets write a byte order mark before the heading.
// Spreadsheets separate by semicolons, and data frames write their index without a name.
func TestTablesOfOtherProgramsAreRead(t *testing.T) {
	for _, table := range []string{"ID;Fine\na;x\n", ",Fine\na,x\n", "id\tFine\na\tx\n", "sep=;\nid;Fine\na;x\n"} {
		var c Classes
		rows, err := c.Read(text(t, "l.csv", table))
		if err != nil || !slices.Equal(rows.IDs, []string{"a"}) || !slices.Equal(c.Levels(), []string{"Fine"}) {
			t.Errorf("%q: %+v, levels %q, %v", table, rows, c.Levels(), err)
		}
	}
}

func TestByteOrderMarkIsNoPartOfAName(t *testing.T) {
	var c Classes
	rows, err := c.Read(text(t, "l.csv", "\ufeffid,fine\na,x\n"))
	if err != nil || !slices.Equal(rows.IDs, []string{"a"}) || !slices.Equal(c.Levels(), []string{"fine"}) {
		t.Errorf("%+v, levels %q, %v", rows, c.Levels(), err)
	}
}

// The library datasets stores classes as numbers, and their names in the metadata.
func TestNumbersOfClassLabelsHaveTheirNames(t *testing.T) {
	type row struct {
		Label int64 `parquet:"label"`
	}
	path := write(t, "l.parquet", func(w io.Writer) error {
		return parquet.Write(w, []row{{1}, {0}, {-1}, {1}}, parquet.KeyValueMetadata("huggingface",
			`{"info": {"features": {"label": {"_type": "ClassLabel", "names": ["cat", "dog"]}}}}`))
	})
	var c Classes
	rows, err := c.ReadAll(path)
	if err != nil || !slices.Equal(c.Names(0), []string{"dog", "cat"}) || rows[0].Labels[2][0] != -1 {
		t.Errorf("%v, %q, %+v", err, c.Names(0), rows)
	}
}
