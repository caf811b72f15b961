package csvfile

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"hgld/internal/testing/must"
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
	must.Do(t, err)
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
		"old Mac":    {"path;class\r1.jpg;\"a, b\"\r2.jpg;c\r", []string{"path|class", "1.jpg|a, b", "2.jpg|c"}},
		"empty":      {"", nil},
	} {
		if got, err := read(c.text); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"PK\x03\x04workbook":                   "save the sheet as CSV UTF-8",
		`{"path": "1.jpg", "class": "a"}`:      "JSON, and no table; write a .csv",
		"\n <html>404</html>":                  "a web page or XML",
		"\x1f\x8b\b\b\x92\xd1\bk\x00\x03t":     "compressed by gzip; unpack it: gunzip",
		"PAR1\x15\x04\x15\x10":                 "Parquet, and no table of text",
		"\xff\xd8\xff\xe0\x00\x10JFIF":         "an image, and no table",
		"path,class\n1.jpg,K\xf6ln\n":          `line 2: "K\xf6ln" is not UTF-8`,
		"path,class\n1.jpg,a,b\n":              "line 2: 3 columns, and the first line has 2; put quotes around",
		"path;class\n1.jpg\n":                  "line 2: 1 columns, and the first line has 2; write a ; for each",
		"path,class\n1.jpg,a\x00b\n":           `line 2: "a\x00b" holds a zero byte`,
		"p\x00,\x00c\x00\n\x001\x00,\x00a\x00": "line 1: \"p\\x00\" holds a zero byte, so the table is damaged or UTF-16",
		"sep=;\npath;class\n1.jpg;\"a\"b\n":    "line 3: ",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// wideOf encodes text as UTF-16 with a mark.
func wideOf(order binary.AppendByteOrder, units ...uint16) string {
	data := order.AppendUint16(nil, 0xfeff)
	for _, u := range units {
		data = order.AppendUint16(data, u)
	}
	return string(data)
}

// hostile are tables that are no text, or that would take gigabytes, with what is wrong.
func hostile(t testing.TB) map[string]string {
	t.Helper()
	half := must.Get(os.ReadFile("testdata/half-characters.csv"))(t)
	big := func(text string, more ...uint16) string {
		return wideOf(binary.BigEndian, append(utf16.Encode([]rune(text)), more...)...)
	}
	return map[string]string{
		string(half):                                 "line 4: the file is not valid UTF-16: half a character (D800)",
		big("a\nb\n") + "\x00":                       "line 3: the file is not valid UTF-16: the last character has one byte",
		big("a\nb", 0xd83d):                          "line 2: the file is not valid UTF-16: the last character has two",
		big("a\nb", 0xdc00, 'c', '\n'):               "line 2: the file is not valid UTF-16: half a character (DC00)",
		big("sep=;\na;b\nc;", 0xd800, 'd', '\n'):     "line 3: the file is not valid UTF-16",
		strings.Repeat("a", 5<<20):                   "line 1: the row has more than 4194304 bytes",
		"a,b\n\"" + strings.Repeat("x\n", 3<<20):     "line 2: the row has more than 4194304 bytes; is a quote left open",
		strings.Repeat(",", 1<<20):                   "line 1: the row has more than 4096 columns",
		"sep=;\na;b\n" + strings.Repeat(";", 1<<20):  "line 3: the row has more than 4096 columns",
		"a,b\nc,d\n" + strings.Repeat(`"x",`, 1<<19): "line 3: the row has more than 4096 columns",
		"a,b\n1,K\xf6ln\n":                           "line 2: \"K\\xf6ln\" is not UTF-8",
		"K\xf6ln,b\n":                                "line 1: \"K\\xf6ln\" is not UTF-8",
	}
}

func TestTextThatIsNoTableIsAnErrorOfItsLine(t *testing.T) {
	for text, want := range hostile(t) {
		if _, err := read(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]int{
		strings.Repeat(",", 4095) + "\n": 1, strings.Repeat(strings.Repeat("a,", 99)+"a\n", 60): 60,
		wideOf(binary.LittleEndian, utf16.Encode([]rune("a,\U0001F600\n\ufffd,b"))...): 2,
	} {
		if rows, err := read(text); err != nil || len(rows) != want {
			t.Errorf("%.40q: %d rows, %v, want %d", text, len(rows), err, want)
		}
	}
}

// Whatever the bytes, a row is text, and reading ends.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"path,class\n1.jpg,\"a, b\"\n", "sep=;\na;b\r\n\"c\r\nd\";e\r\n", "\ufeffa\tb\n",
		"a,b\n=\"007\",=\n",
		wideOf(binary.LittleEndian, utf16.Encode([]rune("a,\U0001F600\n"))...)} {
		f.Add(text)
	}
	for text := range hostile(f) {
		f.Add(text[:min(len(text), 4096)])
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := read(text)
		if err == nil && len(rows) > len(text)+1 {
			t.Errorf("%d rows of %d bytes", len(rows), len(text))
		}
		for _, row := range rows {
			if !utf8.ValidString(row) {
				t.Errorf("the row %q is no text", row)
			}
		}
	})
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

