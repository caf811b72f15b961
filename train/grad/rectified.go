package grad

import "hgld/train/device"

// relu is what the tape knows of the result of a ReLU.
type relu struct {
	first int          // place among the Backs of the first one that reads the result; 0: none yet
	x     *Var         // what a normalisation in front of the ReLU normalised, or nil
	mean  device.Array // of the columns of x
	sums  device.Array // column sums of the gradient; present once that is the one in front of the ReLU
}

// dims are the dimensions of the sums of a gradient of c columns.
func (r *relu) dims(c int) []int {
	if r.x == nil {
		return []int{c}
	}
	return []int{2, c}
}

// epilogue is the gradient of the ReLU whose result is y, with sums.
func (r *relu) epilogue(y, sums device.Array) device.GradEpilogue {
	e := device.GradEpilogue{Mask: y, Sums: sums, Mean: r.mean}
	if r.x != nil {
		e.X = r.x.Value
	}
	return e
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

// RectifiedNorm is Rectified for a normalisation of x, an intermediate whose value its Back
// reads, by mean F32 [C]. Front then has the sums that device.Image.NormGrad takes.
func (t *Tape) RectifiedNorm(v, x *Var, mean device.Array) {
	if t.detached == 0 {
		v.root.relu = &relu{x: x, mean: mean}
	}
}

// Front returns the gradient in front of the ReLU whose result v is, and its sums over all but
// the last axis: F32 [C], or [2,C] after RectifiedNorm; see device.GradEpilogue. Call it once,
// inside the Back of the operation that made v. It is the gradient of v from then on.
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
			dz, sums = r.Grad, t.temporary(device.F32, r.relu.dims(r.Value.Cols())...)
		}
		t.note(dy, 0)
		t.note(dz, 0)
		t.note(sums, 0)
	}
	if !dy.Absent() {
		if r.zero && t.replaying {
			b.Fill(dy, 0)
		}
		b.ReluGrad(dz, dy, r.relu.epilogue(r.Value, sums), 0)
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
		f.sums = t.alloc(device.F32, f.dims(r.Value.Cols())...)
		add := e.Add
		e = f.epilogue(r.Value, f.sums)
		e.Add = add
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
	dst, e, shape := over(s.to, r.Grad), device.GradEpilogue{}, r.Value.Shape()
	if r.relu != nil && !r.relu.sums.Absent() {
		e = r.relu.epilogue(r.Value, r.relu.sums)
	}
	return func(b device.Backend) {
		if !e.Sums.Absent() {
			whole := s.part.Reshape(shape...)
			b.ReluGrad(whole, whole, e, 1)
		}
		b.Axpby(dst, 1, dst, 1, s.part)
	}
}
