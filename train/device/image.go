package device

// ConvShape holds the geometry of a convolution; zero strides, dilations and
// groups mean 1.
type ConvShape struct {
	StrideH, StrideW     int // pixels between windows; 0: 1
	PadH, PadW           int // zero pixels on each side
	DilationH, DilationW int // pixels between taps; 0: 1
	Groups               int // a divisor of both channel counts; 0: 1
}

// Epilogue is applied to the result of a convolution before it is stored: Act(y + Bias +
// Residual). Absent arrays are skipped.
type Epilogue struct {
	Bias, Residual Array // F32 [K]; the shape and type of the result
	Act            Func  // Identity or ReLU
	Stats          Array // F32 [2,K]: receives mean and biased variance of each filter's stored results
}

// GradEpilogue is applied to a gradient before it is stored. Add is added. Elements where Mask is
// not positive become 0, which is the gradient of a ReLU with the result Mask. Absent arrays are
// skipped; the zero value does nothing.
//
// Sums [C] receives the sum of each column of the stored result, which is the gradient of a bias
// before the ReLU. If a normalisation of X precedes the ReLU, NormGrad needs a second sum: Sums
// [2,C] receives Σ dx and Σ dx·(X − Mean).
type GradEpilogue struct {
	Add  Array // the shape and type of dx; may be dx itself
	Mask Array // the shape and type of dx
	Sums Array // F32 [C], or [2,C] with X and Mean
	X    Array // the shape and type of dx
	Mean Array // F32 [C]
}

// Fits reports whether the arrays of e fit the gradient dx.
func (e GradEpilogue) Fits(dx Array) bool {
	c, along := dx.Cols(), !e.X.Absent()
	for _, a := range [...]Array{e.Add, e.Mask, e.X} {
		if !a.Absent() && (a.Len() != dx.Len() || a.Cols() != c || !a.Contiguous()) {
			return false
		}
	}
	sums := c
	if along {
		sums = 2 * c
	}
	vector := func(v Array, n int) bool { return v.Absent() || v.Len() == n && v.Contiguous() }
	return vector(e.Sums, sums) && vector(e.Mean, c) && along == !e.Mean.Absent() && !(along && e.Sums.Absent())
}

// NormKind configures the normalisation of each channel by Norm.
type NormKind struct {
	Eps    float32 // added to the variance
	ReLU   bool    // applied last, after the residual is added
	Frozen bool    // Norm reads stats instead of computing them; NormGrad treats them as constants
}

// PoolMode is the kind of pooling.
type PoolMode uint8

// The kinds of pooling. AvgPool divides by the part of the window inside the image.
const (
	MaxPool PoolMode = iota
	AvgPool
)

// PoolShape is a pooling window. Global takes the whole image.
type PoolShape struct {
	Mode             PoolMode // maximum or mean
	Global           bool     // the window is the whole image; the sizes below are not read
	H, W             int      // of the window
	StrideH, StrideW int      // pixels between windows; 0: 1
	PadH, PadW       int      // pixels on each side, which never win and do not count
	Positive         bool     // only maxima above zero take a gradient: that before the ReLU whose result is pooled
}

// Pixel holds the constants of Pixels, which turns bytes into activations: (b/255 − Mean)/Std per
// channel, with each step rounded to F32. Channels beyond three are zero.
type Pixel struct {
	Mean, Std [3]float32 // of red, green and blue, in 0 … 1
}

// Columns of Resample's table of images, one row for each image. An axis is described by the
// start of its taps and the number of weights per output. For S outputs, the taps are the first
// input of each [S], the number of inputs of each [S] and the weights [S,width].
const (
	ImageAt     = iota // start of its bytes, in units of ImageUnit
	ImageWidth         // in pixels
	ImageHeight        // in pixels; 0: no image, and the result is black
	AcrossAt           // taps of the columns
	AcrossWidth        // weights of a column
	DownAt             // taps of the rows
	DownWidth          // weights of a row
	ImageCols          // number of columns
)

// ImageUnit is the alignment of an image's bytes.
const ImageUnit = 16

// Interpolation says where Interpolate samples for output pixel i of an axis with n input pixels:
// at i·(n−1)/(out−1) with AlignCorners, otherwise at max((i+½)/Scale − ½, 0), where Scale 0 means
// out/n. Positions beyond the last pixel use that pixel.
type Interpolation struct {
	AlignCorners   bool    // the first and last pixels keep their places
	ScaleH, ScaleW float64 // 0: the ratio of the sizes; not read with AlignCorners
}

