package reference

import "hgld/train/device"

// PoolWindows calls f with the indices of the elements under each window of an image with
// the given dimensions [N,H,W,C], and returns the size of the result.
func PoolWindows(dims []int, p device.PoolShape, f func(out int, in []int)) (outH, outW int) {
	n, h, w, c := dims[0], dims[1], dims[2], dims[3]
	if p.Global {
		p = device.PoolShape{Mode: p.Mode, H: h, W: w}
	}
	outH, outW = device.Windows(h, p.H, p.StrideH, p.PadH, 1), device.Windows(w, p.W, p.StrideW, p.PadW, 1)
	window := func(i, n, size, stride, pad int) (lo, hi int) {
		lo = i*max(stride, 1) - pad
		return max(lo, 0), min(lo+size, n)
	}
	for i := range n * outH * outW * c {
		top, bottom := window(i/c/outW%outH, h, p.H, p.StrideH, p.PadH)
		left, right := window(i/c%outW, w, p.W, p.StrideW, p.PadW)
		var in []int
		for y := top; y < bottom; y++ {
			for x := left; x < right; x++ {
				in = append(in, ((i/c/outW/outH*h+y)*w+x)*c+i%c)
			}
		}
		f(i, in)
	}
	return outH, outW
}

// Pool returns the result of a pooling, and the gradient by x for the upstream gradient up.
func Pool(x, up *Array, p device.PoolShape) (y, dx []float64) {
	dx = make([]float64, len(x.V))
	PoolWindows(x.Dims, p, func(out int, in []int) {
		if p.Mode == device.MaxPool {
			best := in[0]
			for _, i := range in {
				if x.V[i] > x.V[best] {
					best = i
				}
			}
			y = append(y, x.V[best])
			dx[best] += up.V[out]
			return
		}
		sum := 0.0
		for _, i := range in {
			sum += x.V[i]
			dx[i] += up.V[out] / float64(len(in))
		}
		y = append(y, sum/float64(len(in)))
	})
	return y, dx
}
