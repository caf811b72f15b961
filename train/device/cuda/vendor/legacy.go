package vendor

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"hgld/internal/dlopen"
	"hgld/train/device"
)

// legacy is the functions for convolutions that cuDNN had before its graph API. They are deprecated
// and still there in version 9, and compute shapes for which the graph API proposes nothing. Fields
// hold the addresses of the functions named by their tags.
type legacy struct {
	tensorCreate      uintptr `name:"cudnnCreateTensorDescriptor"`
	tensorSet         uintptr `name:"cudnnSetTensor4dDescriptor"`
	tensorDestroy     uintptr `name:"cudnnDestroyTensorDescriptor"`
	filterCreate      uintptr `name:"cudnnCreateFilterDescriptor"`
	filterSet         uintptr `name:"cudnnSetFilter4dDescriptor"`
	filterDestroy     uintptr `name:"cudnnDestroyFilterDescriptor"`
	geometryCreate    uintptr `name:"cudnnCreateConvolutionDescriptor"`
	geometrySet       uintptr `name:"cudnnSetConvolution2dDescriptor"`
	geometryGroups    uintptr `name:"cudnnSetConvolutionGroupCount"`
	geometryMath      uintptr `name:"cudnnSetConvolutionMathType"`
	geometryDestroy   uintptr `name:"cudnnDestroyConvolutionDescriptor"`
	activationCreate  uintptr `name:"cudnnCreateActivationDescriptor"`
	activationSet     uintptr `name:"cudnnSetActivationDescriptor"`
	activationDestroy uintptr `name:"cudnnDestroyActivationDescriptor"`

	forwardAlgorithms uintptr `name:"cudnnGetConvolutionForwardAlgorithm_v7"`
	forwardWorkspace  uintptr `name:"cudnnGetConvolutionForwardWorkspaceSize"`
	forward           uintptr `name:"cudnnConvolutionForward"`
	forwardFused      uintptr `name:"cudnnConvolutionBiasActivationForward"`
	dataAlgorithms    uintptr `name:"cudnnGetConvolutionBackwardDataAlgorithm_v7"`
	dataWorkspace     uintptr `name:"cudnnGetConvolutionBackwardDataWorkspaceSize"`
	data              uintptr `name:"cudnnConvolutionBackwardData"`
	filterAlgorithms  uintptr `name:"cudnnGetConvolutionBackwardFilterAlgorithm_v7"`
	filterWorkspace   uintptr `name:"cudnnGetConvolutionBackwardFilterWorkspaceSize"`
	filter            uintptr `name:"cudnnConvolutionBackwardFilter"`
}

// legacyCalls are the functions of one kind of convolution. All take their operands in the same
// order: the two factors, the geometry and the result.
type legacyCalls struct {
	algorithms, workspace, run             uintptr
	nameAlgorithms, nameWorkspace, nameRun string
	operands                               [3]tensor

	// exact are the algorithms that add up products as they are: no transforms, which lose digits,
	// and no atomic additions.
	exact []int32
}

func (l *legacy) of(kind ConvolutionKind) legacyCalls {
	switch kind {
	case GradX:
		return legacyCalls{l.dataAlgorithms, l.dataWorkspace, l.data, "cudnnGetConvolutionBackwardDataAlgorithm_v7",
			"cudnnGetConvolutionBackwardDataWorkspaceSize", "cudnnConvolutionBackwardData",
			[3]tensor{tensorW, tensorY, tensorX}, []int32{dataImplicit}}
	case GradW:
		return legacyCalls{l.filterAlgorithms, l.filterWorkspace, l.filter,
			"cudnnGetConvolutionBackwardFilterAlgorithm_v7", "cudnnGetConvolutionBackwardFilterWorkspaceSize",
			"cudnnConvolutionBackwardFilter", [3]tensor{tensorX, tensorY, tensorW}, []int32{filterImplicit}}
	}
	return legacyCalls{l.forwardAlgorithms, l.forwardWorkspace, l.forward, "cudnnGetConvolutionForwardAlgorithm_v7",
		"cudnnGetConvolutionForwardWorkspaceSize", "cudnnConvolutionForward", [3]tensor{tensorX, tensorW, tensorY},
		[]int32{forwardImplicit, forwardPrecomputed, forwardGEMM, forwardDirect}}
}

// legacyPlan is a convolution's descriptions and the chosen algorithm.
type legacyPlan struct {
	d          *dnn
	calls      legacyCalls
	tensors    map[tensor]uintptr
	geometry   uintptr
	activation uintptr        // 0: no epilogue
	made       []func() error // destroys an object
	err        error          // the first failure of a description

	algorithm int32
	workspace int
	scales    [3]float32 // of the result, of what it is added to, and of the residual
}

