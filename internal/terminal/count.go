package terminal

import "fmt"

// Count returns a number with its noun: "1 error", "2 errors". The plural ends in s.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
