package cuda

import (
	"fmt"
	"slices"

	"hgld/train/device"
)

// program is a recorded sequence of operations: a CUDA graph.
type program struct {
	b     *Backend
	graph Graph
	marks []*allocation // memory that it uses
	freed []*allocation // memory freed while it was recorded
}

func (p *program) uses(marked []*allocation) {
	for _, m := range marked {
		if !slices.Contains(p.marks, m) {
			p.marks = append(p.marks, m)
		}
	}
}

// Record records the operations that f queues as a program instead of running them. They must
// have run once before, so that kernels are loaded and scratch memory has its size. f must
// neither wait nor download.
func (b *Backend) Record(f func()) (device.Program, error) {
	p := &program{b: b}
	if err := b.beginRecord(p); err != nil {
		return nil, err
	}
	f()
	return p, b.endRecord(p)
}

func (b *Backend) beginRecord(p *program) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.capture != nil {
		return fmt.Errorf("cuda: a program is being recorded already")
	}
	if b.err != nil {
		return b.err
	}
	defer b.enter()()
	if b.check("Record", b.drv.BeginCapture(b.compute)) {
		b.capture = p
		b.programs++
	}
	return b.err
}

func (b *Backend) endRecord(p *program) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.enter()()
	b.capture = nil
	b.captured.Broadcast()
	graph, err := b.drv.EndCapture(b.compute)
	if b.check("Record", err) {
		p.graph = graph
	}
	for _, m := range p.freed {
		b.retire(m)
	}
	p.freed = nil
	return b.err
}

// Run queues the program once more.
func (p *program) Run() {
	b := p.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || p.graph == 0 {
		return
	}
	defer b.enter()()
	b.awaitUploads(p.marks)
	b.check("Run", b.drv.LaunchGraph(p.graph, b.compute))
	b.markUse("Run", p.marks)
}

// Close frees the program's memory once it has run.
func (p *program) Close() {
	b := p.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.graph == 0 || b.closed {
		return
	}
	defer b.enter()()
	b.check("Close", b.drv.SyncStream(b.compute))
	b.check("Close", b.drv.FreeGraph(p.graph))
	p.graph = 0
	if b.programs--; b.programs == 0 {
		for _, m := range b.arena.old {
			b.release(m)
		}
		b.arena.old = nil
	}
}
