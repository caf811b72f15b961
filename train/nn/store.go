// Package nn holds layers with parameters, and the named store of everything that outlives a
// step: parameters, running statistics, and the state of optimizers, losses and memories. The
// store is the checkpoint.
//
// Layers are declared in a Scope, which gives them their names and their group. Build then lays
// out each group as one flat F32 buffer of values and one of gradients, so that an optimizer,
// clipping, a moving average or a reduction over devices is one call per group.
//
// Activations are images [N,H,W,C] or matrices. Weights of convolutions are [K,R,S,C/groups] on
// the device and [K,C/groups,R,S] in files, as in torch.
package nn

import (
	"encoding/binary"
	"fmt"
	"math"

	"hgld/train/device"
	"hgld/train/grad"
)

// Store lists everything that is kept between steps, by name, in the order of declaration.
type Store struct {
	Groups []*Group // in the order of their declaration

	// Guard is I32 [1]: the number of non-finite values that the Guard operations of a step have
	// found. While it is not zero, running statistics and optimizers change nothing. A step
	// begins by setting it to zero.
	Guard device.Array

	// Key is I32 [2], seed and step. The random numbers of a step depend on it and on the place
	// where they are drawn. Build sets it to the seed and step 0; the trainer uploads the step
	// number before each step.
	Key device.Array

	// Ranks is the group of processes that share a batch, or nil. The statistics of a BatchNorm are then
	// those of the whole batch. Set it before a pass is recorded.
	Ranks device.Collective

	entries []*entry
	byName  map[string]*entry
	ignored map[string]bool
	stats   []*Statistics
}

// Group holds the parameters that share an optimizer's settings.
type Group struct {
	Name          string       // backbone, head, proxies
	Values, Grads device.Array // F32 [n]; the gaps between parameters hold zeros

	// Activations is the type of the activations that the parameters are used with. If it is not
	// F32, the group has a copy of its values in that type, Short, which Store.Shorten updates.
	// Set it before Build or Allocate.
	Activations device.DType
	Short       device.Array // absent in F32

	Params []*Param // in the order of declaration

	order []*Param // order in the buffers; nil: that of Params
}

// Param is a trained array: views of its group's buffers, absent until Build.
type Param struct {
	Value, Grad device.Array // F32, in the layout of the device
	short       device.Array // a view of the group's Short

	entry  *entry
	offset int // into the group's buffers
	init   Init
}

// Name returns the name of p in a checkpoint.
func (p *Param) Name() string { return p.entry.name }

// Var returns p as a leaf of t.
func (p *Param) Var(t *grad.Tape) *grad.Var { return t.Leaf(p.Value, p.Grad) }

// As returns p as a leaf of t in the type of the activations that it is used with. In a short
// type, its values are those of the last Store.Shorten; its gradient is F32.
func (p *Param) As(t *grad.Tape, of device.DType) *grad.Var {
	if of == device.F32 {
		return p.Var(t)
	}
	if p.short.Type != of || p.short.Absent() {
		panic(fmt.Sprintf("nn: %s has no values in %v", p.Name(), of))
	}
	return t.Leaf(p.short, p.Grad)
}

// Statistics is the running mean and variance of C channels.
type Statistics struct {
	Momentum float32 // weight of a new value; Build uploads it

	Value device.Array // F32 [2,C]; absent until Build
	rate  device.Array // F32 [1]

	entries  [2]*entry
	channels int
	guard    *device.Array      // of the store
	ranks    *device.Collective // of the store
}

// Mean returns the running mean [C].
func (s *Statistics) Mean() device.Array { return s.Value.RowRange(0, 1).Reshape(s.channels) }

// Variance returns the running variance [C].
func (s *Statistics) Variance() device.Array { return s.Value.RowRange(1, 2).Reshape(s.channels) }

// entry is an item of a checkpoint: a name, an array, and its layout in files.
type entry struct {
	name   string
	array  device.Array
	layout layout
}

