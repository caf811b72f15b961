package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/classes"
	"hgld/internal/spelling"
	"hgld/internal/testing/must"
)

// unlabelledCSV writes a table with an image for each row, whose path comes first: a.jpg, b.jpg …
func unlabelledCSV(t *testing.T, header string, rows ...string) string {
	t.Helper()
	files, names := tree{}, []string{}
	text := header + "\n"
	for i, row := range rows {
		name := string(rune('a'+i)) + ".jpg"
		names, text = append(names, name), text+name+","+row+"\n"
	}
	files["t.csv"] = text
	return filepath.Join(withPictures(t, files, names...).folder(t), "t.csv")
}

func TestCellsOfATableThatMeanNoClass(t *testing.T) {
	for _, c := range []struct {
		name    string
		cells   []string
		noClass []string
		classes []string // nil: it asks
	}{
		{"-1 and the empty cell", []string{"-1", "", "cat", "-2"}, nil, []string{"", "", "cat", "-2"}},
		{"the word of a data frame", []string{"nan", "1", "2", " nan "}, nil, []string{"", "1", "2", ""}},
		{"one word", []string{"None", "cat", "None", "dog"}, nil, []string{"", "cat", "", "dog"}},
		{"two words", []string{"None", "cat", "NA", "dog"}, nil, nil},
		{"a word beside empty cells", []string{"None", "cat", "", "dog"}, nil, nil},
		{"a word beside empty cells, named", []string{"None", "cat", "", "dog"}, []string{"None"},
			[]string{"", "cat", "", "dog"}},
		{"a word that is a class", []string{"None", "cat", "-1", "dog"}, []string{"-1"}, []string{"None", "cat", "", "dog"}},
		{"-1 that is a class", []string{"-1", "1", "", "2"}, []string{spelling.MissingEmpty}, []string{"-1", "1", "", "2"}},
		{"codes", []string{"NA", "ZA", "DE", "FR"}, nil, nil},
	} {
		input := unlabelledCSV(t, "path,label", c.cells...)
		got, err := items(t, CSV{}, Settings{Input: input, Levels: []string{"label"}, NAValues: c.noClass})
		if c.classes == nil {
			var asks *spelling.MissingError
			if !errors.As(err, &asks) || !strings.Contains(err.Error(), "t.csv: label: ") {
				t.Errorf("%s: %v, want a question that names the column", c.name, err)
			}
			continue
		}
		var want []string
		for i, class := range c.classes {
			want = append(want, string(rune('a'+i))+".jpg train "+class)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, got %q, want %q", c.name, err, got, want)
		}
	}
}

