package vendor

import (
	"fmt"
	"math"
	"unsafe"

	"hgld/train/device"
)

// Attention is the shape of y = softmax(q·kᵀ/√Size)·v without a mask, or of its gradient, in bfloat16. q, k and v are
// packed as in [device.Dense]: qkv is [Images, Tokens, 3, Heads, Size], y and dy are [Images, Tokens, Heads, Size].
type Attention struct {
	Gradient                    bool // dq, dk and dv are computed, packed as qkv
	Images, Tokens, Heads, Size int  // sizes; Size is the numbers of a head
}

// Sequences are the arguments of an attention, addresses on the GPU. LSE and Delta are F32 [Images, Heads, Tokens]:
// the logarithms of the softmax's denominators, and memory that the gradient uses.
type Sequences struct{ QKV, Y, LSE, DY, DQKV, Delta uint64 }

// leastAttention is the oldest version of cuDNN whose attention is used. Up to 9.15 the gradient needs a mask of
// padding where the tokens are no multiple of 128: cudnn-frontend works around it.
const leastAttention = 91700

// PlansAttention reports whether attention can be computed at all.
func (l *Libraries) PlansAttention() bool {
	return l != nil && l.dnn != nil && l.dnn.version >= leastAttention
}

// Within returns an attention of so few images that its gradient needs at most MostWorkspace bytes, and the number of
// such parts.
func (a Attention) Within() (part Attention, parts int) {
	parts = 1
	for a.Images%2 == 0 && a.leastWorkspace() > MostWorkspace-workspaceBeside {
		a.Images /= 2
		parts *= 2
	}
	return a, parts
}

// workspaceBeside is what cuDNN takes beside the least: 256 bytes were seen.
const workspaceBeside = 1 << 20

// leastWorkspace is that of ds in bfloat16, of tiles of 64 queries by 128 keys, from which dq is computed in one order.
// An algorithm without it adds to dq in any order, and cuDNN does not note that.
func (a Attention) leastWorkspace() int {
	if !a.Gradient {
		return 0
	}
	return 2 * a.Images * a.Heads * ((a.Tokens + 63) &^ 63) * ((a.Tokens + 127) &^ 127)
}

// Part returns the arguments of a part that Within returned.
func (a Attention) Part(s Sequences, part int) Sequences {
	rows := uint64(part) * uint64(a.Images) * uint64(a.Tokens)
	width := 2 * uint64(a.Heads) * uint64(a.Size)
	return Sequences{QKV: s.QKV + 3*rows*width, DQKV: s.DQKV + 3*rows*width, Y: s.Y + rows*width, DY: s.DY + rows*width,
		LSE: s.LSE + 4*rows*uint64(a.Heads), Delta: s.Delta} // one part after the other uses Delta
}

// String names the sizes.
func (a Attention) String() string {
	name := "Attention"
	if a.Gradient {
		name = "AttentionGrad"
	}
	return fmt.Sprintf("%s bfloat16, %d images of %d tokens, %d heads of %d", name, a.Images, a.Tokens, a.Heads, a.Size)
}

func (a Attention) kind() (device.DType, int) { return device.BF16, 0 }

// The tensors of an attention.
const (
	tensorQ tensor = iota + 1
	tensorK
	tensorV
	tensorO
	tensorLSE
	tensorDO
	tensorDQ
	tensorDK
	tensorDV
	tensorDelta

	tensorScale = scalar // 1/√Size
	tensorOne   = scalar + 1
)

// attended are an Attention and its arguments.
type attended struct {
	Sequences
	width  uint64 // bytes of a token of q
	scales *[2]float32
}

// Of completes the arguments of an attention.
func (a Attention) Of(s Sequences) Arrays {
	return attended{Sequences: s, width: 2 * uint64(a.Heads) * uint64(a.Size),
		scales: &[2]float32{float32(1 / math.Sqrt(float64(a.Size))), 1}}
}

func (a attended) of(t tensor) uint64 {
	switch t {
	case tensorQ, tensorK, tensorV:
		return a.QKV + uint64(t-tensorQ)*a.width
	case tensorDQ, tensorDK, tensorDV:
		return a.DQKV + uint64(t-tensorDQ)*a.width
	case tensorScale, tensorOne:
		return uint64(uintptr(unsafe.Pointer(&a.scales[t-tensorScale])))
	}
	return map[tensor]uint64{tensorO: a.Y, tensorLSE: a.LSE, tensorDO: a.DY, tensorDelta: a.Delta}[t]
}

func (a Attention) tensors() []tensor {
	if !a.Gradient {
		return []tensor{tensorQ, tensorK, tensorV, tensorO, tensorLSE, tensorScale}
	}
	return []tensor{tensorQ, tensorK, tensorV, tensorO, tensorLSE, tensorDO, tensorDQ, tensorDK, tensorDV, tensorDelta,
		tensorScale, tensorOne}
}

