package classes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"hgld/internal/classes"
	"hgld/internal/spelling"
	"hgld/internal/testing/must"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/train/embeddings"
)

// asked is a table of strangers, with what is asked of it and what it means.
type asked struct {
	name    string
	table   string
	levels  []string
	missing []string
	want    string // the levels and the classes of each row, or "error: " and a part of the error
	vectors string // what else it means beside vectors; "": the same
}

// written writes the table to a file.
func (c *asked) written(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "t.csv")
	must.Do(t, os.WriteFile(path, []byte(c.table), 0o666))
	return path
}

// ofImages reads a table by the door of images.
func (c *asked) ofImages(t *testing.T) string {
	src, err := dataset.CSV{}.Open(t.Context(), dataset.Settings{Input: c.written(t), Levels: c.levels,
		NAValues: c.missing, PartialLabels: classes.KeepPartial})
	if err != nil {
		return "error: " + err.Error()
	}
	defer src.Close()
	if _, err := shards.Check(t.Context(), src); err != nil {
		return "error: " + err.Error()
	}
	rows := []string{strings.Join(src.Levels(), "<")}
	for item, err := range src.Items(t.Context()) {
		must.Do(t, err)
		names := item.Names
		if names == nil {
			names = make([]string, len(src.Levels()))
		}
		rows = append(rows, spelling.Form(strings.Join(names, "<"))) // as shards have them
	}
	return strings.Join(rows, " | ")
}

// ofVectors reads it by the door of vectors.
func (c *asked) ofVectors(t *testing.T) string {
	of := embeddings.Classes{Labelling: embeddings.Labelling{Columns: c.levels, Missing: c.missing, Partial: true}}
	read, err := of.ReadAll(c.written(t))
	if err != nil {
		return "error: " + err.Error()
	}
	rows := []string{strings.Join(of.Levels(), "<")}
	for _, path := range read[0].Labels {
		var names []string
		for l, class := range path {
			name := ""
			if class >= 0 {
				name = of.Names(l)[class]
			}
			names = append(names, name)
		}
		rows = append(rows, strings.Join(names, "<"))
	}
	return strings.Join(rows, " | ")
}

// wide is a text in UTF-16 with a mark.
func wide(text string) string {
	out := "\xff\xfe"
	for _, c := range utf16.Encode([]rune(text)) {
		out += string([]byte{byte(c), byte(c >> 8)})
	}
	return out
}

// column is a table of images with one level.
func column(cells ...string) string {
	text := "path,label\n"
	for i, cell := range cells {
		text += fmt.Sprintf("%d.jpg,%s\n", i, cell)
	}
	return text
}

var label = []string{"label"}

// levels is a table of images with the columns fine and coarse.
func levels(rows ...string) string {
	text := "path,fine,coarse\n"
	for i, row := range rows {
		text += fmt.Sprintf("%d.jpg,%s\n", i, row)
	}
	return text
}

