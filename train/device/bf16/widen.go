// Package bf16 lets a backend that computes in F32 store activations in BF16 or F16. It widens
// the arrays of an operation to F32, runs the operation, and rounds the results. Storage is that
// of mixed precision, and arithmetic that of the backend. A host can thus run a mixed-precision
// training, whose result is the reference for a GPU's BF16 kernels. It is slower than F32.
package bf16

import (
	"slices"

	"hgld/train/device"
	"hgld/train/device/observe"
)

// anyType are the operations that work on all types as they are.
var anyType = []string{"Copy", "Fill", "Gather"}

// Backend returns b with storage in BF16 and F16. If b supports both, it returns b itself.
func Backend(b device.Backend) device.Backend {
	if b.Supports(device.BF16) && b.Supports(device.F16) {
		return b
	}
	w := &widener{own: b}
	w.Backend = observe.Operations(b, w.run)
	if r, able := w.Backend.(device.Ragged); able {
		return &raggedWidener{rounded{w}, r}
	}
	return rounded{w}
}

// widener is a backend whose operations compute on widened copies. The embedded one passes them through run.
type widener struct {
	device.Backend
	own    device.Backend // executes the operations
	copies []widened      // of the running operation
	memory []device.Buffer
}

// widened is an array of an operation and its copy in F32.
type widened struct {
	narrow, wide device.Array
	result       bool // copy back after the operation
}

// Supports reports true for every floating-point type.
func (wid *widener) Supports(t device.DType) bool { return isShort(t) || wid.own.Supports(t) }

func isShort(t device.DType) bool { return t == device.BF16 || t == device.F16 }

// run executes an operation, unless it works on all types, on widened arrays.
func (wid *widener) run(c observe.Call, do func()) {
	if slices.Contains(anyType, c.Op) {
		do()
		return
	}
	wid.widen(c.Results, c.Arrays...)
	do()
	wid.narrow()
}

// widen replaces the arrays of an operation that are stored in a short type by F32 copies. The
// first results arrays are those that the operation writes. Call narrow after the operation.
func (wid *widener) widen(results int, arrays ...*device.Array) {
	for i, a := range arrays {
		if !a.Absent() && isShort(a.Type) && !wid.own.Supports(a.Type) {
			*a = wid.copyOf(*a, i < results)
		}
	}
}

// copyOf returns the widened copy of a. An array that is both source and destination has one
// copy.
func (wid *widener) copyOf(a device.Array, result bool) device.Array {
	for _, c := range wid.copies {
		if c.narrow.Buf == a.Buf && c.narrow.Off == a.Off && c.narrow.Len() == a.Len() {
			return device.Make(c.wide.Buf, 0, device.F32, a.Shape()...)
		}
	}
	wide := device.Make(wid.scratch(len(wid.copies), 4*a.Len()), 0, device.F32, a.Shape()...)
	wid.own.Copy(wide, a) // results too, because an operation may add to them or leave rows unchanged
	wid.copies = append(wid.copies, widened{a, wide, result})
	return wide
}

// scratch returns memory for the i-th copy of an operation. It grows and is kept, so that
// repeated operations allocate nothing on the device.
func (wid *widener) scratch(i, bytes int) device.Buffer {
	if i == len(wid.memory) {
		wid.memory = append(wid.memory, nil)
	}
	if wid.memory[i] == nil || wid.memory[i].Size() < bytes {
		if wid.memory[i] != nil {
			wid.own.Free(wid.memory[i])
		}
		wid.memory[i] = wid.own.Alloc(bytes)
	}
	return wid.memory[i]
}

// narrow rounds the results of an operation to their types.
func (wid *widener) narrow() {
	for _, c := range wid.copies {
		if c.result {
			wid.own.Copy(c.narrow, c.wide)
		}
	}
	wid.copies = wid.copies[:0]
}

// rounded is a widener that computes the sums of an epilogue from the stored results, after
// rounding, as package device requires.
type rounded struct{ *widener }

// Conv computes statistics of the rounded result.
func (r rounded) Conv(dst, x, w device.Array, c device.ConvShape, e device.Epilogue) {
	stats := e.Stats
	if stats.Absent() || !isShort(dst.Type) {
		r.widener.Conv(dst, x, w, c, e)
		return
	}
	e.Stats = device.Array{}
	r.widener.Conv(dst, x, w, c, e)
	none := device.Array{}
	r.Norm(none, stats, dst, none, none, none, device.NormKind{})
}

// ConvGradX computes the sums of the rounded gradient.
func (r rounded) ConvGradX(dx, dy, w device.Array, c device.ConvShape, e device.GradEpilogue) {
	first, sums := stages(dx, e)
	r.widener.ConvGradX(dx, dy, w, c, first)
	if !sums.Sums.Absent() {
		r.widener.ReluGrad(device.Array{}, dx, sums, 0)
	}
}

// ReluGrad computes the sums of the rounded gradient.
func (r rounded) ReluGrad(dx, dy device.Array, e device.GradEpilogue, acc float32) {
	first, sums := stages(dx, e)
	if sums.Sums.Absent() {
		r.widener.ReluGrad(dx, dy, e, acc)
		return
	}
	r.widener.ReluGrad(dx, dy, first, 0)
	r.widener.ReluGrad(device.Array{}, dx, sums, acc)
}

// stages splits the epilogue of a gradient into the part that changes dx and the sums that
// follow. The sums are absent if dx is not rounded.
func stages(dx device.Array, e device.GradEpilogue) (first, sums device.GradEpilogue) {
	if dx.Absent() || !isShort(dx.Type) {
		return e, device.GradEpilogue{}
	}
	return device.GradEpilogue{Add: e.Add, Mask: e.Mask}, device.GradEpilogue{Sums: e.Sums, X: e.X, Mean: e.Mean}
}

// raggedWidener is a widener over a device that is Ragged.
type raggedWidener struct {
	rounded
	device.Ragged
}
