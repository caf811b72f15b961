package loss_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/grad"
	"hgld/train/loss"
)

// batch is a Batch in float64 on the host. Without a gallery the batch is its own.
type batch struct {
	query, gallery  [][]float64
	labels, against [][]int32
	self            []int32
	memory          *batch // gallery, against and self of a memory
	proxies         [][]float64
	bias            []float64   // of a classifier whose weights are the proxies
	centers         int         // proxies of a class; 0: 1
	paths           [][]int32   // of the classes of the proxies; nil: as the labels have them
	drawn           [][]float64 // random numbers; nil: amplitudes
	perClass        int         // rows of a class
}

// own makes the batch its own gallery.
func (b *batch) own() *batch {
	b.gallery, b.against = b.query, b.labels
	b.self = nil
	for i := range b.query {
		b.self = append(b.self, int32(i))
	}
	return b
}

// result is a loss and its gradients.
type result struct {
	value          float64
	query, proxies [][]float64
	bias           []float64
}

// forward computes a loss on a backend. The gallery takes gradient only where it
// is the batch itself.
func forward(t *testing.T, b device.Backend, k loss.Kind, in *batch) result {
	t.Helper()
	return newMade(t, b, k, in).forward(t, in)
}

// made is a loss with its parameters and its state.
type made struct {
	loss.Loss
	b       device.Backend
	proxies []*loss.Param
	bias    *loss.Param
}

func newMade(t *testing.T, b device.Backend, k loss.Kind, in *batch) *made {
	t.Helper()
	l, err := k.New(facts(in))
	if err != nil {
		t.Fatal(err)
	}
	m := &made{Loss: l, b: b}
	m.proxies, m.bias = attach(b, l, in)
	if s, ok := l.(loss.Stateful); ok {
		attachStates(b, s.States())
	}
	return m
}

func attachStates(b device.Backend, states []*loss.State) {
	for _, s := range states {
		s.Value = device.New(b, s.Type, s.Dims...)
		b.Fill(s.Value, s.Start)
	}
}

func (m *made) forward(t *testing.T, in *batch) result {
	t.Helper()
	b := m.b
	tape := grad.NewTape(b, b)
	query := tape.Leaf(floats(b, in.query), device.New(b, device.F32, len(in.query), len(in.query[0])))
	from := &loss.Batch{
		Query: query, Gallery: query, QueryLabels: ints(b, in.labels),
		GalleryLabels: ints(b, in.against), Self: vector(b, in.self), Drawn: floats(b, in.draws()),
	}
	if &in.gallery[0] != &in.query[0] {
		from.Gallery = tape.Leaf(floats(b, in.gallery), device.Array{})
	}
	if mem := in.memory; mem != nil {
		from.Memory = &loss.Memory{
			Rows: tape.Leaf(floats(b, mem.gallery), device.Array{}), Labels: ints(b, mem.against), Self: vector(b, mem.self),
			Drawn: floats(b, amplitudes(in.labels, mem.against)),
		}
	}
	out := m.Forward(tape, from)
	tape.Backward(out, device.Array{})
	r := result{value: download(t, b, out.Value)[0][0], query: download(t, b, query.Grad)}
	for _, p := range m.proxies { // of several levels: those of the definition are one set
		if g := download(t, b, p.Grad); r.proxies == nil {
			r.proxies = g
		} else {
			addTo(r.proxies, g)
		}
	}
	if m.bias != nil {
		r.bias = download(t, b, m.bias.Grad)[0]
	}
	return r
}

// draws returns the random numbers of a batch.
func (in *batch) draws() [][]float64 {
	if in.drawn != nil {
		return in.drawn
	}
	return amplitudes(in.labels, in.against)
}

// amplitudes stand for the drawn ones of a margin: functions of the labels, so that
// rows in another order have the same.
func amplitudes(query, gallery [][]int32) [][]float64 {
	out := like2(len(query), len(gallery))
	for q, a := range query {
		for g, b := range gallery {
			out[q][g] = float64((7*a[0]+5*b[0]+11)%13+1) / 8
		}
	}
	return out
}

// attach gives a loss its parameters: proxies, or the weights of a classifier, and
// its bias.
func attach(b device.Backend, l loss.Loss, in *batch) (proxies []*loss.Param, bias *loss.Param) {
	trained, ok := l.(loss.Trained)
	if !ok {
		return nil, nil
	}
	for _, p := range trained.Params() {
		p.Grad = device.New(b, device.F32, p.Dims...)
		if len(p.Dims) == 1 {
			p.Value, bias = floats(b, [][]float64{in.bias}).Reshape(p.Dims...), p
		} else {
			p.Value, proxies = floats(b, in.proxies), append(proxies, p)
		}
	}
	return proxies, bias
}

// facts counts the classes of a batch; with proxies, of the level that has them.
func facts(in *batch) loss.Facts {
	f := loss.Facts{Dim: len(in.query[0]), Classes: make([]int, len(in.labels[0])), Batch: len(in.query),
		PerClass: in.perClass}
	for l := range f.Classes {
		f.Classes[l] = len(in.proxies) / max(in.centers, 1)
	}
	for c := range len(in.proxies) / max(in.centers, 1) {
		f.Paths = append(f.Paths, in.path(int32(c)))
	}
	return f
}

// path returns the labels of a finest class.
func (in *batch) path(class int32) labels.Path {
	if in.paths != nil {
		return in.paths[class]
	}
	for _, p := range in.labels {
		if p[0] == class {
			return p
		}
	}
	return slices.Repeat(labels.Path{-1}, len(in.labels[0]))
}

func backend() *cpu.Backend {
	b := cpu.New(1)
	b.Poison = true
	return b
}

func floats(b device.Backend, x [][]float64) device.Array {
	a := device.New(b, device.F32, len(x), len(x[0]))
	var data []byte
	for _, row := range x {
		for _, v := range row {
			data = binary.NativeEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
	}
	b.Upload(a, data)
	return a
}

func ints(b device.Backend, x [][]int32) device.Array {
	a := device.New(b, device.I32, len(x), len(x[0]))
	var flat []int32
	for _, row := range x {
		flat = append(flat, row...)
	}
	b.Copy(a.Reshape(a.Len()), vector(b, flat))
	return a
}

func vector(b device.Backend, x []int32) device.Array {
	if x == nil {
		return device.Array{}
	}
	a := device.New(b, device.I32, len(x))
	var data []byte
	for _, v := range x {
		data = binary.NativeEndian.AppendUint32(data, uint32(v))
	}
	b.Upload(a, data)
	return a
}

func download(t *testing.T, b device.Backend, a device.Array) [][]float64 {
	t.Helper()
	data := make([]byte, 4*a.Len())
	b.Download(data, a)
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	rows := make([][]float64, a.Rows())
	for i := range rows {
		for range a.Cols() {
			rows[i] = append(rows[i], float64(math.Float32frombits(binary.NativeEndian.Uint32(data))))
			data = data[4:]
		}
	}
	return rows
}
