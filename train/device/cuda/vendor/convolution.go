package vendor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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

	Mask bool // GradX, if it is not Add: dx is zero where a mask like dx is not positive

	// Bytes that divide the addresses, up to 16; see Aligned.
	AlignX, AlignW, AlignY, AlignResidual, AlignBias, AlignMask int
}

// Images are the arguments of a convolution, addresses on the GPU. In gradients X, W and Y are
// those of dx, dw and dy.
type Images struct{ X, W, Y, Residual, Bias, Mask uint64 }

// convolutionPlan is what executes a convolution. err is why there is nothing.
type convolutionPlan struct {
	made      *descriptors // the plan and all that it refers to
	plan      uintptr
	workspace int
	tensors   []tensor // with memory
	passed    int      // suitable algorithms that were passed over, up to Convolution.Plan
	engine    int      // number of the algorithm among cuDNN's
	notes     []int32  // what cuDNN says of it
	err       error
}

// PlansConvolutions reports whether convolutions can be computed at all.
func (l *Libraries) PlansConvolutions() bool { return l != nil && l.dnn != nil }

// Aligned completes a convolution by the alignment of its arguments.
func (c Convolution) Aligned(a Images) Convolution {
	c.AlignX, c.AlignW, c.AlignY = alignment(a.X), alignment(a.W), alignment(a.Y)
	c.AlignResidual, c.AlignBias, c.AlignMask = alignment(a.Residual), alignment(a.Bias), alignment(a.Mask)
	return c
}

// ConvolutionWorkspace returns the bytes of workspace that a convolution needs. It makes the
// convolution's plan on first use. An error means that cuDNN cannot compute it.
func (l *Libraries) ConvolutionWorkspace(c Convolution) (int, error) {
	p := l.dnn.planned(c)
	return p.workspace, p.err
}

// Convolve queues a convolution. queued is false if an error came before anything was queued:
// the convolution is then never tried again.
func (l *Libraries) Convolve(c Convolution, a Images, workspace uint64) (queued bool, err error) {
	p := l.dnn.planned(c)
	if p.err != nil {
		return false, p.err
	}
	err = l.dnn.execute(p, a, workspace)
	if err == nil {
		return true, nil
	}
	var e *Error
	if errors.As(err, &e) && e.Code >= dnnInternalError && e.Call == "cudnnBackendExecute" {
		return true, err // the result may be half written
	}
	p.err = err
	l.dnn.kept.drop(c)
	return false, err
}