// Scope is a place in the tree of names.
type Scope struct {
	store  *Store
	group  *Group
	prefix string

	weight, bias Init // for layers that NewLinear declares; nil: torch's
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{byName: map[string]*entry{}, ignored: map[string]bool{}}
}

// Group returns the root scope for parameters of the named group.
func (s *Store) Group(name string) Scope {
	g := s.Find(name)
	if g == nil {
		g = &Group{Name: name}
		s.Groups = append(s.Groups, g)
	}
	return Scope{store: s, group: g}
}

// Find returns the named group, or nil.
func (s *Store) Find(name string) *Group {
	for _, g := range s.Groups {
		if g.Name == name {
			return g
		}
	}
	return nil
}

// In returns the scope below c: its names begin with that of c, name and a dot.
func (c Scope) In(name string) Scope {
	c.prefix += name + "."
	return c
}

// Starting returns c with other initial values for the layers that NewLinear declares there and
// below.
func (c Scope) Starting(weight, bias Init) Scope {
	c.weight, c.bias = weight, bias
	return c
}

// Param declares a parameter of the given dimensions.
func (c Scope) Param(name string, init Init, dims ...int) *Param {
	return c.param(name, init, same(dims...))
}

func (c Scope) param(name string, init Init, l layout) *Param {
	p := &Param{entry: c.store.declare(c.prefix+name, l), init: init}
	c.group.Params = append(c.group.Params, p)
	return p
}

// Statistics declares the running statistics of a BatchNorm, with torch's names and initial
// values 0 and 1. Torch's batch counter beside them is ignored when weights are read.
func (c Scope) Statistics(channels int, momentum float32) *Statistics {
	s := &Statistics{channels: channels, Momentum: momentum, guard: &c.store.Guard, ranks: &c.store.Ranks}
	s.entries[0] = c.store.declare(c.prefix+"running_mean", same(channels))
	s.entries[1] = c.store.declare(c.prefix+"running_var", same(channels))
	c.store.ignored[c.prefix+"num_batches_tracked"] = true
	c.store.stats = append(c.store.stats, s)
	return s
}

// Register adds an array that the caller made to the checkpoint, such as moments of an optimizer
// or the ring of a memory.
func (s *Store) Register(name string, a device.Array) {
	s.declare(name, same(a.Shape()...)).array = a
}

// RegisterMoment is Register for an array with one element for each in g's buffers, such as an
// optimizer's moment. Files store it in the order of declaration, however g is arranged.
func (s *Store) RegisterMoment(name string, g *Group, a device.Array) {
	s.Register(name, a)
	if g.order == nil {
		return
	}
	e, at := s.byName[name], 0
	for _, p := range g.Params {
		n := p.room()
		e.layout.blocks = append(e.layout.blocks, block{file: at, device: p.offset, n: n})
		at += n
	}
}

// Running returns the running statistics in the order of their declaration.
func (s *Store) Running() []*Statistics { return s.stats }

// declare adds a name, which must be new.
func (s *Store) declare(name string, l layout) *entry {
	if s.byName[name] != nil {
		panic(fmt.Sprintf("nn: %.80q is declared twice", name))
	}
	e := &entry{name: name, layout: l}
	s.byName[name] = e
	s.entries = append(s.entries, e)
	return e
}

// align is the boundary, in elements, at which a parameter begins in its group: 64 bytes in F32,
// 32 in BF16, which suits the vector loads of any processor.
const align = 16

// Build allocates everything declared so far on b and fills it: parameters from
// the random numbers of (seed, name), gradients with zeros.
func (s *Store) Build(b device.Backend, seed uint64) {
	s.Allocate(b, seed)
	for _, g := range s.Groups {
		values := make([]float32, g.Values.Len())
		for _, p := range g.Params {
			p.start(values[p.offset:], seed)
		}
		b.Upload(g.Values, bytesOf(values))
	}
}

