package loss

import (
	"encoding/binary"

	"hgld/train/device"
	"hgld/train/grad"
)

// proxied is a kind of device.Pairs over the scores of the queries against
// proxies, which are normalised: the gallery is the proxies.
type proxied struct {
	pairs     device.Pairs
	level     int  // whose classes have proxies
	normalise bool // the query too
	proxies   *Param
	classes   device.Array // I32 [C,1]: of each proxy its class
}

func newProxied(f Facts, p proxied) (Loss, error) {
	if err := checkLevel(p.level, f); err != nil {
		return nil, err
	}
	if err := p.pairs.Check(); err != nil {
		return nil, err
	}
	p.proxies = newProxies(f, p.level)
	return &p, nil
}

// Params returns the proxies [C,D].
func (l *proxied) Params() []*Param { return []*Param{l.proxies} }

// Forward records the mean over the queries.
func (l *proxied) Forward(t *grad.Tape, b *Batch) *grad.Var {
	if l.classes.Absent() { // a constant of every step, so no memory of the tape's
		l.classes = device.New(t.Backend(), device.I32, l.proxies.Dims[0], 1)
		t.Backend().Upload(l.classes, classes(l.proxies.Dims[0]))
	}
	level := *b
	level.QueryLabels = b.QueryLabels.ColRange(l.level, l.level+1)
	if l.normalise {
		level.Query = unit(t, b.Query)
	}
	p := pairwise{pairs: l.pairs}
	return p.against(t, &level, gallery{rows: unit(t, t.Leaf(l.proxies.Value, l.proxies.Grad)), labels: l.classes})
}

// classes is the numbers from 0 on, as I32: the class of each proxy.
func classes(n int) (data []byte) {
	for c := range n {
		data = binary.NativeEndian.AppendUint32(data, uint32(c))
	}
	return data
}
