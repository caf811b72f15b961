package device

// Func is an activation.
type Func uint8

// The activations: x; max(x, 0), with gradient 0 at 0; x·Φ(x); its tanh approximation, ½x(1 +
// tanh(√(2/π)(x + 0.044715x³))); CLIP's x·σ(1.702x).
const (
	Identity Func = iota
	ReLU
	GELU
	GELUTanh
	QuickGELU
)

// Mul holds the constants of MatMul: dst = Act(Alpha·op(a)·op(b) + Beta·c + Bias). op transposes
// if asked; c is Add or, if that is absent, dst. Arrays of three dimensions are batches of
// matrices. With Factor it is dst = Factor∘(Alpha·op(a)·op(b)), element by element.
type Mul struct {
	TransA, TransB bool    // transpose a, b
	Alpha, Beta    float32 // c is not read if Beta is 0
	Add            Array   // shape, type and row stride of dst; or absent
	Bias           Array   // F32 [columns of dst], or absent
	Short          Array   // Bias rounded to the type of dst, which a library may add instead; or absent
	Act            Func    // applied last
	Factor         Array   // shape, type and row stride of dst, without Bias and Act and with Beta 0; or absent
	Sums           Array   // with TransA, of matrices: F32 [rows of dst] receives the sums of a's columns; or absent
}

// Sum selects what Sums adds up.
type Sum uint8

// SumAll gives one number, SumRows one per row (summed over the columns), SumCols one per column
// (summed over the rows). The Squares kinds sum x² instead of x.
const (
	SumAll Sum = iota
	SumRows
	SumCols
	SquaresAll
	SquaresRows
	SquaresCols
)

// Softmax holds the constants of SoftmaxLoss, the cross-entropy of softmax(z / Temperature) with
// the target class of each row. Target −1 means that the row does not count: its loss and
// gradient are 0. Smoothing s: (1−s)·CE + s·mean of −log p.
type Softmax struct {
	Temperature float32 // positive
	Smoothing   float32 // 0 ≤ s < 1
}

// Heads configures Attention. The head size Dh is the last dimension of qkv divided by three
// times Heads; scores are scaled by 1/√Dh.
type Heads struct {
	Heads  int  // number of heads, a divisor of D
	Causal bool // token t attends only to tokens 0 … t
}

// DistKind is a distribution of random numbers.
type DistKind uint8

// The distributions: uniform on [A, B); normal with mean A and standard deviation B; and the same
// truncated at two standard deviations. Each is drawn by the inverse of its distribution
// function, so that one word makes one element. With w the word and Φ the normal distribution
// function:
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
	Kind DistKind // which distribution
	A, B float32  // its parameters; see the kinds
}

