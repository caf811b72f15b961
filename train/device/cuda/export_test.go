package cuda

// PoisonScratch fills the memory that operations keep for themselves with NaN.
func (b *Backend) PoisonScratch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.arena.memory; m != nil && b.err == nil {
		defer b.enter()()
		b.check("PoisonScratch", b.drv.Set8(m.addr, 0xFF, m.size, b.compute))
	}
}
