package device

import (
	"fmt"
	"slices"
)

// Arena is device memory for arrays that live less long than a step. It takes segments from a
// Memory and divides them. A request gets the smallest free piece that fits; the rest of the
// piece stays free, and freed pieces merge with free neighbours. A step therefore needs little
// more than the most that is live at one time. The same requests in the same order get the same
// pieces, so that nothing is allocated from the second time on.
//
// Reuse follows the order of the device's queue, so a buffer may be freed while operations on it
// are still queued. An Arena belongs to one goroutine.
type Arena struct {
	mem   Memory
	segs  []Buffer
	free  []*piece // by size, then address
	taken map[Buffer]*piece
	parts map[part]Buffer // every Buffer ever handed out
	spare []*piece

	held, used, peak int // bytes
}

// piece is a part of a segment, between its neighbours.
type piece struct {
	part
	prev, next *piece
	taken      bool
}

// part is a place in memory, in bytes.
type part struct{ segment, offset, size int }

// NewArena returns an empty arena over mem.
func NewArena(mem Memory) *Arena {
	return &Arena{mem: mem, taken: map[Buffer]*piece{}, parts: map[part]Buffer{}}
}

const (
	// arenaUnit is the multiple that sizes are rounded up to. It satisfies every alignment that a
	// device requires (256 bytes).
	arenaUnit = 256

	// A segment is as large as all earlier segments together, within these bounds. Segments are
	// therefore few, a small step takes little, and a large one wastes at most the last segment.
	leastSegment, mostSegment = 1 << 18, 1 << 28
)

// Alloc returns at least the given number of bytes; the contents are undefined.
func (a *Arena) Alloc(bytes int) Buffer {
	n := (max(bytes, 1) + arenaUnit - 1) / arenaUnit * arenaUnit
	i, _ := slices.BinarySearchFunc(a.free, part{size: n, segment: -1}, byPart)
	var p *piece
	if i < len(a.free) {
		p = a.free[i]
		a.free = slices.Delete(a.free, i, i+1)
	} else {
		p = a.grow(n)
	}
	if rest := p.size - n; rest > 0 {
		p.size = n
		q := a.piece(part{p.segment, p.offset + n, rest})
		q.prev, q.next = p, p.next
		if p.next != nil {
			p.next.prev = q
		}
		p.next = q
		a.release(q)
	}
	p.taken = true
	a.used += n
	a.peak = max(a.peak, a.used)
	b := a.parts[p.part]
	if b == nil {
		b = a.mem.Part(a.segs[p.segment], p.offset, p.size)
		a.parts[p.part] = b
	}
	a.taken[b] = p
	return b
}

// Reserve takes one segment from the Memory, so that the arena holds the given bytes in total. A
// step of known need then wastes no part of a second segment.
func (a *Arena) Reserve(bytes int) {
	if n := (bytes+arenaUnit-1)/arenaUnit*arenaUnit - a.held; n > 0 {
		a.release(a.segment(n))
	}
}

// grow takes a segment that holds n bytes from the Memory.
func (a *Arena) grow(n int) *piece {
	return a.segment(max(n, min(max(a.held, leastSegment), mostSegment)))
}

func (a *Arena) segment(size int) *piece {
	a.segs = append(a.segs, a.mem.Alloc(size))
	a.held += size
	return a.piece(part{len(a.segs) - 1, 0, size})
}

// Free takes b back. It must have come from Alloc.
func (a *Arena) Free(b Buffer) {
	p := a.taken[b]
	if p == nil {
		panic(fmt.Sprintf("device: a buffer of %d bytes was freed twice, or does not come from this arena", b.Size()))
	}
	delete(a.taken, b)
	a.used -= p.size
	p.taken = false
	if q := p.next; q != nil && !q.taken {
		a.unlist(q)
		a.swallow(p, q)
	}
	if q := p.prev; q != nil && !q.taken {
		a.unlist(q)
		a.swallow(q, p)
		p = q
	}
	a.release(p)
}

// swallow appends q, which follows p, to p.
func (a *Arena) swallow(p, q *piece) {
	p.size += q.size
	if p.next = q.next; p.next != nil {
		p.next.prev = p
	}
	*q = piece{}
	a.spare = append(a.spare, q)
}

// piece returns a piece without neighbours.
func (a *Arena) piece(at part) *piece {
	n := len(a.spare)
	if n == 0 {
		return &piece{part: at}
	}
	p := a.spare[n-1]
	a.spare = a.spare[:n-1]
	p.part = at
	return p
}

func (a *Arena) release(p *piece) {
	i, _ := slices.BinarySearchFunc(a.free, p.part, byPart)
	a.free = slices.Insert(a.free, i, p)
}

func (a *Arena) unlist(p *piece) {
	i, found := slices.BinarySearchFunc(a.free, p.part, byPart)
	if !found {
		panic("device: the arena has lost a free piece")
	}
	a.free = slices.Delete(a.free, i, i+1)
}

// byPart orders by size. Equal sizes are ordered by address, which keeps used memory together.
func byPart(p *piece, at part) int {
	switch {
	case p.size != at.size:
		return p.size - at.size
	case p.segment != at.segment:
		return p.segment - at.segment
	}
	return p.offset - at.offset
}

// Trim returns all memory to the Memory if none of it is in use, and does nothing
// otherwise.
func (a *Arena) Trim() {
	if a.used > 0 {
		return
	}
	for _, s := range a.segs {
		a.mem.Free(s)
	}
	*a = *NewArena(a.mem)
}

// Held returns the bytes taken from the Memory.
func (a *Arena) Held() int { return a.held }

// Used returns the bytes in use.
func (a *Arena) Used() int { return a.used }

// Peak returns the greatest number of bytes ever in use at once.
func (a *Arena) Peak() int { return a.peak }
