package train

import (
	"encoding/binary"
	"math"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/input"
	"hgld/train/loss"
	"hgld/train/retrieval"
)

// step is one step of the training. It is recorded on first use and then replayed. It is
// re-recorded whenever the set of frozen parameter groups changes or the loss begins to read the
// memory.
type step struct {
	n         *network
	in        *input.Arrays
	self      device.Array // I32 [B]: query i of a batch is row i of its gallery
	objective *objective

	update *update
	passes Passes
	first  int    // row of the batch that is the first of this process
	notes  *notes // between processes

	recording
	embeddings *grad.Var           // [B,D]
	value      *grad.Var           // loss, F32 [1]
	terms      []loss.RecordedTerm // terms of the loss, if it is a sum
	reported   []device.Array      // arrays that a ticket downloads
	reach      float64             // half width of the operating region that is recorded; 0: none
	tickets    [2]ticket           // used in turn
}

// outcome is the result of a step on the host.
type outcome struct {
	loss   float64
	norm   float64 // norm of the gradient of backbone and head
	rates  rates
	terms  []TermValue
	finite bool
	noted
	region *float64 // share of differences in the operating region; nil: not recorded
}

// TermValue is one term of a weighted loss in one step.
type TermValue struct {
	Name   string           `json:"name"`   // of the term, such as nsm
	Weight float64          `json:"weight"` // in the sum
	Value  retrieval.Number `json:"value"`  // without the weight
}

// ticket is a queued step. The host need not wait for it, because a step with a non-finite value
// changes nothing on the device, and the device counts its own updates. A ticket is valid until
// the step after the next is queued.
type ticket struct {
	b         device.Backend
	rates     rates
	terms     []loss.RecordedTerm
	numbers   [][4]byte // loss, guard, norm, and the value of each part
	downloads []device.Ticket
	notes     []byte // see notes; empty: there is one process
	noted     device.Ticket

	embeddings []byte // F32 [B,D], for the operating region; nil: not recorded
	cols       int    // D
	reach      float64
	fetched    device.Ticket // of embeddings
}

// Indices of a ticket's numbers. The values of the terms follow them.
const (
	lossNumber = iota
	guardNumber
	normNumber
	firstTerm
)

// fetch queues the downloads of numbers.
func (t *ticket) fetch(arrays ...device.Array) {
	if len(t.numbers) != len(arrays) {
		t.numbers, t.downloads = make([][4]byte, len(arrays)), make([]device.Ticket, len(arrays))
	}
	for i, a := range arrays {
		t.downloads[i] = t.b.Download(t.numbers[i][:], a)
	}
}

// outcome waits for the step and returns its result.
func (t *ticket) outcome() (outcome, error) {
	for _, d := range t.downloads {
		if err := t.b.Wait(d); err != nil {
			return outcome{}, err
		}
	}
	if len(t.notes) > 0 {
		if err := t.b.Wait(t.noted); err != nil {
			return outcome{}, err
		}
	}
	number := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.numbers[i][:]))) }
	o := outcome{loss: number(lossNumber), norm: number(normNumber), rates: t.rates,
		finite: binary.LittleEndian.Uint32(t.numbers[guardNumber][:]) == 0, noted: readNotes(t.notes)}
	for i, p := range t.terms {
		o.terms = append(o.terms, TermValue{Name: p.Name, Weight: p.Weight, Value: retrieval.Number(number(firstTerm + i))})
	}
	if t.embeddings != nil {
		if err := t.b.Wait(t.fetched); err != nil {
			return outcome{}, err
		}
		o.region = operatingShare(t.embeddings, t.cols, t.reach)
	}
	return o, nil
}

// newStep declares the loss, builds the store and makes the optimizers. rows holds the labels of
// the data, counts the number of classes of each level. A row of a batch has the given number of paths.
func newStep(n *network, c *Config, p *resolved, rows []labels.Path, counts []int, paths int) (*step, error) {
	o, err := newObjective(n, c, p, rows, counts, paths)
	if err != nil {
		return nil, err
	}
	size := p.sampler.Size()
	lo, hi, err := n.ranks.share(size)
	if err != nil {
		return nil, err
	}
	if err := c.Passes.checkNorm(n, c, hi-lo); err != nil {
		return nil, err
	}
	own, err := arrange(n.store, c)
	if err != nil {
		return nil, err
	}
	if n.blank {
		n.store.Allocate(n.b, c.Seed)
	} else {
		n.store.Build(n.b, c.Seed)
	}
	o.attach(n)
	s := &step{n: n, objective: o, passes: c.Passes, first: lo, reach: operatingReach(c, p)}
	s.in = n.newInputs(hi-lo, len(counts)*paths, n.packs(true))
	s.in.LabelRows(n.b, size)
	s.notes = newNotes(n.b, n.ranks)
	s.self = device.New(n.b, device.I32, size)
	self := make([]byte, 0, 4*size)
	for i := range size {
		self = binary.LittleEndian.AppendUint32(self, uint32(i))
	}
	n.b.Upload(s.self, self)
	s.update = newUpdate(n, c, p, own)
	return s, n.b.Sync()
}

