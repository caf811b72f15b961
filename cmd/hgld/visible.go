package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Names, notes and paths come from elsewhere. A terminal takes some characters for
// commands: they move its cursor, change its title or hide what was printed. What is
// printed for a person shows them escaped.

// actedOn reports whether a terminal may act on a character: the control
// characters of ASCII and Latin-1 but line end and tab, and those that change the
// direction of what follows (Trojan Source, CVE-2021-42574).
func actedOn(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// visible returns a text with characters on which a terminal may act, and bytes that
// are not UTF-8, written as in Go: \x1b, \u009b, \u202e.
func visible(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, actedOn) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1, actedOn(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case actedOn(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// A message quotes what the packages cut to a line. What libraries quote, such as the
// number that strconv cannot read, is cut here.
const (
	longestLine = 2000 // bytes of a message's line
	lineStart   = 1200 // of a longer one, what stays of its start
	lineEnd     = 400  // and of its end, where a message says what is wanted
)

// bounded returns a message without the middle of lines that are too long.
func bounded(message string) string {
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

// visibleName is visible for a name, which has to stay on its line.
func visibleName(name string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(visible(name))
}

// visibleJSON escapes in JSON on which a terminal may act and which JSON leaves as
// it is. The value stays the same.
func visibleJSON(data []byte) []byte {
	text := string(data)
	if strings.IndexFunc(text, actedOn) < 0 {
		return data
	}
	var b strings.Builder
	for _, r := range text {
		if actedOn(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return []byte(b.String())
}
