// Package observe wraps a backend so that each of its operations passes through a
// function: a profiler measures them, an estimate of memory skips them, a test delays
// them. forwards.go is generated from the interfaces of package device:
//
//	go test ./train/device/observe -run TestForwards -update
package observe

import "hgld/train/device"

// Operations returns b with seen called in place of each operation. seen gets the
// operation's name, the floating-point operations of its matrix products (0 if it has
// none), and do, which carries it out. seen may call do once, later or never.
//
// The optional abilities of b are observed too. A recorded program keeps the function
// that makes its operations, so that each run of it passes through seen.
func Operations(b device.Backend, seen func(op string, flops float64, do func())) device.Backend {
	o := &observer{Backend: b, seen: seen}
	if r, able := b.(device.Ragged); able {
		return &raggedObserver{o, r}
	}
	return o
}

// observer is a backend whose operations pass through seen.
type observer struct {
	device.Backend
	seen func(op string, flops float64, do func())
}

// Pack passes on the call; it is not an operation of a step.
func (obs *observer) Pack(w device.Array, transB bool) bool {
	p, able := obs.Backend.(device.Packer)
	return able && p.Pack(w, transB)
}

// HostBuffer passes on the call.
func (obs *observer) HostBuffer(bytes int) device.HostBuffer {
	if p, able := obs.Backend.(device.Pinned); able {
		return p.HostBuffer(bytes)
	}
	return nil
}

// Record keeps f itself, so that every operation of every run is observed.
func (obs *observer) Record(f func()) (device.Program, error) { return observedProgram(f), nil }

type observedProgram func()

func (p observedProgram) Run() { p() }
func (observedProgram) Close() {}

// raggedObserver is an observer of a device that is Ragged.
type raggedObserver struct {
	*observer
	ragged device.Ragged
}

func (obs *raggedObserver) RaggedAttention(dst, qkv, rows, keys, spans device.Array, heads int) {
	obs.seen("RaggedAttention", 0, func() { obs.ragged.RaggedAttention(dst, qkv, rows, keys, spans, heads) })
}

// products is the operations of a product of matrices: for every element of dst a
// multiplication and an addition for each of inner.
func products(dst device.Array, inner int) float64 { return 2 * float64(dst.Len()) * float64(inner) }

// inner is the dimension over which MatMul sums.
func inner(a device.Array, transposed bool) int {
	if transposed {
		return a.Dims[a.N-2]
	}
	return a.Cols()
}

// attention is the operations of so many products of tokens with tokens.
func attention(y device.Array, n int) float64 { return float64(n) * products(y, y.Dims[1]) }
