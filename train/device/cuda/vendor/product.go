package vendor

import (
	"errors"
	"fmt"
	"runtime"

	"hgld/internal/dlopen"
	"hgld/train/device"
)

// Product is the shape of dst = Act(alpha·op(a)·op(b) + beta·add + bias), or of a batch of them,
// on row-major matrices: op(a) is [Rows, Inner], op(b) [Inner, Cols], add is laid out as dst.
type Product struct {
	Type                     device.DType // of a and b: F32 or BF16
	Out                      device.DType // of dst
	Rows, Cols, Inner, Batch int          // sizes; Batch is the number of products
	TransA, TransB           bool         // a, b are stored transposed
	LdA, LdB, LdOut          int          // elements from one row to the next
	NextA, NextB, NextOut    int          // elements from one matrix of the batch to the next
	Bias                     bool         // [Cols], of type Out
	Act                      device.Func  // Identity, ReLU, or GELUTanh with Type BF16
	Sums                     bool         // of a's columns, F32 [Rows], with TransA; without Bias and Act, Out F32
	Plan                     int          // which of the suitable algorithms is taken; 0: the first
	// Bytes that divide the addresses of a, b, dst, add and the bias, up to 16; see Aligned.
	AlignA, AlignB, AlignOut, AlignAdd, AlignBias int
}

// Factors are the arguments of a product: addresses on the GPU and numbers.
type Factors struct {
	Out, A, B, Add, Bias uint64  // dst, a, b, add, which may be dst, and the bias or the sums
	Alpha, Beta          float32 // factors of the product and of add
}

// productPlan is the algorithm chosen for a product, with its descriptions. err is why there is
// none.
type productPlan struct {
	desc, a, b, out uintptr
	choice          *heuristic
	err             error
}

// PlansProducts reports whether products can be computed at all.
func (l *Libraries) PlansProducts() bool { return l != nil && l.blas != nil }

// Aligned completes a product by the alignment of its arguments.
func (p Product) Aligned(f Factors) Product {
	p.AlignA, p.AlignB, p.AlignOut = alignment(f.A), alignment(f.B), alignment(f.Out)
	p.AlignAdd, p.AlignBias = alignment(f.Add), alignment(f.Bias)
	return p
}

// ProductWorkspace returns the bytes of workspace that a product needs. It makes the product's
// plan on first use. An error means that cuBLASLt cannot compute the product.
func (l *Libraries) ProductWorkspace(p Product) (int, error) {
	plan := l.blas.plan(p)
	if plan.err != nil {
		return 0, plan.err
	}
	return int(plan.choice.workspace), nil
}

// Multiply queues a product. queued is false if an error came before anything was queued: the
// product is then never tried again.
func (l *Libraries) Multiply(p Product, f Factors, workspace uint64) (queued bool, err error) {
	b := l.blas
	plan := b.plan(p)
	if plan.err != nil {
		return false, plan.err
	}
	if p.Bias || p.Sums {
		b.bias = f.Bias
		err = b.call("cublasLtMatmulDescSetAttribute", b.descSet, plan.desc, descBias, dlopen.Address(&b.bias), 8)
	}
	if err == nil {
		b.scale = [2]float32{f.Alpha, f.Beta}
		b.matmul = [16]uintptr{
			b.handle, plan.desc, dlopen.Address(&b.scale[0]),
			uintptr(f.B), plan.b, uintptr(f.A), plan.a, dlopen.Address(&b.scale[1]),
			uintptr(f.Add), plan.out, uintptr(f.Out), plan.out, dlopen.Address(&plan.choice.algorithm[0]),
			uintptr(workspace), uintptr(plan.choice.workspace), b.stream,
		}
		err = b.call("cublasLtMatmul", b.multiply, b.matmul[:]...)
	}
	if err == nil {
		return true, nil
	}
	var e *Error
	if errors.As(err, &e) && (e.Code == blasExecutionFailed || e.Code == blasInternalError) {
		return true, err // the result may be half written
	}
	plan.err = err
	return false, err
}

// plan returns the plan of a product, made on first use.
func (b *blas) plan(p Product) *productPlan {
	if plan := b.plans[p]; plan != nil {
		return plan
	}
	plan := &productPlan{}
	plan.err = b.prepare(plan, p)
	b.plans[p] = plan
	return plan
}

// prepare describes a product and asks for an algorithm.
func (b *blas) prepare(plan *productPlan, p Product) error {
	if err := b.describe(plan, p); err != nil {
		return err
	}
	return b.choose(plan, p)
}

