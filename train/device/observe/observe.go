// Package observe wraps a backend so that each of its operations passes through a function: a
// profiler measures them, a memory estimate skips them, bfloat16 widens their arrays, a test delays
// them.
package observe

import "hgld/train/device"

// Call is one call of an operation.
type Call struct {
	Op    string  // name of the operation
	FLOPs float64 // floating-point operations of its matrix products; 0 if it has none
	Bytes float64 // bytes read and written, from the sizes of its arrays

	Results int             // number of arrays that it writes, the first of Arrays
	Arrays  []*device.Array // that it uses, some of them absent; what is assigned before do runs takes their place
}

type arrays = []*device.Array

// Operations returns b with seen called instead of each operation. do executes the operation.
// seen may call it once, later or never.
//
// The optional abilities of b are also observed. A recorded program keeps the function that makes
// its operations, so that each run passes through seen.
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

// Pack forwards the call, which is not an operation of a step.
func (obs *observer) Pack(w device.Array, transB bool) bool {
	p, able := obs.Backend.(device.Packer)
	return able && p.Pack(w, transB)
}

// Symmetrize passes through seen if b is Symmetric.
func (obs *observer) Symmetrize(a, s device.Array) bool {
	on, able := obs.Backend.(device.Symmetric)
	if able {
		obs.whole("Symmetrize", 1, moved(a), arrays{&a, &s}, func() { on.Symmetrize(a, s) })
	}
	return able
}

// OwnMemory forwards the call.
func (obs *observer) OwnMemory() bool { return device.OwnMemory(obs.Backend) }

// Room forwards the call.
func (obs *observer) Room(bytes int, t device.DType) error {
	if c, able := obs.Backend.(device.Crowded); able {
		return c.Room(bytes, t)
	}
	return nil
}

// HostBuffer forwards the call.
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
	// A query reads its own keys and values. The shapes do not tell how many.
	obs.whole("RaggedAttention", 1, 0, arrays{&dst, &qkv, &rows, &keys, &spans},
		func() { obs.ragged.RaggedAttention(dst, qkv, rows, keys, spans, heads) })
}

// moved returns the total size of all arrays; an absent one has size 0.
func moved(arrays ...device.Array) float64 {
	n := 0
	for _, a := range arrays {
		if !a.Absent() {
			n += a.Len() * a.Type.Size()
		}
	}
	return float64(n)
}

// axpbyBytes does not count y if its factor is 0.
func axpbyBytes(dst, x device.Array, factor float32, y device.Array) float64 {
	return moved(dst, x) + added(factor, y)
}

// added returns what an operation reads in order to add to its results: their size if it adds,
// otherwise 0.
func added(factor float32, results ...device.Array) float64 {
	if factor == 0 {
		return 0
	}
	return moved(results...)
}

// unless returns the size of arrays that are read a second time, or 0 if spared.
func unless(spared bool, arrays ...device.Array) float64 {
	if spared {
		return 0
	}
	return moved(arrays...)
}

// products returns the operations of a matrix product: a multiplication and an addition for each
// element of dst and each of inner.
func products(dst device.Array, inner int) float64 { return 2 * float64(dst.Len()) * float64(inner) }

// joined returns the array that a product is added to.
func joined(dst device.Array, m device.Mul) device.Array {
	if m.Add.Absent() {
		return dst
	}
	return m.Add
}

// inner returns the size of the dimension that MatMul sums over.
func inner(a device.Array, transposed bool) int {
	if transposed {
		return a.Dims[a.N-2]
	}
	return a.Cols()
}

// attention returns the operations of n products of tokens with tokens.
func attention(y device.Array, n int) float64 { return float64(n) * products(y, y.Dims[1]) }
