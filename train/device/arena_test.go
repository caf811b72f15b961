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

type counted struct{ n int }

func (c *counted) Size() int { return c.n }

func (m *counting) Alloc(n int) Buffer { m.allocs++; m.live++; m.bytes += n; return &counted{n} }
func (m *counting) Free(b Buffer)      { m.live--; m.bytes -= b.Size() }

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

func TestArenaHandsOutTheSmallestThatFitsAndNoneThatWastes(t *testing.T) {
	a := NewArena(&counting{})
	small, large := a.Alloc(4096), a.Alloc(4608)
	a.Free(large)
	a.Free(small)
	if got := a.Alloc(4000); got != small {
		t.Errorf("4000 bytes from a buffer of %d", got.Size())
	}
	if got := a.Alloc(256); got == large {
		t.Error("256 bytes from a buffer of 4608")
	}
	if got := a.Alloc(4500); got != large {
		t.Error("4500 bytes not from the free buffer of 4608")
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