// A row that lacks its finest class alone is uneven, however that is written.
func TestWordsCountAsMissingLevels(t *testing.T) {
	input := unlabelledCSV(t, "path,fine,coarse", "-1,A", "1,A", "2,B", "nan,B")
	src, err := CSV{}.Open(t.Context(), Settings{Input: input, Levels: []string{"fine", "coarse"},
		PartialLabels: classes.KeepPartial})
	must.Do(t, err)
	defer src.Close()
	var got []string
	for item, err := range src.Items(t.Context()) {
		must.Do(t, err)
		got = append(got, strings.Join(item.Names, "<"))
	}
	if want := []string{"<A", "1<A", "2<B", "<B"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	notes := src.(interface{ Notes() []string }).Notes()
	if want := []string{`2 of 4 rows have no class at fine ("-1", "nan")`}; !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}

// typedRow has a column of each kind of number.
type typedRow struct {
	Image  hubImage `parquet:"image"`
	Signed int32    `parquet:"signed"`
	Short  uint32   `parquet:"short"`
	Long   uint64   `parquet:"long"`
	Word   string   `parquet:"word"`
	Bytes  []byte   `parquet:"bytes"`
	Price  int32    `parquet:"price,decimal(2:9)"`
	Day    int32    `parquet:"day,date"`
}

func TestNumbersOfParquetKeepTheirSign(t *testing.T) {
	rows := []typedRow{
		{Signed: -1, Short: 1<<32 - 1, Long: 1 << 63, Word: "nan", Bytes: []byte("a")},
		{Signed: -2, Short: 1 << 31, Long: 1<<63 + 1, Word: "a", Bytes: []byte("\xff")},
		{Signed: 0, Short: 1, Long: 1, Word: "b", Bytes: []byte("b")},
	}
	for i := range rows {
		rows[i].Image.Bytes = picture(t, i)
	}
	var out bytes.Buffer
	must.Do(t, parquet.Write(&out, rows))
	input := tree{"all.parquet": out.String()}.folder(t)
	for level, want := range map[string]string{"signed": ",-2,0", "short": "4294967295,2147483648,1",
		"long": "9223372036854775808,9223372036854775809,1", "word": ",a,b"} {
		got, err := items(t, Parquet{}, Settings{Input: input, Levels: []string{level}})
		for i, text := range got {
			got[i] = text[strings.LastIndex(text, " ")+1:]
		}
		if err != nil || strings.Join(got, ",") != want {
			t.Errorf("%s: %v, got %q, want %q", level, err, got, want)
		}
	}
	for level, want := range map[string]string{
		"bytes": `all.parquet: bytes: row 1: "\xff" is not UTF-8; want texts or whole numbers`,
		"price": "all.parquet: price: it holds DECIMAL(9,2); want a text, a whole number or true and false in each row",
		"day":   "all.parquet: day: it holds DATE; want a text, a whole number or true and false in each row",
		"image": "all.parquet: image: it holds structs; want a text, a whole number or true and false in each row",
	} {
		if _, err := items(t, Parquet{}, Settings{Input: input, Levels: []string{level}}); err == nil ||
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", level, err, want)
		}
	}
}

// spokenRow has a column that may name splits.
type spokenRow struct {
	Image hubImage `parquet:"image"`
	Label string   `parquet:"label"`
	Split string   `parquet:"split"`
}

func TestAColumnOfParquetNamesSplits(t *testing.T) {
	file := func(splits ...string) string {
		rows := make([]spokenRow, len(splits))
		for i, split := range splits {
			rows[i] = spokenRow{hubImage{Bytes: picture(t, i)}, "a", split}
		}
		var out bytes.Buffer
		must.Do(t, parquet.Write(&out, rows))
		return out.String()
	}
	for _, c := range []struct {
		name     string
		file     string
		settings Settings
		splits   string // or
		fails    string
	}{
		{"data.parquet", file("train", "test", "validation"), Settings{}, "train test val", ""},
		{"data.parquet", file("", "", ""), Settings{}, "train train train", ""},
		{"data.parquet", file("fold1", "fold2", "fold1"), Settings{}, "train train train", ""},
		{"train.parquet", file("train", "train", "Training"), Settings{}, "train train train", ""},
		{"train.parquet", file("train", "test", "val"), Settings{}, "",
			"row 1: split is test, but the name of the file says train"},
		{"train.parquet", file("train", "test", "val"), Settings{SplitFolders: []string{"train=train"}},
			"train train train", ""},
		{"data.parquet", file("train", "", "val"), Settings{}, "", "row 1: split is empty, and that of row 0 is train"},
		{"data.parquet", file("train", "nan", "val"), Settings{}, "", "row 1: split is empty, and that of row 0 is train"},
		{"data.parquet", file("nan", "None", ""), Settings{}, "train train train", ""},
		{"data.parquet", file("extra", "test", "val"), Settings{}, "",
			`row 0: split is "extra", which is no split, and that of row 1 is test; name one of [train`},
		{"data.parquet", file("x", "y", "z"), Settings{Columns: Columns{Split: "split"}}, "",
			`row 0: split "x"; want one of [train`},
		{"data.parquet", file("train", "test", "val"), Settings{Columns: Columns{Split: "part"}}, "",
			`no column of texts "part" among image, label, split`},
	} {
		c.settings.Input = tree{c.name: c.file}.folder(t)
		got, err := items(t, Parquet{}, c.settings)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.name+": "+c.fails) {
				t.Errorf("%v, want %q", err, c.fails)
			}
			continue
		}
		for i, text := range got {
			got[i] = strings.Fields(text)[1]
		}
		if err != nil || strings.Join(got, " ") != c.splits {
			t.Errorf("%s: %v, got %q, want %q", c.name, err, got, c.splits)
		}
	}
}

