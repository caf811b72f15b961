package scrape

import (
	"strconv"
	"strings"
)

// maxMessage limits the stored text of an error, in bytes. It may quote the server, and
// more than a line of that is of no use.
const maxMessage = 300

// message returns an error's text as one line of valid UTF-8 of at most maxMessage bytes.
// Control characters, such as escape sequences and changes of the writing direction, are
// escaped: a server may have sent them.
func message(err error) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(err.Error(), "\uFFFD") {
		shown := string(r)
		if r != ' ' && !strconv.IsPrint(r) {
			shown = strings.Trim(strconv.QuoteRune(r), "'")
		}
		if b.Len()+len(shown) > maxMessage {
			b.WriteString("…")
			break
		}
		b.WriteString(shown)
	}
	return b.String()
}
