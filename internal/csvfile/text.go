package csvfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/transform"

	"hgld/internal/budget"
)

// lineEnds doubles the carriage return of CR LF within quotes, because encoding/csv drops one, and drops the = of
// a cell ="007", so that the rest is a cell in quotes. It also refuses rows that are too long before they are in
// memory.
type lineEnds struct {
	separator  rune
	quoted, cr bool
	within     bool // the next byte does not begin a cell
	line       int  // of the next byte, less one
	row        int  // line at which the row begins, less one
	bytes      int  // of the row so far
	columns    int  // of the row so far, less one
}

// Reset does nothing: a lineEnds is used for one table.
func (l *lineEnds) Reset() {}

// Transform copies src to dst.
func (l *lineEnds) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		c := src[nSrc]
		if nDst+2 > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		if c == '=' && !l.within {
			if nSrc+1 == len(src) && !atEOF {
				return nDst, nSrc, transform.ErrShortSrc
			}
			if nSrc+1 < len(src) && src[nSrc+1] == '"' {
				nSrc, l.within = nSrc+1, true
				continue
			}
		}
		if c == '\n' && l.cr && l.quoted {
			dst[nDst] = '\r'
			nDst++
		}
		dst[nDst] = c
		nDst++
		nSrc++
		l.quoted, l.cr = l.quoted != (c == '"'), c == '\r'
		l.within = l.quoted || c != '\n' && rune(c) != l.separator
		if err := l.count(c); err != nil {
			return nDst, nSrc, err
		}
	}
	return nDst, nSrc, nil
}

// count counts a byte of the row.
func (l *lineEnds) count(c byte) error {
	l.bytes++
	if c == '\n' {
		l.line++
	}
	switch {
	case c == '\n' && !l.quoted:
		l.row, l.bytes, l.columns = l.line, 0, 0
	case rune(c) == l.separator && !l.quoted:
		l.columns++
	}
	switch {
	case l.bytes > budget.Row:
		return &Error{l.row + 1, fmt.Errorf("the row has more than %d bytes; is a quote left open?", budget.Row)}
	case l.columns >= budget.Columns:
		return &Error{l.row + 1, fmt.Errorf("the row has more than %d columns", budget.Columns)}
	}
	return nil
}

// wideText decodes UTF-16. Unlike the decoder of golang.org/x/text it refuses what is no text: with a
// replacement character two different names could become one.
type wideText struct {
	order binary.ByteOrder
	line  int // of the next character, less one
}

// Reset does nothing: a wideText is used for one text.
func (w *wideText) Reset() {}

// Transform decodes src to dst.
func (w *wideText) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		if nDst+utf8.UTFMax > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		rest := src[nSrc:]
		if len(rest) < 2 {
			return nDst, nSrc, w.cut(atEOF, "the last character has one byte of two")
		}
		r, size := rune(w.order.Uint16(rest)), 2
		if utf16.IsSurrogate(r) {
			if len(rest) < 4 {
				return nDst, nSrc, w.cut(atEOF, "the last character has two bytes of four")
			}
			pair := utf16.DecodeRune(r, rune(w.order.Uint16(rest[2:])))
			if pair == utf8.RuneError {
				return nDst, nSrc, w.bad(fmt.Sprintf("half a character (%04X)", r))
			}
			r, size = pair, 4
		}
		if r == '\n' {
			w.line++
		}
		nDst += utf8.EncodeRune(dst[nDst:], r)
		nSrc += size
	}
	return nDst, nSrc, nil
}

// cut is the result for a character that is not whole.
func (w *wideText) cut(atEOF bool, what string) error {
	if !atEOF {
		return transform.ErrShortSrc
	}
	return w.bad(what)
}

func (w *wideText) bad(what string) error {
	return &Error{w.line + 1, errors.New("the file is not valid UTF-16: " + what + "; save the table as UTF-8")}
}

// oldEnds makes a line feed of each carriage return.
type oldEnds struct{ transform.NopResetter }

// Transform copies src to dst.
func (oldEnds) Transform(dst, src []byte, _ bool) (nDst, nSrc int, err error) {
	n := copy(dst, src)
	for i, c := range dst[:n] {
		if c == '\r' {
			dst[i] = '\n'
		}
	}
	if n < len(src) {
		err = transform.ErrShortDst
	}
	return n, n, err
}
