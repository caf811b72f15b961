// Package observe wraps a backend so that each of its operations passes through a
// function: a profiler measures them, an estimate of memory skips them, a test delays
// them. forwards.go is generated from the interfaces of package device:
//
//	go test ./train/device/observe -run TestForwards -update
package observe

import "hgld/train/device"

// Call is one call of an operation.
type Call struct {
	Op    string  // its name
	FLOPs float64 // floating-point operations of its matrix products; 0 if it has none
	Bytes float64 // that it reads and writes, from the sizes of its arrays
}

// Operations returns b with seen called in place of each operation. do carries it out. seen
// may call do once, later or never.
//
// The optional abilities of b are observed too. A recorded program keeps the function
// that makes its operations, so that each run of it passes through seen.
func Operations(b device.Backend, seen func(c Call, do func())) device.Backend {
	o := &observer{Backend: b, seen: seen}
	if r, able := b.(device.Ragged); able {
		return &raggedObserver{o, r}
	}
	return o
}

// observer is a backend whose operations pass through seen.
type observer struct {
	device.Backend
	seen func(c Call, do func())
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
	// A query reads its own keys and values: how many, the shapes do not say.
	obs.seen(Call{"RaggedAttention", 0, moved(dst, qkv, rows, keys, spans)},
		func() { obs.ragged.RaggedAttention(dst, qkv, rows, keys, spans, heads) })
}

// moved returns the size of all arrays together; an absent one has none.
func moved(arrays ...device.Array) float64 {
	n := 0
	for _, a := range arrays {
		if !a.Absent() {
			n += a.Len() * a.Type.Size()
		}
	}
	return float64(n)
}

// axpbyBytes leaves out y if its factor is 0.
func axpbyBytes(dst, x device.Array, factor float32, y device.Array) float64 {
	return moved(dst, x) + added(factor, y)
}

// added returns what an operation reads in order to add to it, its results in most cases: their
// size if it does, otherwise 0.
func added(factor float32, results ...device.Array) float64 {
	if factor == 0 {
		return 0
	}
	return moved(results...)
}

// unless returns what an operation reads a second time, unless a condition spares it that.
func unless(spared bool, arrays ...device.Array) float64 {
	if spared {
		return 0
	}
	return moved(arrays...)
}

// products is the operations of a product of matrices: for every element of dst a
// multiplication and an addition for each of inner.
func products(dst device.Array, inner int) float64 { return 2 * float64(dst.Len()) * float64(inner) }

// joined is what a product is added to.
func joined(dst device.Array, m device.Mul) device.Array {
	if m.Add.Absent() {
		return dst
	}
	return m.Add
}

// inner is the dimension over which MatMul sums.
func inner(a device.Array, transposed bool) int {
	if transposed {
		return a.Dims[a.N-2]
	}
	return a.Cols()
}

// attention is the operations of so many products of tokens with tokens.
func attention(y device.Array, n int) float64 { return float64(n) * products(y, y.Dims[1]) }
