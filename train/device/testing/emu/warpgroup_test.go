package emu

import (
	"math"
	"slices"
	"testing"

	"hgld/internal/half"
)

const warpgroupProduct = "warpgroup_product u64 u64 u64 u32 u32 u32"

// The faults of warpgroup_product, in its order.
const (
	right = iota
	noWait
	noFence
	noProxy
	noBarrier
	aWarpLess
	otherTiles
	changed
)

// paired returns values in BF16, two in the bits of each float.
func paired(values []float32) []float32 {
	all := make([]float32, len(values)/2)
	for i := range all {
		all[i] = math.Float32frombits(uint32(half.ToBF16(values[2*i])) | uint32(half.ToBF16(values[2*i+1]))<<16)
	}
	return all
}

// warpgroups is a product of small integers, which every order of sums gives exactly.
type warpgroups struct {
	*driver
	y, a, b uintptr
	left    func(i, k int) float32
	right   func(k, j int) float32
}

func newWarpgroups(t *testing.T, order string, across bool) *warpgroups {
	t.Helper()
	w := &warpgroups{driver: open(t, order, warpgroupProduct)}
	w.ok("hgEmuCapability", 90)
	w.left = func(i, k int) float32 { return float32((i*5+k*3)%7 - 3) }
	w.right = func(k, j int) float32 { return float32((k*j+j)%9 - 4) }
	var a, b []float32
	for i := range 64 {
		for k := range 16 {
			a = append(a, w.left(i, k))
		}
	}
	for at := range 128 * 16 {
		k, j := at%16, at/16
		if across {
			k, j = at/128, at%128
		}
		b = append(b, w.right(k, j))
	}
	w.y, w.a, w.b = w.alloc(64*128), w.upload(paired(a)), w.upload(paired(b))
	return w
}

func (w *warpgroups) multiply(across, twice, flaw int32) {
	w.t.Helper()
	if code := w.launch(0, "warpgroup_product", 1, 128, warpgroupShared, w.y, w.a, w.b, across, twice, flaw); code != 0 {
		w.t.Fatalf("the launch returned %d: %s", code, w.lastError())
	}
}

// warpgroupShared is the bytes of the tiles, and what aligns them.
const warpgroupShared = 2*(64*64+128*64) + 1008

// The fragments are those of the PTX ISA: of warp w, lane l, register r has row 16w + l/4 + r/2%2·8 and column
// r/4·8 + l%4·2 + r%2.
func TestWarpgroupsMultiplyTiles(t *testing.T) {
	for _, order := range orders {
		for _, across := range []int32{0, 1} {
			for twice := range int32(2) {
				w := newWarpgroups(t, order, across == 1)
				w.multiply(across, twice, right)
				got := w.download(w.y, 64*128)
				for at, v := range got {
					thread, r, want := at/64, at%64, float32(0)
					row, column := thread/32*16+thread%32/4+r/2%2*8, r/4*8+thread%4*2+r%2
					for k := range 16 {
						want += w.left(row, k) * w.right(k, column) * float32(1+twice)
					}
					if v != want {
						t.Fatalf("order %s, across %d, twice %d: element (%d,%d) is %v, want %v", order, across, twice, row,
							column, v, want)
					}
				}
			}
		}
	}
}

func TestFaultsOfWarpgroupsAreCaught(t *testing.T) {
	for flaw, text := range map[int32]string{
		noFence: "no wgmma.fence", noProxy: "without a fence.proxy.async", aWarpLess: "thread 96 began 0 wgmma",
		otherTiles: "the threads of a warpgroup differ",
	} {
		w := newWarpgroups(t, "forward", false)
		contains(t, w.faulted(codeLaunchFailed, "warpgroup_product", 1, 128, warpgroupShared, w.y, w.a, w.b, int32(0),
			int32(0), flaw), text)
	}
	for _, flaw := range []int32{noWait, changed, noBarrier} {
		w := newWarpgroups(t, "forward", false)
		w.multiply(0, 0, flaw)
		if got := w.download(w.y, 64*128); !slices.ContainsFunc(got, func(v float32) bool { return v != v }) {
			t.Errorf("flaw %d leaves a result without NaN", flaw)
		}
	}
}
