// Package device declares what a processor must be able to do to train and
// evaluate: arrays in its memory, and the operations of four small interfaces.
// A Backend owns arithmetic, copies, ordering, the choice of kernels and its
// scratch memory; it knows nothing of tapes, names, schedules or files.
//
// Operations are queued and return at once (on the CPU: they are done). Wrong
// shapes panic at the call. A failure of the device is sticky: the first is kept
// with the name of its operation, later operations do nothing, and Wait and Sync
// return it. Only Wait and Sync block.
//
// Dimensions, everywhere: Q queries, G gallery rows, D embedding, L levels,
// C classes or channels, N, H, W images, K filters. Gradients are dx of x; the
// destination comes first.
package device

import "fmt"

// DType is the storage type of an array's elements.
type DType uint8

// The storage types. Sums are kept in F32 or wider whatever the storage.
const (
	F32 DType = iota
	BF16
	F16
	I32
	U8
)

// Size returns the bytes of one element.
func (d DType) Size() int { return [...]int{4, 2, 2, 4, 1}[d] }

// String is the name of the constant.
func (d DType) String() string { return [...]string{"F32", "BF16", "F16", "I32", "U8"}[d] }

// Buffer is a piece of device memory, opaque but to the backend that made it.
type Buffer interface{ Size() int } // bytes

// Array is a dense row-major array in device memory: a value, zero meaning
// absent. Only a matrix may have a row stride Ld greater than its columns, so
// that runs of rows and of columns are views.
//
// Images are [N,H,W,C], convolution weights [K,R,S,C/groups].
type Array struct {
	Buf  Buffer
	Off  int // in elements
	Type DType
	N    int    // dimensions in use
	Dims [4]int // sizes; those beyond N are 1
	Ld   int    // elements from one row of a matrix to the next
}

// Make lays an array of the given type and dimensions over buf, which must be
// large enough.
func Make(buf Buffer, off int, t DType, dims ...int) Array {
	if len(dims) > 4 {
		panic("device: more than four dimensions")
	}
	a := Array{Buf: buf, Off: off, Type: t, N: len(dims), Dims: [4]int{1, 1, 1, 1}}
	copy(a.Dims[:], dims)
	if a.N > 0 {
		a.Ld = a.Dims[a.N-1]
	}
	if buf != nil && (off+a.Len())*t.Size() > buf.Size() {
		panic(fmt.Sprintf("device: %v over a buffer of %d bytes at %d", a, buf.Size(), off))
	}
	return a
}

// New allocates an array on b; its contents are undefined.
func New(b Memory, t DType, dims ...int) Array {
	n := t.Size()
	for _, d := range dims {
		n *= d
	}
	return Make(b.Alloc(n), 0, t, dims...)
}

// Absent reports whether a is the zero array, which stands for "not given".
func (a Array) Absent() bool { return a.Buf == nil && a.N == 0 }

// Len returns the number of elements, gaps between rows not counted.
func (a Array) Len() int { return a.Dims[0] * a.Dims[1] * a.Dims[2] * a.Dims[3] }

// Rows returns the product of all dimensions but the last; Cols the last one.
func (a Array) Rows() int {
	if a.N == 0 || a.Cols() == 0 {
		return 1
	}
	return a.Len() / a.Cols()
}

// Cols returns the size of the last dimension (1 for a scalar).
func (a Array) Cols() int {
	if a.N == 0 {
		return 1
	}
	return a.Dims[a.N-1]
}

// Shape returns the dimensions in use.
func (a Array) Shape() []int { return a.Dims[:a.N] }

// Contiguous reports whether rows follow each other without gaps.
func (a Array) Contiguous() bool { return a.N < 2 || a.Ld == a.Cols() }

// Reshape lays other dimensions over the same elements.
func (a Array) Reshape(dims ...int) Array {
	b := Make(nil, a.Off, a.Type, dims...)
	if !a.Contiguous() || b.Len() != a.Len() {
		panic(fmt.Sprintf("device: %v reshaped to %v", a, b))
	}
	b.Buf = a.Buf
	return b
}

// RowRange is the view of rows [lo, hi) of the first dimension.
func (a Array) RowRange(lo, hi int) Array {
	if a.N == 0 || lo < 0 || hi < lo || hi > a.Dims[0] {
		panic(fmt.Sprintf("device: rows %d:%d of %v", lo, hi, a))
	}
	step := a.Len() / max(a.Dims[0], 1)
	if a.N == 2 {
		step = a.Ld
	}
	a.Off += lo * step
	a.Dims[0] = hi - lo
	return a
}

