// Package terminal writes for a person at a terminal: text whose control characters are
// escaped, messages cut to a length that can be read, and progress bars.
package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// isControl reports whether a terminal may interpret a character: the control characters of
// ASCII and Latin-1 except line feed and tab, and those that change the direction of the
// text after them (Trojan Source, CVE-2021-42574).
func isControl(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Visible returns a text with control characters, and bytes that are not UTF-8, escaped as
// in Go: \x1b, \u009b, \u202e, and so that JSON keeps its values. Names, notes and paths come
// from other people, and raw control characters in them could move the cursor, change the
// title or hide output.
func Visible(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, isControl) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1, r < 0x20 && isControl(r):
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case isControl(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// The packages cut what they quote to a line. Libraries do not: strconv quotes the whole
// number that it cannot read. Bounded cuts that.
const (
	longestLine = 2000 // bytes of a line
	lineStart   = 1200 // bytes kept of the start of a longer line
	lineEnd     = 400  // bytes kept of its end, where a message says what it expected
)

// Bounded returns a message with the middle of every overlong line left out.
func Bounded(message string) string {
	if len(message) <= longestLine {
		return message
	}
	lines := strings.Split(message, "\n")
	for i, line := range lines {
		if len(line) > longestLine {
			left := len(line) - lineStart - lineEnd
			lines[i] = fmt.Sprintf("%s … (%d bytes are left out here) … %s", line[:lineStart], left, line[len(line)-lineEnd:])
		}
	}
	return strings.Join(lines, "\n")
}

// VisibleName is Visible for a name. It also escapes line feeds and tabs, so that the name
// stays on its line.
func VisibleName(name string) string {
	return layout.Replace(Visible(name))
}

var layout = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// VisibleJSON escapes the control characters that JSON allows unescaped. The value stays
// the same.
func VisibleJSON(data []byte) []byte {
	text := string(data)
	if strings.IndexFunc(text, isControl) < 0 {
		return data
	}
	var b strings.Builder
	for _, r := range text {
		if isControl(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return []byte(b.String())
}