// algorithmPerf mirrors cudnnConvolutionFwdAlgoPerf_t and those of the gradients.
type algorithmPerf struct {
	algorithm, status int32
	_                 float32 // expected milliseconds
	_                 int32
	_                 uint64 // workspace, asked again when an algorithm is taken
	determinism, math int32
	_                 [4]int32
}

// planLegacy describes a convolution to the older functions and takes the first algorithm that they
// propose, is deterministic and exact enough, and fits into the workspace, or one behind it: passed
// is the number of suitable ones that were passed over before.
func (d *dnn) planLegacy(c Convolution, passed int) (*legacyPlan, error) {
	if d.legacy == nil {
		return nil, fmt.Errorf("cuDNN has no older functions: %w", ErrNoPlan)
	}
	p := &legacyPlan{d: d, calls: d.legacy.of(c.Kind), tensors: map[tensor]uintptr{}, scales: [3]float32{1, 0, 0}}
	err := p.describe(c)
	if err == nil {
		err = p.choose(c, passed)
	}
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// describe describes a convolution.
func (p *legacyPlan) describe(c Convolution) error {
	kind, ok := dataTypes[c.Type]
	fused := c.Residual || c.Bias || c.ReLU || c.Mask
	switch {
	case c.Type == device.F32:
		ok = ok && fused == c.Bias // the fused function always adds a bias
	case fused || c.Kind == GradW:
		ok = false // both would be rounded on the way: the bias has the type of y, and dw that of x
	}
	if !ok {
		return fmt.Errorf("cuDNN's older functions have no such convolution of %v: %w", c.Type, ErrNoPlan)
	}
	l := p.d.legacy
	p.images(tensorX, kind, c.N, c.C, c.H, c.W)
	p.images(tensorY, kind, c.N, c.K, c.OutHeight, c.OutWidth)
	p.tensors[tensorW] = p.object("cudnnCreateFilterDescriptor", l.filterCreate, "cudnnDestroyFilterDescriptor",
		l.filterDestroy)
	p.call("cudnnSetFilter4dDescriptor", l.filterSet, p.tensors[tensorW], uintptr(kind), channelsLast, uintptr(c.K),
		uintptr(c.C/c.Groups), uintptr(c.R), uintptr(c.S))
	p.geometry = p.object("cudnnCreateConvolutionDescriptor", l.geometryCreate, "cudnnDestroyConvolutionDescriptor",
		l.geometryDestroy)
	p.call("cudnnSetConvolution2dDescriptor", l.geometrySet, p.geometry, uintptr(c.PadH), uintptr(c.PadW),
		uintptr(c.StrideH), uintptr(c.StrideW), uintptr(c.DilationH), uintptr(c.DilationW), crossCorrelation, dataFloat)
	p.call("cudnnSetConvolutionGroupCount", l.geometryGroups, p.geometry, uintptr(c.Groups))
	p.call("cudnnSetConvolutionMathType", l.geometryMath, p.geometry, uintptr(c.math()))
	if c.Add {
		p.scales[1] = 1
	}
	if fused {
		p.images(tensorBias, dataFloat, 1, c.K, 1, 1)
		p.activate(c)
	}
	return p.err
}

// math is how products may be computed: in F32 by multiply-adds, because the default rounds the
// factors to TF32, and otherwise on tensor cores.
func (c Convolution) math() int32 {
	if c.Type == device.F32 {
		return mathMultiplyAdd
	}
	return mathTensorCore
}

// activate describes what follows the bias.
func (p *legacyPlan) activate(c Convolution) {
	l := p.d.legacy
	p.activation = p.object("cudnnCreateActivationDescriptor", l.activationCreate, "cudnnDestroyActivationDescriptor",
		l.activationDestroy)
	mode := uintptr(activationIdentity)
	if c.ReLU {
		mode = activationReLU
	} else {
		p.calls.exact = []int32{forwardPrecomputed} // the only one that cuDNN documents without ReLU
	}
	// A fourth argument, a double in a register of its own, is read for other activations only. NaN
	// must come through, as it does in hgld's own ReLU.
	p.call("cudnnSetActivationDescriptor", l.activationSet, p.activation, mode, propagateNaN)
	if c.Residual {
		p.scales[2] = 1
	}
}

// images describes a tensor whose channels are innermost.
func (p *legacyPlan) images(id tensor, kind int32, n, c, h, w int) {
	l := p.d.legacy
	p.tensors[id] = p.object("cudnnCreateTensorDescriptor", l.tensorCreate, "cudnnDestroyTensorDescriptor",
		l.tensorDestroy)
	p.call("cudnnSetTensor4dDescriptor", l.tensorSet, p.tensors[id], channelsLast, uintptr(kind), uintptr(n), uintptr(c),
		uintptr(h), uintptr(w))
}

// object makes an object, which close destroys.
func (p *legacyPlan) object(create string, createFn uintptr, destroy string, destroyFn uintptr) uintptr {
	out := new(uintptr)
	p.call(create, createFn, dlopen.Address(out))
	made := *out
	if p.err == nil {
		p.made = append(p.made, func() error { return p.d.call(destroy, destroyFn, made) })
	}
	return made
}

// call calls a function unless an earlier one failed.
func (p *legacyPlan) call(name string, fn uintptr, args ...uintptr) {
	if p.err == nil {
		p.err = p.d.call(name, fn, args...)
	}
}

// close destroys the descriptions, the last one first.
func (p *legacyPlan) close() error {
	var errs []error
	for _, destroy := range slices.Backward(p.made) {
		errs = append(errs, destroy())
	}
	p.made = nil
	return errors.Join(errs...)
}

// mostProposals is the number of algorithms that are asked for: cuDNN has eight and proposes some
// for both kinds of arithmetic.
const mostProposals = 16

// choose asks for algorithms in the order of their expected speed.
func (p *legacyPlan) choose(c Convolution, passed int) error {
	results, n := new([mostProposals]algorithmPerf), new(int32)
	o := p.described()
	err := p.d.call(p.calls.nameAlgorithms, p.calls.algorithms, p.d.handle, o[0], o[1], p.geometry, o[2], mostProposals,
		dlopen.Address(n), dlopen.Address(&results[0]))
	runtime.KeepAlive(n)
	if err != nil {
		return err
	}
	why := error(ErrNoPlan)
	for _, r := range results[:min(int(*n), mostProposals)] {
		if r.status != 0 || r.determinism != deterministic || !slices.Contains(p.calls.exact, r.algorithm) ||
			r.math == mathConverting || (c.Type == device.F32) == (r.math == mathTensorCore) {
			continue
		}
		err := p.take(r.algorithm)
		if err == nil && passed == c.Plan {
			return nil
		}
		if err == nil {
			passed++
			err = noPlan(c.Plan)
		}
		why = err
	}
	return fmt.Errorf("%s: %w", p.calls.nameAlgorithms, why)
}

// take takes an algorithm if its workspace is small enough. The arithmetic stays the one that was
// described, for which the workspace is asked.
func (p *legacyPlan) take(algorithm int32) error {
	bytes, o := new(uint64), p.described()
	err := p.d.call(p.calls.nameWorkspace, p.calls.workspace, p.d.handle, o[0], o[1], p.geometry, o[2],
		uintptr(algorithm), dlopen.Address(bytes))
	runtime.KeepAlive(bytes)
	if err == nil && *bytes > MostWorkspace {
		err = fmt.Errorf("an algorithm wants %d bytes of workspace: %w", *bytes, ErrNoPlan)
	}
	p.algorithm, p.workspace = algorithm, int(*bytes)
	return err
}

// described are the descriptions of the operands in their order.
func (p *legacyPlan) described() (o [3]uintptr) {
	for i, t := range p.calls.operands {
		o[i] = p.tensors[t]
	}
	return o
}

// execute queues the convolution.
func (p *legacyPlan) execute(a Images, workspace uint64) error {
	o, t := p.described(), p.calls.operands
	args := []uintptr{p.d.handle, dlopen.Address(&p.scales[0]), o[0], uintptr(a.of(t[0])), o[1], uintptr(a.of(t[1])),
		p.geometry, uintptr(p.algorithm), uintptr(workspace), uintptr(p.workspace)}
	if p.activation == 0 {
		args = append(args, dlopen.Address(&p.scales[1]), o[2], uintptr(a.of(t[2])))
		return p.d.call(p.calls.nameRun, p.calls.run, args...)
	}
	residual := a.Residual
	if p.scales[2] == 0 {
		residual = a.Y // an address that it does not read
	}
	args = append(args, dlopen.Address(&p.scales[2]), o[2], uintptr(residual), p.tensors[tensorBias], uintptr(a.Bias),
		p.activation, o[2], uintptr(a.Y))
	return p.d.call("cudnnConvolutionBiasActivationForward", p.d.legacy.forwardFused, args...)
}
