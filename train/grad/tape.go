// Package grad is the tape. It runs a training step once while recording it, derives the backward
// pass from what each operation recorded, and then replays the whole list. A step is recorded
// once for each set of shapes. A replay allocates nothing, waits for nothing and makes no
// decisions, so a device can capture it as a graph; DoOnHost is the exception.
//
// An operation is a function that makes its result with New, computes it in a Do, and says in a
// Back how gradients flow:
//
//	func Relu(t *grad.Tape, x *grad.Var) *grad.Var {
//		y := t.New(x.Value.Type, x.Value.Shape()...)
//		t.Do(func(b device.Backend) { b.Act(y.Value, x.Value, device.ReLU) })
//		t.Back(func(b device.Backend) {
//			if dx := t.Into(x); !dx.Absent() {
//				b.ReluGrad(dx, t.Grad(y), device.GradEpilogue{Mask: x.Value}, 0)
//			}
//		}, x)
//		return y
//	}
//
// Memory comes from an arena and returns to it while recording, so that a step needs the most
// that is live at one time and not the sum. A value is freed when the forward pass is done with
// it and the last Back that reads it has run. A gradient is freed when the operation that made
// its Var has run backward. Tapes that share an arena therefore overlap: the results of one are
// valid until another runs, except those kept before the other was recorded.
package grad

import (
	"fmt"
	"slices"

	"hgld/train/device"
)

// Arena provides memory for intermediate results. It is a *device.Arena, or a backend if reuse
// does not matter.
type Arena interface {
	// Alloc returns memory with undefined contents.
	Alloc(bytes int) device.Buffer
	// Free takes memory back once all work queued so far is done.
	Free(device.Buffer)
}

// Var is an array in a computation, with its gradient.
type Var struct {
	Value device.Array // the result of the operation that made it
	Grad  device.Array // absent until the backward pass reaches the Var; of a leaf, as given

	root   *Var // what a view covers; otherwise the Var itself
	leaf   bool
	fixed  bool  // it takes no gradient
	born   int   // Backs recorded before the Var; only later ones can touch it
	holds  int   // the forward pass, and every Back that will still read the value
	done   bool  // the forward pass is done with it
	kept   bool  // until Free
	relu   *relu // nil: not the result of a ReLU
	passed int   // index in the program of an operation that passed its gradient here

	borrowed bool // the gradient uses another Var's memory
	written  bool // the gradient has its first contribution
	zero     bool // without contributions: the gradient is filled with zeros

	ready int // length of the program after the last operation that wrote the gradient

	views  []*Var  // views of a root
	remake *remake // nil: the value is held until its last reader
}

// Tape records a step. It is used from one goroutine.
type Tape struct {
	b      device.Backend
	mem    Arena
	leaves map[[2]device.Array]*Var

	program []func(device.Backend) // all operations, in the order in which they run
	back    []entry                // what Backward still has to run, last first
	live    []*Var                 // intermediates by time of birth
	kept    []*Var
	remade  []*Var // Vars with a remake whose second address is known

	slots     []slot // arrays that Into, Onto and Scratch returned, in order
	next      int    // index into slots during a replay
	replaying bool
	scratch   []device.Buffer // of the running operation
	adds      []sum           // due when it ends

	detached, repeats int
	evaluating        bool
	holding           bool // nothing is remade
	onHost            bool // an op works on the host
	backward          bool // Backward has begun
}

type entry struct {
	op     func(device.Backend)
	record func() // instead of op: records operations itself
	remake *Var   // instead of op: the Var that reads recompute
	reads  []*Var
}

type slot struct {
	array    device.Array
	acc      float32
	epilogue device.GradEpilogue
}

// sum is a part of a Var's gradient in memory of its own.
type sum struct {
	to   *Var
	part device.Array
}

// NewTape returns an empty tape whose intermediates are in a. A replay reuses memory that the
// recording has freed, so a must not release memory to the device while the tape is in use.
func NewTape(b device.Backend, a Arena) *Tape {
	return &Tape{b: b, mem: a, leaves: make(map[[2]device.Array]*Var)}
}

// Evaluate makes t, which must be empty, a tape for evaluation: Back does nothing, and
// layers normalise by their running statistics.
func (t *Tape) Evaluate() *Tape {
	t.evaluating = true
	t.detached++
	return t
}

// Hold makes t, which must be empty, hold the values that it could compute again: Remake does nothing. A step then
// takes more memory and less time, and gives the same bytes.
func (t *Tape) Hold() *Tape {
	t.holding = true
	return t
}

// Evaluating reports whether Evaluate was called.
func (t *Tape) Evaluating() bool { return t.evaluating }

// Backend returns the backend that the tape records for, for work done once outside the recorded
// step.
func (t *Tape) Backend() device.Backend { return t.b }

// New makes an intermediate, owned by the arena; its contents are undefined.
func (t *Tape) New(d device.DType, dims ...int) *Var {
	v := &Var{born: len(t.back), holds: 1}
	v.root = v
	v.Value = t.alloc(d, dims...)
	t.live = append(t.live, v)
	return v
}

// Input is New for an array without gradient, such as the pixels that a step computes
// from the bytes of its batch.
func (t *Tape) Input(d device.DType, dims ...int) *Var {
	v := t.New(d, dims...)
	v.fixed = true
	return v
}

