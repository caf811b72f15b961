package device

import (
	"cmp"
	"fmt"
	"slices"
)

// Arena is device memory for what lives less long than a step. It takes buffers
// from a Memory, keeps those that are given back in a list by size, and hands out
// the smallest that fits (best fit): within a few steps the same requests in the
// same order take nothing from the Memory and allocate nothing on the host.
//
// Reuse is in the order of the device's queue, so a buffer may be given back
// while operations on it are still queued. An Arena belongs to one goroutine.
type Arena struct {
	mem  Memory
	free []Buffer // by size, the last freed first among equals

	held, used, peak int // bytes
}

// NewArena returns an empty arena over mem.
func NewArena(mem Memory) *Arena { return &Arena{mem: mem} }

const (
	// arenaUnit is what sizes are rounded up to: a multiple of every alignment that
	// a device asks for (256 bytes).
	arenaUnit = 256

	// arenaWaste bounds what reuse may waste: a free buffer is taken if it is at
	// most 5/4 of the request. Without a bound a small array could keep the only
	// large buffer from the large array that follows, and the arena would grow.
	arenaWasteNum, arenaWasteDen = 5, 4
)

// Alloc returns at least the given number of bytes; the contents are undefined.
func (a *Arena) Alloc(bytes int) Buffer {
	n := (max(bytes, 1) + arenaUnit - 1) / arenaUnit * arenaUnit
	i, _ := slices.BinarySearchFunc(a.free, n, bufferSize)
	var b Buffer
	if i < len(a.free) && a.free[i].Size() <= n/arenaWasteDen*arenaWasteNum {
		b = a.free[i]
		a.free = slices.Delete(a.free, i, i+1)
	} else {
		b = a.mem.Alloc(n)
		a.held += b.Size()
	}
	a.used += b.Size()
	a.peak = max(a.peak, a.used)
	return b
}

// Free takes b back. It must have come from Alloc.
func (a *Arena) Free(b Buffer) {
	i, _ := slices.BinarySearchFunc(a.free, b.Size(), bufferSize)
	for j := i; j < len(a.free) && a.free[j].Size() == b.Size(); j++ {
		if a.free[j] != b {
			continue
		}
		panic(fmt.Sprintf("device: a buffer of %d bytes is given back twice", b.Size()))
	}
	a.free = slices.Insert(a.free, i, b)
	a.used -= b.Size()
}

// Trim gives the buffers that are not in use back to the Memory.
func (a *Arena) Trim() {
	for _, b := range a.free {
		a.held -= b.Size()
		a.mem.Free(b)
	}
	clear(a.free)
	a.free = a.free[:0]
}

// Held returns the bytes taken from the Memory.
func (a *Arena) Held() int { return a.held }

// Used returns the bytes handed out.
func (a *Arena) Used() int { return a.used }

// Peak returns the most bytes that were ever handed out at once.
func (a *Arena) Peak() int { return a.peak }

func bufferSize(b Buffer, n int) int { return cmp.Compare(b.Size(), n) }
