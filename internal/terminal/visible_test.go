package terminal

import (
	"strings"
	"testing"
)

func TestControlCharactersAreEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"Église 大聖堂 🏛\tof\nall":            "Église 大聖堂 🏛\tof\nall",
		"\x1b]0;title\x07\x1b[2Jgone":      `\x1b]0;title\x07\x1b[2Jgone`,
		"return\rover":                     `return\x0dover`,
		"\u009b31mred \x7f":                `\u009b31mred \u007f`,
		"\u202etxt.exe\u202c \u2066x":      `\u202etxt.exe\u202c \u2066x`,
		"not \xff UTF-8, but \ufffd is":    `not \xff UTF-8, but ` + "\ufffd is",
		"right to left \u200f stays as it": "right to left \u200f stays as it",
	} {
		if got := Visible(text); got != want {
			t.Errorf("Visible(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := VisibleName("a\nb\tc"), `a\nb\tc`; got != want {
		t.Errorf("a name of two lines is %q, want %q", got, want)
	}
}

func TestLongLinesAreCut(t *testing.T) {
	long := "x: " + strings.Repeat("y", 1<<20) + "; want z\nnext"
	got := Bounded(long)
	if len(got) > longestLine || !strings.HasPrefix(got, "x: yyy") || !strings.HasSuffix(got, "yyy; want z\nnext") {
		t.Errorf("a long line has become %.100q of %d bytes", got, len(got))
	}
}
