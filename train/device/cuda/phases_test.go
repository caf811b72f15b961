package cuda

import (
	"maps"
	"testing"
)

// Each pair of an output pixel and a tap is in one phase, at the input pixel that the convolution
// reads there, and no phase has another pair within the output.
func TestPhasesHaveEveryTapOnce(t *testing.T) {
	for _, c := range [][5]int{ // size, taps, stride, pad, dilation
		{1, 1, 1, 0, 1}, {7, 3, 1, 1, 1}, {14, 3, 2, 1, 1}, {9, 1, 2, 0, 1}, {8, 4, 4, 0, 1}, {11, 7, 2, 3, 1},
		{2, 3, 3, 1, 1}, {10, 3, 2, 3, 3}, {13, 5, 6, 2, 4}, {12, 2, 4, 1, 2},
	} {
		size, taps, stride, pad, dilation := c[0], c[1], c[2], c[3], c[4]
		out := (size+2*pad-dilation*(taps-1)-1)/stride + 1
		want, got := map[[2]int]int{}, map[[2]int]int{} // output pixel and tap: input pixel
		for o := range out {
			for tap := range taps {
				if at := o*stride - pad + tap*dilation; at >= 0 && at < size {
					want[[2]int{o, tap}] = at
				}
			}
		}
		pixels := 0
		for _, p := range axisPhases(size, taps, stride, pad, dilation) {
			pixels += p.pixels
			for i := range p.pixels {
				for tap := range p.taps {
					if o := i + p.pad - tap*p.dilation; o >= 0 && o < out {
						got[[2]int{o, p.firstTap + tap*p.tapStep}] = p.first + i*stride
					}
				}
			}
		}
		if pixels != size || !maps.Equal(got, want) {
			t.Errorf("%v: %d pixels, pairs %v, want %v", c, pixels, got, want)
		}
	}
}
