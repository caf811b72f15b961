package main

import (
	"strings"
)

// longestWord is the number of bytes of the longest text that a printed command contains. A longer
// one could lose its end, and with it its quotes, where a message is shortened.
const longestWord = 300

// word returns a text as one word of a command line, for a POSIX shell. Every name, path and label
// in a command that hgld prints goes through it: people paste such commands, and these texts come
// from files, archives and servers. A text that is too long is left out, as "…".
func word(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./,:=+@%", r)
	}
	switch {
	case len(text) > longestWord:
		return "…"
	case text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0:
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
