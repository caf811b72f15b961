package report

import (
	"fmt"
	"math"
)

// hueLuminance is the relative luminance of the colours of Hue: between the 0.13 and 0.30 that WCAG
// asks of graphics on the dark and on the white page, for a contrast of 3:1.
const hueLuminance = 0.2

// Hue returns the i-th of n colours, as "#rrggbb". They differ in hue, have a saturation of 60 %, and
// are equally bright, so that each is seen on a white page as well as on a dark one.
func Hue(i, n int) string {
	hue := 360 * float64(i) / float64(max(n, 1))
	low, high := 0.0, 1.0
	for range 20 { // finer than a step of 8 bits
		if middle := (low + high) / 2; luminance(fromHSL(hue, 0.6, middle)) < hueLuminance {
			low = middle
		} else {
			high = middle
		}
	}
	c := fromHSL(hue, 0.6, low)
	return fmt.Sprintf("#%02x%02x%02x", byte(math.Round(255*c[0])), byte(math.Round(255*c[1])), byte(math.Round(255*c[2])))
}

// fromHSL returns red, green and blue from 0 to 1, by the definition of CSS Color 4, section 7.
func fromHSL(hue, saturation, lightness float64) (c [3]float64) {
	for channel, at := range []float64{0, 8, 4} {
		k := math.Mod(at+hue/30, 12)
		c[channel] = lightness - saturation*min(lightness, 1-lightness)*max(-1, min(k-3, 9-k, 1))
	}
	return c
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(c [3]float64) float64 {
	sum := 0.0
	for channel, weight := range []float64{0.2126, 0.7152, 0.0722} {
		x := c[channel]
		if x <= 0.04045 {
			x /= 12.92
		} else {
			x = math.Pow((x+0.055)/1.055, 2.4)
		}
		sum += weight * x
	}
	return sum
}
