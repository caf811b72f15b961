package nulldriver

import (
	"fmt"
	"strings"
	"unsafe"
)

// Product is the matrix product of a kernel for tensor cores: [Rows, Inner] by [Inner, Cols].
type Product struct {
	Kind   string // nn, nt, tn or tt of matrices; conv, gradx or gradw
	Tile   int    // the side of a block's part of the result
	Rows   int    // of the result
	Cols   int    // of the result
	Inner  int    // columns that are summed over
	Batch  int    // products in one launch
	Splits int    // ranges of Inner with blocks of their own
	Span   int    // columns of such a range
	Image  string // of a convolution: "56² 64 to 256, 1×1/1"
	Stride int    // of a convolution
	Each   int    // elements that are copied together, 8, 4 or 1

	Adds   bool // a residual is added to the result, or multiplied by it
	Masks  bool // the result is zero where a mask is
	Sums   bool // columns are summed
	Along  bool // and products of them with another array
	Curved bool // an activation other than ReLU is applied
}

// String returns the sizes: "64 × 576, k 802816, 17 splits".
func (p Product) String() string {
	text := fmt.Sprintf("%d × %d, k %d", p.Rows, p.Cols, p.Inner)
	if p.Batch > 1 {
		text += fmt.Sprintf(", %d times", p.Batch)
	}
	if p.Splits > 1 {
		text += fmt.Sprintf(", %d splits", p.Splits)
	}
	return text
}

// result mirrors hg_result of product.h.
type result struct {
	_, _, _, residual uint64
	_, rows, cols     int64
	_, _              float32
	_, _, act, _      int32
}

// matrices mirrors tensor_matmul of matmulbf16.cu.
type matrices struct {
	to                  result
	_, _, _             uint64
	k, _, _             int64
	_, _, _             int64
	batch, splits, span int64
	unitA, unitB        int32
}

// images mirrors tensor_conv of convbf16.cu.
type images struct {
	to                                   result
	_, _                                 uint64
	n, h, w, c, k, r, s, outH, outW      int32
	strideH, strideW, _, _, _, _, groups int32
	groupC, groupK                       int32
	_                                    [7][2]uint32
	span                                 int64
	unitA, unitB                         int32
	mask, x, _, parts                    uint64
}

// productOf reads the first argument of a kernel for tensor cores.
func productOf(kernel string, argument unsafe.Pointer) (p Product) {
	name, is := strings.CutSuffix(kernel, "_128_bf16")
	if p.Tile = 128; !is {
		name, is = strings.CutSuffix(kernel, "_64_bf16")
		p.Tile = 64
	}
	if !is {
		return Product{}
	}
	if kind, is := strings.CutPrefix(name, "matmul_"); is {
		m := (*matrices)(argument)
		return Product{
			Kind: kind, Tile: p.Tile, Rows: int(m.to.rows), Cols: int(m.to.cols), Inner: int(m.k), Batch: int(m.batch),
			Splits: int(m.splits), Span: int(m.span), Each: int(min(m.unitA, m.unitB)), Adds: m.to.residual != 0,
			Curved: m.to.act > 1 && m.splits == 1,
		}
	}
	if name != "conv" && name != "conv_gradx" && name != "conv_gradw" {
		return Product{}
	}
	of := (*images)(argument).product(strings.TrimPrefix(name, "conv_"))
	of.Tile = p.Tile
	return of
}

// imageText describes a convolution: "56² 64 to 256, 1×1/1".
func imageText(side, from, to, r, s, stride int) string {
	return fmt.Sprintf("%d² %d to %d, %d×%d/%d", side, from, to, r, s, stride)
}

// product describes a convolution, or a gradient of one, as a product.
func (o *images) product(kind string) Product {
	p := Product{
		Kind: kind, Rows: int(o.to.rows), Cols: int(o.to.cols), Batch: int(o.groups), Splits: 1,
		Image:  imageText(int(o.h), int(o.c), int(o.k), int(o.r), int(o.s), int(o.strideH)),
		Stride: int(o.strideH), Each: int(min(o.unitA, o.unitB)), Adds: o.to.residual != 0,
		Masks: o.mask != 0, Sums: o.parts != 0, Along: o.x != 0,
	}
	if kind == "gradx" && p.Stride > 1 {
		p.Image += " phase"
	}
	switch kind {
	case "conv":
		p.Inner = int(o.r * o.s * o.groupC)
	case "gradx":
		p.Inner = int(o.r * o.s * o.groupK)
	default:
		p.Inner = int(o.n * o.outH * o.outW)
		p.Splits = (p.Inner + int(o.span) - 1) / int(o.span)
	}
	p.Span = (p.Inner + p.Splits - 1) / p.Splits
	return p
}

// Splittable reports whether ranges of Inner may have blocks of their own: not those of a convolution,
// or of its gradient by the image, of which an epilogue needs whole results.
func (p Product) Splittable() bool { return p.Kind != "conv" && p.Kind != "gradx" }
