package grad

import "hgld/train/device"

// remake says how a value is restored that was freed between the passes.
type remake struct {
	op      func(device.Backend)
	reads   []*Var
	first   device.Buffer // where the value lies in the forward pass
	dropped bool
}

// Remake says that op can compute the value of v, an intermediate, from the values of
// reads. The tape then frees it when the forward pass is done with v, and runs op when
// the first Back reads it. op must give the same bytes. It must take arrays from Vars
// when it runs, because the value comes back at another address. reads may be such Vars
// themselves.
//
// It pays where op is cheap and reads are held anyway. A normalisation between two
// convolutions, whose own gradient needs its input, then costs no memory.
func (t *Tape) Remake(v *Var, op func(device.Backend), reads ...*Var) {
	if t.detached > 0 || t.repeats > 0 {
		return // nothing is held between the passes
	}
	r := v.root
	r.remake = &remake{op: op, reads: reads, first: r.Value.Buf}
	t.push(entry{remake: r, reads: reads})
}

// drop frees the value of v, a root that the forward pass is done with, if the backward
// pass can restore it.
func (t *Tape) drop(v *Var) {
	if v.remake == nil || t.backward || v.kept || v.holds == 0 || v.remake.dropped {
		return
	}
	v.remake.dropped = true
	t.mem.Free(v.Value.Buf)
}

// restore makes the value of v, a root, again if it was dropped.
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

// moveTo lays v, a root, and its views over another piece of memory.
func (v *Var) moveTo(m device.Buffer) {
	v.Value.Buf = m
	for _, w := range v.views {
		w.Value.Buf = m
	}
}
