package format

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

var turtleEscapes = map[byte]string{'t': "\t", 'b': "\b", 'n': "\n", 'r': "\r", 'f': "\f", '"': `"`, '\'': "'",
	'\\': `\`}

// unescape resolves the escapes of Turtle's texts and IRIs.
func unescape(text string) (string, error) {
	var b strings.Builder
	for {
		before, rest, escaped := strings.Cut(text, `\`)
		b.WriteString(before)
		if !escaped {
			return b.String(), nil
		}
		if rest == "" {
			return "", fmt.Errorf("%.20q ends in a backslash", text)
		}
		digits := map[byte]int{'u': 4, 'U': 8}[rest[0]]
		switch plain, known := turtleEscapes[rest[0]]; {
		case known:
			b.WriteString(plain)
			text = rest[1:]
		case digits > 0 && len(rest) > digits:
			n, err := strconv.ParseUint(rest[1:1+digits], 16, 32)
			if err != nil || !utf8.ValidRune(rune(n)) {
				return "", fmt.Errorf("%.80q is not a character", `\`+rest[:1+digits])
			}
			b.WriteRune(rune(n))
			text = rest[1+digits:]
		default:
			return "", fmt.Errorf("%.10q is not an escape; want \\t, \\n, \\\", \\\\ or \\u0000", `\`+rest)
		}
	}
}

// turtleString returns a text in quotes. It escapes control characters and keeps all
// others.
func turtleString(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// localIRI returns the IRI of a class within its file.
func localIRI(level, name string) string {
	return "<#" + url.PathEscape(level) + "/" + url.PathEscape(name) + ">"
}