// PlansText describes the convolutions planned so far, one a line, sorted: the shape, the number of cuDNN's
// algorithm and what cuDNN notes of it.
func (l *Libraries) PlansText() string {
	if l == nil || l.dnn == nil {
		return ""
	}
	var lines []string
	for c, p := range l.dnn.plans {
		lines = append(lines, fmt.Sprintf("%s: %s\n", c, p))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// String names the kind, the type, the sizes and the epilogue.
func (c Convolution) String() string {
	text := fmt.Sprintf("%s %v, %d images %d×%d, %d→%d, %d×%d/%d, groups %d",
		[...]string{"Conv", "ConvGradX", "ConvGradW"}[c.Kind], c.Type, c.N, c.H, c.W, c.C, c.K, c.R, c.S, c.StrideH, c.Groups)
	for _, part := range []struct {
		there bool
		name  string
	}{{c.Add, "added"}, {c.Residual, "residual"}, {c.Bias, "bias"}, {c.ReLU, "ReLU"}, {c.Mask, "mask"}} {
		if part.there {
			text += ", " + part.name
		}
	}
	return text
}

// String describes what executes a convolution.
func (p *convolutionPlan) String() string {
	if p.err != nil {
		return strings.ReplaceAll(p.err.Error(), "\n", "; ")
	}
	return fmt.Sprintf("engine %d %s, %d bytes of workspace", p.engine, notesText(p.notes), p.workspace)
}

// execute runs a plan on the arguments.
func (d *dnn) execute(p *convolutionPlan, a Images, workspace uint64) error {
	s := &descriptors{d: d}
	var ids []int64
	var pointers []uintptr
	for _, t := range p.tensors {
		ids = append(ids, int64(t))
		pointers = append(pointers, uintptr(a.of(t)))
	}
	pack := s.new(ofVariantPack)
	set(s, pack, packIDs, typeInt64, ids...)
	set(s, pack, packPointers, typePointer, pointers...)
	set(s, pack, packWorkspace, typePointer, uintptr(workspace))
	s.finalize(pack)
	if s.err == nil {
		s.err = d.call("cudnnBackendExecute", d.executeOnCard, d.handle, p.plan, pack)
	}
	return errors.Join(s.err, s.free())
}

// tensor names an array of a convolution. Those from intermediate on have no memory.
type tensor int64

const (
	tensorX tensor = iota + 1
	tensorW
	tensorY
	tensorResidual
	tensorBias
	tensorMask
	intermediate tensor = 100
)

// of returns the address of a tensor.
func (a Images) of(t tensor) uint64 {
	return map[tensor]uint64{tensorX: a.X, tensorW: a.W, tensorY: a.Y, tensorResidual: a.Residual,
		tensorBias: a.Bias, tensorMask: a.Mask}[t]
}

// planned returns the plan of a convolution, made on first use.
func (d *dnn) planned(c Convolution) *convolutionPlan {
	if p := d.plans[c]; p != nil {
		return p
	}
	p := &convolutionPlan{made: &descriptors{d: d}}
	d.plans[c] = p
	if k := d.kept.find(c); k != nil {
		if p.restore(k) == nil {
			return p
		}
		*p = convolutionPlan{made: &descriptors{d: d}, err: p.made.free()} // of another build: plan anew
	}
	if p.err = d.plan(p, c); p.err == nil {
		p.keep(d.kept, c)
	} else {
		p.err = errors.Join(p.err, p.made.free())
	}
	return p
}

// plan describes a convolution and looks for an engine, first among those that the heuristic
// expects to be fast, then among those that can do everything.
func (d *dnn) plan(p *convolutionPlan, c Convolution) error {
	operations, err := c.operations(p.made)
	if err != nil {
		return err
	}
	p.tensors = c.tensors()
	s := p.made
	graph := s.new(ofGraph)
	if d.described == 0 {
		set(s, graph, graphHandle, typeHandle, d.handle)
	}
	set(s, graph, graphOperations, typeDescriptor, operations...)
	s.finalize(graph)
	if s.err != nil {
		return s.err
	}
	modes := []int32{modeA, modeFallback}
	if c.Type == device.BF16 {
		modes = modes[:1] // one that can do everything may take 60 times as long as our kernel
	}
	var reasons []error
	for _, mode := range modes {
		err := p.search(graph, mode, c)
		if err == nil {
			return nil
		}
		reasons = append(reasons, err)
	}
	return errors.Join(reasons...)
}

// mostConfigs bounds the number of configurations that are tried.
const mostConfigs = 32

// search takes the first configuration that the heuristic proposes, is deterministic and exact
// enough, and can be planned within the workspace, or one behind it.
func (p *convolutionPlan) search(graph uintptr, mode int32, c Convolution) error {
	s := p.made
	s.err = nil
	heuristic := s.new(ofHeuristic)
	set(s, heuristic, heuristicGraph, typeDescriptor, graph)
	set(s, heuristic, heuristicMode, typeHeuristicMode, mode)
	if s.d.described != 0 {
		set(s, heuristic, heuristicDevice, typeDescriptor, s.d.described)
	}
	s.finalize(heuristic)
	n := min(get[uintptr](s, heuristic, heuristicResults, typeDescriptor, nil), mostConfigs)
	configs := make([]uintptr, n)
	for i := range configs {
		configs[i] = s.new(ofEngineConfig)
	}
	n = min(get(s, heuristic, heuristicResults, typeDescriptor, configs), n)
	if s.err != nil {
		return s.err
	}
	why := error(ErrNoPlan)
	for _, config := range configs[:n] {
		before := len(s.all)
		err := p.try(config, c)
		if err == nil && p.passed == c.Plan {
			return nil
		}
		if err == nil {
			p.passed++
			err = noPlan(c.Plan)
		}
		why, s.err = err, s.freeFrom(before)
	}
	return why
}

// try makes a plan of a configuration.
func (p *convolutionPlan) try(config uintptr, c Convolution) error {
	s := p.made
	engine := s.new(ofEngine)
	one := []uintptr{engine}
	get(s, config, configEngine, typeDescriptor, one)
	number, notes := make([]int64, 1), make([]int32, 32)
	get(s, engine, engineNumber, typeInt64, number)
	notes = notes[:min(get(s, engine, engineNotes, typeNumericalNote, notes), len(notes))]
	if s.err == nil && slices.ContainsFunc(notes, c.refuses) {
		return fmt.Errorf("an algorithm has the numerical notes %s: %w", notesText(notes), ErrNoPlan)
	}
	if s.err == nil && c.Type == device.BF16 && !slices.Contains(notes, noteTensorCore) {
		return fmt.Errorf("an algorithm does not use tensor cores: %w", ErrNoPlan)
	}
	plan := s.planFor()
	set(s, plan, planConfig, typeDescriptor, config)
	if err := p.finish(plan, c); err != nil {
		return err
	}
	p.engine, p.notes = int(number[0]), notes
	return nil
}

// planFor makes the description of a plan for the GPU.
func (s *descriptors) planFor() uintptr {
	plan := s.new(ofPlan)
	if s.d.described == 0 {
		set(s, plan, planHandle, typeHandle, s.d.handle)
	} else {
		set(s, plan, planDevice, typeDescriptor, s.d.described)
	}
	return plan
}

// finish finalizes a plan, for which cuDNN may compile code, and takes it if its workspace is small enough.
func (p *convolutionPlan) finish(plan uintptr, c Convolution) error {
	s := p.made
	s.finalize(plan)
	bytes := make([]int64, 1)
	get(s, plan, planWorkspace, typeInt64, bytes)
	if s.err == nil && bytes[0] > MostWorkspace {
		return fmt.Errorf("an algorithm wants %d bytes of workspace: %w", bytes[0], ErrNoPlan)
	}
	p.plan, p.workspace = plan, int(bytes[0])
	return s.err
}

// noteNames are the numerical notes of cuDNN, in the order of their numbers.
var noteNames = []string{"tensor cores", "down-converted inputs", "reduced sums", "FFT", "nondeterministic", "Winograd",
	"Winograd 4x4", "Winograd 6x6", "Winograd 13x13", "strict NaN"}

// notesText names numerical notes.
func notesText(notes []int32) string {
	var names []string
	for _, n := range notes {
		if n < 0 || int(n) >= len(noteNames) {
			names = append(names, fmt.Sprint(n))
			continue
		}
		names = append(names, noteNames[n])
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// refuses reports whether algorithms with a numerical note are not used: those that may give
// other bytes when repeated, those that add up in a short type, and those whose transforms lose
// digits. In F32 also those that round x and w.
func (c Convolution) refuses(note int32) bool {
	switch {
	case note == noteNondeterministic, note == noteReducedSums, note == noteFFT:
		return true
	case note >= noteWinograd && note <= noteWinograd13:
		return true
	}
	return c.Type == device.F32 && (note == noteTensorCore || note == noteDownConvert)
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
	if c.Mask {
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
	t := s.new(ofTensor)
	set(s, t, tensorType, typeDataType, kind)
	set(s, t, tensorDimensions, typeInt64, int64(n), int64(c), int64(h), int64(w))
	set(s, t, tensorStrides, typeInt64, int64(h*w*c), 1, int64(w*c), int64(c))
	set(s, t, tensorID, typeInt64, int64(id))
	set(s, t, tensorAlignment, typeInt64, int64(align))
	if id >= intermediate {
		set(s, t, tensorVirtual, typeBoolean, uint8(1))
	}
	s.finalize(t)
	return t
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
