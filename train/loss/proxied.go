package loss

import (
	"encoding/binary"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/grad"
)

// proxied is a loss of device.Pairs over the scores of queries against normalised proxies, which
// serve as the gallery.
type proxied struct {
	pairs     device.Pairs
	level     int  // the level whose classes have proxies
	normalise bool // normalise the query too

	proxies  *Param
	from, to int // levels to compare
	paths    []labels.Path
	labels   device.Array // I32 [C,to−from]: labels of the proxies
}

// newProxied checks p against the data. The positive of a query is the proxy of its class.
func newProxied(f Facts, p proxied) (Loss, error) {
	if err := checkLevel(p.level, f); err != nil {
		return nil, err
	}
	for c := range f.Classes[p.level] {
		p.paths = append(p.paths, labels.Path{int32(c)})
	}
	p.from, p.to = p.level, p.level+1
	return p.make(f)
}

func (p proxied) make(f Facts) (Loss, error) {
	if err := p.pairs.Check(); err != nil {
		return nil, err
	}
	p.proxies = newProxies(f, p.level, 1)
	return &p, nil
}

// newProxies declares a parameter with each rows for every class of a level.
func newProxies(f Facts, level, each int) *Param {
	return &Param{Name: "proxies", Dims: []int{f.Classes[level] * each, f.Dim}, FanIn: f.Dim}
}

// normEps is the smallest norm that a proxy is divided by. It is the default of torch.
const normEps = 1e-12

// Params returns the proxies [C,D].
func (l *proxied) Params() []*Param { return []*Param{l.proxies} }

// Forward records the mean over the queries.
func (l *proxied) Forward(t *grad.Tape, b *Batch) *grad.Var {
	if l.labels.Absent() {
		var flat []int32
		for _, p := range l.paths {
			flat = append(flat, p...)
		}
		l.labels = constant(t, flat).Reshape(len(l.paths), l.to-l.from)
	}
	level := *b
	level.QueryLabels, level.Paths = b.QueryLabels.ColRange(l.from, l.to), 1
	if l.normalise {
		level.Query = unit(t, b.Query)
	}
	p := pairwise{pairs: l.pairs}
	return p.against(t, &level, gallery{rows: unit(t, t.Leaf(l.proxies.Value, l.proxies.Grad)), labels: l.labels})
}

// constant uploads numbers I32 [n] that all steps share, outside the memory of the tape.
func constant(t *grad.Tape, numbers []int32) device.Array {
	a := device.New(t.Backend(), device.I32, len(numbers))
	t.Backend().Upload(a, int32s(numbers))
	return a
}

// int32s returns the bytes of numbers in the layout that backends read.
func int32s(numbers []int32) []byte {
	data := make([]byte, 0, 4*len(numbers))
	for _, n := range numbers {
		data = binary.NativeEndian.AppendUint32(data, uint32(n))
	}
	return data
}
