package call

import (
	"encoding/binary"
	"slices"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/nn"
	"hgld/train/retrieval"
)

// session is a loss on a backend with the step that is recorded for the last shapes. Arrays of the
// caller are lent buffers, which move to the arrays of the next call when it replays the step.
type session struct {
	about  *Description
	unit   bool
	levels int

	b      device.Backend
	lender device.Lender
	loss   loss.Loss
	terms  []term
	paths  [][]int32

	params []*loss.Param
	states []*loss.State
	values []lent       // of the parameters
	key    device.Array // seed and step

	arena *device.Arena
	tape  *grad.Tape // nil: nothing is recorded
	shape stepShape  // of the recorded step

	query, gallery, memory      lent
	queryLabels, galleryLabels  lent
	memoryLabels                lent
	held                        []int32 // the labels that galleryLabels lends
	self, memorySelf            lent
	queryGrad, galleryGrad, own device.Array // own: 0 … Q−1
	value                       device.Array
}

// stepShape is what a recorded step depends on.
type stepShape struct {
	query, gallery, memory [2]int // rows and stride
	self, memorySelf       bool
	weight                 float32
	backward, byGallery    bool
}

// lent is an array in the caller's memory.
type lent struct {
	array device.Array
	bytes int
}

func (l *Loss) newSession() (*session, error) {
	made, err := l.kind.New(l.facts)
	if err != nil {
		return nil, err
	}
	b := l.backend(l.spec.Threads)
	s := &session{about: &l.about, unit: l.spec.Unit, levels: l.spec.Levels, b: b, lender: b.(device.Lender), loss: made,
		arena: device.NewArena(b), key: device.New(b, device.I32, 2), terms: termsOf(made, l.kind)}
	for _, p := range l.facts.Paths {
		s.paths = append(s.paths, p)
	}
	if trained, ok := made.(loss.Trained); ok {
		s.params = trained.Params()
	}
	for _, p := range s.params {
		n := 4
		for _, d := range p.Dims {
			n *= d
		}
		v := lent{bytes: n}
		v.array = device.Make(s.lender.Lend(make([]byte, n)), 0, device.F32, p.Dims...)
		s.values = append(s.values, v)
		p.Value = v.array
	}
	if keeps, ok := made.(loss.Stateful); ok {
		s.states = keeps.States()
	}
	for _, state := range s.states {
		state.Value = device.New(b, state.Type, state.Dims...)
	}
	s.value = device.New(b, device.F32, 1)
	return s, b.Sync()
}

// run computes a batch in float32.
func (s *session) run(in *Batch, out *Gradient) (float64, error) {
	narrow := *in
	for _, m := range []*Matrix{&narrow.Query, &narrow.Gallery, &narrow.Memory} {
		*m = m.narrowed()
	}
	narrow.Params = make([]Matrix, len(in.Params))
	for i, p := range in.Params {
		narrow.Params[i] = p.narrowed()
	}
	in = &narrow
	shape := shapeOf(in, out)
	fresh := s.tape == nil || s.shape != shape
	if fresh {
		s.forget()
	}
	s.lend(in, fresh)
	for i, state := range s.states {
		s.b.Upload(state.Value, in.States[i])
	}
	s.b.Upload(s.key, binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, in.Seed), in.Step))
	if fresh {
		s.shape = shape
		s.record(shape)
	} else {
		s.tape.Replay()
	}
	if err := s.b.Sync(); err != nil {
		return 0, err
	}
	s.write(in, out)
	return float64(s.lender.Floats(s.value)[0]), nil
}

func shapeOf(in *Batch, out *Gradient) stepShape {
	of := func(m Matrix) [2]int { return [2]int{m.Rows, m.Stride} }
	return stepShape{query: of(in.Query), gallery: of(in.Gallery), memory: of(in.Memory), self: in.Self != nil,
		memorySelf: in.MemorySelf != nil, weight: in.MemoryWeight, backward: out.wanted(), byGallery: !out.Gallery.Absent()}
}

// forget frees the recorded step.
func (s *session) forget() {
	if s.tape != nil {
		s.tape.Free()
		s.tape = nil
		s.arena.Trim()
	}
	for _, p := range s.params {
		p.Grad = device.Array{}
	}
	s.queryGrad, s.galleryGrad, s.own = device.Array{}, device.Array{}, device.Array{}
}