// queue queues a step with a batch. at is the time of the schedules, in steps or epochs from 0.
// It runs on the device's thread.
func (s *step) queue(from *input.Batch, at int) (*ticket, error) {
	b := s.n.b
	begin(b, PartInput)
	s.in.Upload(b, from)
	rerecord := s.objective.memory.prepare(b, from.Rows, s.update.steps, at) || s.tape == nil
	rerecord = s.update.adjust(at) || rerecord
	s.update.prepare(b)
	s.notes.prepare(b)
	if rerecord {
		s.record()
	} else if err := s.repeat(b); err != nil {
		return nil, err
	}
	if err := s.objective.err(); err != nil {
		return nil, err
	}
	t := &s.tickets[s.update.steps%len(s.tickets)]
	t.b, t.rates, t.terms = b, s.update.rates(), s.terms
	t.fetch(s.reported...)
	t.notes, t.noted = s.notes.fetch(b)
	if s.reach > 0 {
		t.fetchEmbeddings(s.embeddings.Value, s.reach)
	}
	return t, nil
}

// close frees the program of the step, if there is one, and ends the processes of its loss.
func (s *step) close() {
	if s != nil {
		s.recording.close()
		s.objective.close()
	}
}

// record runs the step while recording it.
func (s *step) record() {
	s.recording.close()
	if s.tape != nil {
		s.tape.Free()
	}
	guard := s.n.store.Guard
	s.tape = grad.NewTape(s.n.b, s.n.arena)
	s.tape.Do(func(b device.Backend) { b.Fill(guard, 0) })
	s.notes.record(s.tape)
	switch chunks := s.passes.chunks(s.in.Pixels.Dims[0]); {
	case s.passes.Accumulate:
		s.value = s.accumulate(s.tape, chunks)
	case len(chunks) > 1:
		s.value = s.twoPass(s.tape, chunks)
	default:
		s.value = s.lossOf(s.tape, s.n.forward(s.tape, s.in))
	}
	if !s.passes.Accumulate {
		s.tape.Backward(s.value, device.Array{})
	}
	s.add()
	if !s.passes.Accumulate {
		s.objective.memory.after(s.tape, s.embeddings, s.in.Labels)
	}
	beginPart(s.tape, PartOptimizer, "")
	s.tape.Do(func(b device.Backend) {
		b.Guard(guard, s.value.Value)
		for _, g := range s.update.groups() {
			b.Guard(guard, g.Grads)
		}
	})
	s.notes.addGuard(s.tape, guard)
	s.tape.Do(func(b device.Backend) { s.update.apply(b, guard) })
	s.objective.memory.forget(s.tape, guard)
	s.report(guard)
}

// add records the sums over all processes of the gradients that each has of its own rows. Every process has
// the whole gradient of the proxies, unless the loss is accumulated.
func (s *step) add() {
	groups := s.update.net.Groups
	if s.passes.Accumulate {
		groups = s.update.groups()
		s.n.ranks.added(s.tape, s.value.Value)
	}
	var grads []device.Array
	for _, g := range groups {
		if !g.Frozen {
			grads = append(grads, g.Grads)
		}
	}
	s.n.ranks.addGradients(s.tape, grads)
}

// report lists the arrays that a step downloads. An accumulated loss does not report its terms,
// because each chunk has its own.
func (s *step) report(guard device.Array) {
	s.terms, s.reported = nil, []device.Array{s.value.Value, guard, s.update.norm.Value}
	if s.passes.Accumulate {
		return
	}
	s.terms = loss.RecordedTerms(s.objective.loss)
	for _, p := range s.terms {
		s.reported = append(s.reported, p.Value.Value)
	}
}

// lossOf records the loss of the embeddings of the whole batch and its effect on the memory.
func (s *step) lossOf(t *grad.Tape, e *grad.Var) *grad.Var {
	e = s.n.ranks.gathered(t, e)
	beginPart(t, PartLoss, PartNetwork)
	s.embeddings = t.Keep(e)
	return s.objective.record(t, e, s.in.Labels, s.self, s.objective.memory.before(t, e, s.in.Labels))
}

// recording is a tape that is replayed as a program if the device supports programs and no part of the tape works on
// the host.
type recording struct {
	tape    *grad.Tape
	program device.Program // of the tape; nil: none yet, or the device has none
}

// repeat replays the tape, which has run once.
func (r *recording) repeat(b device.Backend) error {
	graphs, able := b.(device.Graphs)
	if !able || r.tape.OnHost() {
		r.tape.Replay()
		return nil
	}
	if r.program == nil {
		var err error
		if r.program, err = graphs.Record(r.tape.Replay); err != nil {
			return err
		}
	}
	r.program.Run()
	return nil
}

// close frees the program, if there is one.
func (r *recording) close() {
	if r.program != nil {
		r.program.Close()
		r.program = nil
	}
}

// Part is a part of a training step.
type Part string

// The parts of a step, whose times table S2 of Smooth-AP compares.
const (
	PartInput     Part = "input"     // uploads and resampling of the batch
	PartNetwork   Part = "network"   // backbone and head, forward and backward
	PartLoss      Part = "loss"      // loss and memory, forward and backward
	PartOptimizer Part = "optimizer" // guards and updates
)

// PartObserver is a backend that is told which part of a step the operations that follow belong to.
type PartObserver interface {
	// Begin is called before the operations of a part.
	Begin(p Part)
}

// begin says that the operations that follow belong to a part.
func begin(b device.Backend, p Part) {
	if o, ok := b.(PartObserver); ok {
		o.Begin(p)
	}
}

// beginPart records the beginning of a part of the forward pass. behind is the part to which the backward pass
// returns once it has passed this point; "" if there is none. Other backends record nothing.
func beginPart(t *grad.Tape, p, behind Part) {
	if _, ok := t.Backend().(PartObserver); !ok {
		return
	}
	t.Do(func(b device.Backend) { begin(b, p) })
	if behind != "" {
		t.Back(func(b device.Backend) { begin(b, behind) })
	}
}
