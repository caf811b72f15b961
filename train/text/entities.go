package text

import (
	"fmt"
	"html"
	"strings"
	"unicode"
)

// unescape resolves character references as Python's html.unescape does, which prepared CLIP's
// captions. Go's function differs in numeric references: it accepts "&#x;", keeps references to
// control characters and noncharacters, which Python drops, and lets large numbers overflow.
func unescape(text string) string {
	before, rest, found := strings.Cut(text, "&")
	if !found {
		return text
	}
	var out strings.Builder
	out.WriteString(before)
	for found {
		before, rest, found = strings.Cut(rest, "&")
		out.WriteString(unescapeFirst("&" + before))
	}
	return out.String()
}

// unescapeFirst resolves the reference at the start of text, which has no other '&'.
func unescapeFirst(text string) string {
	if !strings.HasPrefix(text, "&#") {
		return html.UnescapeString(text)
	}
	at, base := 2, rune(10)
	if len(text) > 2 && text[2]|0x20 == 'x' {
		at, base = 3, 16
	}
	number, digits := rune(0), 0
	for ; at+digits < len(text); digits++ {
		d, ok := digit(text[at+digits], base)
		if !ok {
			break
		}
		number = min(number*base+d, unicode.MaxRune+1)
	}
	if digits == 0 {
		return text
	}
	rest := strings.TrimPrefix(text[at+digits:], ";")
	switch {
	case 0x80 <= number && number <= 0x9F:
		return html.UnescapeString(fmt.Sprintf("&#%d;", number)) + rest // Windows-1252
	case noCharacter(number):
		return rest
	case number == 0 || number > unicode.MaxRune || 0xD800 <= number && number <= 0xDFFF:
		return "\uFFFD" + rest
	}
	return string(number) + rest
}

func digit(c byte, base rune) (rune, bool) {
	switch lower := c | 0x20; {
	case '0' <= c && c <= '9':
		return rune(c - '0'), true
	case base == 16 && 'a' <= lower && lower <= 'f':
		return rune(lower-'a') + 10, true
	}
	return 0, false
}

// noCharacter reports control characters other than white space, and code points that will never
// be characters.
func noCharacter(r rune) bool {
	return 1 <= r && r <= 8 || r == 0xB || 0xE <= r && r <= 0x1F || r == 0x7F ||
		0xFDD0 <= r && r <= 0xFDEF || r <= unicode.MaxRune && r&0xFFFE == 0xFFFE
}
