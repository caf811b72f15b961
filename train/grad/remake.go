package grad

import "hgld/train/device"

// remake says how to restore a value that was freed between the passes.
type remake struct {
	op      func(device.Backend)
	reads   []*Var
	first   device.Buffer // address of the value in the forward pass
	dropped bool
}

// Remake says that op can compute the value of v, an intermediate, from the values of reads. The
// tape then frees the value when the forward pass is done with v, and runs op when the first Back
// reads it. op must give the same bytes. It must take arrays from Vars when it runs, because the
// value returns at another address. reads may themselves be remade.
//
// It pays if op is cheap and reads are held anyway. For example, a normalisation between two
// convolutions then costs no memory, because its own gradient needs its input.
func (t *Tape) Remake(v *Var, op func(device.Backend), reads ...*Var) {
	if t.holding || t.detached > 0 || t.repeats > 0 {
		return // memory suffices, or nothing is held between the passes
	}
	r := v.root
	r.remake = &remake{op: op, reads: reads, first: r.Value.Buf}
	t.push(entry{remake: r, reads: reads})
}

// Beside makes a Var that no operation but Backs reads, such as the slope of an activation: op computes its value from
// reads. now is false if op runs when the first Back reads it, or never. Otherwise the caller computes the value, which
// may be cheaper beside another. The Var is nil in a detached pass, and its memory is freed after its last Back.
func (t *Tape) Beside(op func(b device.Backend, v device.Array), reads []*Var, d device.DType, dims ...int) (v *Var,
	now bool) {
	if t.detached > 0 {
		return nil, false
	}
	v = &Var{born: len(t.back), done: true}
	v.root = v
	t.live = append(t.live, v)
	if t.holding || t.repeats > 0 {
		v.Value = t.alloc(d, dims...)
		return v, true
	}
	v.Value = device.Make(nil, 0, d, dims...)
	v.remake = &remake{op: func(b device.Backend) { op(b, v.Value) }, reads: reads, dropped: true}
	t.push(entry{remake: v, reads: reads})
	return v, false
}

// drop frees the value of v, a root that the forward pass is done with, if the backward pass can
// restore it.
func (t *Tape) drop(v *Var) {
	if v.remake == nil || t.backward || v.kept || v.holds == 0 || v.remake.dropped {
		return
	}
	v.remake.dropped = true
	t.mem.Free(v.Value.Buf)
}

// restore recomputes the value of v, a root, if it was dropped.
func (t *Tape) restore(v *Var) {
	if v.remake == nil || !v.remake.dropped {
		return
	}
	for _, s := range v.remake.reads {
		t.restore(s.root)
	}
	v.remake.dropped = false
	t.remade = append(t.remade, v)
	fresh := t.alloc(v.Value.Type, v.Value.Shape()...).Buf
	t.Do(func(b device.Backend) {
		v.moveTo(fresh)
		v.remake.op(b)
	})
}

// moveTo moves v, a root, and its views to another piece of memory.
func (v *Var) moveTo(m device.Buffer) {
	v.Value.Buf = m
	for _, w := range v.views {
		w.Value.Buf = m
	}
}