// describe describes a product. cuBLASLt's matrices are column-major:
// the same memory is the transposed matrix, so it computes dstᵀ = op(b)ᵀ·op(a)ᵀ. Its first
// factor is b, and a factor is transposed for it exactly if it is for us.
func (b *blas) describe(plan *productPlan, p Product) error {
	kind, ok := map[device.DType]uintptr{device.F32: real32, device.BF16: real16}[p.Type]
	out, okOut := map[device.DType]uintptr{device.F32: real32, device.BF16: real16}[p.Out]
	epilogue, okAct := p.epilogue()
	if !ok || !okOut || !okAct {
		return fmt.Errorf("cuBLASLt has no product of %v giving %v with activation %d: %w", p.Type, p.Out, p.Act, ErrNoPlan)
	}
	if err := b.result("cublasLtMatmulDescCreate", b.descCreate, &plan.desc, compute32, real32); err != nil {
		return err
	}
	desc := setter{b: b, name: "cublasLtMatmulDescSetAttribute", fn: b.descSet, object: plan.desc}
	desc.number(descTransA, operation(p.TransB))
	desc.number(descTransB, operation(p.TransA))
	desc.number(descEpilogue, epilogue)
	if p.Bias || p.Sums {
		// The heuristic reads nothing but the alignment off the pointer.
		desc.number(descBiasType, int32(out))
		desc.number(descBias, uint64(p.AlignBias))
	}
	if desc.err != nil {
		return desc.err
	}
	for _, m := range []struct {
		to             *uintptr
		kind           uintptr
		rows, cols, ld int // as stored, row-major
		next           int
	}{
		{&plan.a, kind, stored(p.TransA, p.Inner, p.Rows), stored(p.TransA, p.Rows, p.Inner), p.LdA, p.NextA},
		{&plan.b, kind, stored(p.TransB, p.Cols, p.Inner), stored(p.TransB, p.Inner, p.Cols), p.LdB, p.NextB},
		{&plan.out, out, p.Rows, p.Cols, p.LdOut, p.NextOut},
	} {
		if err := b.layout(m.to, m.kind, m.cols, m.rows, max(m.ld, 1), p.Batch, m.next); err != nil {
			return err
		}
	}
	return nil
}

// stored returns the first of two sizes if t holds, otherwise the second.
func stored(t bool, first, second int) int {
	if t {
		return first
	}
	return second
}

func operation(trans bool) int32 {
	if trans {
		return transpose
	}
	return plain
}

// epilogue returns what follows the product. GELU is the approximation by tanh, and its own
// approximation of tanh is not exact enough for F32.
func (p Product) epilogue() (int32, bool) {
	e := map[device.Func]int32{device.Identity: 0, device.ReLU: epilogueReLU, device.GELUTanh: epilogueGELU}
	v, ok := e[p.Act]
	if p.Act == device.GELUTanh && p.Type != device.BF16 {
		return 0, false
	}
	if p.Sums { // a is cuBLASLt's second factor
		return epilogueSums, p.TransA && !p.Bias && p.Act == device.Identity && p.Out == device.F32
	}
	if p.Bias {
		v |= epilogueBias
	}
	return max(v, epilogueNone), ok
}

// layout describes a column-major matrix, or a batch of them.
func (b *blas) layout(to *uintptr, kind uintptr, rows, cols, ld, batch, next int) error {
	err := b.result("cublasLtMatrixLayoutCreate", b.layoutCreate, to, kind, uintptr(rows), uintptr(cols), uintptr(ld))
	if err != nil || batch == 1 {
		return err
	}
	s := setter{b: b, name: "cublasLtMatrixLayoutSetAttribute", fn: b.layoutSet, object: *to}
	s.number(layoutBatch, int32(batch))
	s.number(layoutNext, uint64(next))
	return s.err
}

// proposals is the number of algorithms that the heuristic is asked for.
const proposals = 8

// choose asks for algorithms and takes the first that can run, or one behind it. Sums that are split are joined
// in F32 and in order, so all of them are deterministic.
func (b *blas) choose(plan *productPlan, p Product) (err error) {
	var prefer uintptr
	if err := b.result("cublasLtMatmulPreferenceCreate", b.preferCreate, &prefer); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, b.call("cublasLtMatmulPreferenceDestroy", b.preferDestroy, prefer))
	}()
	s := setter{b: b, name: "cublasLtMatmulPreferenceSetAttribute", fn: b.preferSet, object: prefer}
	s.number(preferWorkspace, uint64(productWorkspace))
	s.number(preferReduction, int32(reduceInComputeType))
	s.number(preferAlignA, int32(p.AlignB))
	s.number(preferAlignB, int32(p.AlignA))
	s.number(preferAlignC, int32(p.AlignAdd))
	s.number(preferAlignD, int32(p.AlignOut))
	if s.err != nil {
		return s.err
	}
	results, n := new([proposals]heuristic), new(int32)
	err = b.call("cublasLtMatmulAlgoGetHeuristic", b.heuristic, b.handle, plan.desc, plan.b, plan.a, plan.out, plan.out,
		prefer, proposals, dlopen.Address(&results[0]), dlopen.Address(n))
	runtime.KeepAlive(n)
	if err != nil {
		return err
	}
	left := p.Plan
	for i := range results[:min(int(*n), proposals)] {
		r := results[i]
		switch {
		case r.status != 0 || r.workspace > productWorkspace:
		case left > 0:
			left--
		default:
			plan.choice = &r
			return nil
		}
	}
	return fmt.Errorf("cublasLtMatmulAlgoGetHeuristic: %w", noPlan(p.Plan))
}

// productWorkspace is the workspace of a product in bytes: what NVIDIA recommends for Hopper.
const productWorkspace = 32 << 20

// free frees what a plan holds.
func (b *blas) free(p *productPlan) error {
	var errs []error
	for _, m := range []uintptr{p.a, p.b, p.out} {
		if m != 0 {
			errs = append(errs, b.call("cublasLtMatrixLayoutDestroy", b.layoutDestroy, m))
		}
	}
	if p.desc != 0 {
		errs = append(errs, b.call("cublasLtMatmulDescDestroy", b.descDestroy, p.desc))
	}
	return errors.Join(errs...)
}
