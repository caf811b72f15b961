// Package step takes one step of a training: the loss of a batch with its memory of earlier ones, the gradient in one
// pass or two, and the update of the weights.
package step

import (
	"encoding/binary"
	"fmt"
	"math"

	"hgld/labels"
	"hgld/train/collective"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/input"
	"hgld/train/loss"
	"hgld/train/network"
	"hgld/train/retrieval"
)

// Step is one step of the training. It is recorded on first use and then replayed. It is
// re-recorded whenever the set of frozen parameter groups changes or the loss begins to read the
// memory.
type Step struct {
	n         *network.Network
	In        *input.Arrays // pixels or vectors, and labels, of a batch
	self      device.Array  // I32 [B]: query i of a batch is row i of its gallery
	Objective *Objective    // loss

	Update *Update // from gradients to weights
	passes config.Passes
	first  int    // row of the batch that is the first of this process
	Notes  *Notes // between processes

	network.Recording
	embeddings *grad.Var           // [B,D]
	value      *grad.Var           // loss, F32 [1]
	terms      []loss.RecordedTerm // terms of the loss, if it is a sum
	reported   []device.Array      // arrays that a ticket downloads
	reach      float64             // half width of the operating region that is recorded; 0: none
	tickets    [2]Ticket           // used in turn
	hold       bool                // nothing is computed twice
}

// Outcome is the result of a step on the host.
type Outcome struct {
	Loss   float64     // of the batch
	Norm   float64     // norm of the gradient of backbone and head
	Rates  rates       // of the step
	Terms  []TermValue // of a loss that is a weighted sum
	Finite bool        // no value was infinite or not a number
	noted
	Region *float64 // share of differences in the operating region; nil: not recorded
}

// TermValue is one term of a weighted loss in one step.
type TermValue struct {
	Name   string           `json:"name"`   // of the term, such as nsm
	Weight float64          `json:"weight"` // in the sum
	Value  retrieval.Number `json:"value"`  // without the weight
}

// Ticket is a queued step. The host need not wait for it, because a step with a non-finite value
// changes nothing on the device, and the device counts its own updates. A ticket is valid until
// the step after the next is queued.
type Ticket struct {
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
func (t *Ticket) fetch(arrays ...device.Array) {
	if len(t.numbers) != len(arrays) {
		t.numbers, t.downloads = make([][4]byte, len(arrays)), make([]device.Ticket, len(arrays))
	}
	for i, a := range arrays {
		t.downloads[i] = t.b.Download(t.numbers[i][:], a)
	}
}

// Outcome waits for the step and returns its result.
func (t *Ticket) Outcome() (Outcome, error) {
	for _, d := range t.downloads {
		if err := t.b.Wait(d); err != nil {
			return Outcome{}, err
		}
	}
	if len(t.notes) > 0 {
		if err := t.b.Wait(t.noted); err != nil {
			return Outcome{}, err
		}
	}
	number := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.numbers[i][:]))) }
	o := Outcome{Loss: number(lossNumber), Norm: number(normNumber), Rates: t.rates,
		Finite: binary.LittleEndian.Uint32(t.numbers[guardNumber][:]) == 0, noted: readNotes(t.notes)}
	for i, p := range t.terms {
		o.Terms = append(o.Terms, TermValue{Name: p.Name, Weight: p.Weight, Value: retrieval.Number(number(firstTerm + i))})
	}
	if t.embeddings != nil {
		if err := t.b.Wait(t.fetched); err != nil {
			return Outcome{}, err
		}
		o.Region = operatingShare(t.embeddings, t.cols, t.reach)
	}
	return o, nil
}

// New declares the loss, builds the store and makes the optimizers. rows holds the labels of
// the data, counts the number of classes of each level. A row of a batch has the given number of paths.
func New(n *network.Network, c *config.Config, p *config.Resolved, rows []labels.Path, counts []int,
	paths int) (*Step, error) {
	o, err := newObjective(n, c, p, rows, counts, paths)
	if err != nil {
		return nil, err
	}
	size := p.Sampler.Size()
	lo, hi, err := Share(n.Ranks, size)
	if err != nil {
		return nil, err
	}
	if err := checkNorm(c.Passes, n, c, hi-lo); err != nil {
		return nil, err
	}
	own, err := arrange(n.Store, c)
	if err != nil {
		return nil, err
	}
	if n.Blank {
		n.Store.Allocate(n.Backend, c.Seed)
	} else {
		n.Store.Build(n.Backend, c.Seed)
	}
	o.attach(n)
	s := &Step{n: n, Objective: o, passes: c.Passes, first: lo, reach: operatingReach(c, p)}
	s.In = n.NewInputs(hi-lo, len(counts)*paths, n.Packs(true))
	s.In.LabelRows(n.Backend, size)
	s.Notes = newNotes(n.Backend, n.Ranks)
	s.self = device.New(n.Backend, device.I32, size)
	self := make([]byte, 0, 4*size)
	for i := range size {
		self = binary.LittleEndian.AppendUint32(self, uint32(i))
	}
	n.Backend.Upload(s.self, self)
	s.Update = newUpdate(n, c, p, own)
	return s, n.Backend.Sync()
}

