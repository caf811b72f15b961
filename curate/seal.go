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
// The count says that the log ends here with so many edits. When the next edit is
// on disk, and not before, dashes replace it: "end":"--". The checksum does not
// cover it. After a crash the last whole line therefore still has its count, and a
// torn line behind it was never acknowledged. A copy that was cut, even between two
// lines, ends with dashes. A power cut may bring the count of the line before the
// last one back; that is no damage.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	sealStart  = `,"crc":"`
	sealSize   = len(sealStart) + 8 + len(`"`)
	countStart = `,"end":"`
	lineEnd    = `"}`
)

// countKind is what a line says of the end of the log.
type countKind int

const (
	uncounted countKind = iota // nothing: the line is of format version 1
	final                      // the log ends here
	followed                   // an edit was acknowledged behind it
)

// count is the field "end" of a line.
type count struct {
	is countKind
	at int64 // of its digits: in the line, or in the file
	n  int   // digits

	torn bool // some of the digits are dashes: it is followed
}

// from returns the count of a line that begins at a place of the file.
func (c count) from(line int64) count {
	c.at += line
	return c
}

// dashes replace a count of n digits.
func dashes(n int) []byte { return bytes.Repeat([]byte("-"), n) }

// sealed is a line whose checksum is right.
type sealed struct {
	object []byte // without checksum and count
	crc    uint32
	count  count // its place is that in the line
}

// seal turns a JSON object into a line of the log without its line end, the last
// one of a log with so many edits. The checksum continues from the line before.
func seal(object []byte, before uint32, edits int) ([]byte, sealed) {
	body := object[:len(object)-1]
	s := sealed{object: object, crc: crc32.Update(before, castagnoli, body)}
	line := fmt.Appendf(bytes.Clone(body), "%s%08x\"%s", sealStart, s.crc, countStart)
	digits := strconv.Itoa(edits)
	s.count = count{is: final, at: int64(len(line)), n: len(digits)}
	return append(append(line, digits...), lineEnd...), s
}

// unseal checks a line and returns what it holds. Edits is how many the log has up
// to this line.
func unseal(line []byte, before uint32, edits int) (s sealed, err error) {
	rest, ended := bytes.CutSuffix(line, []byte(lineEnd))
	if digits := strconv.Itoa(edits); ended {
		s.count, rest = cutCount(rest, digits)
	}
	if !ended || len(rest) < sealSize {
		return s, errors.New("the line has no checksum")
	}
	body := rest[:len(rest)-sealSize]
	s.crc = crc32.Update(before, castagnoli, body)
	if want := fmt.Sprintf("%s%08x\"", sealStart, s.crc); string(rest[len(body):]) != want {
		return s, errors.New("the line does not fit its checksum: it, or one before it, was changed after it was written")
	}
	s.object = append(bytes.Clone(body), '}')
	return s, nil
}

// cutCount takes the count off a line that has lost its lineEnd. What is left ends
// with the checksum's quote.
func cutCount(line []byte, digits string) (count, []byte) {
	if at := len(line) - len(digits); at >= 0 {
		if rest, has := bytes.CutSuffix(line[:at], []byte(countStart)); has {
			switch found := string(line[at:]); {
			case found == digits:
				return count{is: final, at: int64(at), n: len(digits)}, rest
			case partlyDashes(found, digits):
				torn := found != string(dashes(len(digits)))
				return count{is: followed, at: int64(at), n: len(digits), torn: torn}, rest
			}
		}
	}
	return count{}, append(bytes.Clone(line), '"') // version 1: the quote belongs to the checksum
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

// countMost is room for the field "end" of any line.
const countMost = 40

// sealedWithin says whether a whole line stands at the beginning of text: then
// it was acknowledged, and what follows it is damage and no torn line.
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
