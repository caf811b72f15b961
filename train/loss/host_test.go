package loss_test

import (
	"encoding/binary"
	"math"
	"testing"

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
	bias            []float64 // of a classifier whose weights are the proxies
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
	l, err := k.New(facts(in))
	if err != nil {
		t.Fatal(err)
	}
	proxies, bias := attach(b, l, in)
	tape := grad.NewTape(b, b)
	query := tape.Leaf(floats(b, in.query), device.New(b, device.F32, len(in.query), len(in.query[0])))
	from := &loss.Batch{
		Query: query, Gallery: query, QueryLabels: ints(b, in.labels),
		GalleryLabels: ints(b, in.against), Self: vector(b, in.self),
	}
	if &in.gallery[0] != &in.query[0] {
		from.Gallery = tape.Leaf(floats(b, in.gallery), device.Array{})
	}
	if m := in.memory; m != nil {
		from.Memory = &loss.Memory{Rows: tape.Leaf(floats(b, m.gallery), device.Array{}), Labels: ints(b, m.against), Self: vector(b, m.self)}
	}
	out := l.Forward(tape, from)
	tape.Backward(out, device.Array{})
	r := result{value: download(t, b, out.Value)[0][0], query: download(t, b, query.Grad)}
	for _, p := range proxies { // of several levels: those of the definition are one set
		if g := download(t, b, p.Grad); r.proxies == nil {
			r.proxies = g
		} else {
			addTo(r.proxies, g)
		}
	}
	if bias != nil {
		r.bias = download(t, b, bias.Grad)[0]
	}
	return r
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
	f := loss.Facts{Dim: len(in.query[0]), Classes: make([]int, len(in.labels[0]))}
	for l := range f.Classes {
		f.Classes[l] = len(in.proxies)
	}
	return f
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
