package grad

import "hgld/train/device"

// relu is what the tape knows of the result of a ReLU.
type relu struct {
	first int          // place among the Backs of the first one that reads the result; 0: none yet
	sums  device.Array // column sums of the gradient; present once that is the one in front of the ReLU
}

// Rectified says that the operation that made v, an intermediate, ended with a ReLU, and that
// its Back gets the gradient in front of the ReLU, from Front. Call it after that Back.
//
// Of the operations that read v, the one recorded first runs backward last: then the gradient of
// v is complete. If that operation writes where Finish says, with the epilogue that Finish
// returns, the gradient of the ReLU needs no pass over memory of its own.
func (t *Tape) Rectified(v *Var) {
	if t.detached == 0 {
		v.root.relu = &relu{}
	}
}

// Front returns the gradient in front of the ReLU whose result v is, and its sums F32 [C] over
// all but the last axis. Call it once, inside the Back of the operation that made v. It is the
// gradient of v from then on.
func (t *Tape) Front(b device.Backend, v *Var) (dz, sums device.Array) {
	var dy device.Array // absent if an epilogue has done it
	r := v.root
	if t.replaying {
		dy, dz, sums = t.recall().array, t.recall().array, t.recall().array
	} else {
		if dz, sums = r.Grad, r.relu.sums; sums.Absent() {
			dy = t.Grad(r)
			if r.borrowed {
				r.Grad, r.borrowed = t.alloc(dy.Type, r.Value.Shape()...), false
			}
			dz, sums = r.Grad, t.temporary(device.F32, r.Value.Cols())
		}
		t.note(dy, 0)
		t.note(dz, 0)
		t.note(sums, 0)
	}
	if !dy.Absent() {
		if r.zero && t.replaying {
			b.Fill(dy, 0)
		}
		b.ReluGrad(dz, sums, dy, r.Value, 0)
	}
	return dz, sums
}

// Finish is Onto for operations that can add to another array than they write, and that can
// apply the gradient of a ReLU; see Rectified. dv is absent if v takes no gradient.
func (t *Tape) Finish(v *Var) (dv device.Array, e device.GradEpilogue) {
	if t.replaying {
		s := t.recall()
		return s.array, s.epilogue
	}
	r := v.root
	if r.passed == len(t.program) { // the operation still reads what it passed to v
		e.Add = over(v, r.Grad)
		t.scratch = append(t.scratch, r.Grad.Buf)
		r.Grad, r.passed = device.Array{}, 0
		dv = t.note(over(v, t.gradient(r)), 0)
	} else {
		var acc float32
		if dv, acc = t.Onto(v); acc == 1 {
			e.Add = dv
		}
	}
	if f := r.relu; !dv.Absent() && f != nil && f.sums.Absent() && f.first == len(t.back) && v == r {
		f.sums = t.alloc(device.F32, r.Value.Cols())
		e.Mask, e.DBias = r.Value, f.sums
	}
	t.slots[len(t.slots)-1].epilogue = e
	return dv, e
}

// Pass makes the gradient of v a part of that of x, which has as many elements. Call it inside
// the Back of the operation that made v, which may read the gradient of v until it ends, and
// must not write it any more. If it is the first part, x takes over its memory: where the same
// operation has another part for x, it asks Into or Onto first, or Finish, which takes care.
func (t *Tape) Pass(b device.Backend, v, x *Var) {
	if t.replaying {
		if to := t.recall().array; !to.Absent() {
			b.Copy(to, over(v, v.root.Grad))
		}
		return
	}
	from, r := v.root, x.root
	var to device.Array
	switch {
	case r.fixed:
	case !r.written && !r.leaf && !from.borrowed:
		r.Grad, r.written, r.passed = from.Grad.Reshape(r.Value.Shape()...), true, len(t.program)
		from.borrowed = true
	case r.written && !from.borrowed:
		t.adds = append(t.adds, sum{x, over(v, from.Grad)})
	default:
		to = t.Into(x)
		t.slots = t.slots[:len(t.slots)-1]
		b.Copy(to, over(v, from.Grad))
	}
	t.note(to, 0)
}

// join adds what Into gave an operation to the gradient of its Var. If that is the one in front
// of a ReLU already, so must the part be.
func (s sum) join() func(device.Backend) {
	r := s.to.root
	dst, sums, y := over(s.to, r.Grad), device.Array{}, r.Value
	if r.relu != nil {
		sums = r.relu.sums
	}
	return func(b device.Backend) {
		if !sums.Absent() {
			whole := s.part.Reshape(y.Shape()...)
			b.ReluGrad(whole, sums, whole, y, 1)
		}
		b.Axpby(dst, 1, dst, 1, s.part)
	}
}
