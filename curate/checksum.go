package curate

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
)

// A line ends with its checksum and its count:
//
//	{"seq":17, … ,"crc":"9a8b7c6d","end":"17"}
//
// The count says that the log ends here, after that many edits. Dashes replace it,
// "end":"--", once the next edit is on disk and not before. The checksum does not cover
// it. After a crash the last complete line therefore still has its count, and a torn
// line after it was never acknowledged. A truncated copy ends with dashes, even if it
// was cut between two lines. A power cut may restore the count of the line before the
// last one; that is harmless.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	sealStart  = `,"crc":"`
	sealSize   = len(sealStart) + 8 + len(`"`)
	countStart = `,"end":"`
	lineEnd    = `"}`
)

// countKind is what a line says about the end of the log.
type countKind int

const (
	none     countKind = iota // there is no line
	final                     // the log ends here
	followed                  // a later edit was acknowledged
)

// count is the field "end" of a line.
type count struct {
	is countKind
	at int64 // offset of its digits, in the line or in the file
	n  int   // number of digits

	torn bool // some of the digits are already dashes: another line follows
}

// from returns the count of a line that starts at the given offset of the file.
func (c count) from(line int64) count {
	c.at += line
	return c
}

// dashes returns what replaces a count of n digits.
func dashes(n int) []byte { return bytes.Repeat([]byte("-"), n) }

// sealed is a line with a valid checksum.
type sealed struct {
	object []byte // the line without its checksum and count
	crc    uint32
	count  count // its offset is that in the line
}

// seal turns a JSON object into the last line of a log with the given number of edits,
// without the line end. before is the checksum of the line before, which this one
// continues.
func seal(object []byte, before uint32, edits int) ([]byte, sealed) {
	body := object[:len(object)-1]
	s := sealed{object: object, crc: crc32.Update(before, castagnoli, body)}
	line := fmt.Appendf(bytes.Clone(body), "%s%08x\"%s", sealStart, s.crc, countStart)
	digits := strconv.Itoa(edits)
	s.count = count{is: final, at: int64(len(line)), n: len(digits)}
	return append(append(line, digits...), lineEnd...), s
}

// unseal checks a line and returns what it holds. edits is the number of edits up to
// this line.
func unseal(line []byte, before uint32, edits int) (s sealed, err error) {
	rest, counted := bytes.CutSuffix(line, []byte(lineEnd))
	if counted {
		s.count, rest, counted = cutCount(rest, strconv.Itoa(edits))
	}
	if !counted || len(rest) < sealSize {
		return s, errors.New("the line does not end with its checksum and count")
	}
	body := rest[:len(rest)-sealSize]
	s.crc = crc32.Update(before, castagnoli, body)
	if want := fmt.Sprintf("%s%08x\"", sealStart, s.crc); string(rest[len(body):]) != want {
		return s, errors.New("the checksum does not match: this line, or one before it, was changed after it was written")
	}
	s.object = append(bytes.Clone(body), '}')
	return s, nil
}

// cutCount removes the count from a line that has lost its line end. It returns false if
// the line does not have this count, or dashes in its place.
func cutCount(line []byte, digits string) (count, []byte, bool) {
	at := max(len(line)-len(digits), 0)
	rest, has := bytes.CutSuffix(line[:at], []byte(countStart))
	c := count{is: final, at: int64(at), n: len(digits)}
	found := string(line[at:])
	if !has || !partlyDashes(found, digits) {
		return c, rest, false
	}
	if found != digits {
		c.is, c.torn = followed, found != string(dashes(len(digits)))
	}
	return c, rest, true
}

// partlyDashes reports whether dashes have begun to replace digits: a power cut may tear
// them. They are written when the next edit is on disk.
func partlyDashes(text, digits string) bool {
	for i := range text {
		if text[i] != '-' && text[i] != digits[i] {
			return false
		}
	}
	return true
}

// countMost is the largest number of bytes that the field "end" of any line takes.
const countMost = 40

// sealedWithin reports whether text begins with a complete line. Such a line was
// acknowledged, so what follows it is damage and not a torn line.
func sealedWithin(text []byte, before uint32, edits int) bool {
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(sealStart))
		if at < 0 {
			return false
		}
		from += at + len(sealStart)
		near := text[from:min(from+countMost, len(text))]
		if end := bytes.Index(near, []byte(lineEnd)); end >= 0 {
			if _, err := unseal(text[:from+end+len(lineEnd)], before, edits); err == nil {
				return true
			}
		}
	}
}
