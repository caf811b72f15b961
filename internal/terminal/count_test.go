package terminal

import (
	"fmt"
	"testing"
)

func TestCountHasThePluralOfItsNoun(t *testing.T) {
	for n, want := range map[int]string{0: "0 errors", 1: "1 error", 2: "2 errors"} {
		if got := Count(n, "error"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestNumbersAreASentence(t *testing.T) {
	all := []int{1, 2, 3, 5, 6, 7, 8, 9, 10, 11}
	for n, want := range map[int]string{1: "rank 1 is", 2: "ranks 1 and 2 are", 3: "ranks 1, 2 and 3 are",
		9: "ranks 1, 2, 3, 5, 6, 7, 8, 9 and 10 are", 10: "ranks 1, 2, 3, 5, 6, 7, 8, 9 and 2 more are"} {
		if got := fmt.Sprint(Numbered("rank", all[:n]), " ", Are(n)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