// Dense is the algebra of matrices and vectors. Here and in Image, a name beginning with d is a
// gradient. acc is 0 or 1: with 1 the result is added to the destination, and with 0 the
// destination is not read. Rows are all but the last axis.
//
// Every operation panics if shapes or types do not fit together.
type Dense interface {
	// MatMul is dst = Act(Alpha·op(a)·op(b) + Beta·c + Bias); see Mul. op(a) is [m,k],
	// op(b) [k,n] and dst [m,n], or each with the same leading batch dimension.
	MatMul(dst, a, b Array, m Mul)
	// Scores is dst = q·gᵀ in F32: [Q,G] from [Q,D] and [G,D]. The rounding of an element
	// depends on D alone, so that blocks of any size give the same bytes.
	Scores(dst, q, g Array)
	// Axpby is dst = a·x + b·y; y may lack leading dimensions of x. With b = 0, y is
	// not read and may be absent.
	Axpby(dst Array, a float32, x Array, b float32, y Array)
	// Scale is dst = s·x; s holds one number, or one per row, in F32, or has the shape and type of x.
	Scale(dst, x, s Array)
	// Sums is dst = acc·dst + Σ over what k names, in F32.
	Sums(dst, x Array, k Sum, acc float32)
	// Act is dst = f(x), element by element.
	Act(dst, x Array, f Func)
	// ActSlope is Act with slope = f′(x), by which Scale makes the gradient by x of that by f(x). The slope of ReLU
	// at 0 is 0. dst may be absent. Each result has the same bytes with the other and without.
	ActSlope(dst, slope, x Array, f Func)
	// Normalize is dst = x/n for each row, with n = max(‖x‖, eps). norm F32 [rows]
	// receives n, negative where it is eps; it may be absent.
	Normalize(dst, norm, x Array, eps float32)
	// NormalizeGrad is the gradient of Normalize from its results y and norm:
	// dx = (dy − y·⟨y, dy⟩)/n, and dy/eps where norm is negative.
	NormalizeGrad(dx, dy, y, norm Array)
	// LayerNorm is dst = γ(x − mean)/√(var + eps) + β for each row of x [rows,D], with the
	// biased variance. gamma and beta are F32 [D] and may both be absent. stats F32
	// [rows,2] receives mean and 1/√(var + eps).
	LayerNorm(dst, stats, x, gamma, beta Array, eps float32)
	// LayerNormGrad is the gradient of LayerNorm. With x̂ = (x − mean)·r and g = γ·dy:
	//
	//	dx = add + r·(g − mean(g) − x̂·mean(g·x̂)),  dγ = acc·dγ + Σ dy·x̂,  dβ = acc·dβ + Σ dy
	//
	// where means run over a row and sums over the rows. dgamma and dbeta are F32 [D],
	// absent where gamma is; stats is what LayerNorm wrote. add has the shape and type of dx. It
	// may be dx itself, or absent. What is added to it is rounded to F32 before.
	LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, add Array, acc float32)
	// Softmax is the softmax of each row, or with log its logarithm.
	Softmax(dst, x Array, log bool)
	// SoftmaxGrad is the gradient of Softmax from its result y: dx = y·(dy − ⟨y, dy⟩), or
	// with log dx = dy − e^y·Σdy.
	SoftmaxGrad(dx, dy, y Array, log bool)
	// Attention is softmax(q·kᵀ/√Dh)·v for each head. qkv is packed [N,T,3·H·Dh]: of
	// each token all queries, then keys, then values, head after head. dst is [N,T,H·Dh].
	// lse F32 [N,H,T] receives the logarithms of the softmax's denominators, for the
	// gradient.
	//
	// length I32 [N] gives how many tokens of a row are keys, taken to lie in 0 … T; absent:
	// all. Keys and values beyond it may be NaN. Queries beyond it are computed all the same.
	// A row without keys has dst 0 and lse −∞, and gives no gradient.
	Attention(dst, lse, qkv, length Array, o Heads)
	// AttentionGrad is the gradient of Attention by qkv, from its results y and lse. With
	// P = e^(q·kᵀ/√Dh − lse) for each head:
	//
	//	dv = Pᵀ·dy,  dS = P∘(dy·vᵀ − ⟨dy, y⟩),  dq = dS·k/√Dh,  dk = dSᵀ·q/√Dh
	//
	// dqkv is packed as qkv; length and o are those of Attention.
	AttentionGrad(dqkv, dy, y, lse, qkv, length Array, o Heads)
	// SoftmaxLoss writes the loss F32 [rows] of each row of z [rows,C] with its target I32
	// [rows], and its gradient dz with upstream 1 for every row; see Softmax. dz may be
	// absent.
	SoftmaxLoss(loss, dz, z, target Array, o Softmax)
	// Gather copies row index[i] of x to row i of dst, for any type; index −1 leaves the
	// row of dst as it is. A row is what one index of the first dimension selects.
	Gather(dst, x, index Array)
	// ScatterAdd adds row i of x to row index[i] of dst, in row order. With acc 0, the
	// rows that are hit start from zero. Index −1 skips a row.
	ScatterAdd(dst, x, index Array, acc float32)
	// Random draws every element of dst (F32) from d. The word of element i is word
	// i mod 4 of Philox with counter (i div 4, low and high word; stream; 0) and key,
	// I32 [2]: seed and step.
	Random(dst, key Array, stream uint32, d Dist)
}
