package nulldriver

import (
	"fmt"
	"math"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/observe"
)

// The time of attention follows the groups of sixteen tokens that the kernels multiply, and heads padded to 64 or
// 128. Here are the networks of 224² in patches of 16 and of 32, of 384², of 14, and a text encoder.
func TestAttentionTakesTheTimeOfItsGroups(t *testing.T) {
	t.Setenv(cuda.VendorVariable, "off")
	b, err := Open(H200)
	must.Do(t, err)
	for _, c := range []struct {
		images, tokens, heads, size int
		causal                      bool
		pairs                       int // of groups
		width                       int
	}{
		{256, 197, 12, 64, false, 13 * 13, 64},
		{256, 50, 12, 64, false, 4 * 4, 64},
		{64, 577, 12, 64, false, 37 * 37, 64},
		{64, 257, 16, 64, false, 17 * 17, 64},
		{256, 77, 8, 64, true, 5 * 6 / 2, 64},
		{64, 257, 16, 80, false, 17 * 17, 128},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			d := c.heads * c.size
			array := func(cols int) device.Array { return device.New(b, device.BF16, c.images, c.tokens, cols) }
			qkv, dqkv, y, dy := array(3*d), array(3*d), array(d), array(d)
			lse := device.New(b, device.F32, c.images, c.heads, c.tokens)
			o := device.Heads{Heads: c.heads, Causal: c.causal}
			var seconds []float64
			observed := observe.Operations(b, func(call observe.Call, do func()) {
				b.driver.Launches = nil
				do()
				seconds = append(seconds, H200.Seconds(call, b.driver.Launches))
			})
			observed.Attention(y, lse, qkv, device.Array{}, o)
			observed.AttentionGrad(dqkv, dy, y, lse, qkv, device.Array{}, o)
			for i, products := range []int{2, 7} {
				executed := float64(c.images*c.heads*c.pairs) * 16 * 16 * float64(2*c.width*products)
				launches := []float64{1, 2}[i] * 2.6e-6
				want := launches + executed/187e12
				bytes := float64(2 * d * c.images * c.tokens * []int{4, 8}[i]) // q, k, v, y; and their gradients
				if want = max(want, launches+bytes/3.9e12); math.Abs(seconds[i]/want-1) > 0.02 {
					t.Errorf("%v s, want %v", seconds[i], want)
				}
			}
		})
	}
}
