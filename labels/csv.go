package labels

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sheet is a CSV file that can be rewritten byte for byte. encoding/csv returns the
// values but not the byte order mark, the line ends and the quotes. People compare
// label files with diff and sha256, so a sheet keeps the text of every row until one of
// its fields changes.
type sheet struct {
	name    string
	bom     bool
	columns []string
	header  sheetRow
	rows    []sheetRow
}

// sheetRow is one record.
type sheetRow struct {
	fields []string
	raw    string // the record as it stands in the file, "" once a field was changed
	end    string // "\n", "\r\n", or "" for a last line without end
	line   int    // its first line in the file, 0 for a new row
}

// readSheet reads a CSV file with a header. It rejects text that two programs would
// read differently: a quote inside an unquoted field, text after a quoted one, a lone
// carriage return, rows of another length than the header, empty lines, two columns
// with the same name, NUL and bytes that are not UTF-8.
func readSheet(r io.Reader, name string) (*sheet, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSheet+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxSheet {
		return nil, fmt.Errorf("%s: larger than %d MiB; the largest label file of GLDv2 has 25", name, maxSheet>>20)
	}
	d := &document{name: name, line: 1, data: data}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return nil, d.errorf(i, "contains a NUL byte; want CSV text")
	}
	if i := invalidUTF8(data); i >= 0 {
		return nil, d.errorf(i, "byte %#02x is not UTF-8; save the file as UTF-8", data[i])
	}
	s := &sheet{name: name}
	text := string(data)
	if s.bom = strings.HasPrefix(text, "\ufeff"); s.bom {
		text = text[len("\ufeff"):]
	}
	if text == "" {
		return nil, fmt.Errorf("%s:1: the file is empty; want a header with landmark_id and other columns", name)
	}
	return s, s.parse(text)
}

// maxColumns bounds the columns of a CSV.
const maxColumns = 4096

// maxSheet bounds the size of a CSV. GLDv2's file of index images and landmarks has
// 761,757 rows in 18 MB.
const maxSheet = 1 << 30

func (s *sheet) parse(text string) error {
	scan := csvScanner{text: text, line: 1}
	for scan.at < len(text) {
		row := sheetRow{line: scan.line}
		start := scan.at
		var err error
		if row.fields, row.end, err = scan.record(max(len(s.columns), 5)); err != nil {
			return fmt.Errorf("%s:%d: %w", s.name, scan.line, err)
		}
		row.raw = text[start : scan.at-len(row.end)]
		if s.columns == nil {
			if err := s.setHeader(row); err != nil {
				return err
			}
			s.rows = make([]sheetRow, 0, strings.Count(text, "\n"))
			continue
		}
		if row.raw == "" {
			return fmt.Errorf("%s:%d: the line is empty; want %d fields", s.name, row.line, len(s.columns))
		}
		if len(row.fields) != len(s.columns) {
			return fmt.Errorf("%s:%d: %d fields, want %d as in the header; quote fields that contain a comma", s.name,
				row.line, len(row.fields), len(s.columns))
		}
		s.rows = append(s.rows, row)
	}
	return nil
}

func (s *sheet) setHeader(row sheetRow) error {
	if len(row.fields) == 1 && strings.ContainsAny(row.raw, ";\t") {
		return fmt.Errorf("%s:1: columns are separated by semicolons or tabs; want commas", s.name)
	}
	for i, c := range row.fields {
		if slices.Contains(row.fields[:i], c) {
			return fmt.Errorf("%s:1: column %.80q occurs twice", s.name, c)
		}
	}
	s.columns, s.header = row.fields, row
	return nil
}

// column returns the position of a column, −1 if it is missing.
func (s *sheet) column(name string) int { return slices.Index(s.columns, name) }

// where names a row for messages.
func (s *sheet) where(row int) string { return s.name + ":" + strconv.Itoa(s.rows[row].line) }

// newSheet creates a sheet in the published style: no byte order mark, "\n" line ends,
// and quotes only if a field needs them.
func newSheet(columns ...string) *sheet {
	return &sheet{columns: columns, header: sheetRow{fields: columns}}
}

// headers lists the columns for a message.
func (s *sheet) headers() string { return listed(s.columns) }

// listed joins names for a message. It shortens the list to a line and escapes what
// acts on a terminal.
func listed(names []string) string {
	text := fmt.Sprintf("%.200q", strings.Join(names, ","))
	return text[1 : len(text)-1]
}

