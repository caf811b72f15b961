package loss

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"

	"hgld/internal/registry"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss/definition"
)

// External is a loss that a process of another program computes. The process gets the embeddings and labels of
// every step, and answers with the value and its gradient; docs/external-loss.md specifies the conversation.
//
// The process knows its own parameters and state. It belongs to a training: without one, as in an estimate,
// value and gradient are 0.
type External struct {
	Command []string `yaml:"command"`               // program and arguments; no shell reads it
	Timeout float64  `yaml:"timeout" range:"0 1e6"` // seconds that the process may take for an answer; 0: 300
}

const defaultTimeout = 300

// externalEntry is in no table of losses that are computed here: it has no definition to compare with.
var externalEntry = registry.Entry[Kind]{
	Name: "external", About: "a loss of your own: a process gets embeddings and labels, and answers with value and " +
		"gradient",
	Source: "docs/external-loss.md", Value: External{Timeout: defaultTimeout},
}

// WithExternal returns a table of losses with External as its last entry. It is the table of what a training
// can use.
func WithExternal(table registry.Table[Kind]) registry.Table[Kind] {
	return append(table[:len(table):len(table)], externalEntry)
}

// New checks the command.
func (l External) New(f Facts) (Loss, error) {
	if len(l.Command) == 0 || l.Command[0] == "" {
		return nil, errors.New("command is empty, want the program and its arguments, such as [python, my_loss.py]")
	}
	l.Timeout = cmp.Or(l.Timeout, defaultTimeout)
	return &ExternalLoss{Kind: l, Facts: f}, nil
}

// Define returns nil: the process computes what it likes.
func (External) Define(*definition.Batch) definition.Definition {
	return nil
}

// ExternalLoss is an External made for some data. Its process is set before the first step.
type ExternalLoss struct {
	Kind    External // command and limit
	Facts   Facts    // of the data
	Process Process  // nil: value and gradient are 0

	err error
}

// Process computes a loss.
type Process interface {
	// Compute returns the value of a batch and fills the gradients. It returns an error for an answer that has
	// other shapes or numbers that are not finite.
	Compute(b *HostBatch) (float32, error)
}

// HostBatch is a batch on the host.
type HostBatch struct {
	Arrays       []HostArray // query, query_labels, self; gallery, memory and their labels where there are any
	Gradients    []HostArray // to be filled: query_gradient, gallery_gradient
	Seed, Step   uint32      // of random draws
	MemoryWeight float32     // as in Memory, but never 0; 0: there is no memory
}

// HostArray is an array on the host.
type HostArray struct {
	Name string       // in the conversation
	Type device.DType // F32 or I32
	Dims []int        // sizes
	Data []byte       // little endian
}

// Externals returns the losses of l, or of its terms, that a process computes.
func Externals(l Loss) []*ExternalLoss {
	switch l := l.(type) {
	case *ExternalLoss:
		return []*ExternalLoss{l}
	case *sum:
		var list []*ExternalLoss
		for _, term := range l.terms {
			list = append(list, Externals(term)...)
		}
		return list
	}
	return nil
}

// ErrExternal is the error of a computation outside of a training.
var ErrExternal = errors.New("only a training runs the process of an external loss")

// Err returns the first failure of the process. The value of that step and of every later one is NaN.
func (l *ExternalLoss) Err() error { return l.err }

func (l *ExternalLoss) oneClass() (levels []int) {
	for level := range l.Facts.Classes {
		levels = append(levels, level)
	}
	return levels
}

// exchange is a recorded step of an external loss: its arrays on the device, and on the host.
type exchange struct {
	loss  *ExternalLoss
	from  []device.Array // of host.Arrays
	to    []device.Array // of host.Gradients
	value device.Array
	key   device.Array // absent: 0
	host  HostBatch
}

