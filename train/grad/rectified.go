package grad

import "hgld/train/device"

// relu holds what the tape knows of the result of a ReLU.
type relu struct {
	first int          // index of the first Back that reads the result; 0: none yet
	x     *Var         // input of a normalisation before the ReLU, or nil
	mean  device.Array // column means of x
	sums  device.Array // column sums of the gradient; present once the gradient is the one before the ReLU

	masked bool // the gradient is the one before the ReLU, without sums
}

// dims returns the dimensions of the sums of a gradient with c columns.
func (r *relu) dims(c int) []int {
	if r.x == nil {
		return []int{c}
	}
	return []int{2, c}
}

// epilogue returns the gradient of the ReLU whose result is y, with sums.
func (r *relu) epilogue(y, sums device.Array) device.GradEpilogue {
	e := device.GradEpilogue{Mask: y, Sums: sums, Mean: r.mean}
	if r.x != nil {
		e.X = r.x.Value
	}
	return e
}

// Rectified says that the operation that made v, an intermediate, ended with a ReLU, and that its
// Back takes the gradient before the ReLU from Front. Call it after that Back.
//
// Of the operations that read v, the one recorded first runs backward last, when the gradient of
// v is complete. If that operation writes where Finish says, with the epilogue that Finish
// returns, the gradient of the ReLU needs no separate pass over memory.
func (t *Tape) Rectified(v *Var) {
	if t.detached == 0 {
		v.root.relu = &relu{}
	}
}

// RectifiedNorm is Rectified for a normalisation of x by mean F32 [C]. x is an intermediate whose
// value the Back reads. Front then returns the sums that device.Image.NormGrad takes.
func (t *Tape) RectifiedNorm(v, x *Var, mean device.Array) {
	if t.detached == 0 {
		v.root.relu = &relu{x: x, mean: mean}
	}
}

// Front returns the gradient before the ReLU whose result is v, and its sums over all but the
// last axis: F32 [C], or [2,C] after RectifiedNorm; see device.GradEpilogue. Call it once, inside
// the Back of the operation that made v. From then on it is the gradient of v.
func (t *Tape) Front(b device.Backend, v *Var) (dz, sums device.Array) {
	var dy device.Array // absent if an epilogue has done the work
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
	if !dy.Absent() && r.relu.masked {
		e := r.relu.epilogue(device.Array{}, sums)
		b.ReluGrad(device.Array{}, dy, e, 0)
	} else if !dy.Absent() {
		if r.zero && t.replaying {
			b.Fill(dy, 0)
		}
		b.ReluGrad(dz, dy, r.relu.epilogue(r.Value, sums), 0)
	}
	return dz, sums
}

// Finish is Onto for operations that can add to an array other than the one they write, and that
// can apply the gradient of a ReLU; see Rectified. dv is absent if v takes no gradient.
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

// Masks is Into for an operation that can write the gradient before a ReLU without sums, as maximum pooling can: only
// which maxima are above zero depends on the ReLU. masks reports whether it must. able is false for one that cannot.
func (t *Tape) Masks(v *Var, able bool) (dv device.Array, masks bool) {
	r := v.root
	if t.replaying {
		dv = t.Into(v)
		return dv, able && r.relu != nil && r.relu.masked
	}
	first := !r.written
	if dv = t.Into(v); able && first && !dv.Absent() && r.relu != nil && r.relu.first == len(t.back) && v == r {
		r.relu.masked = true
	}
	return dv, able && r.relu != nil && r.relu.masked
}

// Pass makes the gradient of v a part of the gradient of x, which has as many elements. Call it
// inside the Back of the operation that made v. The operation may read the gradient of v until it
// ends, but must no longer write it. If it is the first part, x takes over its memory. If the
// operation has another part for x, it must call Into, Onto or Finish first.
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

// join adds an operation's part to the gradient of its Var. If that gradient is already the one
// before a ReLU, the part must be too.
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