// Image holds the operations of convolutional networks. Activations are [N,H,W,C]. x is the input
// and y the result of an operation.
type Image interface {
	// Conv is dst = Act(x ∗ w + Bias + Residual), a cross-correlation: dst [N,H',W',K] from
	// x [N,H,W,C] and w [K,R,S,C/Groups],
	//
	//	dst[n,i,j,k] = Σ_{r,s,c} x[n, i·StrideH + r·DilationH − PadH, …, c]·w[k,r,s,c]
	//
	// with H' = (H + 2·PadH − DilationH·(R−1) − 1)/StrideH + 1, rounded down, and W' alike.
	Conv(dst, x, w Array, c ConvShape, e Epilogue)
	// ConvGradX is the gradient of Conv without its epilogue by x, followed by an epilogue of
	// its own: dx = (… + Add) where Mask > 0.
	ConvGradX(dx, dy, w Array, c ConvShape, e GradEpilogue)
	// ConvGradW is the gradient of Conv without its epilogue by w: dw = acc·dw + …, F32.
	ConvGradW(dw, dy, x Array, c ConvShape, acc float32)
	// FoldNorm folds frozen statistics into weights: r = 1/√(variance + eps),
	// wf = γ·r·w, bf = β − γ·r·mean.
	FoldNorm(wf, bf, w, gamma, beta, mean, variance Array, eps float32)
	// FoldNormGrad is the gradient of FoldNorm: dw = γr·dwf, dβ = dbf,
	// dγ = r(⟨w, dwf⟩ − mean·dbf), exact also at γ = 0.
	FoldNormGrad(dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance Array, eps, acc float32)
	// Norm is batch normalisation over all but the last axis with the biased variance:
	// dst = γ(x − mean)/√(var + eps) + β, then + residual, then ReLU, where asked for.
	// stats F32 [2,C] is mean and biased variance, computed, or given if o.Frozen. If dst is
	// absent, only stats are computed.
	Norm(dst, stats, x, gamma, beta, residual Array, o NormKind)
	// NormGrad is the gradient of Norm without residual and ReLU. With x̂ = (x − mean)·r,
	// r = 1/√(var + eps) and n values in a channel:
	//
	//	dβ = Σ dy, dγ = Σ dy·x̂
	//	dx = γr(dy − dβ/n − x̂·dγ/n), or γr·dy if o.Frozen
	//
	// sums F32 [2,C] is Σ dy and Σ dy·(x − mean), if GradEpilogue has computed them, or absent.
	// dx, dgamma and dbeta may be absent; dx may be dy. acc applies to dgamma and dbeta.
	NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, sums Array, o NormKind, acc float32)
	// ReluGrad applies an epilogue to the gradient dy in memory: dx = dy + e.Add where
	// e.Mask > 0, and e.Sums = acc·e.Sums + …. dx may be dy. It may be absent if e.Add is and
	// only the sums are wanted.
	ReluGrad(dx, dy Array, e GradEpilogue, acc float32)
	// Pool is the maximum or the mean of each window: [N,H',W',C].
	Pool(dst, x Array, p PoolShape)
	// PoolGrad is the gradient of Pool. Of equal maxima, the first in row-major order
	// takes the gradient.
	PoolGrad(dx, dy, x, y Array, p PoolShape)
	// GeM is (mean over the image of max(x, eps)^p)^(1/p), [N,C]; p is F32 [1].
	GeM(dst, x, p Array, eps float32)
	// GeMGrad is the gradient of GeM by x and, unless dp is absent, by p:
	//
	//	dx = dy·y^(1−p)·x^(p−1)/HW where x ≥ eps, otherwise 0
	//	dp = acc·dp + Σ dy·y·(Σ x^p·ln x / Σ x^p − ln y)/p, x being max(x, eps)
	GeMGrad(dx, dp, dy, x, y, p Array, eps, acc float32)
	// Interpolate resizes images bilinearly. It has no gradient: only evaluations resize
	// images.
	Interpolate(dst, x Array, o Interpolation)
	// Resample makes images dst U8 [N,H,W,3] of the images [h,w,3] in bytes U8 [B], which
	// the table images I32 [N,ImageCols] lists; taps I32 [T] has their weights in units of
	// 2⁻²². Columns come first:
	//
	//	mid[i,x] = byte(Σ_j weight[x,j]·image[i, first[x]+j])
	//	dst[y,x] = byte(Σ_j weight[y,j]·mid[first[y]+j, x])
	//
	// with j below the number of inputs and byte(s) = (s + 2²¹)/2²², rounded down and limited
	// to 0 … 255. Sums must fit in 32 bits, and the table must stay within the arrays.
	Resample(dst, bytes, taps, images Array)
	// Pixels cuts a window out of bytes U8 [N,H',W',3] and normalises it to dst [N,H,W,C];
	// see Pixel. crop I32 [N,3] gives its top, its left, and 1 to mirror it. Without crop
	// it is the centre, not mirrored.
	Pixels(dst, bytes, crop Array, o Pixel)
}