// Forward records the exchange, which waits for the process.
func (l *ExternalLoss) Forward(t *grad.Tape, b *Batch) *grad.Var {
	value := t.New(device.F32, 1)
	x := &exchange{loss: l, value: value.Value, key: b.Key}
	x.send("query", b.Query.Value)
	x.send("query_labels", b.QueryLabels)
	gradients := []*grad.Var{x.receive(t, "query_gradient", b.Query)}
	of := []*grad.Var{b.Query}
	if b.Gallery != b.Query {
		x.send("gallery", b.Gallery.Value)
		x.send("gallery_labels", b.GalleryLabels)
		gradients = append(gradients, x.receive(t, "gallery_gradient", b.Gallery))
		of = append(of, b.Gallery)
	}
	if !b.Self.Absent() {
		x.send("self", b.Self)
	}
	if m := b.Memory; m != nil {
		x.send("memory", m.Rows.Value)
		x.send("memory_labels", m.Labels)
		if !m.Self.Absent() {
			x.send("memory_self", m.Self)
		}
		if x.host.MemoryWeight = m.Weight; m.Weight == 0 {
			x.host.MemoryWeight = 1
		}
	}
	t.DoOnHost(x.run)
	t.Back(func(b device.Backend) {
		d := t.Grad(value)
		for i, v := range of {
			if dv := t.Into(v); !dv.Absent() {
				b.Scale(dv, gradients[i].Value, d)
			}
		}
	}, gradients...)
	for _, g := range gradients {
		t.Done(g)
	}
	return value
}

// send adds an array that the process gets.
func (x *exchange) send(name string, a device.Array) {
	x.from = append(x.from, a)
	x.host.Arrays = append(x.host.Arrays, hostArray(name, a))
}

// receive adds a gradient that the process answers with.
func (x *exchange) receive(t *grad.Tape, name string, of *grad.Var) *grad.Var {
	g := t.Input(device.F32, of.Value.Shape()...)
	x.to = append(x.to, g.Value)
	x.host.Gradients = append(x.host.Gradients, hostArray(name, g.Value))
	return g
}

func hostArray(name string, a device.Array) HostArray {
	return HostArray{Name: name, Type: a.Type, Dims: append([]int{}, a.Shape()...),
		Data: make([]byte, a.Len()*a.Type.Size())}
}

// run lets the process compute a step. Where it fails, or where embeddings are not finite, the value is NaN, with
// which a step changes no weights.
func (x *exchange) run(b device.Backend) {
	value := float32(math.NaN())
	if x.loss.Process == nil {
		value = 0
	}
	if x.loss.Process != nil && x.loss.err == nil {
		x.loss.err = x.ask(b, &value)
	}
	if value != value || x.loss.Process == nil {
		for _, a := range x.to {
			b.Fill(a, 0)
		}
	}
	b.Fill(x.value, value)
}

// ask downloads the arrays, asks the process, and uploads its gradients.
func (x *exchange) ask(b device.Backend, value *float32) error {
	var tickets []device.Ticket
	for i, a := range x.from {
		tickets = append(tickets, b.Download(x.host.Arrays[i].Data, a))
	}
	var key [8]byte
	if !x.key.Absent() {
		tickets = append(tickets, b.Download(key[:], x.key))
	}
	for _, t := range tickets {
		if err := b.Wait(t); err != nil {
			return nil // the backend keeps its error
		}
	}
	x.host.Seed, x.host.Step = binary.LittleEndian.Uint32(key[:4]), binary.LittleEndian.Uint32(key[4:])
	if !finite(x.host.Arrays) {
		return nil
	}
	v, err := x.loss.Process.Compute(&x.host)
	if err != nil {
		return err
	}
	for i, a := range x.to {
		b.Upload(a, x.host.Gradients[i].Data)
	}
	*value = v
	return nil
}

// finite reports whether all numbers of the F32 arrays are.
func finite(list []HostArray) bool {
	for _, a := range list {
		if a.Type != device.F32 {
			continue
		}
		for at := 0; at < len(a.Data); at += 4 {
			if binary.LittleEndian.Uint32(a.Data[at:])>>23&0xff == 0xff {
				return false
			}
		}
	}
	return true
}