// Leaf makes a Var of arrays that the caller owns: a parameter or an input. An absent grad means
// that it takes no gradient. The same arrays give the same Var, so a parameter used twice has one
// gradient.
//
// The first contribution to grad in a step overwrites it. If the loss does not reach the leaf, grad is unchanged.
func (t *Tape) Leaf(value, grad device.Array) *Var {
	key := [2]device.Array{value, grad}
	if v := t.leaves[key]; v != nil {
		return v
	}
	v := &Var{Value: value, Grad: grad, leaf: true, fixed: grad.Absent()}
	v.root = v
	t.leaves[key] = v
	return v
}

// View returns v with other dimensions. Value and gradient share the memory of v.
func (t *Tape) View(v *Var, dims ...int) *Var {
	w := &Var{Value: v.Value.Reshape(dims...), root: v.root}
	v.root.views = append(v.root.views, w)
	return w
}

// Do runs op now and at every Replay. op must take arrays from the Vars that it captures and must
// not depend on data.
func (t *Tape) Do(op func(device.Backend)) {
	t.program = append(t.program, op)
	op(t.b)
	for _, a := range t.adds {
		add := a.join()
		t.program = append(t.program, add)
		a.to.root.ready = len(t.program)
		add(t.b)
	}
	t.adds = t.adds[:0]
	for _, m := range t.scratch {
		t.mem.Free(m)
	}
	t.scratch = t.scratch[:0]
}

// DoOnHost is Do for an op that downloads, waits or uploads. The tape then has to be replayed op by op.
func (t *Tape) DoOnHost(op func(device.Backend)) {
	t.onHost = true
	t.Do(op)
}

// OnHost reports whether an op works on the host, so that no device can capture the tape as a graph.
func (t *Tape) OnHost() bool { return t.onHost }

// Back records op for the backward pass, in which the ops run in reverse order. reads names the
// Vars whose Value op reads; they are kept until it has run. op obtains gradients from Grad, Into
// and Onto. In a detached pass Back does nothing.
func (t *Tape) Back(op func(device.Backend), reads ...*Var) {
	t.push(entry{op: op, reads: reads})
}

func (t *Tape) push(e entry) {
	if t.detached > 0 {
		return
	}
	for _, v := range e.reads {
		v.root.holds++
		if f := v.root.relu; f != nil && f.first == 0 && e.remake == nil {
			f.first = len(t.back)
		}
	}
	t.back = append(t.back, e)
}

// Done says that the forward pass no longer reads v. Without it, v is held until
// Backward begins. In a detached pass, which has no backward pass, v is freed at once.
func (t *Tape) Done(v *Var) {
	if v = v.root; !v.leaf && !v.done {
		v.done = true
		t.release(v)
		t.drop(v)
	}
}

// Keep holds the value of v until Free, for readers after the step. Vars of another
// tape on the same arena may overwrite it once that tape runs.
func (t *Tape) Keep(v *Var) *Var {
	if r := v.root; !r.leaf && !r.kept {
		t.restore(r)
		r.kept = true
		r.holds++
		t.kept = append(t.kept, r)
	}
	return v
}

// Ready is the gradient of a leaf and when it is complete.
type Ready struct {
	Grad device.Array // as given to Leaf
	At   int          // after so many operations of the program
}

// Ready lists the gradients of leaves that the program has written so far.
func (t *Tape) Ready() (list []Ready) {
	for _, v := range t.leaves {
		if v.ready > 0 && !v.fixed {
			list = append(list, Ready{v.Grad, v.ready})
		}
	}
	return list
}

// Insertion is an operation that replays run after the first At of the program.
type Insertion struct {
	At int                  // operations before it
	Op func(device.Backend) // takes no arrays of the tape
}

// Insert makes replays run more operations. It runs none of them now. Those at one place keep their order.
func (t *Tape) Insert(list []Insertion) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Insertion) int { return a.At - b.At })
	program := make([]func(device.Backend), 0, len(t.program)+len(list))
	done := 0
	for _, i := range list {
		program = append(program, t.program[done:i.At]...)
		program, done = append(program, i.Op), i.At
	}
	t.program = append(program, t.program[done:]...)
}

// Replay runs everything recorded so far again, in the same order on the same
// arrays.
func (t *Tape) Replay() {
	t.replaying, t.next = true, 0
	for _, v := range t.remade {
		v.moveTo(v.remake.first)
	}
	for _, op := range t.program {
		op(t.b)
	}
	t.replaying = false
}

// Free returns all memory to the arena. The tape must not be used afterwards.
func (t *Tape) Free() {
	for _, e := range t.back { // recorded but never run
		for _, v := range e.reads {
			t.release(v.root)
		}
	}
	t.reap(0, 0)
	for _, v := range t.kept {
		v.kept = false
		t.release(v)
	}
	*t = Tape{b: t.b, mem: t.mem, leaves: make(map[[2]device.Array]*Var)}
}

func (t *Tape) alloc(d device.DType, dims ...int) device.Array {
	n := d.Size()
	for _, k := range dims {
		n *= k
	}
	return device.Make(t.mem.Alloc(n), 0, d, dims...)
}

// release gives up one hold on the value of v, a root.
func (t *Tape) release(v *Var) {
	if v.leaf {
		return
	}
	if v.holds--; v.holds == 0 {
		if v.remake == nil || !v.remake.dropped {
			t.mem.Free(v.Value.Buf)
		}
	} else if v.holds < 0 {
		panic(fmt.Sprintf("grad: %v released twice", v.Value))
	}
}
