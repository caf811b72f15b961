package nulldriver

import (
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
}

// libraries take the place of NVIDIA's. They compute nothing and record their calls.
type libraries struct{ d *Driver }

// Libraries returns libraries that compute nothing, and whose calls are among Launches.
func (d *Driver) Libraries() cuda.Libraries { return libraries{d} }

// Everything can be planned, without a workspace.

func (libraries) PlansProducts() bool                                  { return true }
func (libraries) PlansConvolutions() bool                              { return true }
func (libraries) ProductWorkspace(vendor.Product) (int, error)         { return 0, nil }
func (libraries) ConvolutionWorkspace(vendor.Convolution) (int, error) { return 0, nil }
func (libraries) Close() error                                         { return nil }

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

// Convolve records a convolution or a gradient. Of x it reads the pixels under a window.
func (l libraries) Convolve(c vendor.Convolution, _ vendor.Images, _ uint64) (bool, error) {
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
	for _, also := range []bool{c.Residual, c.Mask, c.Add} {
		if also {
			w.Bytes += w.Result
		}
	}
	return l.record("cudnn", w)
}

// passes are the arrays like the result of a library that a kernel behind it moves, by the beginning of its name.
// Where the library did not mask its result, relugrad reads the mask and writes.
var passes = []struct {
	prefix         string
	masked, others float64
}{{"relugrad_along", 4, 2}, {"relugrad", 3, 1}, {"norm_moments", 1, 1}, {"act", 2, 2}}
