package csvfile

import (
	"bufio"
	"bytes"
	"io"
)

// quotes puts quotes around cells of a table separated by tabs that hold a quote as text, as encoding/csv
// wants them: 12" record, and "Old" town, which goes on behind the second. Many programs know no quotes
// there. In other tables, such a cell may be a mistake, and is an error.
type quotes struct {
	in     *bufio.Reader
	out    []byte // not read yet
	inside bool   // the next byte is within a cell that is longer than what is looked at
	open   bool   // that cell began with a quote
}

func newQuotes(in io.Reader) io.Reader { return &quotes{in: bufio.NewReaderSize(in, looked)} }

// Read returns the text with these quotes.
func (q *quotes) Read(p []byte) (int, error) {
	for len(q.out) == 0 {
		text, err := q.in.Peek(looked)
		if len(text) == 0 {
			return 0, err
		}
		q.in.Discard(q.cells(text, err != nil))
	}
	n := copy(p, q.out)
	q.out = q.out[n:]
	return n, nil
}

// cells appends cells of text to out, whole ones if there are any, and returns their length.
func (q *quotes) cells(text []byte, last bool) int {
	q.out = q.out[:0]
	if !q.inside && bytes.IndexByte(text, '"') < 0 { // nothing to do, up to the last whole cell
		if end := q.lastEnd(text); end > 0 {
			q.out = append(q.out, text[:end]...)
			return end
		}
	}
	done := 0
	for done < len(text) {
		rest := text[done:]
		end, open, whole := q.cell(rest, last)
		if !whole && done > 0 && !last {
			return done
		}
		cell := rest[:end]
		if !q.inside && !open && bytes.IndexByte(cell, '"') >= 0 && (whole || last) {
			q.out = append(q.out, '"')
			q.out = append(q.out, bytes.ReplaceAll(cell, []byte(`"`), []byte(`""`))...)
			q.out = append(q.out, '"')
		} else {
			q.out = append(q.out, cell...)
		}
		done += end
		if q.inside, q.open = !whole, open; whole && done < len(text) {
			q.out = append(q.out, text[done])
			done++
		}
	}
	return done
}

// lastEnd returns the length of the text up to the last character that ends a cell.
func (q *quotes) lastEnd(text []byte) int {
	return 1 + max(bytes.LastIndexByte(text, '\t'), bytes.LastIndexByte(text, '\n'))
}

// cell returns the length of the cell at the start of the text, without what ends it, and whether its end
// is in the text. open reports that it stands in quotes that end with it.
func (q *quotes) cell(text []byte, last bool) (end int, open, whole bool) {
	if q.inside && q.open || !q.inside && text[0] == '"' {
		at := 0
		if !q.inside {
			at = 1
		}
		for {
			next := bytes.IndexByte(text[at:], '"')
			if next < 0 {
				return len(text), true, false
			}
			at += next + 1
			switch {
			case at == len(text) && last:
				return at, true, true
			case at == len(text): // perhaps the first of two
				return at - 1, true, false
			case text[at] == '"':
				at++
			case q.ends(text[at:]):
				return at, true, true
			default: // of a cell that has begun, as it stands, and the reader says what is wrong
				return q.plain(text, at, q.inside)
			}
		}
	}
	return q.plain(text, 0, false)
}

// plain returns the cell that ends at the next separator or line end.
func (q *quotes) plain(text []byte, from int, open bool) (end int, is, whole bool) {
	for at := from; at < len(text); at++ {
		if q.ends(text[at:]) {
			return at, open, true
		}
	}
	return len(text), open, false
}

// ends reports whether text begins with what ends a cell.
func (q *quotes) ends(text []byte) bool {
	return text[0] == '\t' || text[0] == '\n' || bytes.HasPrefix(text, []byte("\r\n"))
}
