package device

import (
	"math/rand/v2"
	"testing"
)

// counting is a Memory that only counts.
type counting struct {
	Memory
	live, bytes, allocs int
}

type counted struct {
	from  *counted // of a part
	at, n int
}

func (c *counted) Size() int { return c.n }

func (m *counting) Alloc(n int) Buffer { m.allocs++; m.live++; m.bytes += n; return &counted{n: n} }
func (m *counting) Free(b Buffer)      { m.live--; m.bytes -= b.Size() }

func (m *counting) Part(b Buffer, offset, n int) Buffer {
	if of := b.(*counted); offset%256 != 0 || offset < 0 || n < 1 || offset+n > of.n {
		panic("a part outside of its buffer")
	}
	return &counted{b.(*counted), offset, n}
}

// step allocates and frees as a forward and a backward pass do.
func step(a *Arena, r *rand.Rand) {
	var live []Buffer
	for range 40 {
		live = append(live, a.Alloc(1+r.IntN(1<<14)))
		if r.IntN(3) == 0 {
			i := r.IntN(len(live))
			a.Free(live[i])
			live = append(live[:i], live[i+1:]...)
		}
	}
	for i := len(live) - 1; i >= 0; i-- {
		a.Free(live[i])
	}
}

func TestArenaTakesNothingInTheSteadyState(t *testing.T) {
	m := &counting{}
	a := NewArena(m)
	for range 3 { // the second step finds buffers free that the first did not
		step(a, rand.New(rand.NewPCG(1, 1)))
	}
	settled := m.allocs
	for range 20 {
		step(a, rand.New(rand.NewPCG(1, 1)))
	}
	if m.allocs != settled || m.allocs > 40 {
		t.Errorf("%d buffers after three steps, %d after 23, for 40 arrays a step", settled, m.allocs)
	}
	if a.Used() != 0 || a.Held() != m.bytes || a.Peak() > a.Held() {
		t.Errorf("used %d, held %d of %d, peak %d", a.Used(), a.Held(), m.bytes, a.Peak())
	}
	a.Trim()
	if m.live != 0 || a.Held() != 0 {
		t.Errorf("%d buffers and %d bytes left after Trim", m.live, a.Held())
	}
}

func TestArenaAllocatesNothingOnTheHostInTheSteadyState(t *testing.T) {
	a := NewArena(&counting{})
	run := func() {
		x, y, z := a.Alloc(1000), a.Alloc(3000), a.Alloc(500)
		a.Free(y)
		y = a.Alloc(2900)
		a.Free(z)
		a.Free(x)
		a.Free(y)
	}
	if n := testing.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}

func TestArenaHandsOutTheSmallestPieceThatFits(t *testing.T) {
	a := NewArena(&counting{})
	small := a.Alloc(4096)
	between := a.Alloc(256)
	large := a.Alloc(8192)
	a.Alloc(256)
	a.Free(large)
	a.Free(small)
	if got := a.Alloc(4000); got != small {
		t.Error("4000 bytes are not in the free piece of 4096")
	}
	if got := a.Alloc(8192); got != large {
		t.Error("8192 bytes are not in the free piece of that size")
	}
	a.Free(large)
	a.Free(between)
	if got := a.Alloc(8448).(*counted); got.at != between.(*counted).at {
		t.Error("two free neighbours are not one piece")
	}
}

func TestArenaNeverHandsOutMemoryThatIsInUse(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	a := NewArena(&counting{})
	var live []*counted
	for range 5000 {
		if len(live) > 0 && r.IntN(5) < 2 {
			i := r.IntN(len(live))
			a.Free(live[i])
			live = append(live[:i], live[i+1:]...)
			continue
		}
		c := a.Alloc(1 + r.IntN(1<<r.IntN(20))).(*counted)
		for _, d := range live {
			if c.from == d.from && c.at < d.at+d.n && d.at < c.at+c.n {
				t.Fatalf("%d bytes at %d over %d bytes at %d", c.n, c.at, d.n, d.at)
			}
		}
		live = append(live, c)
	}
	for _, c := range live {
		a.Free(c)
	}
	if a.Used() != 0 || len(a.free) != len(a.segs) {
		t.Errorf("%d bytes in use, %d pieces free in %d segments", a.Used(), len(a.free), len(a.segs))
	}
}

// A forward pass of falling sizes and a backward pass of others: a list of
// buffers by size would hold each size's own peak.
func TestArenaHoldsLittleMoreThanItsPeak(t *testing.T) {
	a := NewArena(&counting{})
	var live []Buffer
	for i := range 64 {
		live = append(live, a.Alloc(1<<22>>(i/8)))
	}
	for i := len(live) - 1; i >= 0; i-- {
		a.Free(live[i])
		x, y := a.Alloc(3<<20>>(i/8)), a.Alloc(5<<20>>(i/8))
		a.Free(x)
		a.Free(y)
	}
	if a.Held() > 2*a.Peak() {
		t.Errorf("%d bytes held for a peak of %d", a.Held(), a.Peak())
	}
}

func TestArenaPanicsWhenABufferIsGivenBackTwice(t *testing.T) {
	a := NewArena(&counting{})
	b, c := a.Alloc(100), a.Alloc(100)
	a.Free(b)
	a.Free(c)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	a.Free(b)
}

func TestReservedMemoryIsOneSegment(t *testing.T) {
	plan := NewArena(&counting{})
	step(plan, rand.New(rand.NewPCG(1, 1)))
	m := &counting{}
	a := NewArena(m)
	a.Reserve(plan.Held())
	a.Reserve(plan.Held() / 2) // it is there already
	step(a, rand.New(rand.NewPCG(1, 1)))
	if m.allocs != 1 || a.Held() < plan.Held() {
		t.Errorf("%d segments of %d bytes, after %d were reserved", m.allocs, a.Held(), plan.Held())
	}
}