// Programs write ="007" so that Excel keeps the zeros.
func TestTextsThatExcelShallKeepAreReadWithoutTheirFormula(t *testing.T) {
	long := strings.Repeat("x", looked-len("a,b\n")-len("=")-1) // a buffer ends between = and the quote
	for text, want := range map[string][]string{
		"a,b\n=\"007\",=\"1, 2\"\n":                        {"a|b", "007|1, 2"},
		"a,b\n\"=\"\"007\"\"\",\"=\"\"\"\"\"\n":            {"a|b", "007|"},
		"a;b\r\n=\"6\"\" x\";\"x=\"\"1\"\"\"\r\n":          {"a|b", `6" x|x="1"`},
		"sep=;\n=\"a\";=b\n=\"0\n1\";=\n":                  {"a|=b", "0\n1|="},
		"a\tb\n=\"007\"\t\"=\"\"08\"\"\"\n":                {"a|b", "007|08"},
		"a\tb\n=\"a\"&\"b\"\tc=\"1\"\n":                    {"a|b", `="a"&"b"|c="1"`},
		"a,b\n" + long + ",=\"1\"\n" + long + ",=\"02\"\n": {"a|b", long + "|1", long + "|02"},
	} {
		if rows, err := read(text); err != nil || !slices.Equal(rows, want) {
			t.Errorf("%.60q: %.200q, %v, want %.200q", text, rows, err, want)
		}
	}
	if rows, err := read("a,b\n=\"a\"&\"b\",c\n"); err == nil {
		t.Errorf("a formula is read as %q", rows)
	}
}

func TestColumnsWithoutHeadingAndEmptyRowsAreTrimmed(t *testing.T) {
	r := NewReader(strings.NewReader("a;b;; \n1;2;;\n;;;\n3;;;\n ; ;;\n4;5;6;\n"))
	r.Trim()
	var rows []string
	for {
		row, err := r.Read()
		if err != nil {
			if want := `line 6: "6" stands in a column without a heading`; err.Error() != want {
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

// once fails at its first read alone.
type once struct {
	r      io.Reader
	failed bool
}

func (o *once) Read(p []byte) (int, error) {
	if !o.failed {
		o.failed = true
		return 0, errors.New("input/output error")
	}
	return o.r.Read(p)
}

// A fault of the disk while the separator is guessed is an error, and no guess.
func TestAFaultIsNoEndOfTheTable(t *testing.T) {
	for name, open := range map[string]func(io.Reader) *Reader{
		"guessed":   NewReader,
		"separated": func(r io.Reader) *Reader { return Separated(r, ';') },
	} {
		row, err := open(&once{r: strings.NewReader("\xef\xbb\xbfid;class\n1;a\n")}).Read()
		if err == nil || !strings.Contains(err.Error(), "input/output error") {
			t.Errorf("%s: %q, %v, want the fault", name, row, err)
		}
	}
}
