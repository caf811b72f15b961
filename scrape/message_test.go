package scrape

import (
	"errors"
	"strings"
	"testing"
)

func TestMessagesAreOneLineWithoutControlCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"Straße 1–2, \"x\" & 日本":   "Straße 1–2, \"x\" & 日本",
		"\x1b[31mred\x07\r\n":      `\x1b[31mred\a\r\n`,
		"C1 \u009b31m":             `C1 \u009b31m`,
		"right to left \u202egnp.": `right to left \u202egnp.`,
		"Latin-1 \xf1":             "Latin-1 \uFFFD",
		strings.Repeat("é", 1000):  strings.Repeat("é", maxMessage/2) + "…",
	} {
		if got := message(errors.New(text)); got != want {
			t.Errorf("message of %.60q is %q, want %q", text, got, want)
		}
	}
}
