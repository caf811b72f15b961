// Package csvfile reads tables of text as spreadsheets and other programs write them: separated by
// commas, semicolons or tabs, in UTF-8 or in UTF-16 with a mark, with any line ends. A cell is
// returned byte for byte, also one with line ends in it, except that ="007", by which programs keep Excel
// from dropping zeros, is 007. Text of neither encoding is an error, and so is a row of more bytes or
// columns than a table has.
package csvfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// Separators are the characters that may separate columns.
const Separators = ",;\t"

// looked is how many bytes the separator is chosen from.
const looked = 64 << 10

// Reader reads the rows of a table.
type Reader struct {
	csv     *csv.Reader
	skipped int // lines before the table
	foreign string
	trim    bool
	width   int  // columns, where trim is set
	blank   bool // rows without any cell are returned, too

	next func() (row []string, line int, err error) // of a table that is no text
	line int
}

// Rows returns a reader of a table that is no text. next returns its rows with their numbers, the heading first, and
// io.EOF behind the last.
func Rows(next func() (row []string, line int, err error)) *Reader { return &Reader{next: next} }

// Unheaded returns a reader of a table in UTF-8 without a heading, whose columns have these names.
func Unheaded(r io.Reader, separator rune, names ...string) *Reader {
	heading := strings.Join(names, string(separator)) + "\n"
	return &Reader{csv: newCSV(io.MultiReader(strings.NewReader(heading), r), separator, 0), skipped: -1}
}

// NewReader returns a reader of the table. The separator is the one that is most frequent in the first
// line outside quotes; a line sep=X before it, which Excel writes, names it. A file of another kind,
// such as a workbook, is an error on the first Read.
func NewReader(r io.Reader) *Reader {
	in := bufio.NewReaderSize(&failing{r: r}, looked)
	t := &Reader{}
	start, _ := in.Peek(32)
	t.foreign = foreign(start)
	in = unmarked(in)
	head, _ := in.Peek(looked)
	line := firstLine(head)
	if len(line) < len(head) && bytes.IndexByte(head, '\n') < 0 { // ends in CR alone, as old programs for the Mac write
		in = bufio.NewReaderSize(transform.NewReader(in, oldEnds{}), looked)
	}
	comma := separator(line)
	if text := strings.TrimSpace(string(line)); len(text) == 5 && strings.HasPrefix(text, "sep=") {
		comma, t.skipped = rune(text[4]), 1
		in.ReadString('\n')
	}
	t.csv = newCSV(in, comma, t.skipped)
	return t
}

// otherKinds are files that are taken for tables, by how they begin.
var otherKinds = []struct {
	starts []string
	is     string
}{
	{[]string{"PK\x03\x04", "\xd0\xcf\x11\xe0"}, "a workbook or an archive, and no table of text; " +
		"save the sheet as CSV UTF-8"},
	{[]string{"{", "["}, "JSON, and no table; write a .csv with a row for each image: its path and a column for each " +
		"level (JSON lines: pd.read_json(FILE, lines=True).to_csv(\"labels.csv\", index=False))"},
	{[]string{"<"}, "a web page or XML, and no table; download the file itself"},
	{[]string{"version https://git-lfs."}, "a pointer of Git LFS, and no table; fetch the file itself: git lfs pull"},
	{[]string{"\x1f\x8b"}, "compressed by gzip; unpack it: gunzip FILE"},
	{[]string{"\xfd7zXZ"}, "compressed by xz; unpack it: unxz FILE"},
	{[]string{"\x28\xb5\x2f\xfd"}, "compressed by zstd; unpack it: unzstd FILE"},
	{[]string{"BZh91AY"}, "compressed by bzip2; unpack it: bunzip2 FILE"},
	{[]string{"PAR1\x15"}, "Parquet, and no table of text; write it as CSV: " +
		"pd.read_parquet(FILE).to_csv(\"labels.csv\", index=False)"},
	{[]string{"\xff\xd8\xff", "\x89PNG", "GIF87a", "GIF89a"}, "an image, and no table"},
}

// foreign says what a file is that begins like this, if it is no table.
func foreign(start []byte) string {
	text := string(bytes.TrimLeft(start, " \t\r\n\xef\xbb\xbf"))
	for _, kind := range otherKinds {
		if slices.ContainsFunc(kind.starts, func(s string) bool { return strings.HasPrefix(text, s) }) {
			return kind.is
		}
	}
	return ""
}

// Text returns the text of a file without a byte order mark, in UTF-8 if the mark is that of UTF-16.
func Text(r io.Reader) io.Reader { return unmarked(bufio.NewReaderSize(&failing{r: r}, looked)) }

func unmarked(in *bufio.Reader) *bufio.Reader {
	start, _ := in.Peek(3)
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xfe")):
		return wide(in, binary.LittleEndian)
	case bytes.HasPrefix(start, []byte("\xfe\xff")):
		return wide(in, binary.BigEndian)
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		in.Discard(3)
	}
	return in
}

// wide returns the text behind the mark of UTF-16.
func wide(in *bufio.Reader, order binary.ByteOrder) *bufio.Reader {
	in.Discard(2)
	return bufio.NewReaderSize(transform.NewReader(in, &wideText{order: order}), looked)
}

// Separated returns a reader of a table in UTF-8, with or without a byte order mark, that has this
// separator and no line sep=X.
func Separated(r io.Reader, separator rune) *Reader {
	in := bufio.NewReader(&failing{r: r})
	if start, _ := in.Peek(3); string(start) == "\xef\xbb\xbf" {
		in.Discard(3)
	}
	return &Reader{csv: newCSV(in, separator, 0)}
}