// ColRange is the view of columns [lo, hi) of a matrix.
func (a Array) ColRange(lo, hi int) Array {
	if a.N != 2 || lo < 0 || hi < lo || hi > a.Dims[1] {
		panic(fmt.Sprintf("device: columns %d:%d of %v", lo, hi, a))
	}
	a.Off += lo
	a.Dims[1] = hi - lo
	return a
}

// String writes element type and shape: F32[256 512].
func (a Array) String() string { return fmt.Sprintf("%v%v", a.Type, a.Dims[:a.N]) }

// Ticket stands for a download that may not have finished.
type Ticket uint64

// Memory allocates and moves.
type Memory interface {
	Name() string
	Supports(DType) bool
	Alloc(bytes int) Buffer // contents undefined; tests poison them
	Free(Buffer)            // after all work queued so far
	// Part is a piece of b as a Buffer of its own, which is not freed and ends with b.
	// The offset, in bytes, is a multiple of 256.
	Part(b Buffer, offset, bytes int) Buffer
	Upload(dst Array, src []byte)          // from any goroutine; src is free on return
	Download(dst []byte, src Array) Ticket // dst is valid after Wait or Sync
	Wait(Ticket) error
	Sync() error
	// Copy converts the type: between floats to the nearest, ties to even; from a
	// float to an integer towards zero, to the nearest that fits, NaN to 0.
	Copy(dst, src Array)
	Fill(dst Array, v float32) // converts as Copy
}

// Func is an activation.
type Func uint8

// The activations: x; max(x, 0), with gradient 0 at 0; x·Φ(x); its approximation
// by tanh, ½x(1 + tanh(√(2/π)(x + 0.044715x³))); CLIP's, x·σ(1.702x).
const (
	Identity Func = iota
	ReLU
	GELU
	GELUTanh
	QuickGELU
)

// Mul says how MatMul multiplies: dst = Act(Alpha·op(a)·op(b) + Beta·dst + Bias),
// op transposing where asked. Bias [columns of dst] may be absent. Three
// dimensions are a batch of matrices.
type Mul struct {
	TransA, TransB bool
	Alpha, Beta    float32
	Bias           Array
	Act            Func
}

// Sum names what Sums adds up.
type Sum uint8

// SumAll gives one number, SumRows one per row (over the columns), SumCols one
// per column (over the rows); Squares of x in place of x.
const (
	SumAll Sum = iota
	SumRows
	SumCols
	SquaresAll
	SquaresRows
	SquaresCols
)

// Softmax says what SoftmaxLoss computes: the cross-entropy of softmax(z /
// Temperature) with the target class of each row, −1 meaning that the row does
// not count (loss 0, gradient 0). Smoothing s: (1−s)·CE + s·mean of −log p.
type Softmax struct {
	Temperature float32
	Smoothing   float32
}

// Heads says how Attention attends: the number of heads, and whether token t sees
// tokens 0 … t only. The head size Dh is the last dimension of qkv divided by
// three times Heads; scores are scaled by 1/√Dh.
type Heads struct {
	Heads  int
	Causal bool
}

// DistKind is a distribution of random numbers.
type DistKind uint8

// The distributions: uniform on [A, B); normal with mean A and standard deviation
// B; and the same cut off outside two standard deviations. All are drawn by the
// inverse of their distribution function, so that one word makes one element: with
// w the word and Φ the normal distribution,
//
//	Uniform:         A + (B − A)·⌊w/2⁸⌋/2²⁴
//	Normal:          A + B·Φ⁻¹(v), v = (w + ½)/2³²
//	TruncatedNormal: A + B·Φ⁻¹(Φ(−2) + v·(Φ(2) − Φ(−2)))
const (
	Uniform DistKind = iota
	Normal
	TruncatedNormal
)

// Dist is a distribution and its two parameters.
type Dist struct {
	Kind DistKind
	A, B float32
}

// AdamKind holds the constants of an Adam step.
type AdamKind struct {
	Beta1, Beta2, Eps float32
	Decoupled         bool // AdamW: the decay multiplies w and does not enter the moments
}

// SGDKind holds the constants of an SGD step.
type SGDKind struct {
	Momentum, Dampening float32
	Nesterov            bool
}

// PaceKind says what Pace writes of update t, counted from 1: computed in float64,
// rounded to F32.
//
//	Moments: dst [3]  1 − Beta1^t, 1 − Beta2^t; 1 if t is 1, 0 otherwise
//	Mean:    dst [1]  1 − Decay, with Rise 1 − min(Decay, (1+t)/(10+t))
type PaceKind struct {
	Kind         PaceOf
	Beta1, Beta2 float32 // Moments
	Decay        float64 // Mean
	Rise         bool    // Mean
}

