package cuda

import (
	"io"
	"regexp"
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

// Cubins returns the kernels' machine code for a GPU.
var Cubins = cubins

// Archived returns the files of the archive by name.
func Archived() (map[string][]byte, error) {
	files := map[string][]byte{}
	for f, err := range archived() {
		if err == nil {
			files[f.name], err = io.ReadAll(f)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Arch is the architecture of the machine code that runs, empty while it is PTX's or none is loaded.
func (b *Backend) Arch() string { return b.arch }

// LeastDriver is the oldest version of CUDA that a driver may have.
const LeastDriver = leastDriver

// KernelCards sets the folder of the kernel's GPUs until the end of a test.
func KernelCards(t *testing.T, dir string) {
	before := kernelCards
	kernelCards = dir
	t.Cleanup(func() { kernelCards = before })
}

// TryKernel is what Report.Try does with an open GPU.
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
	modules, err := PTX()
	for _, text := range modules {
		for _, m := range regexp.MustCompile(`\.visible \.entry (\w+)`).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	return names, err
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

// Choices replace what the rules choose by shape.
type Choices = choices

// Choose sets choices.
func (b *Backend) Choose(c Choices) { b.chosen = c }

// ByWay names a way to compute an operation.
type ByWay = way

// UseLibraries says whether NVIDIA's libraries compute in BF16, or nothing.
func (b *Backend) UseLibraries(use bool) {
	b.vendor.types = nil
	if use {
		b.vendor.types = []device.DType{device.BF16}
	}
}

// HasConvolutions reports whether NVIDIA's library for them is there.
func (b *Backend) HasConvolutions() bool { return b.library(device.BF16).PlansConvolutions() }

// ConvolutionPlans describes what cuDNN has planned.
func (b *Backend) ConvolutionPlans() string {
	return b.vendor.libraries.(*vendor.Libraries).PlansText()
}

// Divide is n/d as the kernels of convolutions compute it.
func Divide(n, d uint32) uint32 {
	by := divisorOf(int(d))
	return uint32(uint64(2*n)*uint64(by.factor)>>32) >> by.shift
}

// Hopper makes the rules those of compute capability 9.0.
func (b *Backend) Hopper() { b.card.Major = 9 }
