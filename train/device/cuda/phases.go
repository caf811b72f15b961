package cuda

// phase mirrors hg_phase of conv.h.
type phase struct{ y, x, h, w, tapRow, tapColumn, taps int32 }

// convPhase is a phase of the gradient by x. conv describes it as a convolution with strides of 1,
// except that it has the strides.
type convPhase struct {
	conv
	phase    phase
	firstTap int // its number among the taps of a filter
	tile     int
}

// phases returns the input pixels by the remainders of their rows and columns at division by the
// strides. Only every stride-th tap of a row reaches a pixel, and which ones they are depends on the
// remainder. So the products of all phases have as many multiplications as those of the
// convolution. A product over all pixels has stride² as many, most of them with zero.
func (o *conv) phases() (all []convPhase) {
	down := axisPhases(int(o.h), int(o.r), int(o.strideH), int(o.padH), int(o.dilationH))
	across := axisPhases(int(o.w), int(o.s), int(o.strideW), int(o.padW), int(o.dilationW))
	for _, y := range down {
		for _, x := range across {
			p := convPhase{conv: *o, firstTap: y.firstTap*int(o.s) + x.firstTap}
			p.phase = phase{
				y: int32(y.first), x: int32(x.first), h: o.h, w: o.w,
				tapRow: int32(y.tapStep) * o.s, tapColumn: int32(x.tapStep), taps: o.r * o.s,
			}
			p.h, p.w, p.r, p.s = int32(y.pixels), int32(x.pixels), int32(y.taps), int32(x.taps)
			p.padH, p.padW, p.dilationH, p.dilationW = int32(y.pad), int32(x.pad), int32(y.dilation), int32(x.dilation)
			p.byS, p.byW, p.byHW = divisorOf(max(x.taps, 1)), divisorOf(x.pixels), divisorOf(y.pixels*x.pixels)
			all = append(all, p)
		}
	}
	return all
}

// axisPhase is a phase along one axis: the pixels first, first + stride, … and the taps firstTap,
// firstTap + tapStep, …. Its pixel i gets from its tap t what output pixel i + pad − t·dilation has.
type axisPhase struct{ first, pixels, firstTap, tapStep, taps, pad, dilation int }

// axisPhases returns the phases of an axis of size pixels. Tap t of output pixel o takes pixel
// o·stride − pad + t·dilation.
func axisPhases(size, taps, stride, pad, dilation int) (all []axisPhase) {
	common := dilation
	for rest := stride; rest != 0; {
		common, rest = rest, common%rest
	}
	for first := range min(stride, size) {
		p := axisPhase{
			first: first, pixels: (size - first + stride - 1) / stride,
			tapStep: stride / common, dilation: dilation / common,
		}
		for t := range min(p.tapStep, taps) {
			if at := first + pad - t*dilation; at%stride == 0 {
				p.firstTap, p.taps, p.pad = t, (taps-t+p.tapStep-1)/p.tapStep, at/stride
				break
			}
		}
		all = append(all, p)
	}
	return all
}
