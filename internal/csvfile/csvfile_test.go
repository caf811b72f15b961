package csvfile

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
)

func read(text string) (rows []string, err error) {
	r := NewReader(strings.NewReader(text))
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, strings.Join(row, "|"))
	}
}

func TestTablesOfSpreadsheetsAreRead(t *testing.T) {
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("path\tköln\r\n1.jpg\tü\r\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"commas":     {"path,class\n1.jpg,\"a, b\"\n", []string{"path|class", "1.jpg|a, b"}},
		"semicolons": {"\ufeffpath;class\r\n1.jpg;a, b\r\n", []string{"path|class", "1.jpg|a, b"}},
		"tabs":       {"path\tclass\n1.jpg\ta;b\n", []string{"path|class", "1.jpg|a;b"}},
		"quoted":     {"path,\"a;b;c;d\"\n1.jpg,x\n", []string{"path|a;b;c;d", "1.jpg|x"}},
		"Excel":      {"sep=;\npath;class\n1.jpg;x\n", []string{"path|class", "1.jpg|x"}},
		"one column": {"path\n1.jpg\n", []string{"path", "1.jpg"}},
		"Unicode":    {wide, []string{"path|köln", "1.jpg|ü"}},
		"line ends":  {"path,class\r\n1.jpg,\"a\r\nb\n\r\n\"\r\n", []string{"path|class", "1.jpg|a\r\nb\n\r\n"}},
		"empty":      {"", nil},
	} {
		if got, err := read(c.text); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"PK\x03\x04workbook":                "save the sheet as CSV UTF-8",
		`{"path": "1.jpg", "class": "a"}`:   "JSON, and no table; write a .csv",
		"path,class\n1.jpg,K\xf6ln\n":       `line 2: "K\xf6ln" is not UTF-8`,
		"path,class\n1.jpg,a,b\n":           "line 2: 3 columns, and the first line has 2",
		"sep=;\npath;class\n1.jpg;\"a\"b\n": "line 3: ",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestQuotesInsideCellsAreText(t *testing.T) {
	long := strings.Repeat("x", looked)
	for text, want := range map[string][]string{
		"a\tb\n\"Old\" town\t12\" record\n":             {"a|b", `"Old" town|12" record`},
		"a\tb\r\n5' 6\"\t\"q\"\"r\"\r\n":                {"a|b", `5' 6"|q"r`},
		"a\tb\n\"x\ty\"\tz\n":                           {"a|b", "x\ty|z"},
		"a\tb\n\"x\r\ny\"\tz\n":                         {"a|b", "x\r\ny|z"},
		"a\tb\n" + long + "\tc\n\"" + long + "\"\td":    {"a|b", long + "|c", long + "|d"},
		"a\tb\n\"" + long + "\n\"\"\"\tc\n" + "d\"e\tf": {"a|b", long + "\n\"|c", `d"e|f`},
		"a\tb\n\"\t\"\"\n":                              {"a|b", "\t\"\n"},
	} {
		rows, err := read(text)
		if text == "a\tb\n\"\t\"\"\n" {
			if err == nil {
				t.Errorf("%q: %q", text, rows)
			}
			continue
		}
		if err != nil || !slices.Equal(rows, want) {
			t.Errorf("%.60q: %.200q, %v", text, rows, err)
		}
	}
	for _, text := range []string{"a,b\n\"Old\" town,c\n", "a;b\n12\" record;c\n"} {
		if rows, err := read(text); err == nil {
			t.Errorf("%q: two readings", rows)
		}
	}
}

func TestColumnsWithoutHeadingAreTrimmed(t *testing.T) {
	r := NewReader(strings.NewReader("a;b;; \n1;2;;\n3;;;\n4;5;6;\n"))
	r.Trim()
	var rows []string
	for {
		row, err := r.Read()
		if err != nil {
			if want := `line 4: "6" stands in a column without a heading`; err.Error() != want {
				t.Error(err)
			}
			break
		}
		rows = append(rows, strings.Join(row, "|"))
	}
	if want := []string{"a|b", "1|2", "3|"}; !slices.Equal(rows, want) {
		t.Errorf("%q, want %q", rows, want)
	}
}
