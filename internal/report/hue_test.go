package report

import (
	"fmt"
	"testing"
)

// Points and curves are seen on both backgrounds of the page: WCAG 2.2 AA asks for 3:1.
func TestHuesHaveContrastOnLightAndDark(t *testing.T) {
	contrast := func(a, b [3]float64) float64 {
		x, y := luminance(a), luminance(b)
		return (max(x, y) + 0.05) / (min(x, y) + 0.05)
	}
	parse := func(text string) (c [3]float64) {
		t.Helper()
		var b [3]uint8
		if _, err := fmt.Sscanf(text, "#%02x%02x%02x", &b[0], &b[1], &b[2]); err != nil || len(text) != 7 {
			t.Fatalf("%q: %v", text, err)
		}
		for i, x := range b {
			c[i] = float64(x) / 255
		}
		return c
	}
	if got := contrast(parse("#777777"), parse("#ffffff")); got < 4.47 || got > 4.49 { // the known 4.48
		t.Errorf("grey on white has %.3f:1", got)
	}
	for n := 1; n <= 24; n++ {
		seen := map[string]bool{}
		for i := range n {
			colour := Hue(i, n)
			if seen[colour] {
				t.Errorf("%d colours: %s twice", n, colour)
			}
			seen[colour] = true
			for _, paper := range []string{"#ffffff", "#14181f"} {
				if got := contrast(parse(colour), parse(paper)); got < 3 {
					t.Errorf("%s on %s: %.2f:1", colour, paper, got)
				}
			}
		}
	}
}