// write writes the given rows below the header. An unchanged row keeps its text; a new
// or changed one gets the file's line end. Text that readSheet would reject is an
// error.
func (s *sheet) write(w io.Writer, rows iter.Seq[sheetRow]) error {
	end := s.header.end
	if end == "" {
		end = "\n"
	}
	var b bytes.Buffer
	if s.bom {
		b.WriteString("\ufeff")
	}
	before, n := s.header, 0 // the row before, whose end depends on whether it is the last
	for row := range rows {
		before.append(&b, end, false)
		before = row
		n++
		for _, f := range row.fields {
			if row.raw == "" && (!utf8.ValidString(f) || strings.Contains(f, "\x00") || len(f) > maxLine) {
				return fmt.Errorf("row %d of the CSV: field %.40q: want UTF-8 text of at most %d bytes", n, f, maxLine)
			}
		}
		if b.Len() > 1<<16 {
			if _, err := w.Write(b.Bytes()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	before.append(&b, end, true)
	_, err := w.Write(b.Bytes())
	return err
}

func (r *sheetRow) append(b *bytes.Buffer, end string, last bool) {
	text := r.raw
	if text == "" {
		text = joinCSV(r.fields)
	}
	b.WriteString(text)
	if r.end != "" {
		end = r.end
	} else if last && r.line > 0 {
		end = "" // the file's last line had none
	}
	b.WriteString(end)
}

// joinCSV encodes a record as GLDv2's files do: a field is quoted only if it contains a
// comma, a quote or a line end.
func joinCSV(fields []string) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		if strings.ContainsAny(f, ",\"\r\n") || f == "" && len(fields) == 1 {
			b.WriteByte('"')
			b.WriteString(strings.ReplaceAll(f, `"`, `""`))
			b.WriteByte('"')
		} else {
			b.WriteString(f)
		}
	}
	return b.String()
}

// csvScanner splits CSV text into records.
type csvScanner struct {
	text string
	at   int
	line int
}

// record reads one record and its line end; size is the expected number of fields.
func (c *csvScanner) record(size int) (fields []string, end string, err error) {
	fields = make([]string, 0, size)
	for {
		var f string
		if strings.HasPrefix(c.text[c.at:], `"`) {
			f, err = c.quoted()
		} else {
			f, err = c.bare()
		}
		if err != nil {
			return nil, "", err
		}
		if len(f) > maxLine {
			return nil, "", fmt.Errorf("a field has %d bytes; want at most %d", len(f), maxLine)
		}
		if fields = append(fields, f); len(fields) > maxColumns {
			return nil, "", fmt.Errorf("the row has more than %d columns", maxColumns)
		}
		switch rest := c.text[c.at:]; {
		case rest == "":
			return fields, "", nil
		case rest[0] == ',':
			c.at++
		case rest[0] == '\n':
			end = rest[:1]
		case strings.HasPrefix(rest, "\r\n"):
			end = rest[:2]
		default:
			return nil, "", fmt.Errorf("%.80q after a quoted field; want a comma or the end of the line", rest[0])
		}
		if end != "" {
			c.at += len(end)
			c.line++
			return fields, end, nil
		}
	}
}

// bare reads a field without quotes.
func (c *csvScanner) bare() (string, error) {
	rest := c.text[c.at:]
	n := strings.IndexAny(rest, ",\n\r\"")
	if n < 0 {
		n = len(rest)
	} else if rest[n] == '"' {
		return "", fmt.Errorf("a quote inside the unquoted field %.40q; put the field in quotes and double the inner one",
			rest)
	} else if rest[n] == '\r' && !strings.HasPrefix(rest[n:], "\r\n") {
		return "", fmt.Errorf("a carriage return without a line feed after %.40q; end lines in LF or CRLF", rest[:n])
	}
	c.at += n
	return rest[:n], nil
}

// quoted reads a field in quotes.
func (c *csvScanner) quoted() (string, error) {
	rest := c.text[c.at+1:]
	n := 0
	for {
		q := strings.IndexByte(rest[n:], '"')
		if q < 0 {
			return "", fmt.Errorf("a quote is opened and never closed: %.40q", rest)
		}
		n += q + 1
		if !strings.HasPrefix(rest[n:], `"`) {
			break
		}
		n++
	}
	c.at += n + 1
	f := rest[:n-1]
	c.line += strings.Count(f, "\n")
	return strings.ReplaceAll(f, `""`, `"`), nil
}
