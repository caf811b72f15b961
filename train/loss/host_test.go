package loss_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/loss/definition"
)

// batch and result are those of the definition.
type (
	batch  = definition.Batch
	result = definition.Result
)

// define computes a loss by its definition.
func define(t *testing.T, k loss.Kind, in *batch) result {
	t.Helper()
	r, err := loss.ByDefinition(k, in)
	must.Do(t, err)
	return r
}

// rankingOf returns the definition of a loss on ranks.
func rankingOf(k loss.Kind, in *batch) *definition.Ranking { return k.Define(in).(*definition.Ranking) }

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
	must.Do(t, err)
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
	query := tape.Leaf(floats(b, in.Query), device.New(b, device.F32, len(in.Query), len(in.Query[0])))
	from := &loss.Batch{
		Query: query, Gallery: query, QueryLabels: ints(b, in.Labels),
		GalleryLabels: ints(b, in.Against), Self: vector(b, in.Self), Drawn: floats(b, in.Draws()),
	}
	if &in.Gallery[0] != &in.Query[0] {
		from.Gallery = tape.Leaf(floats(b, in.Gallery), device.Array{})
	}
	if mem := in.Memory; mem != nil {
		from.Memory = &loss.Memory{
			Rows: tape.Leaf(floats(b, mem.Gallery), device.Array{}), Labels: ints(b, mem.Against), Self: vector(b, mem.Self),
			Drawn: floats(b, definition.Amplitudes(in.Labels, mem.Against)),
		}
	}
	out := m.Forward(tape, from)
	tape.Backward(out, device.Array{})
	r := result{Value: download(t, b, out.Value)[0][0], Query: download(t, b, query.Grad)}
	for _, p := range m.proxies { // of several levels: those of the definition are one set
		if g := download(t, b, p.Grad); r.Proxies == nil {
			r.Proxies = g
		} else {
			addTo(r.Proxies, g)
		}
	}
	if m.bias != nil {
		r.Bias = download(t, b, m.bias.Grad)[0]
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
			p.Value, bias = floats(b, [][]float64{in.Bias}).Reshape(p.Dims...), p
		} else {
			p.Value, proxies = floats(b, in.Proxies), append(proxies, p)
		}
	}
	return proxies, bias
}

// facts counts the classes of a batch; with proxies, of the level that has them.
func facts(in *batch) loss.Facts {
	f := loss.Facts{Dim: len(in.Query[0]), Classes: make([]int, len(in.Labels[0])), Batch: len(in.Query),
		PerClass: in.PerClass}
	for l := range f.Classes {
		f.Classes[l] = len(in.Proxies) / max(in.Centers, 1)
	}
	for c := range len(in.Proxies) / max(in.Centers, 1) {
		f.Paths = append(f.Paths, in.Path(int32(c)))
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
	must.Do(t, b.Sync())
	rows := make([][]float64, a.Rows())
	for i := range rows {
		for range a.Cols() {
			rows[i] = append(rows[i], float64(math.Float32frombits(binary.NativeEndian.Uint32(data))))
			data = data[4:]
		}
	}
	return rows
}

var dot = definition.Dot

func addTo(sum, x [][]float64) {
	for i, row := range x {
		for j, v := range row {
			sum[i][j] += v
		}
	}
}

// farthest returns max|a−b| / max|b|.
func farthest(a, b [][]float64) float64 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("%d rows against %d", len(a), len(b)))
	}
	d, m := 0.0, 0.0
	for i := range a {
		for j := range a[i] {
			if diff := math.Abs(a[i][j] - b[i][j]); !(diff <= d) {
				d = diff
			}
			m = max(m, math.Abs(b[i][j]))
		}
	}
	if m == 0 {
		return d
	}
	return d / m
}
