package terminal

import (
	"fmt"
	"strings"
)

// Count returns a number with its noun: "1 error", "2 errors", "2 classes". The plural ends in s.
func Count(n int, noun string) string {
	if n != 1 && strings.HasSuffix(noun, "s") {
		noun += "es"
	} else if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