// PaceOf is what goes by the number of updates.
type PaceOf uint8

// The bias corrections of an optimizer, in the order of the hyper array from
// HyperBias1 on; the rate of a moving average.
const (
	Moments PaceOf = iota
	Mean
)

// Positions in the hyper array [8] F32 of Adam and SGD: what changes from step
// to step lives in device memory, so that a recorded step can be replayed.
const (
	HyperRate      = 0 // learning rate
	HyperDecay     = 1 // weight decay
	HyperScale     = 2 // factor on the gradient (clipping, loss scale)
	HyperBias1     = 3 // 1 − β1^t
	HyperBias2     = 4 // 1 − β2^t
	HyperFirstStep = 5 // 1 in the first step (SGD's buffer takes the gradient itself)
	HyperLen       = 8
)

// Dense is the algebra of matrices and vectors.
type Dense interface {
	MatMul(dst, a, b Array, m Mul)
	// Scores is q·gᵀ in F32, [Q,G]. An element's rounding depends on D alone, so
	// any block size gives the same bytes.
	Scores(dst, q, g Array)
	// Axpby is dst = a·x + b·y; y may lack leading dimensions of x. With b = 0 y is
	// not read and may be absent.
	Axpby(dst Array, a float32, x Array, b float32, y Array)
	// Scale is dst = s·x; s holds one number, or one per row.
	Scale(dst, x, s Array)
	// Sums is dst = acc·dst + Σ; with acc 0, here and everywhere, dst is not read.
	Sums(dst, x Array, k Sum, acc float32)
	Act(dst, x Array, f Func)
	// ActGrad is dx = dy·f′(x). For ReLU x may be the result of Act too.
	ActGrad(dx, dy, x Array, f Func)
	// Normalize divides rows by n = max(‖x‖, eps). norm [rows] keeps n, negative
	// where eps was taken: there the gradient is dy/eps, without the projection.
	Normalize(dst, norm, x Array, eps float32)
	NormalizeGrad(dx, dy, y, norm Array)
	// LayerNorm normalises over the last axis with the biased variance; stats
	// [rows,2] keeps mean and 1/√(var+eps). gamma and beta may be absent.
	LayerNorm(dst, stats, x, gamma, beta Array, eps float32)
	LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats Array, acc float32)
	// Softmax is the softmax of each row, or the logarithm of that.
	Softmax(dst, x Array, log bool)
	SoftmaxGrad(dx, dy, y Array, log bool)
	// Attention is softmax(q·kᵀ/√Dh)·v for each head. qkv is packed [N,T,3·H·Dh]: of
	// a token all queries, then keys, then values, head after head; dst [N,T,H·Dh],
	// lse F32 [N,H,T] the logarithms of the softmax's denominators, which the
	// gradient reads. length I32 [N], if present, gives how many tokens of a row are
	// keys (taken to lie in 0 … T); the queries beyond it are computed all the same.
	// A row without keys has dst 0, lse −∞ and gives no gradient.
	Attention(dst, lse, qkv, length Array, o Heads)
	AttentionGrad(dqkv, dy, y, lse, qkv, length Array, o Heads)
	// SoftmaxLoss: z [rows,C], target I32 [rows], loss [rows]; dz has upstream 1
	// for every row and may be absent.
	SoftmaxLoss(loss, dz, z, target Array, o Softmax)
	// Gather copies row index[i] of x to row i of dst; index −1 leaves it. A row is
	// what one index of the first dimension selects; any type.
	Gather(dst, x, index Array)
	// ScatterAdd adds row i of x to row index[i] of dst, in row order. acc 0: the
	// rows that are hit start from zero; −1 skips.
	ScatterAdd(dst, x, index Array, acc float32)
	// Random draws every element of dst (F32) from d. The word of element i is word
	// i mod 4 of Philox with counter (i div 4, low and high word; stream; 0) and key,
	// I32 [2]: seed and step.
	Random(dst, key Array, stream uint32, d Dist)
	// Adam changes w, m, v by dw (F32, flat) unless flag is set. hyper is F32
	// [HyperLen]. shadow, if present, receives w in its own type.
	Adam(w, m, v, dw, shadow, hyper, flag Array, o AdamKind)
	SGD(w, m, dw, shadow, hyper, flag Array, o SGDKind)
	// Pace counts an update: count, I32 [1], becomes t, one more than it was, and dst
	// receives what o says of t. Nothing changes where flag, which may be absent, is
	// set. So a host need not know which updates were taken.
	Pace(dst, count, flag Array, o PaceKind)
	// Average is dst += rate·(x − dst), rate F32 [1], unless flag is set.
	Average(dst, x, rate, flag Array)
	// Guard adds the number of non-finite values of x to flag, I32 [1].
	Guard(flag, x Array)
}

