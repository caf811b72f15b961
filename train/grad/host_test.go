package grad_test

import (
	"math"
	"testing"

	"hgld/train/device"
	"hgld/train/grad"
)

// host is a backend of a few operations on Go slices. Memory is poisoned with NaN
// when it is given out and when it comes back, so that whoever reads what was
// freed finds out. Any other operation panics on the nil interface.
type host struct {
	device.Backend
	used, peak, total int // bytes
	allocs, frees     int
}

type memory struct{ words []float32 }

func (m *memory) Size() int { return 4 * len(m.words) }

func (m *memory) poison() {
	for i := range m.words {
		m.words[i] = float32(math.NaN())
	}
}

func (h *host) Alloc(bytes int) device.Buffer {
	h.allocs++
	h.used += bytes
	h.total += bytes
	h.peak = max(h.peak, h.used)
	m := &memory{make([]float32, bytes/4)}
	m.poison()
	return m
}

func (h *host) Free(b device.Buffer) {
	h.frees++
	h.used -= b.Size()
	b.(*memory).poison()
}

// at is the memory under a.
func at(a device.Array) []float32 { return a.Buf.(*memory).words[a.Off:][:a.Len()] }

func (h *host) Copy(dst, src device.Array) { copy(at(dst), at(src)) }

func (h *host) Fill(dst device.Array, v float32) {
	for i := range at(dst) {
		at(dst)[i] = v
	}
}

func (h *host) Axpby(dst device.Array, a float32, x device.Array, b float32, y device.Array) {
	d, p, q := at(dst), at(x), at(y)
	for i := range d {
		d[i] = a*p[i] + b*q[i%len(q)]
	}
}

// times is dst = x·y element by element; it is no operation of a device.
func times(dst, x, y device.Array) {
	d, p, q := at(dst), at(x), at(y)
	for i := range d {
		d[i] = p[i] * q[i]
	}
}

// array puts values on the host.
func (h *host) array(values ...float32) device.Array {
	a := device.Make(&memory{make([]float32, len(values))}, 0, device.F32, len(values))
	copy(at(a), values)
	return a
}

// mul is the product of two Vars, whose backward pass reads both.
func mul(t *grad.Tape, x, y *grad.Var) *grad.Var {
	z := t.New(device.F32, x.Value.Shape()...)
	t.Do(func(device.Backend) { times(z.Value, x.Value, y.Value) })
	t.Back(func(device.Backend) {
		dz := t.Grad(z)
		if dx := t.Into(x); !dx.Absent() {
			times(dx, dz, y.Value)
		}
		if dy := t.Into(y); !dy.Absent() {
			times(dy, dz, x.Value)
		}
	}, x, y)
	return z
}

// add is a·x + b·y, whose backward pass reads neither.
func add(t *grad.Tape, a float32, x *grad.Var, b float32, y *grad.Var) *grad.Var {
	z := t.New(device.F32, x.Value.Shape()...)
	t.Do(func(d device.Backend) { d.Axpby(z.Value, a, x.Value, b, y.Value) })
	t.Back(func(d device.Backend) {
		dz := t.Grad(z)
		if dx := t.Into(x); !dx.Absent() {
			d.Axpby(dx, a, dz, 0, dz)
		}
		if dy, acc := t.Onto(y); !dy.Absent() {
			if acc == 0 {
				d.Fill(dy, 0)
			}
			d.Axpby(dy, b, dz, 1, dy)
		}
	})
	return z
}

func equal(tb testing.TB, what string, got device.Array, want ...float32) {
	tb.Helper()
	for i, v := range at(got) {
		if v != want[i] {
			tb.Errorf("%s: %v, want %v", what, at(got), want)
			return
		}
	}
}
