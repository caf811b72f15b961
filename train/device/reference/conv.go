package reference

import "hgld/train/device"

// Conv convolves images x [N,H,W,C] with filters w [K,R,S,C/Groups]. The result is [N,H',W',K].
func Conv(x, w *Array, c device.ConvShape) *Array {
	outH := device.Windows(x.Dims[1], w.Dims[1], c.StrideH, c.PadH, c.DilationH)
	outW := device.Windows(x.Dims[2], w.Dims[2], c.StrideW, c.PadW, c.DilationW)
	out, at := Zeros(x.Dims[0], outH, outW, w.Dims[0]), 0
	for n := range x.Dims[0] {
		for i := range outH {
			for j := range outW {
				for k := range w.Dims[0] {
					out.V[at] = ConvAt(x, w, c, n, i, j, k)
					at++
				}
			}
		}
	}
	return out
}

// ConvAt returns one element of Conv: filter k at output pixel (i, j) of image n.
func ConvAt(x, w *Array, c device.ConvShape, n, i, j, k int) float64 {
	h, width, channels := x.Dims[1], x.Dims[2], x.Dims[3]
	filters, each := w.Dims[0], w.Dims[3]
	from := k / (filters / max(c.Groups, 1)) * each // first channel of the filter's group
	sum := 0.0
	for r := range w.Dims[1] {
		y := i*max(c.StrideH, 1) + r*max(c.DilationH, 1) - c.PadH
		for s := range w.Dims[2] {
			z := j*max(c.StrideW, 1) + s*max(c.DilationW, 1) - c.PadW
			if y < 0 || y >= h || z < 0 || z >= width {
				continue
			}
			weights := w.V[((k*w.Dims[1]+r)*w.Dims[2]+s)*each:][:each]
			for p, v := range x.V[((n*h+y)*width+z)*channels+from:][:each] {
				sum += v * weights[p]
			}
		}
	}
	return sum
}