// Allocate is Build without the random numbers, which take longer than reading weights.
// Parameters are zero until Import fills them.
func (s *Store) Allocate(b device.Backend, seed uint64) {
	s.Guard = device.New(b, device.I32, 1)
	b.Fill(s.Guard, 0)
	s.Key = device.New(b, device.I32, 2)
	b.Upload(s.Key, binary.LittleEndian.AppendUint64(nil, seed&math.MaxUint32))
	for _, g := range s.Groups {
		g.allocate(b)
	}
	for _, st := range s.stats {
		st.Value = device.New(b, device.F32, 2, st.channels)
		st.rate = device.New(b, device.F32, 1)
		st.entries[0].array, st.entries[1].array = st.Mean(), st.Variance()
		b.Fill(st.Mean(), 0)
		b.Fill(st.Variance(), 1)
		b.Fill(st.rate, st.Momentum)
	}
}

// Shorten rounds the parameters of each group to the type of the activations that they are used
// with. It is the first operation of every pass over a network, so that these copies are never
// older than the parameters. That costs 6 bytes per parameter and pass, a few thousandths of the
// cost of a batch's activations.
func (s *Store) Shorten(t *grad.Tape) {
	for _, g := range s.Groups {
		if !g.Short.Absent() {
			t.Do(func(b device.Backend) { b.Copy(g.Short, g.Values) })
		}
	}
}

// Arrange lays out the parameters in the given order, which must contain each of Params once, so
// that those with the same settings are adjacent. Call it before Build or Allocate. Files do not
// depend on it.
func (g *Group) Arrange(order []*Param) { g.order = order }

// Arranged returns the parameters in their order in the buffers.
func (g *Group) Arranged() []*Param {
	if g.order == nil {
		return g.Params
	}
	return g.order
}

// Dims returns the dimensions of p on the device.
func (p *Param) Dims() []int { return p.entry.layout.device }

// room returns the elements that p takes in a buffer, including the gap after it.
func (p *Param) room() int { return (size(p.Dims()) + align - 1) / align * align }

// allocate makes the arrays of g.
func (g *Group) allocate(b device.Backend) {
	n := 0
	for _, p := range g.Arranged() {
		p.offset = n
		n += p.room()
	}
	n = max(n, align) // a group without parameters is padding, which all operations accept
	g.Values = device.New(b, device.F32, n)
	g.Grads = device.New(b, device.F32, n)
	b.Fill(g.Values, 0)
	b.Fill(g.Grads, 0)
	if g.Activations != device.F32 {
		g.Short = device.New(b, g.Activations, n)
	}
	for _, p := range g.Params {
		dims := p.entry.layout.device
		if !g.Short.Absent() {
			p.short = device.Make(g.Short.Buf, p.offset, g.Activations, dims...)
		}
		p.Value = device.Make(g.Values.Buf, p.offset, device.F32, dims...)
		p.Grad = device.Make(g.Grads.Buf, p.offset, device.F32, dims...)
		p.entry.array = p.Value
	}
}

// start fills values, in the layout of the device, with the initial values of p.
func (p *Param) start(values []float32, seed uint64) {
	file := make([]float32, size(p.entry.layout.file))
	p.init(file, p.entry.layout.file, newDraws(seed, p.entry.name))
	p.entry.layout.toDevice(values, file)
}

// Size returns the number of trained numbers in the store, as counted in files.
func (s *Store) Size() int {
	n := 0
	for _, g := range s.Groups {
		n += g.Size()
	}
	return n
}

// Size returns the number of trained numbers in the group, as counted in files.
func (g *Group) Size() int {
	n := 0
	for _, p := range g.Params {
		n += size(p.entry.layout.file)
	}
	return n
}

// bytesOf returns the little-endian bytes of values.
func bytesOf(values []float32) []byte {
	data := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(v))
	}
	return data
}