func TestImagesAndVectorsReadATableAlike(t *testing.T) {
	const abab, tree = "label | a | b | a | b", "fine<coarse | a<x | b<x | c<y | a<x"
	abc := column("a", "b", "a", "b")
	two, turned := []string{"fine", "coarse"}, []string{"coarse", "fine"}
	for _, c := range []asked{
		// from bytes to cells
		{"as programs write it", abc, label, nil, abab, ""},
		{"a byte order mark", "\ufeff" + abc, label, nil, abab, ""},
		{"UTF-16", wide(abc), label, nil, abab, ""},
		{"CR", strings.ReplaceAll(abc, "\n", "\r"), label, nil, abab, ""},
		{"CR LF", strings.ReplaceAll(abc, "\n", "\r\n"), label, nil, abab, ""},
		{"semicolons", strings.ReplaceAll(abc, ",", ";"), label, nil, abab, ""},
		{"tabs", strings.ReplaceAll(abc, ",", "\t"), label, nil, abab, ""},
		{"sep=", "sep=;\n" + strings.ReplaceAll(abc, ",", ";"), label, nil, abab, ""},
		{"quotes", column(`"a, b"`, "b", `"a, b"`), label, nil, "label | a, b | b | a, b", ""},
		{"zeros kept from Excel", column(`="007"`, "b", `="007"`), label, nil, "label | 007 | b | 007", ""},
		{"columns without anything", strings.ReplaceAll(abc, "\n", ",,\n"), label, nil, abab, ""},
		{"a blank row", strings.ReplaceAll(abc, "1.jpg", ",\n1.jpg"), label, nil, abab, "label | a |  | b | a | b"},
		{"no text", column("a", "b\xff"), label, nil, `error: t.csv: line 3: "b\xff" is not UTF-8; save the table as UTF-8`, ""},
		{"a workbook", "PK\x03\x04" + abc, label, nil, "error: t.csv: a workbook or an archive, and no table of text", ""},

		// headings
		{"spaces around names", strings.ReplaceAll(abc, "path,label", " path , label "), label, nil, abab, ""},
		{"names in capitals", strings.ReplaceAll(abc, "path,label", "Path,Label"), label, nil, abab, ""},
		{"a name twice", "path,label,label\n0.jpg,a,b\n", label, nil, `error: t.csv: line 1: column "label" occurs twice`, ""},
		{"no name", "path,label,,x\n0.jpg,a,1,1\n1.jpg,b,1,1\n2.jpg,a,1,1\n", label, nil, "label | a | b | a", ""},
		{"another name", abc, []string{"labels"}, nil, `unknown column "labels": did you mean "label"?`, ""},
		{"numbered levels", "path,level_1,level_0\n0.jpg,x,a\n1.jpg,x,b\n2.jpg,y,c\n3.jpg,x,a\n", nil, nil,
			"level_0<level_1 | a<x | b<x | c<y | a<x", ""},
		{"a usual name", "path,class\n0.jpg,a\n1.jpg,b\n2.jpg,a\n", nil, nil, "class | a | b | a", ""},
		{"no file", "", label, nil, "error: t.csv: the file is empty; want a heading", ""},

		// cells
		{"−1 and an empty cell", column("-1", "", "cat", "-2", "cat"), label, nil, "label |  |  | cat | -2 | cat", ""},
		{"a word of data frames", column("nan", "1", "2", " nan ", "1"), label, nil, "label |  | 1 | 2 |  | 1", ""},
		{"another word", column("None", "cat", "None", "dog", "cat"), label, nil, "label |  | cat |  | dog | cat", ""},
		{"two words", column("None", "cat", "", "dog", "cat"), label, nil,
			`error: t.csv: label: "None" means no class in most tables, but other cells are empty: does it here?`, ""},
		{"two words, named", column("None", "cat", "", "dog", "cat"), label, []string{"None"},
			"label |  | cat |  | dog | cat", ""},
		{"a word that is a class", column("None", "cat", "-1", "dog", "cat"), label, []string{"-1"},
			"label | None | cat |  | dog | cat", ""},
		{"−1 that is a class", column("-1", "1", "", "2", "1"), label, []string{spelling.MissingEmpty},
			"label | -1 | 1 |  | 2 | 1", ""},
		{"codes of countries", column("NA", "ZA", "DE", "ZA"), label, nil,
			`error: t.csv: label: "NA" means no class in most tables, but the classes are codes, such as "ZA": does it here?`, ""},
		{"a space", column(" ", "a", "b", "a"), label, nil, "label |  | a | b | a", ""},
		{"whole numbers with a point", column("2.0", "3.0", "", "2.0"), label, nil, "label | 2 | 3 |  | 2", ""},
		{"some with a point", column("2", "3.0", "", "2.0"), label, nil, "label | 2 | 3 |  | 2", ""},
		{"versions", column("1.10", "1.0", "2.0", "1.0"), label, nil, "label | 1.10 | 1.0 | 2.0 | 1.0", ""},
		{"numbers with zeros", column("07", "7", "8", "7"), label, nil, "label | 07 | 7 | 8 | 7", ""},
		{"two forms of Unicode", column("Cafe\u0301", "Caf\u00e9", "b", "b"), label, nil, "label | Café | Café | b | b", ""},
		{"a space behind", column("a ", "a", "b", "b"), label, nil, "label | a  | a | b | b", ""},
		{"JSON", column("b", `"{""choices"":[""Dog"",""Wild""]}"`), label, nil,
			`error: t.csv:3: label is "{\"choices\":[\"Dog\",\"Wild\"]}", which is a list; want one class in a cell`, ""},
		{"a list of Python", column(`"['Dog', 'Wild']"`, "b"), label, nil,
			`error: t.csv:2: label is "['Dog', 'Wild']", which is a list; want one class in a cell`, ""},
		{"a dictionary of Python", column(`"{'choices': ['Dog']}"`, "b"), label, nil,
			`error: t.csv:2: label is "{'choices': ['Dog']}", which is a list; want one class in a cell`, ""},
		{"brackets", column("[sic]", "b", "b"), label, nil, "label | [sic] | b | b", ""},
		{"bars", column("Dog|Wild", "Dog", "Wild", "Dog"), label, nil, "label | Dog|Wild | Dog | Wild | Dog", ""},

		// levels
		{"finest first", levels("a,x", "b,x", "c,y", "a,x"), two, nil, tree, ""},
		{"coarsest first", levels("a,x", "b,x", "c,y", "a,x"), turned, nil, tree, ""},
		{"other names", "path,q,p\n0.jpg,a,x\n1.jpg,b,x\n2.jpg,c,y\n", []string{"p", "q"}, nil, "q<p | a<x | b<x | c<y", ""},
		{"names that allow one order of two", levels("a,x", "b,y", "a,x"), turned, nil,
			"error: t.csv: coarse is coarser than fine: the levels coarse,fine seem to be coarsest first", ""},
		{"names that contradict the rows", levels("x,a", "x,b", "y,c", "x,a"), two, nil, `error: t.csv: fine "x" has two ` +
			`parents: "a" (t.csv:2) and "b" (t.csv:3): the levels fine,coarse seem to be coarsest first`, ""},
		{"three levels", "path,u,v,w\n0.jpg,a,x,m\n1.jpg,a,x,n\n2.jpg,b,x,o\n3.jpg,c,y,p\n4.jpg,c,y,q\n",
			[]string{"u", "v", "w"}, nil, "w<u<v | m<a<x | n<a<x | o<b<x | p<c<y | q<c<y", ""},
		{"two levels alike", "path,top,a,b\n0.jpg,x,1,p\n1.jpg,x,2,q\n2.jpg,y,3,r\n", []string{"top", "a", "b"}, nil,
			"the rows do not determine which of a and b is finer", ""},
		{"no tree", levels("a,x", "a,y", "b,x"), two, nil, `fine "a" has two parents: "x" (t.csv:2) and "y" (t.csv:3)`, ""},
		{"forms of a parent", levels("a,Cafe\u0301", "a,Caf\u00e9", "b,x"), two, nil,
			"fine<coarse | a<Café | a<Café | b<x", ""},
		{"levels that are missing", levels("a,x", ",x", "b,", "a,x"), two, nil, "fine<coarse | a<x | <x | b< | a<x", ""},
	} {
		if c.vectors == "" {
			c.vectors = c.want
		}
		for door, r := range map[string][2]string{"images": {c.ofImages(t), c.want}, "vectors": {c.ofVectors(t), c.vectors}} {
			got, want := regexp.MustCompile(`(dataset: csv: |/[^ ]*/)`).ReplaceAllString(r[0], ""), r[1]
			part, fails := strings.CutPrefix(want, "error: ")
			if got != want && !(fails && strings.HasPrefix(got, "error: "+part)) &&
				!(strings.HasPrefix(got, "error: ") && !strings.Contains(want, " | ") && strings.Contains(got, part)) {
				t.Errorf("%s, %s:\n got %s\nwant %s", c.name, door, got, want)
			}
		}
	}
}

// A cell that names several classes is a class of its own, and a note says so.
func TestSeveralClassesInACellAreSaid(t *testing.T) {
	for cell, said := range map[string]bool{"Dog|Wild": true, "Dog; Wild": true, "Dog/Wild": true, "Dog, Wild": true,
		"Dog/Tame": false, "Dog Wild": false} {
		rows := func(yield func([]string, string) bool) {
			for i, name := range []string{"Dog", cell, "Wild"} {
				if !yield([]string{name}, fmt.Sprint("t.csv:", i+2)) {
					return
				}
			}
		}
		read := must.Get(classes.Look([]string{"label"}, classes.Options{}, classes.Table{Rows: rows}))(t)
		if got := strings.Contains(strings.Join(read.Notes, " "), "a cell has one class"); got != said {
			t.Errorf("%s: %q", cell, read.Notes)
		}
	}
}
