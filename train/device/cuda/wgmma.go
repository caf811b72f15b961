package cuda

import (
	"encoding/binary"
	"fmt"
	"math"

	"hgld/internal/half"
	"hgld/train/device"
)

// This file chooses the kernels of matmulwgmma.cu and convwgmma.cu for products of BF16 arrays. They use
// wgmma, which only compute capability 9.0 has. A multiprocessor has one block of them. Elements, their sums
// and statistics have the order of tiles of 128 or 64.

const (
	// wideTile is the value of a knob for these kernels.
	wideTile = 256

	// wideBlocks is the number of blocks that keep a card of 132 multiprocessors busy.
	wideBlocks = 132

	// wideColumns is the shortest sum over which they are faster: a block writes its tile while no other
	// block of its multiprocessor multiplies.
	wideColumns = 256
)

// wide is how these kernels cut a product. Without rows they do not compute it.
type wide struct {
	rows, cols int // of a block
	splits     int // ranges of the sum
}

// wideProduct is a product as wideOf judges it.
type wideProduct struct {
	rows, cols, inner, batch int
	splitKnob                knob // of the ranges of the sum; 0: it is not cut
	low, narrow              bool // there are kernels of 128 and 64 × 256, and of 256 × 64
}

// wideOf returns how wgmma computes a product whose operands are copied in pieces of eight elements. of is the
// knob of its tiles.
func (b *Backend) wideOf(of knob, p wideProduct) wide {
	if b.unfit != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.tell(b.unfit)
	}
	asked := b.tuning[of] == wideTile
	if !b.warpgroups || p.inner == 0 || b.tuning[of] != 0 && !asked {
		return wide{}
	}
	w, most := wide{rows: 256, cols: 128, splits: 1}, 1
	switch {
	case p.rows <= 64 && p.low:
		w.rows, w.cols = 64, 256
	case p.rows <= 128 && p.low:
		w.rows, w.cols = 128, 256
	case p.cols <= 64 && p.narrow:
		w.cols = 64
	}
	tiles := w.grid(p.rows, p.cols) * p.batch
	if p.splitKnob != 0 {
		most = max(1, p.inner/wideColumns)
		w.splits = bestSplits(tiles, wideBlocks, most, p.inner)
		if v := b.tuning[p.splitKnob]; v != 0 {
			w.splits = min(v, blocks(p.inner, splitUnit))
		}
	}
	if !asked && (p.rows < w.rows || p.cols < w.cols || p.inner < wideColumns || tiles*most < wideBlocks) {
		return wide{}
	}
	return w
}

// grid returns the number of tiles of a matrix.
func (w wide) grid(rows, cols int) int { return blocks(rows, w.rows) * blocks(cols, w.cols) }

// side is that of the tiles whose order the sums of columns have.
func (w wide) side() int {
	if min(w.rows, w.cols) < 128 {
		return 64
	}
	return 128
}

// shared is the shared memory of a block: four steps of 64 columns of both operands, and what aligns them to
// 1024 bytes.
func (w wide) shared() int { return 4*2*64*(w.rows+w.cols) + 1008 }

// wideShared is the most.
var wideShared = wide{rows: 256, cols: 128}.shared()

// kernel returns the name of a kernel of these tiles, and its module.
func (w wide) kernel(module, name string) (string, string) {
	return module + "wgmma", fmt.Sprintf("%s_%dx%d_bf16", name, w.rows, w.cols)
}

// provideWarpgroups decides whether products use wgmma, and proves it with one of small integers. A driver that does
// not load the kernels (one before CUDA 12.0) and a card that computes otherwise are used without.
func (b *Backend) provideWarpgroups() error {
	if !b.warpgroups {
		return nil
	}
	if err := b.loadWarpgroups(); err != nil {
		b.warpgroups = false
		b.unfit = fmt.Sprintf("the driver does not load the kernels that use wgmma, so mma.sync computes: %v", err)
		return nil
	}
	c := device.New(b, device.F32, probeRows, probeCols)
	defer b.Free(c.Buf)
	got := make([]byte, 4*c.Len())
	for trans := range 4 {
		m := device.Mul{TransA: trans&1 != 0, TransB: trans&2 != 0, Alpha: 1, Add: c}
		x, y := b.probe(probeRows, m.TransA), b.probe(probeCols, !m.TransB)
		o := matmul{
			m: probeRows, n: probeCols, k: probeInner, batch: 1, lda: int64(stride(x)), ldb: int64(stride(y)),
			ldc: probeCols, alpha: 1,
		}
		b.tensorMatMul("MatMul", c, x, y, m, o, tiling{splits: 1, wide: wide{probeRows, probeCols, 1}})
		err := b.Wait(b.Download(got, c))
		b.Free(x.Buf)
		b.Free(y.Buf)
		if err != nil {
			return err
		}
		for at := 0; at < c.Len(); at += 61 { // of every row and every column
			want := float32(0)
			for k := range probeInner {
				want += probeNumber(at/probeCols, k) * probeNumber(at%probeCols, k)
			}
			if v := math.Float32frombits(binary.NativeEndian.Uint32(got[4*at:])); v != want {
				b.warpgroups = false
				b.unfit = fmt.Sprintf("the card does not compute by wgmma, so mma.sync computes: a product is %v and "+
					"should be %v", v, want)
				return nil
			}
		}
	}
	return nil
}

// loadWarpgroups loads the module of the products.
func (b *Backend) loadWarpgroups() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.enter()()
	const module = "matmulwgmma"
	m, err := b.load(module)
	if err == nil {
		b.modules[module] = m
	}
	return err
}

// The product of provideWarpgroups fills a block, in three steps. Its sums are exact in any order.
const probeRows, probeCols, probeInner = 256, 128, 192

func probeNumber(i, k int) float32 { return float32((i*7+k*3+i*k)%5 - 2) }

// probe returns a factor with so many rows, or columns if it is transposed.
func (b *Backend) probe(n int, transposed bool) device.Array {
	dims := []int{n, probeInner}
	if transposed {
		dims = []int{probeInner, n}
	}
	a := device.New(b, device.BF16, dims...)
	data := make([]byte, 0, 2*a.Len())
	for at := range a.Len() {
		i, k := at/probeInner, at%probeInner
		if transposed {
			k, i = at/n, at%n
		}
		data = binary.NativeEndian.AppendUint16(data, half.ToBF16(probeNumber(i, k)))
	}
	b.Upload(a, data)
	return a
}
