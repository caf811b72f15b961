package optim_test

import (
	"encoding/binary"
	"math"

	"hgld/train/device"
)

// host is the definition of what this package asks of a backend: plain loops in
// float64 over float32 memory. Any other operation panics on the nil interface.
type host struct{ device.Backend }

type memory struct{ words []float32 }

func (m *memory) Size() int { return 4 * len(m.words) }

func at(a device.Array) []float32 { return a.Buf.(*memory).words[a.Off:][:a.Len()] }

func (host) Name() string                  { return "host" }
func (host) Alloc(bytes int) device.Buffer { return &memory{make([]float32, bytes/4)} }
func (host) Free(device.Buffer)            {}
func (host) Sync() error                   { return nil }
func (host) Copy(dst, src device.Array)    { copy(at(dst), at(src)) }
func (host) Scale(dst, x, s device.Array) {
	apply(dst, x, func(v float64) float64 { return v * float64(at(s)[0]) })
}
func (host) Fill(dst device.Array, v float32) {
	apply(dst, dst, func(float64) float64 { return float64(v) })
}

func (host) Upload(dst device.Array, src []byte) {
	for i := range at(dst) {
		at(dst)[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
	}
}

func (host) Download(dst []byte, src device.Array) device.Ticket {
	for i, v := range at(src) {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
	return 0
}

func apply(dst, x device.Array, f func(float64) float64) {
	for i, v := range at(x) {
		at(dst)[i] = float32(f(float64(v)))
	}
}

func (host) Act(dst, x device.Array, _ device.Func) {
	apply(dst, x, func(v float64) float64 { return max(v, 0) })
}

func (host) Axpby(dst device.Array, a float32, x device.Array, b float32, y device.Array) {
	for i := range at(dst) {
		at(dst)[i] = a*at(x)[i] + b*at(y)[i%y.Len()]
	}
}

func (host) Sums(dst, x device.Array, _ device.Sum, acc float32) {
	sum := 0.0
	if acc == 1 {
		sum = float64(at(dst)[0])
	}
	for _, v := range at(x) {
		sum += float64(v) * float64(v)
	}
	at(dst)[0] = float32(sum)
}

func (host) Norm(dst, stats, x, gamma, beta, _ device.Array, o device.NormKind) {
	mean, variance := float64(at(stats)[0]), float64(at(stats)[1])
	apply(dst, x, func(v float64) float64 {
		return float64(at(gamma)[0])*(v-mean)/math.Sqrt(variance+float64(o.Eps)) + float64(at(beta)[0])
	})
}

func (host) Guard(flag, x device.Array) {
	for _, v := range at(x) {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			at(flag)[0]++
		}
	}
}

func (host) Pace(dst, count, flag device.Array, o device.PaceKind) {
	if !flag.Absent() && at(flag)[0] != 0 {
		return
	}
	at(count)[0]++
	t := float64(at(count)[0])
	if o.Kind == device.Mean {
		d := o.Decay
		if o.Rise {
			d = math.Min(d, (1+t)/(10+t))
		}
		at(dst)[0] = float32(1 - d)
		return
	}
	copy(at(dst), []float32{float32(1 - math.Pow(float64(o.Beta1), t)), float32(1 - math.Pow(float64(o.Beta2), t)), 0})
	if t == 1 {
		at(dst)[2] = 1
	}
}

func (host) Average(dst, x, rate, flag device.Array) {
	if !flag.Absent() && at(flag)[0] != 0 {
		return
	}
	for i, v := range at(x) {
		e := float64(at(dst)[i])
		at(dst)[i] = float32(e + float64(at(rate)[0])*(float64(v)-e))
	}
}

func (host) Adam(w, m, v, dw, _, hyper, flag device.Array, o device.AdamKind) {
	if !flag.Absent() && at(flag)[0] != 0 {
		return
	}
	h := at(hyper)
	rate, decay := float64(h[device.HyperRate]), float64(h[device.HyperDecay])
	for i, p := range at(w) {
		w64, g := float64(p), float64(at(dw)[i])*float64(h[device.HyperScale])
		if o.Decoupled {
			w64 -= rate * decay * w64
		} else {
			g += decay * w64
		}
		b1, b2 := float64(o.Beta1), float64(o.Beta2)
		m64 := b1*float64(at(m)[i]) + (1-b1)*g
		v64 := b2*float64(at(v)[i]) + (1-b2)*g*g
		root := math.Sqrt(v64)/math.Sqrt(float64(h[device.HyperBias2])) + float64(o.Eps)
		w64 -= rate / float64(h[device.HyperBias1]) * m64 / root
		at(w)[i], at(m)[i], at(v)[i] = float32(w64), float32(m64), float32(v64)
	}
}

func (host) SGD(w, m, dw, _, hyper, flag device.Array, o device.SGDKind) {
	if !flag.Absent() && at(flag)[0] != 0 {
		return
	}
	h := at(hyper)
	for i, p := range at(w) {
		g := float64(at(dw)[i])*float64(h[device.HyperScale]) + float64(h[device.HyperDecay])*float64(p)
		u := float64(o.Momentum)*float64(at(m)[i]) + (1-float64(o.Dampening))*g
		if h[device.HyperFirstStep] != 0 {
			u = g
		}
		at(m)[i] = float32(u)
		if o.Nesterov {
			u = g + float64(o.Momentum)*u
		} else if o.Momentum == 0 {
			u = g
		}
		at(w)[i] = float32(float64(p) - float64(h[device.HyperRate])*u)
	}
}
