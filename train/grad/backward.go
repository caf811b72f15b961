package grad

import (
	"fmt"

	"hgld/train/device"
)

// Backward runs and records the backward pass of v. seed is the gradient of v; if absent, it is
// all ones. Contributions to one gradient are added in the order in which the pass meets them.
// The value of v is kept.
func (t *Tape) Backward(v *Var, seed device.Array) {
	t.Keep(v)
	t.seed(v, seed)
	t.backward = true
	for _, x := range t.live {
		t.Done(x)
	}
	t.unwind(0, 0)
}

// seed adds the caller's gradient as the first contribution to that of v.
func (t *Tape) seed(v *Var, seed device.Array) {
	r := v.root
	if r.leaf || r.written {
		panic(fmt.Sprintf("grad: %v is a leaf or already has a gradient, want a result without one", v.Value))
	}
	r.written = true
	if seed.Absent() {
		t.gradient(r)
		t.Do(func(b device.Backend) { b.Fill(r.Grad, 1) })
		return
	}
	if seed.Len() != v.Value.Len() {
		panic(fmt.Sprintf("grad: %v seeded with %v", v.Value, seed))
	}
	r.Grad = seed
	if seed.Contiguous() {
		r.Grad = seed.Reshape(r.Value.Shape()...)
	}
	r.borrowed = true
}

// unwind runs the Backs recorded after the first mark ones, last first. It frees what no
// remaining Back can read of the Vars made after the first keep.
func (t *Tape) unwind(mark, keep int) {
	for len(t.back) > mark {
		e := t.back[len(t.back)-1]
		t.back = t.back[:len(t.back)-1]
		if e.remake == nil {
			for _, v := range e.reads {
				t.restore(v.root)
			}
		}
		switch {
		case e.record != nil:
			e.record()
		case e.op != nil:
			t.Do(e.op)
		}
		for _, v := range e.reads {
			t.release(v.root)
		}
		t.reap(len(t.back), keep)
	}
}

// reap frees the gradients, and the remaining values, of Vars that were born when n or more Backs
// had been recorded, except for the first keep Vars.
func (t *Tape) reap(n, keep int) {
	for len(t.live) > keep {
		v := t.live[len(t.live)-1]
		if v.born < n {
			return
		}
		t.live = t.live[:len(t.live)-1]
		t.Done(v)
		if !v.Grad.Absent() && !v.borrowed {
			t.mem.Free(v.Grad.Buf)
		}
		if v.relu != nil && !v.relu.sums.Absent() {
			t.mem.Free(v.relu.sums.Buf)
		}
	}
}

// Grad returns the gradient of a result. Call it inside a Back of the operation that
// made it. The gradient of an unused result is zero.
func (t *Tape) Grad(v *Var) device.Array {
	r := v.root
	if !r.written {
		r.written, r.zero = true, true
		t.gradient(r)
	}
	if r.zero {
		t.b.Fill(r.Grad, 0)
	}
	return over(v, r.Grad)
}

// Into returns the array in which an operation writes its part of the gradient of v, or an absent
// array if v takes no gradient. Call it inside a Back. If v already has a part, the array is
// scratch, which the tape adds when the operation ends.
func (t *Tape) Into(v *Var) device.Array {
	if t.replaying {
		return t.recall().array
	}
	r := v.root
	r.ready = len(t.program)
	var a device.Array
	switch {
	case r.fixed:
	case !r.written:
		r.written = true
		a = over(v, t.gradient(r))
	default:
		a = t.temporary(r.Grad.Type, v.Value.Shape()...)
		t.adds = append(t.adds, sum{v, a})
	}
	return t.note(a, 0)
}

// Onto is Into for operations that can add to the gradient. acc is 0 if they must overwrite it
// and 1 if they must add.
func (t *Tape) Onto(v *Var) (dv device.Array, acc float32) {
	if t.replaying {
		s := t.recall()
		return s.array, s.acc
	}
	r := v.root
	r.ready = len(t.program)
	if r.fixed {
		return t.note(device.Array{}, 0), 0
	}
	if r.relu != nil && !r.relu.sums.Absent() {
		return t.Into(v), 0
	}
	if r.written {
		acc = 1
	}
	r.written = true
	return t.note(over(v, t.gradient(r)), acc), acc
}

// Scratch returns an array that is valid until the running Do or Back ends.
func (t *Tape) Scratch(d device.DType, dims ...int) device.Array {
	if t.replaying {
		return t.recall().array
	}
	return t.note(t.temporary(d, dims...), 0)
}

// gradient returns the array of the gradient of r, a root. It makes the array if there is none.
func (t *Tape) gradient(r *Var) device.Array {
	if r.Grad.Absent() {
		r.Grad = t.alloc(r.Value.Type, r.Value.Shape()...)
	}
	return r.Grad
}

func (t *Tape) temporary(d device.DType, dims ...int) device.Array {
	a := t.alloc(d, dims...)
	t.scratch = append(t.scratch, a.Buf)
	return a
}

// note records the arguments of the running operation for replays.
func (t *Tape) note(a device.Array, acc float32) device.Array {
	t.slots = append(t.slots, slot{array: a, acc: acc})
	return a
}

func (t *Tape) recall() slot {
	s := t.slots[t.next]
	t.next++
	return s
}

// over returns a, which belongs to the root of v, with the dimensions of v.
func over(v *Var, a device.Array) device.Array {
	if v.root == v {
		return a
	}
	view := v.Value
	view.Buf, view.Off, view.Type = a.Buf, a.Off, a.Type
	return view
}
