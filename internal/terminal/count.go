package terminal

import (
	"fmt"
	"strconv"
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

// Numbered returns a noun with its numbers: "rank 1", "ranks 1 and 2", "ranks 1, 2 and 3". Of more than nine, it counts
// those after the eighth: "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more".
func Numbered(noun string, numbers []int) string {
	const most = 9
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.Itoa(n))
	}
	if more := len(words) - most + 1; more > 1 {
		words = append(words[:most-1], fmt.Sprintf("%d more", more))
	}
	last := len(words) - 1
	if last < 1 {
		return noun + " " + strings.Join(words, "")
	}
	return noun + "s " + strings.Join(words[:last], ", ") + " and " + words[last]
}

// Are returns the verb of n things.
func Are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