// failing is a reader that goes on failing once it has failed. A look ahead may meet an error, and the
// separator would be guessed from the bytes before it if the next attempt succeeded.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (n int, err error) {
	if f.err != nil {
		return 0, f.err
	}
	if n, err = f.r.Read(p); err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// newCSV reads a table that begins after some skipped lines.
func newCSV(in io.Reader, separator rune, skipped int) *csv.Reader {
	if separator == '\t' {
		in = newQuotes(in)
	}
	r := csv.NewReader(transform.NewReader(in, &lineEnds{separator: separator, line: skipped, row: skipped}))
	r.Comma = separator
	return r
}

// Error is what is wrong with a row.
type Error struct {
	Line int   // where the row begins
	Err  error // the mistake, without the line
}

// Error names the line.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// firstLine returns the bytes before the first end of a line outside quotes.
func firstLine(text []byte) []byte {
	quoted := false
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '\n' || c == '\r'):
			return text[:i]
		}
	}
	return text
}

// separator returns the most frequent separator outside quotes; a comma if there is none.
func separator(line []byte) rune {
	count, quoted := map[rune]int{}, false
	for _, c := range string(line) {
		if c == '"' {
			quoted = !quoted
		}
		if !quoted && strings.ContainsRune(Separators, c) {
			count[c]++
		}
	}
	best := ','
	for _, c := range Separators {
		if count[c] > count[best] {
			best = c
		}
	}
	return best
}

// Reuse lets Read return the same slice again and again.
func (t *Reader) Reuse() { t.csv.ReuseRecord = true }

// Ragged lets rows have other numbers of columns than the first.
func (t *Reader) Ragged() { t.csv.FieldsPerRecord = -1 }

// Separator returns what separates the columns.
func (t *Reader) Separator() rune { return t.csv.Comma }

// Trim leaves out columns at the end that have neither a heading in the first row nor cells, and rows without any
// cell, as spreadsheets write them.
func (t *Reader) Trim() { t.trim = true }

// TrimColumns is Trim without the rows, for tables in which the place of a row says what it is of.
func (t *Reader) TrimColumns() { t.trim, t.blank = true, true }

// Read returns the next row, and io.EOF behind the last. The error for a row is an *Error.
func (t *Reader) Read() ([]string, error) {
	row, err := t.read()
	for err == nil && t.trim && !t.blank && isBlank(row) {
		row, err = t.read()
	}
	if err != nil || !t.trim {
		return row, err
	}
	if t.width == 0 {
		for t.width = len(row); t.width > 1 && strings.TrimSpace(row[t.width-1]) == ""; t.width-- {
		}
	}
	if len(row) <= t.width {
		return row, nil
	}
	if more := strings.Join(row[t.width:], ""); strings.TrimSpace(more) != "" {
		return nil, &Error{t.Line(), fmt.Errorf("%.80q stands in a column without a heading", more)}
	}
	return row[:t.width], nil
}

func isBlank(row []string) bool {
	return !slices.ContainsFunc(row, func(cell string) bool { return strings.TrimSpace(cell) != "" })
}

func (t *Reader) read() ([]string, error) {
	if t.foreign != "" {
		return nil, errors.New(t.foreign)
	}
	if t.next != nil {
		row, line, err := t.next()
		t.line = line
		return row, err
	}
	row, err := t.csv.Read()
	if errors.Is(err, csv.ErrFieldCount) {
		advice := "put quotes around a cell that holds %c"
		if len(row) < t.csv.FieldsPerRecord {
			advice = "write a %c for each cell that is empty or missing"
		}
		return nil, &Error{t.Line(), fmt.Errorf("%d columns, and the first line has %d; "+advice, len(row),
			t.csv.FieldsPerRecord, t.csv.Comma)}
	}
	var at *csv.ParseError
	if errors.As(err, &at) {
		return nil, &Error{at.StartLine + t.skipped, fmt.Errorf("%w; put quotes around a cell that holds a quote, and "+
			"double the quote", at.Err)}
	}
	var bounds *Error
	if errors.As(err, &bounds) {
		return nil, bounds
	}
	if err != nil {
		return nil, err
	}
	for i, cell := range row {
		row[i] = keptText(cell)
		if !utf8.ValidString(cell) {
			return nil, &Error{t.Line(), fmt.Errorf("%.80q is not UTF-8; save the table as UTF-8 (of Windows-1252: "+
				"iconv -f WINDOWS-1252 -t UTF-8)", cell)}
		}
		if strings.ContainsRune(cell, 0) {
			return nil, &Error{t.Line(), fmt.Errorf("%.80q holds a zero byte, so the table is damaged or UTF-16 without a "+
				"mark; save it as UTF-8 (of UTF-16: iconv -f UTF-16LE -t UTF-8)", cell)}
		}
	}
	return row, nil
}

// keptText returns the text of a cell ="007", and other cells as they are.
func keptText(cell string) string {
	if len(cell) < 3 || !strings.HasPrefix(cell, `="`) || !strings.HasSuffix(cell, `"`) {
		return cell
	}
	text := cell[2 : len(cell)-1]
	if strings.Contains(strings.ReplaceAll(text, `""`, ""), `"`) { // a formula such as ="a"&"b"
		return cell
	}
	return strings.ReplaceAll(text, `""`, `"`)
}

// Line returns the line at which the last row begins.
func (t *Reader) Line() int {
	if t.next != nil {
		return t.line
	}
	line, _ := t.csv.FieldPos(0)
	return line + t.skipped
}
