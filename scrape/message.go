package scrape

import (
	"strconv"
	"strings"
)

// maxMessage is the most bytes of an error that are kept: more than a line of what
// a server sent helps nobody.
const maxMessage = 300

// message is an error's text for a record: a line of UTF-8 of bounded length, since
// it may quote what a server sent. What a terminal would obey, such as an escape
// sequence or a change of the direction of writing, is shown escaped.
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
