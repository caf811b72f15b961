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
