package cuda

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"hgld/train/device"
	"hgld/train/device/cuda/vendor"
)

// VendorVariable says what NVIDIA's libraries compute where they are installed: "bfloat16",
// the default, "measured" for what is the fastest for each shape in bfloat16, "all" for float32 too, or "off". In
// float32 the kernels of this package give the same bytes on every GPU, which the libraries do not.
const VendorVariable = "HGLD_CUDA_VENDOR"

// vendors is what a Backend uses of NVIDIA's libraries.
type vendors struct {
	types     []device.DType  // what they compute
	measures  bool            // the fastest way is measured
	opened    bool            // libraries was looked for
	libraries Libraries       // nil: none
	on        string          // what ways depend on: the libraries' versions and the kind of GPU
	told      map[string]bool // what Log was given

	ways   map[string]string // choices by shape
	trying bool              // ways are being timed, so that none failing is told
	used   bool              // a library has queued something since this was cleared
}

// CheckVariables returns an error for a value of [VendorVariable] that no device would accept.
func CheckVariables() error { return new(vendors).read() }

// Libraries compute products, convolutions and attention in place of the kernels of this package, as NVIDIA's do:
// see the methods of [vendor.Libraries].
type Libraries interface {
	// PlansProducts, PlansConvolutions and PlansAttention report what can be computed at all.
	PlansProducts() bool
	PlansConvolutions() bool // see PlansProducts
	PlansAttention() bool    // see PlansProducts

	// ProductWorkspace and GraphWorkspace return the bytes of memory that the work needs, or an error if it
	// must be computed otherwise.
	ProductWorkspace(vendor.Product) (int, error)
	GraphWorkspace(vendor.Graph) (int, error) // see ProductWorkspace

	// Multiply and Execute queue the work. With an error nothing may have been queued: it must be computed
	// otherwise then.
	Multiply(p vendor.Product, f vendor.Factors, workspace uint64) (queued bool, err error)
	Execute(g vendor.Graph, a vendor.Arrays, workspace uint64) (queued bool, err error) // see Multiply

	// Close ends the use. Queued work must be done.
	Close() error
}

// read reads VendorVariable.
func (v *vendors) read() error {
	switch text := os.Getenv(VendorVariable); text {
	case "off":
	case "", "bfloat16", "measured":
		v.types, v.measures = []device.DType{device.BF16}, text == "measured"
	case "all":
		v.types = []device.DType{device.BF16, device.F32}
	default:
		return fmt.Errorf("cuda: $%s is %.80q; want bfloat16, measured, all or off", VendorVariable, text)
	}
	return nil
}

// WithLibraries makes l compute what VendorVariable says, in place of NVIDIA's libraries.
func (b *Backend) WithLibraries(l Libraries) { b.vendor.opened, b.vendor.libraries = true, l }

// ProbeVendor reports NVIDIA's libraries for the driver of a Report, without a GPU.
func ProbeVendor(driver int) []vendor.Found { return vendor.Probe(vendorPaths, driver) }

// vendorPaths lists the possible paths of a library. Where HGLD_CUDA_LIBS names the folder of a
// driver, the libraries must be there too: those of the machine would call its own driver.
func vendorPaths(name string) []string {
	paths := candidates(name)
	if driver := candidates("libcuda.so.1"); len(driver) == 1 && exists(driver[0]) && !exists(paths[0]) {
		return nil
	}
	return paths
}

