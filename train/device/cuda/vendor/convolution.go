package vendor

import (
	"fmt"

	"hgld/train/device"
)

// ConvolutionKind says what of a convolution is computed.
type ConvolutionKind uint8

// The forward pass with its epilogue, and the gradients by x and by w.
const (
	Forward ConvolutionKind = iota
	GradX
	GradW
)

// Convolution is the shape of y = x ∗ w, a cross-correlation of images [N,H,W,C] with filters
// [K,R,S,C/Groups], or of one of its gradients.
type Convolution struct {
	Kind ConvolutionKind // what is computed
	Type device.DType    // of x, w and y, or dx, dw and dy: F32 or BF16

	N, H, W, C           int // of x
	K, R, S              int // of w: filters and their sides
	OutHeight, OutWidth  int // of y
	StrideH, StrideW     int // pixels between windows
	PadH, PadW           int // pixels of zeros on each side
	DilationH, DilationW int // pixels between taps
	Groups               int // a divisor of C and of K

	Add  bool // GradX: dx is added to what it holds
	Plan int  // which of the suitable algorithms is taken; 0: the first

	// The epilogue of Forward: y = ReLU(x ∗ w + residual + bias), each part optional. bias is F32
	// [K]. GradX adds the residual, too, if it is not Add.
	Residual, Bias, ReLU bool

	Mask   bool // GradX, if it is not Add: dx is zero where a mask like dx is not positive
	Factor bool // GradX, if it is not Add: the mask is a factor of each element instead

	// Bytes that divide the addresses, up to 16; see Aligned.
	AlignX, AlignW, AlignY, AlignResidual, AlignBias, AlignMask int
}

// Images are the arguments of a convolution, addresses on the GPU. In gradients X, W and Y are
// those of dx, dw and dy.
type Images struct{ X, W, Y, Residual, Bias, Mask uint64 }

// PlansConvolutions reports whether convolutions can be computed at all.
func (l *Libraries) PlansConvolutions() bool { return l != nil && l.dnn != nil }

// Aligned completes a convolution by the alignment of its arguments.
func (c Convolution) Aligned(a Images) Convolution {
	c.AlignX, c.AlignW, c.AlignY = alignment(a.X), alignment(a.W), alignment(a.Y)
	c.AlignResidual, c.AlignBias, c.AlignMask = alignment(a.Residual), alignment(a.Bias), alignment(a.Mask)
	return c
}

func (c Convolution) kind() (device.DType, int) { return c.Type, c.Plan }

func (Convolution) leastWorkspace() int { return 0 }

// String names the kind, the type, the sizes and the epilogue.
func (c Convolution) String() string {
	text := fmt.Sprintf("%s %v, %d images %d×%d, %d→%d, %d×%d/%d, groups %d",
		[...]string{"Conv", "ConvGradX", "ConvGradW"}[c.Kind], c.Type, c.N, c.H, c.W, c.C, c.K, c.R, c.S, c.StrideH, c.Groups)
	for _, part := range []struct {
		there bool
		name  string
	}{{c.Add, "added"}, {c.Residual, "residual"}, {c.Bias, "bias"}, {c.ReLU, "ReLU"}, {c.Mask, "mask"},
		{c.Factor, "factor"}} {
		if part.there {
			text += ", " + part.name
		}
	}
	return text
}

// tensor names an array or a scalar of a Graph. Those from intermediate on have no memory.
type tensor int64

const (
	tensorX tensor = iota + 1
	tensorW
	tensorY
	tensorResidual
	tensorBias
	tensorMask
	scalar       tensor = 90 // and those behind it: numbers on the host
	intermediate tensor = 100
)

// of returns the address of a tensor.
func (a Images) of(t tensor) uint64 {
	return map[tensor]uint64{tensorX: a.X, tensorW: a.W, tensorY: a.Y, tensorResidual: a.Residual,
		tensorBias: a.Bias, tensorMask: a.Mask}[t]
}

// tensors lists the tensors of a convolution that have memory.
func (c Convolution) tensors() []tensor {
	all := []tensor{tensorX, tensorW, tensorY}
	if c.Kind == GradW {
		return all
	}
	if c.Residual {
		all = append(all, tensorResidual)
	}
	if c.Bias {
		all = append(all, tensorBias)
	}
	if c.Mask || c.Factor {
		all = append(all, tensorMask)
	}
	return all
}

// operations describes a convolution: its operations in order.
func (c Convolution) operations(s *descriptors) ([]uintptr, error) {
	kind, ok := dataTypes[c.Type]
	if !ok {
		return nil, fmt.Errorf("cuDNN has no %v that we take: %w", c, ErrNoPlan)
	}
	w := s.images(tensorW, kind, c.AlignW, c.K, c.R, c.S, c.C/c.Groups)
	geometry := s.geometry(c)
	if c.Kind == GradW {
		return []uintptr{s.convolve(ofBackwardFilter,
			[6]int{filterConvolution, filterX, filterW, filterY, filterAlpha, filterBeta},
			[4]uintptr{geometry, c.like(s, tensorX, kind), w, c.like(s, tensorY, kind)}, 0)}, s.err
	}
	return c.fused(s, kind, geometry, w), s.err
}

// dataTypes are cuDNN's numbers of types.
var dataTypes = map[device.DType]int32{device.F32: dataFloat, device.BF16: dataBFloat16}