// lend gives the arrays of the caller to the recorded step, or makes new ones for one to be recorded.
func (s *session) lend(in *Batch, fresh bool) {
	matrix := func(to *lent, m Matrix) {
		if m.Absent() {
			*to = lent{}
			return
		}
		s.place(to, bytesOf(m.F32[:(m.Rows-1)*m.Stride+m.Cols]), device.F32, fresh, m.Rows, m.Cols)
		to.array.Ld = m.Stride
	}
	numbers := func(to *lent, list []int32, dims ...int) {
		if list == nil {
			*to = lent{}
			return
		}
		s.place(to, bytesOf(list), device.I32, fresh, dims...)
	}
	matrix(&s.query, in.Query)
	matrix(&s.gallery, in.Gallery)
	matrix(&s.memory, in.Memory)
	numbers(&s.queryLabels, in.QueryLabels, in.Query.Rows, s.levels)
	numbers(&s.self, in.Self, in.Query.Rows)
	numbers(&s.memorySelf, in.MemorySelf, in.Query.Rows)
	galleryLabels, items := in.GalleryLabels, in.Gallery.Rows
	if in.Gallery.Absent() {
		galleryLabels, items = in.QueryLabels, in.Query.Rows
	}
	s.held = s.asGallery(galleryLabels)
	numbers(&s.galleryLabels, s.held, items, s.levels)
	if !in.Memory.Absent() {
		numbers(&s.memoryLabels, in.MemoryLabels, in.Memory.Rows, s.levels)
	}
	for i, p := range in.Params {
		s.lender.Relend(s.values[i].array.Buf, bytesOf(p.F32[:p.Rows*p.Cols]))
	}
}

// asGallery returns labels as those of a gallery.
func (s *session) asGallery(list []int32) []int32 {
	list = slices.Clone(list)
	for i := 0; i < len(list); i += s.levels {
		row := list[i : i+s.levels]
		copy(row, loss.GalleryPath(row))
	}
	return list
}

// place puts an array at the caller's memory.
func (s *session) place(to *lent, mem []byte, t device.DType, fresh bool, dims ...int) {
	if !fresh {
		s.lender.Relend(to.array.Buf, mem)
		return
	}
	rows := len(mem)
	*to = lent{bytes: rows}
	to.array = device.Make(nil, 0, t, dims...)
	to.array.Buf = s.lender.Lend(mem)
}

// record records a step of the given shape and runs it.
func (s *session) record(shape stepShape) {
	b := s.b
	s.tape = grad.NewTape(b, s.arena)
	zeros := func(like device.Array) device.Array {
		if !shape.backward {
			return device.Array{}
		}
		a := device.New(b, device.F32, like.Shape()...)
		b.Fill(a, 0)
		return a
	}
	if !shape.backward {
		s.tape.Evaluate()
	}
	for _, p := range s.params {
		p.Grad = zeros(p.Value)
	}
	s.queryGrad = zeros(s.query.array)
	query := s.tape.Leaf(s.query.array, s.queryGrad)
	in := &loss.Batch{Query: s.units(query), QueryLabels: s.queryLabels.array, Key: s.key}
	if s.gallery.array.Absent() {
		s.own = device.New(b, device.I32, shape.query[0])
		b.Upload(s.own, bytesOf(retrieval.OwnRows(shape.query[0])))
		in.Gallery, in.GalleryLabels, in.Self = in.Query, s.galleryLabels.array, s.own
	} else {
		if shape.byGallery {
			s.galleryGrad = zeros(s.gallery.array)
		}
		in.Gallery = s.units(s.tape.Leaf(s.gallery.array, s.galleryGrad))
		in.GalleryLabels, in.Self = s.galleryLabels.array, s.self.array
	}
	if !s.memory.array.Absent() {
		in.Memory = &loss.Memory{Rows: s.tape.Leaf(s.memory.array, device.Array{}), Labels: s.memoryLabels.array,
			Self: s.memorySelf.array, Weight: shape.weight}
	}
	out := s.tape.Keep(s.loss.Forward(s.tape, in))
	s.tape.Do(func(d device.Backend) { d.Copy(s.value, out.Value) })
	if shape.backward {
		s.tape.Backward(out, device.Array{})
	}
}

// units divides rows by their lengths, if the loss was opened so.
func (s *session) units(rows *grad.Var) *grad.Var {
	if !s.unit {
		return rows
	}
	return nn.Normalize(s.tape, rows, 1e-12) // torch's ε
}

// write copies the results to the caller.
func (s *session) write(in *Batch, out *Gradient) {
	if !out.Query.Absent() {
		out.Query.fill(s.lender.Floats(s.queryGrad))
	}
	if !out.Gallery.Absent() {
		out.Gallery.fill(s.lender.Floats(s.galleryGrad))
	}
	for i, m := range out.Params {
		m.fill(s.lender.Floats(s.params[i].Grad))
	}
	for i, state := range s.states {
		s.b.Download(in.States[i], state.Value)
	}
}