// library returns NVIDIA's libraries if they compute in a type, otherwise some that compute nothing. They are opened
// on first use.
func (b *Backend) library(t device.DType) Libraries {
	none := (*vendor.Libraries)(nil)
	if !slices.Contains(b.vendor.types, t) {
		return none
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.vendor.opened && b.err == nil && b.capture == nil {
		b.vendor.opened = true
		defer b.enter()()
		driver, err := b.drv.Version()
		b.check("", err)
		libraries, found := vendor.Open(vendorPaths, driver, b.card.kind(), uintptr(b.compute))
		for _, f := range found {
			if f.Err != nil {
				b.tell(fmt.Sprintf("%s is not used; hgld's own kernels are: %v", f.Name, b.shortage(f.Err)))
			}
		}
		b.vendor.libraries, b.vendor.on = libraries, libraries.Measured()
	}
	if b.vendor.libraries == nil {
		return none
	}
	return b.vendor.libraries
}

// tell gives Log a sentence, once.
func (b *Backend) tell(text string) {
	if b.vendor.told == nil {
		b.vendor.told = map[string]bool{}
	}
	if b.Log != nil && !b.vendor.told[text] {
		b.Log(text)
	}
	b.vendor.told[text] = true
}

// fallBack tells that an operation is computed by the kernels of this package. The sentence
// leaves out the shape, so that each reason is told once.
func (b *Backend) fallBack(op string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || b.vendor.trying {
		return
	}
	var e *vendor.Error
	if errors.As(err, &e) {
		err = e
	}
	defer b.enter()()
	err = b.shortage(err)
	why := strings.ReplaceAll(err.Error(), "\n", "; ") // of several ways that were tried
	b.tell(fmt.Sprintf("%s of some shapes is computed by hgld's own kernel: %s", op, why))
}

// workspace returns the bytes of workspace of a plan, or an error if there is no plan.
func (b *Backend) workspace(plan func() (int, error)) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	defer b.enter()()
	return plan()
}

// queue queues work of a library. An error means that nothing was queued and that the operation
// must be computed otherwise.
func (c *call) queue(work func() (bool, error)) error {
	b := c.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil
	}
	defer b.enter()()
	b.awaitUploads(c.marked)
	queued, err := work()
	if !queued {
		return err
	}
	b.vendor.used = true
	b.check(c.op, err)
	b.markUse(c.op, c.marked)
	return nil
}

// multiplyByVendor computes a product with cuBLASLt. It reports whether it did.
func (b *Backend) multiplyByVendor(dst, x, y device.Array, m device.Mul, o matmul) bool {
	if o.m == 0 || o.n == 0 || o.k == 0 || o.batch == 0 || x.Type != y.Type {
		return false
	}
	l := b.library(x.Type)
	plan, may := b.chosen.plan(byBlas)
	if !may || !l.PlansProducts() {
		return false
	}
	p := vendor.Product{
		Type: x.Type, Out: dst.Type, Rows: int(o.m), Cols: int(o.n), Inner: int(o.k), Batch: int(o.batch),
		TransA: m.TransA, TransB: m.TransB, LdA: int(o.lda), LdB: int(o.ldb), LdOut: int(o.ldc),
		NextA: int(o.nextA), NextB: int(o.nextB), NextOut: int(o.nextC), Bias: !m.Bias.Absent(),
		Plan: plan,
	}
	if m.Act == device.ReLU || m.Act == device.GELUTanh && x.Type == device.BF16 {
		p.Act = m.Act
	}
	short := p.Bias && dst.Type != device.F32 // the bias must have the type of dst
	if short && m.Short.Type == dst.Type && !m.Short.Absent() {
		short, m.Bias = false, m.Short
	}
	p.Sums = !m.Sums.Absent() && x.Type == device.BF16 && dst.Type == device.F32 && !p.Bias &&
		m.Act == device.Identity && m.Alpha == 1
	factors := func() vendor.Factors {
		c := b.op("MatMul")
		f := vendor.Factors{Out: uint64(c.address(dst)), A: uint64(c.address(x)), B: uint64(c.address(y)),
			Add: uint64(c.address(m.Add)), Bias: uint64(c.address(m.Bias)), Alpha: m.Alpha, Beta: m.Beta}
		if p.Sums {
			f.Bias = uint64(c.address(f32(m.Sums)))
		}
		return f
	}
	f := factors()
	if short {
		f.Bias = scratchAlign
	}
	p = p.Aligned(f)
	bytes, err := b.workspace(func() (int, error) { return l.ProductWorkspace(p) })
	if err != nil && p.Sums { // the sums take a pass of their own
		p.Sums = false
		p = p.Aligned(factors())
		bytes, err = b.workspace(func() (int, error) { return l.ProductWorkspace(p) })
	}
	if err != nil {
		b.fallBack("MatMul", err)
		return false
	}
	areas := b.scratch("MatMul", bytes, 2*p.Cols)
	if short {
		b.op("MatMul").addr(areas[1]).i32(int(dst.Type)).i64(p.Cols).ptr(m.Bias).i32(int(m.Bias.Type)).i64(p.Cols).
			i64(1).i64(p.Cols).flag(false).run("copy", "copy_convert", blocks(p.Cols, 256), 256, 0)
	}
	f = factors()
	if short {
		f.Bias = uint64(areas[1])
	}
	if err := b.call.queue(func() (bool, error) { return l.Multiply(p, f, uint64(areas[0])) }); err != nil {
		b.fallBack("MatMul", err)
		return false
	}
	if p.Act == device.Identity {
		b.activate(dst, m.Act)
	}
	b.times(dst, m.Factor)
	if !p.Sums {
		b.sumFactor(x, m)
	}
	return true
}

