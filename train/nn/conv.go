package nn

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// Conv is a two-dimensional cross-correlation, y[n,h,w,k] = Σ x·w (+ bias).
type Conv struct {
	Weight *Param           // [K,R,S,C/groups]
	Bias   *Param           // [K], or nil
	Shape  device.ConvShape // strides, padding, dilation, groups
}

// ImageChannels is the number of channels of images on the device: red, green, blue and a fourth
// of zeros, which aligns pixels to four numbers.
const ImageChannels = 4

// NewConv declares a convolution without bias: out filters of size k × k over in channels,
// initialised by KaimingNormal. in = 3 declares the stem, which reads ImageChannels channels on
// the device and three in files.
func NewConv(c Scope, in, out, k int, shape device.ConvShape) *Conv {
	perGroup := in / max(shape.Groups, 1)
	channels := perGroup
	if perGroup == 3 && in == 3 {
		channels = ImageChannels
	}
	return &Conv{
		Weight: c.param("weight", KaimingNormal, filters(out, perGroup, k, k, channels)),
		Shape:  shape,
	}
}

// WithBias adds a bias to conv and initialises both parameters as torch's Conv2d does.
func (conv *Conv) WithBias(c Scope) *Conv {
	file := conv.Weight.entry.layout.file
	conv.Weight.init = KaimingUniform
	conv.Bias = c.Param("bias", UniformFan(fanIn(file)), file[0])
	return conv
}

// Filters returns the number of channels of the result.
func (conv *Conv) Filters() int { return conv.Weight.entry.layout.file[0] }

// Square returns a ConvShape with equal strides and paddings in both directions.
func Square(stride, pad int) device.ConvShape {
	return device.ConvShape{StrideH: stride, StrideW: stride, PadH: pad, PadW: pad}
}

// Forward maps [N,H,W,C] to [N,H',W',K].
func (conv *Conv) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	return conv.forward(t, x, device.Array{})
}

// forward is Forward. stats, if present, receives the statistics of the result.
func (conv *Conv) forward(t *grad.Tape, x *grad.Var, stats device.Array) *grad.Var {
	w := conv.Weight.As(t, x.Value.Type)
	y := t.New(x.Value.Type, conv.output(x)...)
	var bias *grad.Var
	e := device.Epilogue{Stats: stats}
	if conv.Bias != nil {
		bias = conv.Bias.Var(t)
		e.Bias = bias.Value
	}
	t.Do(func(b device.Backend) { b.Conv(y.Value, x.Value, w.Value, conv.Shape, e) })
	t.Back(func(b device.Backend) {
		dy := t.Grad(y)
		addPixels(t, b, x, dy, w, conv.Shape)
		if dw, acc := t.Onto(w); !dw.Absent() {
			b.ConvGradW(dw, dy, x.Value, conv.Shape, acc)
		}
		if bias != nil {
			addColumns(t, b, bias, dy)
		}
	}, x)
	return y
}

// output returns the dimensions of the result for x.
func (conv *Conv) output(x *grad.Var) []int {
	in, w, s := x.Value.Dims, conv.Weight.Value.Dims, conv.Shape
	if groups := max(s.Groups, 1); x.Value.N != 4 || in[3] != w[3]*groups {
		panic(fmt.Sprintf("nn: %s of %v does not fit %v", conv.Weight.Name(), conv.Weight.Value, x.Value))
	}
	return []int{
		in[0],
		device.Windows(in[1], w[1], s.StrideH, s.PadH, s.DilationH),
		device.Windows(in[2], w[2], s.StrideW, s.PadW, s.DilationW),
		w[0],
	}
}

// addPixels adds the gradient of a convolution by x.
func addPixels(t *grad.Tape, b device.Backend, x *grad.Var, dy device.Array, w *grad.Var, shape device.ConvShape) {
	if dx, e := t.Finish(x); !dx.Absent() {
		b.ConvGradX(dx, dy, w.Value, shape, e)
	}
}

// addColumns adds the gradient of a bias: the sum over all but the last axis.
func addColumns(t *grad.Tape, b device.Backend, bias *grad.Var, dy device.Array) {
	if db, acc := t.Onto(bias); !db.Absent() {
		b.Sums(db, matrix(dy), device.SumCols, acc)
	}
}

// matrix returns a with all axes but the last as rows.
func matrix(a device.Array) device.Array {
	if a.N != 2 {
		a.Dims = [4]int{a.Rows(), a.Cols(), 1, 1}
		a.N = 2
	}
	return a
}