// Queue queues a step with a batch. at is the time of the schedules, in steps or epochs from 0.
// It runs on the device's thread.
func (s *Step) Queue(from *input.Batch, at int) (*Ticket, error) {
	b := s.n.Backend
	network.Begin(b, network.PartInput)
	s.In.Upload(b, from)
	rerecord := s.Objective.memory.prepare(b, from.Rows, s.Update.Steps, at) || s.Tape == nil
	rerecord = s.Update.Adjust(at) || rerecord
	s.Update.prepare(b)
	s.Notes.prepare(b)
	if rerecord {
		s.record()
	} else if err := s.Repeat(b); err != nil {
		return nil, err
	}
	if err := s.Objective.err(); err != nil {
		return nil, err
	}
	t := &s.tickets[s.Update.Steps%len(s.tickets)]
	t.b, t.rates, t.terms = b, s.Update.rates(), s.terms
	t.fetch(s.reported...)
	t.notes, t.noted = s.Notes.fetch(b)
	if s.reach > 0 {
		t.fetchEmbeddings(s.embeddings.Value, s.reach)
	}
	return t, nil
}

// Hold says whether the step holds the values that its backward pass could compute again. It is recorded anew.
func (s *Step) Hold(on bool) {
	s.Recording.Close()
	if s.Tape != nil {
		s.Tape.Free()
		s.Tape = nil
	}
	s.hold = on
}

// Close frees the program of the step, if there is one, and ends the processes of its loss.
func (s *Step) Close() {
	if s != nil {
		s.Recording.Close()
		s.Objective.close()
	}
}

// record runs the step while recording it.
func (s *Step) record() {
	s.Recording.Close()
	if s.Tape != nil {
		s.Tape.Free()
	}
	guard := s.n.Store.Guard
	s.Tape = grad.NewTape(s.n.Backend, s.n.Arena)
	if s.hold {
		s.Tape.Hold()
	}
	s.Tape.Do(func(b device.Backend) { b.Fill(guard, 0) })
	s.Notes.record(s.Tape)
	switch chunks := chunks(s.passes, s.In.Pixels.Dims[0]); {
	case s.passes.Accumulate:
		s.value = s.accumulate(s.Tape, chunks)
	case len(chunks) > 1:
		s.value = s.twoPass(s.Tape, chunks)
	default:
		s.value = s.lossOf(s.Tape, s.n.Forward(s.Tape, s.In))
	}
	if !s.passes.Accumulate {
		s.Tape.Backward(s.value, device.Array{})
	}
	s.add()
	if !s.passes.Accumulate {
		s.Objective.memory.after(s.Tape, s.embeddings, s.In.Labels)
	}
	network.BeginPart(s.Tape, network.PartOptimizer, "")
	s.Tape.Do(func(b device.Backend) {
		b.Guard(guard, s.value.Value)
		s.Update.measure(b, guard)
	})
	s.Notes.addGuard(s.Tape, guard)
	s.Tape.Do(func(b device.Backend) { s.Update.apply(b, guard) })
	s.Objective.memory.forget(s.Tape, guard)
	s.report(guard)
}

// add records the sums over all processes of the gradients that each has of its own rows. Every process has
// the whole gradient of the proxies, unless the loss is accumulated.
func (s *Step) add() {
	groups := s.Update.Net.Groups
	if s.passes.Accumulate {
		groups = s.Update.Groups()
		s.n.Ranks.Sum(s.Tape, s.value.Value)
	}
	var grads []device.Array
	for _, g := range groups {
		if !g.Frozen {
			grads = append(grads, g.Grads)
		}
	}
	s.n.Ranks.AddGradients(s.Tape, grads)
}

// report lists the arrays that a step downloads. An accumulated loss does not report its terms,
// because each chunk has its own.
func (s *Step) report(guard device.Array) {
	s.terms, s.reported = nil, []device.Array{s.value.Value, guard, s.Update.norm.Value}
	if s.passes.Accumulate {
		return
	}
	s.terms = loss.RecordedTerms(s.Objective.Loss)
	for _, p := range s.terms {
		s.reported = append(s.reported, p.Value.Value)
	}
}

// lossOf records the loss of the embeddings of the whole batch and its effect on the memory.
func (s *Step) lossOf(t *grad.Tape, e *grad.Var) *grad.Var {
	e = s.n.Ranks.Gather(t, e)
	network.BeginPart(t, network.PartLoss, network.PartNetwork)
	s.embeddings = t.Keep(e)
	return s.Objective.record(t, e, s.In.Labels, s.self, s.Objective.memory.before(t, e, s.In.Labels))
}

// Share returns the rows [lo, hi) of a batch that this process embeds.
func Share(r *collective.Group, batch int) (lo, hi int, err error) {
	if r == nil {
		return 0, batch, nil
	}
	if batch%r.Size != 0 {
		return 0, 0, &config.Error{Err: fmt.Errorf("sampler.batch is %d, want a multiple of the %d processes", batch, r.Size)}
	}
	part := batch / r.Size
	return r.Index * part, (r.Index + 1) * part, nil
}