// multiplyTimes computes a product with a factor with cuDNN: as the gradient of a 1×1 convolution by its image, since
// cuBLASLt has no such epilogue. It reports whether it did.
func (b *Backend) multiplyTimes(dst, x, y device.Array, m device.Mul, o matmul) bool {
	if m.Factor.Absent() || x.Type != device.BF16 || m.TransA || m.TransB || m.Alpha != 1 || o.batch != 1 ||
		o.n*o.k == 0 || o.lda != o.k || o.ldb != o.n || o.ldc != o.n {
		return false
	}
	v := vendor.Convolution{Kind: vendor.GradX, Type: x.Type, N: int(o.m), H: 1, W: 1, C: int(o.n), K: int(o.k),
		R: 1, S: 1, OutHeight: 1, OutWidth: 1, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1, Groups: 1, Factor: true}
	l := b.vendorConvolves(v, x, y, dst)
	if l == nil {
		return false
	}
	err := b.convolve("MatMul", l, v, func(c *call) vendor.Images {
		return vendor.Images{X: uint64(c.address(dst)), W: uint64(c.address(y)), Y: uint64(c.address(x)),
			Mask: uint64(c.address(m.Factor))}
	})
	if err != nil {
		b.fallBack("MatMul", err)
	}
	return err == nil
}

// convolution describes a convolution for cuDNN.
func (o *conv) convolution(kind vendor.ConvolutionKind, t device.DType) vendor.Convolution {
	return vendor.Convolution{
		Kind: kind, Type: t, N: int(o.n), H: int(o.h), W: int(o.w), C: int(o.c),
		K: int(o.k), R: int(o.r), S: int(o.s), OutHeight: int(o.outH), OutWidth: int(o.outW),
		StrideH: int(o.strideH), StrideW: int(o.strideW), PadH: int(o.padH), PadW: int(o.padW),
		DilationH: int(o.dilationH), DilationW: int(o.dilationW), Groups: int(o.groups),
	}
}

// vendorConvolves returns NVIDIA's libraries if they compute a convolution of these arrays,
// otherwise nil.
func (b *Backend) vendorConvolves(v vendor.Convolution, x, w, y device.Array) Libraries {
	l := b.library(x.Type)
	if _, may := b.chosen.plan(byDnn); !may || v.N == 0 || w.Type != x.Type || y.Type != x.Type || !l.PlansConvolutions() {
		return nil
	}
	return l
}

// convolveByVendor computes a convolution with cuDNN. It reports whether it did.
func (b *Backend) convolveByVendor(o *conv, f fold, dst, x, w device.Array, e device.Epilogue) bool {
	v := o.convolution(vendor.Forward, x.Type)
	l := b.vendorConvolves(v, x, w, dst)
	if l == nil || e.Act != device.Identity && e.Act != device.ReLU || f.pads() || b.fewChannels(o, x.Type) {
		return false
	}
	v.Residual, v.Bias, v.ReLU = !e.Residual.Absent(), !e.Bias.Absent(), e.Act == device.ReLU
	err := b.convolve("Conv", l, v, func(c *call) vendor.Images {
		return vendor.Images{X: uint64(c.address(x)), W: uint64(c.address(w)), Y: uint64(c.address(dst)),
			Residual: uint64(c.address(e.Residual)), Bias: uint64(c.address(f32(e.Bias)))}
	})
	if err != nil {
		b.fallBack("Conv", err)
	}
	return err == nil
}