// ConvShape holds the geometry of a convolution; zero strides, dilations and
// groups mean 1.
type ConvShape struct {
	StrideH, StrideW     int
	PadH, PadW           int
	DilationH, DilationW int
	Groups               int
}

// Epilogue is what a convolution does to its result before it is stored:
// Act(y + Bias + Residual). Absent arrays are left out.
type Epilogue struct {
	Bias, Residual Array
	Act            Func
}

// NormKind says how Norm normalises each channel.
type NormKind struct {
	Eps    float32
	ReLU   bool // applied last, after the residual is added
	Frozen bool // stats are given (running mean, variance) and not computed
}

// PoolMode is the kind of pooling.
type PoolMode uint8

// The kinds of pooling. AvgPool divides by the window's size inside the image.
const (
	MaxPool PoolMode = iota
	AvgPool
)

// PoolShape is a pooling window. Global takes the whole image.
type PoolShape struct {
	Mode             PoolMode
	Global           bool
	H, W             int
	StrideH, StrideW int
	PadH, PadW       int
}

// Pixel says how Pixels turns bytes into activations: (b/255 − Mean)/Std per
// channel, each step rounded to F32; channels beyond three are zero.
type Pixel struct {
	Mean, Std [3]float32
}

// Interpolation says how Interpolate places output pixel i of an axis with n input
// pixels: at i·(n−1)/(out−1) with AlignCorners, otherwise at
// max((i+½)/Scale − ½, 0), Scale being out/n where it is 0. Positions beyond the
// last pixel take that pixel.
type Interpolation struct {
	AlignCorners   bool
	ScaleH, ScaleW float64
}

// Image is what convolutional networks need. Activations are [N,H,W,C].
type Image interface {
	Conv(dst, x, w Array, c ConvShape, e Epilogue)
	// ConvGradX is dx = acc·dx + the gradient by x, ConvGradW the same by w.
	ConvGradX(dx, dy, w Array, c ConvShape, acc float32)
	ConvGradW(dw, dy, x Array, c ConvShape, acc float32)
	// FoldNorm folds frozen statistics into weights: r = 1/√(variance+eps),
	// wf = γ·r·w, bf = β − γ·r·mean.
	FoldNorm(wf, bf, w, gamma, beta, mean, variance Array, eps float32)
	// FoldNormGrad is its gradient: dw = γr·dwf, dβ = dbf,
	// dγ = r(⟨w, dwf⟩ − mean·dbf), exact also at γ = 0.
	FoldNormGrad(dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance Array, eps, acc float32)
	// Norm is batch normalisation over all but the last axis with the biased
	// variance: dst = γ(x − mean)/√(var+eps) + β (+ residual) (then ReLU). stats is
	// F32 [2,C]: mean and biased variance, computed, or given if o.Frozen.
	Norm(dst, stats, x, gamma, beta, residual Array, o NormKind)
	// NormGrad needs y = dst for the mask of ReLU. dres may be absent.
	NormGrad(dx, dres, dgamma, dbeta, dy, x, y, gamma, stats Array, o NormKind, acc float32)
	// ReluGrad is dx = dy where y > 0 and dbias = its column sums; either may be
	// absent.
	ReluGrad(dx, dbias, dy, y Array, acc float32)
	// Pool: of equal maxima the first in row-major order takes the gradient.
	Pool(dst, x Array, p PoolShape)
	PoolGrad(dx, dy, x, y Array, p PoolShape)
	// GeM is (mean over the image of max(x, eps)^p)^(1/p), [N,C]; p is F32 [1].
	GeM(dst, x, p Array, eps float32)
	GeMGrad(dx, dp, dy, x, y, p Array, eps, acc float32)
	// Interpolate resizes images bilinearly. It has no gradient: images are resized
	// where embeddings are computed and nothing is trained.
	Interpolate(dst, x Array, o Interpolation)
	// Pixels takes bytes U8 [N,H',W',3] and crop I32 [N,3] (top, left, flip) to
	// dst [N,H,W,C]: the window at (top, left), mirrored where flip is 1. An absent
	// crop is the centre, not mirrored.
	Pixels(dst, bytes, crop Array, o Pixel)
}

// Backend is a processor.
type Backend interface {
	Memory
	Dense
	Image
	Rank
}

// Do runs the operations of f in order on one goroutine and returns the first
// error of f or of the device.
func Do(b Backend, f func() error) error {
	done := make(chan error, 1)
	go func() {
		lockThread()
		if err := f(); err != nil {
			done <- err
			return
		}
		done <- b.Sync()
	}()
	return <-done
}
