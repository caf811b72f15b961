package text

import (
	"encoding/binary"
	"math"

	"hgld/train/device"
)

// pass is one batch on its way through a network. Its memory returns to the arena when it ends.
type pass struct {
	b     device.Backend
	arena *device.Arena
	show  func(x device.Array) // receives the result of each layer; may be nil
	held  []device.Buffer
}

// array allocates an array with undefined contents.
func (p *pass) array(t device.DType, dims ...int) device.Array {
	size := t.Size()
	for _, d := range dims {
		size *= d
	}
	buf := p.arena.Alloc(size)
	p.held = append(p.held, buf)
	return device.Make(buf, 0, t, dims...)
}

// end frees all memory of the pass.
func (p *pass) end() {
	for _, buf := range p.held {
		p.arena.Free(buf)
	}
	p.held = nil
}

// index uploads indices.
func (p *pass) index(values []int32, dims ...int) device.Array {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.NativeEndian.AppendUint32(data, uint32(v))
	}
	x := p.array(device.I32, dims...)
	p.b.Upload(x, data)
	return x
}

// floats uploads numbers.
func (p *pass) floats(values []float32) device.Array {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.NativeEndian.AppendUint32(data, math.Float32bits(v))
	}
	x := p.array(device.F32, len(values))
	p.b.Upload(x, data)
	return x
}

// gather copies rows of a table to dst.
func (p *pass) gather(dst, table device.Array, rows []int32) {
	p.b.Gather(dst, table, p.index(rows, len(rows)))
}

// linear computes dst = act(x·W + b), or with beta 1 dst = act(dst + x·W + b).
func (p *pass) linear(dst, x device.Array, l *linear, act device.Func, beta float32) {
	p.b.MatMul(dst, x, l.weight, device.Mul{TransB: !l.transposed, Alpha: 1, Beta: beta, Bias: l.bias, Act: act})
}

// shows passes x to the test that watches, if any.
func (p *pass) shows(x device.Array) {
	if p.show != nil {
		p.show(x)
	}
}

// unit divides rows by their lengths. A row shorter than 1e-12, torch's ε, stays shorter than 1.
func (p *pass) unit(x device.Array) device.Array {
	y := p.array(device.F32, x.Dims[0], x.Dims[1])
	p.b.Normalize(y, device.Array{}, x, 1e-12)
	p.shows(y)
	return y
}