// choosesOurs reports whether rules may take our kernels where a library computes too: not in F32, where nobody
// has measured the libraries, nor where something was chosen.
func (b *Backend) choosesOurs(t device.DType) bool {
	return t == device.BF16 && b.chosen.Way == byRules
}

// fewChannels reports whether our kernel is faster than cuDNN's, as for images of four channels in
// BF16: on an H200 it took 1.7 ms in place of 4.5 for a ResNet-50's stem, and 0.3 in place of 1.4 for
// a DeiT-S's patches.
func (b *Backend) fewChannels(o *conv, t device.DType) bool {
	return b.choosesOurs(t) && o.groupC%8 != 0
}

// convolve queues a convolution or its gradient by x. An error means that nothing was queued.
func (b *Backend) convolve(op string, l Libraries, v vendor.Convolution,
	images func(*call) vendor.Images) error {
	v.Plan, _ = b.chosen.plan(byDnn)
	v = v.Aligned(images(b.op(op)))
	bytes, err := b.workspace(func() (int, error) { return l.GraphWorkspace(v) })
	if err != nil {
		return err
	}
	area := b.scratch(op, bytes)[0]
	a := images(b.op(op))
	return b.call.queue(func() (bool, error) { return l.Execute(v, a, uint64(area)) })
}

// gradXByVendor computes the gradient of a convolution by x with cuDNN, and with it as much of
// the epilogue as cuDNN fuses; kernels of this package do the rest. It reports whether it did.
//
// cuDNN adds to dx in place, or adds another array and masks.
func (b *Backend) gradXByVendor(o *conv, dx, dy, w device.Array, e device.GradEpilogue) bool {
	const op = "ConvGradX"
	v := o.convolution(vendor.GradX, dy.Type)
	l := b.vendorConvolves(v, dx, w, dy)
	if l == nil || b.sumsWide(o, dy.Type, e) {
		return false
	}
	images := func(c *call) vendor.Images {
		return vendor.Images{X: uint64(c.address(dx)), W: uint64(c.address(w)), Y: uint64(c.address(dy)),
			Residual: uint64(c.address(e.Add)), Mask: uint64(c.address(e.Mask))}
	}
	v.Add = e.Add == dx
	if fused := v; !v.Add && !e.Mask.Absent() {
		fused.Residual, fused.Mask = !e.Add.Absent(), true
		if b.convolve(op, l, fused, images) == nil {
			e.Add, e.Mask = device.Array{}, device.Array{}
			b.endGradX(dx, e)
			return true
		}
	}
	if err := b.convolve(op, l, v, images); err != nil {
		b.fallBack(op, err)
		return false
	}
	if v.Add {
		e.Add = device.Array{}
	}
	b.endGradX(dx, e)
	return true
}

// sumsWide reports whether our kernel of a gradient by x in BF16 is faster than cuDNN's and a second pass over dx
// for its sums: where dx has more channels than dy, so that memory limits both. By the model of an H100 it takes 0.49
// ms in place of 0.89 for 256 channels from 64 at 56², and saves 2 of 31 ms of a ResNet-50's step.
func (b *Backend) sumsWide(o *conv, t device.DType, e device.GradEpilogue) bool {
	return b.choosesOurs(t) && !e.Sums.Absent() && o.pointwise() && o.c >= 2*o.k && o.k <= 256
}

// endGradX applies an epilogue to dx in memory.
func (b *Backend) endGradX(dx device.Array, e device.GradEpilogue) {
	dst := dx
	if e.Add.Absent() && e.Mask.Absent() {
		if e.Sums.Absent() {
			return
		}
		dst = device.Array{} // it stays as it is
	}
	b.ReluGrad(dst, dx, e, 0)
}

// gradWByVendor computes the gradient of a convolution by w with cuDNN. It reports whether it did.
//
// In BF16 cuDNN sums in F32 and rounds the result to BF16, as in PyTorch's mixed precision. On an H200 the 53 gradients
// of a ResNet-50 took 6.1 ms so, and 14.2 with our kernels, which do not round.
func (b *Backend) gradWByVendor(o *conv, f fold, dw, dy, x device.Array, acc float32) bool {
	v := o.convolution(vendor.GradW, x.Type)
	v.Plan, _ = b.chosen.plan(byDnn)
	l := b.vendorConvolves(v, dy, dy, x)
	if l == nil || f.pads() || b.fewChannels(o, x.Type) {
		return false
	}
	err := b.gradW(l, v, dw, dy, x, acc)
	if err != nil {
		b.fallBack("ConvGradW", err)
	}
	return err == nil
}