// fused describes a convolution, or its gradient by x, and the epilogue in the order for which
// cuDNN has fused kernels: residual, bias, ReLU or mask. What lies between two operations is F32
// and has no memory.
func (c Convolution) fused(s *descriptors, kind int32, geometry, w uintptr) (operations []uintptr) {
	of := tensorY // the result
	if c.Kind == GradX {
		of = tensorX
	}
	type step struct {
		mode    int32
		operand uintptr // 0: none
	}
	var steps []step
	if c.Residual {
		steps = append(steps, step{pointwiseAdd, c.like(s, tensorResidual, kind)})
	}
	if c.Bias {
		b := s.images(tensorBias, dataFloat, c.AlignBias, 1, 1, 1, c.K)
		steps = append(steps, step{pointwiseAdd, b})
	}
	if c.ReLU {
		steps = append(steps, step{mode: pointwiseReLU})
	}
	if c.Mask {
		steps = append(steps, step{pointwiseReLUGrad, c.like(s, tensorMask, kind)})
	}
	if c.Factor {
		steps = append(steps, step{pointwiseMul, c.like(s, tensorMask, kind)})
	}
	result := func(i int) uintptr { // of step i; −1 is the convolution
		if i == len(steps)-1 {
			return c.like(s, of, kind)
		}
		return c.like(s, intermediate+tensor(i+1), dataFloat)
	}
	last := result(-1)
	if c.Kind == GradX {
		beta := float32(0)
		if c.Add {
			beta = 1
		}
		operations = append(operations, s.convolve(ofBackwardData,
			[6]int{dataConvolution, dataX, dataW, dataY, dataAlpha, dataBeta},
			[4]uintptr{geometry, last, w, c.like(s, tensorY, kind)}, beta))
	} else {
		operations = append(operations, s.convolve(ofForward,
			[6]int{forwardConvolution, forwardX, forwardW, forwardY, forwardAlpha, forwardBeta},
			[4]uintptr{geometry, c.like(s, tensorX, kind), w, last}, 0))
	}
	for i, step := range steps {
		next := result(i)
		operations = append(operations, s.pointwise(step.mode, last, step.operand, next))
		last = next
	}
	return operations
}

// like describes a tensor of the size of the images that it belongs to: of x itself, of y, or of
// the result, which is x in GradX and y otherwise.
func (c Convolution) like(s *descriptors, id tensor, kind int32) uintptr {
	align := map[tensor]int{
		tensorX: c.AlignX, tensorY: c.AlignY, tensorResidual: c.AlignResidual, tensorMask: c.AlignMask,
	}[id]
	if id >= intermediate {
		align = 16
	}
	if id == tensorX || id != tensorY && c.Kind == GradX {
		return s.images(id, kind, align, c.N, c.H, c.W, c.C)
	}
	return s.images(id, kind, align, c.N, c.OutHeight, c.OutWidth, c.K)
}

// images describes a tensor whose channels are innermost. cuDNN lists its dimensions as N, C, H,
// W wherever they lie in memory.
func (s *descriptors) images(id tensor, kind int32, align, n, h, w, c int) uintptr {
	return s.tensor(id, kind, align, [4]int{n, c, h, w}, [4]int{h * w * c, 1, w * c, c})
}

// geometry describes padding, strides and dilation, with sums in F32.
func (s *descriptors) geometry(c Convolution) uintptr {
	g := s.new(ofConvolution)
	set(s, g, convolutionType, typeDataType, int32(dataFloat))
	set(s, g, convolutionMode, typeConvolutionMode, int32(crossCorrelation))
	set(s, g, convolutionDims, typeInt64, int64(2))
	set(s, g, convolutionDilations, typeInt64, int64(c.DilationH), int64(c.DilationW))
	set(s, g, convolutionStrides, typeInt64, int64(c.StrideH), int64(c.StrideW))
	set(s, g, convolutionPre, typeInt64, int64(c.PadH), int64(c.PadW))
	set(s, g, convolutionPost, typeInt64, int64(c.PadH), int64(c.PadW))
	s.finalize(g)
	return g
}

// convolve describes a convolution or a gradient. names are the attributes of geometry, x, w, y,
// and of the factors of the result and of what it is added to.
func (s *descriptors) convolve(kind int, names [6]int, of [4]uintptr, beta float32) uintptr {
	o := s.new(kind)
	for i, v := range of {
		set(s, o, names[i], typeDescriptor, v)
	}
	set(s, o, names[4], typeFloat, float32(1))
	set(s, o, names[5], typeFloat, beta)
	s.finalize(o)
	return o
}

// pointwise describes y = f(x, b), element by element. b may be 0. Of the gradient of a ReLU, x
// is the gradient that comes in and b the argument of the ReLU, or its result: its sign counts.
func (s *descriptors) pointwise(mode int32, x, b, y uintptr) uintptr {
	f := s.new(ofPointwise)
	set(s, f, pointwiseMode, typePointwiseMode, mode)
	set(s, f, pointwisePrecision, typeDataType, int32(dataFloat))
	s.finalize(f)
	o := s.new(ofPointwiseStep)
	set(s, o, operationPointwise, typeDescriptor, f)
	if mode == pointwiseReLUGrad {
		set(s, o, operationDY, typeDescriptor, x)
		set(s, o, operationX, typeDescriptor, b)
		set(s, o, operationDX, typeDescriptor, y)
		s.finalize(o)
		return o
	}
	set(s, o, operationX, typeDescriptor, x)
	if b != 0 {
		set(s, o, operationB, typeDescriptor, b)
	}
	set(s, o, operationY, typeDescriptor, y)
	s.finalize(o)
	return o
}
