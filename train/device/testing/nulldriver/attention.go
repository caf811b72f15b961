package nulldriver

import (
	"strings"
	"unsafe"

	"hgld/train/device/observe"
)

const (
	// productFLOPs are the floating-point operations of one mma.sync.m16n8k16.
	productFLOPs = 2 * 16 * 8 * 16

	// attentionCycles are those of a quarter of a multiprocessor for each mma.sync of attention, with all that comes
	// with it. An H200 computed 136e12 useful operations a second in the attention of 256 images, 12 heads and 197
	// tokens, and 111e12 in its gradient. The kernels of that day multiplied 208 queries by 256 keys, and by 224 in
	// the gradient, where seven products are for five useful ones. Both are 187e12 executed operations a second.
	// That later kernels execute as many is assumed.
	attentionCycles = 20.3

	attentionRows = 16 // tokens of a warp, and of a group of those that it multiplies by
)

// plainAttention is the share of the rate of all lanes in F32 that attention and its gradient reached on an H200
// without tensor cores.
var plainAttention = [2]float64{0.020, 0.0285}

// heads mirrors that of attention.h.
type heads struct {
	images                      int64
	tokens, heads, size, causal int32
}

// attended returns the floating-point operations that a kernel of attention executes on tensor cores, if every token
// is a key; 0 for other kernels.
func attended(kernel string, arguments *[8]unsafe.Pointer) float64 {
	for _, k := range []struct {
		prefix          string
		place, products int // of the argument heads, and how many are computed
	}{{"attention_grad_q_", 7, 3}, {"attention_grad_kv_", 6, 4}, {"attention_", 4, 2}} {
		size, is := strings.CutPrefix(kernel, k.prefix)
		switch {
		case !is:
			continue
		case size == "64_bf16":
			return (*heads)(arguments[k.place]).executed(64, k.products)
		case size == "128_bf16":
			return (*heads)(arguments[k.place]).executed(128, k.products)
		}
		return 0
	}
	return 0
}

// executed counts products of tokens by tokens in groups of sixteen, over heads that are padded to a width.
func (h *heads) executed(width, products int) float64 {
	groups := (int(h.tokens) + attentionRows - 1) / attentionRows
	pairs := groups * groups
	if h.causal != 0 {
		pairs = groups * (groups + 1) / 2
	}
	each := 2 * attentionRows * attentionRows * width * products
	return float64(h.images) * float64(h.heads) * float64(pairs*each)
}

// attention predicts the time of an attention or of its gradient.
func (c Card) attention(call observe.Call, launches []Launch) float64 {
	executed := 0.0
	for _, l := range launches {
		executed += l.Attended
	}
	quarters := 4 * float64(c.Multiprocessors) * c.Clock
	work := executed / productFLOPs * max(attentionCycles, c.ProductCycles) / quarters
	if executed == 0 {
		share := plainAttention[0]
		if call.Op == "AttentionGrad" {
			share = plainAttention[1]
		}
		work = call.FLOPs / (share * 2 * 32 * quarters)
	}
	return max(work, call.Bytes/c.Bytes)
}