// gradW computes dw. cuDNN adds nothing to what dw holds, and its result has the type of x: where that does not do, it
// goes to scratch memory first. An error means that nothing was queued.
func (b *Backend) gradW(l Libraries, v vendor.Convolution, dw, dy, x device.Array, acc float32) error {
	const op = "ConvGradW"
	short, n := x.Type != device.F32, dw.Len()
	direct := acc == 0 && !short
	images := func(scratch Address) vendor.Images {
		c := b.op(op)
		if direct {
			scratch = c.address(f32(dw))
		}
		return vendor.Images{X: uint64(c.address(x)), W: uint64(scratch), Y: uint64(c.address(dy))}
	}
	v = v.Aligned(images(scratchAlign))
	bytes, err := b.workspace(func() (int, error) { return l.GraphWorkspace(v) })
	if err != nil {
		return err
	}
	areas := b.scratch(op, bytes, x.Type.Size()*n, 4*n)
	a, sum := images(areas[1]), areas[1]
	err = b.call.queue(func() (bool, error) { return l.Execute(v, a, uint64(areas[0])) })
	if err != nil || direct {
		return err
	}
	if short {
		c := b.op(op)
		if sum = areas[2]; acc == 0 {
			sum = c.address(f32(dw))
		}
		c.addr(sum).i32(int(device.F32)).i64(n).addr(areas[1]).i32(int(x.Type)).i64(n).i64(1).i64(n).flag(false).
			run("copy", "copy_convert", blocks(n, 256), 256, 0)
		if acc == 0 {
			return nil
		}
	}
	b.op(op).ptr(f32(dw)).f32(acc).addr(sum).i64(1).i64(n).run("conv", "conv_join", blocks(n, 256), 256, 0)
	return nil
}

// fewTokens is the number of tokens below which our kernels of attention are kept: they multiply groups of 16 tokens,
// and cuDNN tiles of 64 and 128.
const fewTokens = 64

// attendByVendor computes an attention with cuDNN, or its gradient, in parts of the images whose workspace is small
// enough. It reports whether it did: in bfloat16, without masks, on Hopper, for which alone cuDNN's gradient is known
// to repeat its bytes.
func (b *Backend) attendByVendor(h heads, length device.Array, s func(*call) vendor.Sequences,
	activations ...device.Array) bool {
	if slices.ContainsFunc(activations, func(a device.Array) bool { return a.Type != device.BF16 }) ||
		h.causal != 0 || !length.Absent() || h.images == 0 || h.tokens < fewTokens || h.size%8 != 0 ||
		h.size > widestHead || b.card.Major != 9 {
		return false
	}
	l := b.library(device.BF16)
	if !l.PlansAttention() {
		return false
	}
	op, addresses := "Attention", s(b.op("Attention"))
	all := vendor.Attention{Images: int(h.images), Tokens: int(h.tokens), Heads: int(h.heads), Size: int(h.size),
		Gradient: addresses.DQKV != 0}
	if all.Gradient {
		op = "AttentionGrad"
	}
	for _, address := range []uint64{addresses.QKV, addresses.Y, addresses.DY, addresses.DQKV} {
		if address%16 != 0 {
			return false
		}
	}
	a, parts := all.Within()
	bytes, err := b.workspace(func() (int, error) { return l.GraphWorkspace(a) })
	if err != nil {
		b.fallBack(op, err)
		return false
	}
	areas := b.scratch(op, bytes, 4*a.Images*a.Tokens*a.Heads)
	for part := range parts {
		addresses := s(b.op(op))
		addresses.Delta = uint64(areas[1])
		err := b.call.queue(func() (bool, error) {
			return l.Execute(a, a.Of(a.Part(addresses, part)), uint64(areas[0]))
		})
		if err != nil { // what the parts before it computed is computed again
			b.fallBack(op, err)
			return false
		}
	}
	return true
}