// An empty cell among splits would make a training image of a test image.
func TestASplitThatSomeRowsLackIsRefused(t *testing.T) {
	for _, rows := range [][]string{{"a,test", "b,"}, {"a,", "b,test"}} {
		_, err := items(t, CSV{}, Settings{Input: unlabelledCSV(t, "path,label,split", rows...)})
		if err == nil || !strings.Contains(err.Error(), "the split is empty, and that of t.csv:") {
			t.Errorf("%q: %v", rows, err)
		}
	}
	got, err := items(t, CSV{}, Settings{Input: unlabelledCSV(t, "path,label,split", "a,", "b,")})
	if want := []string{"a.jpg train a", "b.jpg train b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, got %q, want %q", err, got, want)
	}
}

// An image without author and licence has none in the words of a data frame either.
func TestWordsForAMissingAuthorAreNone(t *testing.T) {
	input := unlabelledCSV(t, "path,label,author,license,sha256", "x,nan,None,NaN", "y,Ann,CC BY 4.0,")
	src := must.Get(CSV{}.Open(t.Context(), Settings{Input: input}))(t)
	defer src.Close()
	var got []string
	for item, err := range src.Items(t.Context()) {
		must.Do(t, err)
		got = append(got, item.Attributes.Author+"|"+item.Attributes.License+"|"+item.SHA256)
	}
	if want := []string{"||", "Ann|CC BY 4.0|"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWordsInSamplesMeanNoClass(t *testing.T) {
	input := filepath.Join(t.TempDir(), "train.tar")
	tarOf(t, input, "0.jpg", string(picture(t, 0)), "0.json", `{"label": "None"}`,
		"1.jpg", string(picture(t, 1)), "1.json", `{"label": "cat"}`,
		"2.jpg", string(picture(t, 2)), "2.json", `{"label": -1}`, "3.jpg", string(picture(t, 3)), "3.json", `{"label": -2}`)
	_, err := items(t, WebDataset{}, Settings{Input: input})
	var asks *spelling.MissingError
	if !errors.As(err, &asks) {
		t.Errorf("None beside -1: %v, want a question", err)
	}
	got, err := items(t, WebDataset{}, Settings{Input: input, NAValues: []string{"None"}})
	want := []string{"train.tar/0.jpg train ", "train.tar/1.jpg train cat", "train.tar/2.jpg train ",
		"train.tar/3.jpg train -2"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, got %q, want %q", err, got, want)
	}
}

// A table of landmarks that a data frame has written again has nan where there is no label.
func TestWordsForMissingLabelsOfLandmarksAreNoClasses(t *testing.T) {
	table := func(cells ...string) string {
		text := "landmark_id,hierarchical_label,natural_or_human_made\n"
		for i, cell := range cells {
			text += fmt.Sprintf("%d,%s\n", i, cell)
		}
		return tree{"train.csv": text}.folder(t) + "/train.csv"
	}
	images := unlabelledCSV(t, "path,landmark_id", "0", "1", "nan")
	labelled := func(table string, noClass ...string) ([]string, error) {
		return items(t, CSV{}, Settings{Input: images, Labels: table, NAValues: noClass})
	}
	got, err := labelled(table("church,human-made", "nan,nan"))
	if want := []string{"a.jpg train train/0<church<human-made", "b.jpg train train/1<<", "c.jpg train "}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%v, got %q, want %q", err, got, want)
	}
	got, err = labelled(table("church,human-made", "nan,natural"), "-1")
	if want := "b.jpg train train/1<nan<natural"; err != nil || got[1] != want {
		t.Errorf("%v, got %q, want %q", err, got, want)
	}
	_, err = labelled(table("church,human-made", "nan,nan", ","))
	wantError(t, err, `train.csv: supercategory: "nan" means no class in most tables, but other cells are empty`)
}
