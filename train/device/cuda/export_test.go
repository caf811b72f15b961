package cuda

import (
	"regexp"
	"slices"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cuda/vendor"
)

// PoisonScratch fills the scratch memory of operations with NaN.
func (b *Backend) PoisonScratch() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.arena.memory; m != nil && b.err == nil {
		defer b.enter()()
		b.check("PoisonScratch", b.drv.Set8(m.addr, 0xFF, m.size, b.compute))
	}
}

// OpenDriver opens the driver that Open uses.
var OpenDriver = openDriver

// CubinArchive and Cubins are the kernels' machine code.
var (
	CubinArchive = cubinArchive
	Cubins       = cubins
)

// Arch is the architecture of the machine code that runs, empty while it is PTX's or none is loaded.
func (b *Backend) Arch() string { return b.arch }

// LeastDriver is the oldest version of CUDA that a driver may have.
const LeastDriver = leastDriver

// KernelCards sets the folder of the kernel's cards until the end of a test.
func KernelCards(t *testing.T, dir string) {
	before := kernelCards
	kernelCards = dir
	t.Cleanup(func() { kernelCards = before })
}

// TryKernel is what Report.Try does with an open card.
func (b *Backend) TryKernel() error { return b.try() }

// PeakEmpty queues a kernel that does nothing.
func (b *Backend) PeakEmpty() { b.op("PeakEmpty").i32(0).run("peak", "peak_empty", 1, 32, 0) }

// PeakFMA queues 128 multiply-adds (256 operations) per element of dst and round.
func (b *Backend) PeakFMA(dst device.Array, rounds int) {
	b.op("PeakFMA").ptr(dst).f32(0.5).f32(1).i32(rounds).run("peak", "peak_fma", dst.Len()/256, 256, 0)
}

// PeakMMA queues 8 products of fragments (4096 operations each) per 32 elements of dst and
// round.
func (b *Backend) PeakMMA(dst device.Array, rounds int) {
	b.op("PeakMMA").ptr(dst).u32(0x3f803f80).i32(rounds).run("peak", "peak_mma", dst.Len()/256, 256, 0)
}

// Kernels lists the kernels of all modules.
func Kernels() (names []string, err error) {
	files, err := ptx.ReadDir("ptx")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := ptx.ReadFile("ptx/" + f.Name())
		if err != nil {
			return nil, err
		}
		for _, m := range regexp.MustCompile(`\.visible \.entry (\w+)`).FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names, nil
}

// Ran reports whether a kernel was launched.
func (b *Backend) Ran(kernel string) bool {
	for k := range b.kernels {
		if k.String() == kernel {
			return true
		}
	}
	return false
}

// ClearError forgets the first failure, after a test that provoked it.
func (b *Backend) ClearError() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = nil
}

// RankWithin bounds the scratch memory of the sorted queries of RankLoss.
func (b *Backend) RankWithin(bytes int) { b.rankScratch = bytes }

// SortWithin bounds the scratch memory of sorts.
func (b *Backend) SortWithin(bytes int) { b.sortScratch = bytes }

// Tune sets the knobs as TuneVariable would.
func (b *Backend) Tune(text string) (err error) {
	b.tuning, err = tuningOf(text)
	return err
}

// UseLibraries says whether NVIDIA's libraries compute in BF16, or nothing.
func (b *Backend) UseLibraries(use bool) {
	b.vendor.types = nil
	if use {
		b.vendor.types = []device.DType{device.BF16}
	}
}

// HasLibraries reports which of NVIDIA's libraries are there for products and convolutions.
func (b *Backend) HasLibraries() (products, convolutions bool) {
	l := b.library(device.BF16)
	return l.PlansProducts(), l.PlansConvolutions()
}

// ConvolutionPlans describes what cuDNN has planned.
func (b *Backend) ConvolutionPlans() string {
	return b.vendor.libraries.(*vendor.Libraries).PlansText()
}

// ForgetTold makes Say hear every reason once more.
func (b *Backend) ForgetTold() { clear(b.vendor.told) }

// ProductTiles is the rule for the tiles of a product of BF16 arrays whose tiles a knob sets. splits says that the
// sum may be cut, whole that eight elements of both operands lie side by side.
func (b *Backend) ProductTiles(name string, rows, cols, inner int, splits, whole bool) (tile, parts int) {
	of := knob(slices.IndexFunc(knobTable[:], func(k knobFacts) bool { return k.name == name+".tile" }))
	tile, parts = productTiles(rows, cols, inner, 1)
	p := wideProduct{rows: rows, cols: cols, inner: inner, batch: 1}
	p.low = of == convGradWTile || of == matmulTile && rows < inner
	p.narrow = p.low || of != matmulTile
	if splits {
		p.splitKnob = convGradWSplit
	}
	if w := b.wideOf(of, p); whole && w.rows > 0 {
		tile, parts = wideTile, w.splits
	}
	return tile, parts
}

// Divide is n/d as the kernels of convolutions compute it.
func Divide(n, d uint32) uint32 {
	by := divisorOf(int(d))
	return uint32(uint64(2*n)*uint64(by.factor)>>32) >> by.shift
}

// Warpgroups reports whether products use wgmma.
func (b *Backend) Warpgroups() bool { return b.warpgroups }

// ProvideWarpgroups decides whether products use wgmma, as Open does.
func (b *Backend) ProvideWarpgroups() error { return b.provideWarpgroups() }
