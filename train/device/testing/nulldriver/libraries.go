package nulldriver

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/cuda/vendor"
)

// Work is what a call of NVIDIA's libraries computes.
type Work struct {
	Shape  string  // 50432 × 384, k 1536, or of a convolution 56² 64 to 256, 1×1/1
	FLOPs  float64 // floating-point operations
	Bytes  float64 // read and written
	Result float64 // bytes of the result
	Left   bool    // a mask is left to the kernel behind it

	Share  float64 // of the rate of products that it reaches; 0: all
	Behind int     // kernels behind the first
}

// libraries take the place of NVIDIA's. They compute nothing and record their calls.
type libraries struct{ d *Driver }

// Libraries returns libraries that compute nothing, and whose calls are among Launches.
func (d *Driver) Libraries() cuda.Libraries { return libraries{d} }

// Everything can be planned, without a workspace.

func (libraries) PlansProducts() bool                          { return true }
func (libraries) PlansConvolutions() bool                      { return true }
func (libraries) PlansAttention() bool                         { return true }
func (libraries) ProductWorkspace(vendor.Product) (int, error) { return 0, nil }
func (libraries) GraphWorkspace(vendor.Graph) (int, error)     { return 0, nil }
func (libraries) Close() error                                 { return nil }

// Multiply records a product.
func (l libraries) Multiply(p vendor.Product, f vendor.Factors, _ uint64) (bool, error) {
	size, rows, cols, inner := float64(p.Type.Size()), float64(p.Rows), float64(p.Cols), float64(p.Inner)
	shape := Product{Rows: p.Rows, Cols: p.Cols, Inner: p.Inner, Batch: p.Batch}.String()
	w := Work{Shape: shape, FLOPs: 2 * rows * cols * inner, Result: rows * cols * float64(p.Out.Size())}
	w.Bytes = size*(rows+cols)*inner + w.Result
	if f.Beta != 0 {
		w.Bytes += w.Result
	}
	w.times(float64(p.Batch))
	return l.record("cublaslt", w)
}

func (l libraries) record(library string, w Work) (bool, error) {
	l.d.calls++
	l.d.Launches = append(l.d.Launches, Launch{Kernel: library, Work: w})
	return true, nil
}

func (w *Work) times(n float64) { w.FLOPs, w.Bytes, w.Result = n*w.FLOPs, n*w.Bytes, n*w.Result }

// Execute records a convolution, an attention or a gradient.
func (l libraries) Execute(g vendor.Graph, _ vendor.Arrays, _ uint64) (bool, error) {
	if a, is := g.(vendor.Attention); is {
		return l.record("cudnn", attention(a))
	}
	return l.record("cudnn", convolution(g.(vendor.Convolution)))
}

// What cuDNN's attention is assumed to reach of the rate of products, and its gradient. Nobody has measured it here.
const (
	attentionShare     = 0.55
	attentionGradShare = 0.4
)

// attention is the work of an attention, or of its gradient: two or five products of tokens by tokens in tiles of 128.
// The gradient goes over its arrays in three kernels, of which one writes and one reads a product of 16 bits.
func attention(a vendor.Attention) Work {
	tokens, width := float64(a.Images*a.Tokens), float64(2*a.Heads*a.Size)
	padded := float64((a.Tokens + 127) &^ 127)
	w := Work{
		Shape: fmt.Sprintf("%d × %d tokens, %d heads of %d", a.Images, a.Tokens, a.Heads, a.Size), Share: attentionShare,
		FLOPs: 2 * 2 * float64(a.Images) * padded * padded * float64(a.Heads*a.Size), Bytes: 4 * tokens * width,
		Result: tokens * width,
	}
	if a.Gradient {
		scores := 2 * float64(a.Images*a.Heads) * padded * padded
		w.FLOPs *= 5.0 / 2
		w.Share, w.Behind = attentionGradShare, 2
		w.Bytes = 2*tokens*width + // delta, of dy and y
			6*tokens*width + scores + // q, k, v, dy; dk, dv
			scores + 2*tokens*width // k; dq
	}
	return w
}

// convolution is the work of a convolution or a gradient. Of x it reads the pixels under a window.
func convolution(c vendor.Convolution) Work {
	size := float64(c.Type.Size())
	out := float64(c.N * c.OutHeight * c.OutWidth)
	x := size * float64(c.C*c.N*min(c.H*c.W, c.OutHeight*c.OutWidth*c.R*c.S))
	y, filters := size*out*float64(c.K), float64(c.K*c.R*c.S*c.C/c.Groups)
	shape := imageText(c.H, c.C, c.K, c.R, c.S, c.StrideH)
	w := Work{Shape: shape, FLOPs: 2 * out * filters, Bytes: x + y + size*filters, Result: y}
	switch {
	case c.Kind == vendor.GradX:
		w.Result = size * float64(c.N*c.H*c.W*c.C)
		w.Bytes += w.Result - x
		w.Left = !c.Mask
	case c.Kind == vendor.GradW:
		w.Result = float64(device.F32.Size()) * filters
	}
	if c.Factor {
		w.Shape = Product{Rows: c.N, Cols: c.C, Inner: c.K}.String()
	}
	for _, also := range []bool{c.Residual, c.Mask, c.Factor, c.Add} {
		if also {
			w.Bytes += w.Result
		}
	}
	return w
}

// passes are the arrays like the result of a library that a kernel behind it moves, by the beginning of its name.
// Where the library did not mask its result, relugrad reads the mask and writes.
var passes = []struct {
	prefix         string
	masked, others float64
}{{"relugrad_along", 4, 2}, {"relugrad", 3, 1}, {"norm_moments", 1, 1}, {"act", 2, 2}}