// operations describes the forward pass as one operation. For the gradient cuDNN has one, too, which adds to dq
// atomically. Its products one by one have a deterministic plan where dq is the result of a product in bfloat16:
// cudnn-frontend describes the gradient so on Hopper if use_deterministic_algorithm is set.
func (a Attention) operations(s *descriptors) ([]uintptr, error) {
	b, n, h, d := a.Images, a.Tokens, a.Heads, a.Size
	g := &attentionGraph{s: s, rows: [4]int{b, h, n, d}, columns: [4]int{b, h, d, n}, scores: [4]int{b, h, n, n},
		packed: [4]int{3 * n * h * d, d, 3 * h * d, 1}, packedT: [4]int{3 * n * h * d, d, 1, 3 * h * d},
		scoresT: [4]int{h * n * n, n * n, 1, n}}
	plain := [4]int{n * h * d, d, h * d, 1}
	one, ones := [4]int{b, h, n, 1}, [4]int{h * n, n, 1, 1}
	q, o := g.short(tensorQ, g.rows, g.packed), g.short(tensorO, g.rows, plain)
	lse := s.tensor(tensorLSE, dataFloat, 4, one, ones)
	number := [4]int{1, 1, 1, 1}
	scale := s.tensor(tensorScale, dataFloat, 4, number, number)
	if !a.Gradient {
		k, v := g.short(tensorK, g.rows, g.packed), g.short(tensorV, g.rows, g.packed)
		return []uintptr{s.operation(ofAttention, attentionQ, q, k, v, o, lse, scale)}, s.err
	}
	kT, vT := g.short(tensorK, g.columns, g.packedT), g.short(tensorV, g.columns, g.packedT)
	do := g.short(tensorDO, g.rows, plain)
	dq, dk, dv := g.short(tensorDQ, g.rows, g.packed), g.short(tensorDK, g.rows, g.packed),
		g.short(tensorDV, g.rows, g.packed)

	// delta is the sum of dy·y over a head.
	delta := s.tensor(tensorDelta, dataFloat, 4, one, ones)
	sum := g.between(one, ones)
	g.add(s.sum(g.pointwise(pointwiseMul, do, o, g.between(g.rows, plain)), sum))
	g.pointwise(pointwiseMul, sum, s.tensor(tensorOne, dataFloat, 4, number, number), delta)
	// p = e^(q·kᵀ·scale − lse), and dv = pᵀ·dy.
	p := g.score(pointwiseExp, g.score(pointwiseSub, g.score(pointwiseMul, g.product(q, kT, g.square()), scale), lse), 0)
	g.product(g.turned(p), do, dv)
	// ds = p·(dy·vᵀ − delta)·scale, and dk = dsᵀ·q, dq = ds·k.
	ds := g.score(pointwiseMul, g.score(pointwiseSub, g.product(do, vT, g.square()), delta), p)
	ds = g.score(pointwiseMul, ds, scale)
	g.product(g.turned(ds), q, dk)
	k := g.short(g.next(), g.rows, g.packed)
	g.add(s.reshape(kT, k))
	g.product(ds, k, dq)
	return g.all, s.err
}

// attentionGraph describes the operations of a gradient in their order.
type attentionGraph struct {
	s                        *descriptors
	all                      []uintptr // operations
	rows, columns, scores    [4]int    // dimensions
	packed, packedT, scoresT [4]int    // strides
	used                     tensor    // intermediates
}

func (g *attentionGraph) add(operation uintptr) { g.all = append(g.all, operation) }

// next names another intermediate.
func (g *attentionGraph) next() tensor { g.used++; return intermediate + g.used - 1 }

func (g *attentionGraph) short(id tensor, dims, strides [4]int) uintptr {
	return g.s.tensor(id, dataBFloat16, 16, dims, strides)
}

// between describes an intermediate in F32, square one of the size of the scores.
func (g *attentionGraph) between(dims, strides [4]int) uintptr {
	return g.s.tensor(g.next(), dataFloat, 16, dims, strides)
}

func (g *attentionGraph) square() uintptr {
	n := g.scores[2]
	return g.between(g.scores, [4]int{g.scores[1] * n * n, n * n, n, 1})
}

// turned describes scores in bfloat16, transposed.
func (g *attentionGraph) turned(x uintptr) uintptr {
	y := g.short(g.next(), g.scores, g.scoresT)
	g.add(g.s.reshape(x, y))
	return y
}

// pointwise, score and product add an operation and return its result: of score another array of scores.
func (g *attentionGraph) pointwise(mode int32, x, b, y uintptr) uintptr {
	g.add(g.s.pointwise(mode, x, b, y))
	return y
}

func (g *attentionGraph) score(mode int32, x, b uintptr) uintptr {
	return g.pointwise(mode, x, b, g.square())
}

func (g *attentionGraph) product(a, b, c uintptr) uintptr {
	g.add(g.s.product(a, b, c))
	return c
}

// product describes c = a·b for each image and head, with sums in F32.
func (s *descriptors) product(a, b, c uintptr) uintptr {
	config := s.new(ofMatMul)
	set(s, config, matMulType, typeDataType, int32(dataFloat))
	s.finalize(config)
	return s.operation(ofMatMulStep, matMulA, a, b, c, config)
}

// sum describes y as the sums of x along the dimensions that y has once.
func (s *descriptors) sum(x, y uintptr) uintptr {
	config := s.new(ofReduction)
	set(s, config, reductionOperator, typeReduction, int32(reductionAdd))
	set(s, config, reductionType, typeDataType, int32(dataFloat))
	s.finalize(config)
	return s.operation(ofReductionStep, reductionX, x, y, config)
}

// reshape describes y as the memory of x with the dimensions and strides of y.
func (s *descriptors) reshape(x, y uintptr) uintptr {
	return s.operation(ofReshape, reshapeX, x, y)
}

// operation describes an operation that has descriptors as attributes, whose numbers follow one another.
func (s *descriptors) operation(kind, first int, of ...uintptr) uintptr {
	o := s.new(kind)
	for i, v := range of {
		set(s, o, first+i, typeDescriptor, v)
	}
	s.finalize(o)
	return o
}
