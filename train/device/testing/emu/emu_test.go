package emu

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
)

const (
	scaleF32 = "scale_f32 u64 u64 f32 u64"
	blockSum = "block_sum u64 u64 u64"
)

// counting returns 0, 1, 2, …
func counting(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

func TestKernelsRunInEveryOrder(t *testing.T) {
	for _, order := range []string{"forward", "reversed", "shuffled:1", "shuffled:2"} {
		t.Run(order, func(t *testing.T) {
			d := open(t, order, scaleF32, blockSum)
			const n = 1000
			x, y, sums := d.upload(counting(n)), d.alloc(n), d.alloc(4)
			d.run(0, "scale_f32", 4, 256, y, x, float32(3), int64(n))
			d.run(0, "block_sum", 4, 256, sums, x, int64(n))
			for i, v := range d.download(y, n) {
				if v != 3*float32(i) {
					t.Fatalf("y[%d] = %v", i, v)
				}
			}
			for b, v := range d.download(sums, 4) {
				want := float32(0)
				for i := 256 * b; i < min(n, 256*b+256); i++ {
					want += float32(i)
				}
				if v != want {
					t.Errorf("sum of block %d = %v, want %v", b, v, want)
				}
			}
		})
	}
}

// bits returns the 32-bit words in device memory.
func (d *driver) bits(p uintptr, n int) []uint32 {
	d.t.Helper()
	words := make([]uint32, n)
	for i, v := range d.download(p, n) {
		words[i] = math.Float32bits(v)
	}
	return words
}

func (d *driver) uploadInts(values []int32) uintptr {
	d.t.Helper()
	words := make([]float32, len(values))
	for i, v := range values {
		words[i] = math.Float32frombits(uint32(v))
	}
	return d.upload(words)
}

func TestLanesExchangeValues(t *testing.T) {
	x := make([]int32, 64)
	for i := range x {
		x[i] = int32(i)
	}
	for _, order := range orders {
		d := open(t, order, "lanes u64 u64")
		y := d.alloc(640)
		d.run(0, "lanes", 1, 64, y, d.uploadInts(x))
		got := d.bits(y, 640)
		for i := range 64 {
			lane, base := i%32, i/32*32
			var ballot, half int
			for l := range 32 {
				if (base+l)%3 == 0 {
					ballot |= 1 << l
				}
				if l/16 == lane/16 {
					half += base + l
				}
			}
			if lane >= 16 { // its sum was doubled
				half *= 2
			}
			down, up, next := i+4, i-4, i+1
			if lane+4 > 31 {
				down = i
			}
			if lane < 4 {
				up = i
			}
			if lane == 31 {
				next = i
			}
			want := []uint32{uint32(base + 5), uint32(i ^ 3), uint32(down), uint32(up), uint32(ballot), uint32(1 - i/32),
				uint32(1 - i/32), uint32(i ^ 1), uint32(next), uint32(half)}
			if !slices.Equal(got[10*i:10*i+10], want) {
				t.Fatalf("order %s, thread %d: %v, want %v", order, i, got[10*i:10*i+10], want)
			}
		}
	}
}

func TestIntegerOperations(t *testing.T) {
	d := open(t, "forward", "integers u64 u64 u64")
	y := d.alloc(18)
	d.run(0, "integers", 1, 1, y, d.alloc(1), d.alloc(2))
	want := []uint32{8, 8, 32, 31, 0, 4, 0x80000000, 3, 10, 15, 20, 3, 15, 7, 1, 1, 0x3f800000, 0x3ff00000}
	if got := d.bits(y, 18); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestCoordinatesOfThreeDimensions(t *testing.T) {
	for _, order := range orders {
		d := open(t, order, "coordinates u64")
		fn := d.handle("cuModuleGetFunction", d.module, cText("coordinates"))
		y := d.alloc(24 * 30)
		argument := box[uintptr]()
		*argument = y
		list := box[uintptr]()
		*list = at(argument)
		d.ok("cuLaunchKernel", fn, 2, 3, 4, 5, 3, 2, 30*4, 0, at(list), 0)
		for i, v := range d.bits(y, 24*30) {
			if want := uint32(i/30*100 + 29 - i%30); v != want {
				t.Fatalf("order %s: y[%d] = %d, want %d", order, i, v, want)
			}
		}
	}
}

func TestArgumentsArePassedByValue(t *testing.T) {
	d := open(t, "forward", "struct_by_value u64 16 u64")
	s := make([]byte, 16) // a double, two ints
	binary.LittleEndian.PutUint64(s, math.Float64bits(0.5))
	binary.LittleEndian.PutUint32(s[8:], 10)
	binary.LittleEndian.PutUint32(s[12:], 100)
	y := d.alloc(2)
	d.run(0, "struct_by_value", 1, 1, y, s, d.upload([]float32{1000}))
	words := d.bits(y, 2)
	if got := math.Float64frombits(uint64(words[0]) | uint64(words[1])<<32); got != 1110.5 {
		t.Errorf("sum of the arguments = %v", got)
	}
}

func TestOrdersOfThreadsAndBlocks(t *testing.T) {
	seen := map[string]bool{}
	for _, order := range orders {
		d := open(t, order, "tickets u64 u64")
		y := d.alloc(1024)
		d.run(0, "tickets", 4, 256, y, d.uploadInts([]int32{0}))
		got := d.bits(y, 1024)
		seen[fmt.Sprint(got)] = true
		sorted := slices.Sorted(slices.Values(got))
		for i, v := range sorted {
			if int(v) != i {
				t.Fatalf("order %s: ticket %d was not given out once", order, i)
			}
		}
		if first, last := got[0] == 0, got[1023] == 0; first != (order == "forward") || last != (order == "reversed") {
			t.Errorf("order %s: the first thread had ticket %d, the last %d", order, got[0], got[1023])
		}
	}
	if len(seen) != len(orders) {
		t.Errorf("%d orders ran in %d ways", len(orders), len(seen))
	}
}

func TestManyBlocksRunOnce(t *testing.T) {
	for _, order := range orders {
		d := open(t, order, scaleF32)
		const n = 70001
		x, y := d.upload(counting(n)), d.alloc(n)
		d.run(0, "scale_f32", n, 1, y, x, float32(1), int64(n))
		if got := d.download(y, n); !slices.Equal(got, counting(n)) {
			t.Errorf("order %s: 70,001 blocks wrote something else", order)
		}
	}
}

func TestLaunchesThatNoCardCanRun(t *testing.T) {
	d := open(t, "forward", scaleF32)
	args := []any{d.alloc(1), d.alloc(1), float32(1), int64(0)}
	for _, c := range []struct{ grid, block, want int }{
		{0, 256, codeInvalidValue}, {1, 0, codeInvalidValue}, {1 << 31, 1, codeInvalidValue},
		{1, 1025, codeInvalidValue}, {1, 257, 701},
	} {
		if code := d.launch(0, "scale_f32", c.grid, c.block, 0, args...); code != c.want {
			t.Errorf("%d blocks of %d threads: %d, want %d", c.grid, c.block, code, c.want)
		}
	}
}

func TestPTXIsRead(t *testing.T) {
	d := open(t, "forward", scaleF32)
	d.want(codeInvalidPTX, "cuModuleLoadData", at(box[uintptr]()), cText("\x7felf"))
	header := heap[byte](64)
	copy(header, "\x7fELF")
	d.want(codeInvalidImage, "cuModuleLoadData", at(box[uintptr]()), at(&header[0]))
	log := heap[byte](200)
	options, values := heap[int32](2), heap[uintptr](2)
	options[0], options[1] = 5, 6
	values[0], values[1] = at(&log[0]), 200
	text := cText(".version 7.5\n.entry odd(.param .v9 x) { }")
	d.want(codeInvalidPTX, "cuModuleLoadDataEx", at(box[uintptr]()), text, 2, at(&options[0]), at(&values[0]))
	contains(t, string(log), "a parameter of odd is not understood")

	// The form that clang writes: comments, alignment, kinds of pointers, directives.
	d.module = d.handle("cuModuleLoadData", cText(`//
// Generated by LLVM NVPTX Back-End
//
.version 7.5
.target sm_80
.address_size 64

	// .globl	scale_f32 // -- Begin function scale_f32
                                        // @scale_f32
.visible .entry scale_f32(
	.param .u64 .ptr .global .align 4 scale_f32_param_0,
	.param .u64 scale_f32_param_1,
	.param .f32 scale_f32_param_2,
	.param .u64 scale_f32_param_3
)
.maxntid 256, 1, 1
{
	ret;
}
.visible .entry struct_by_value(
	.param .u64 struct_by_value_param_0,
	.param .align 8 .b8 struct_by_value_param_1[16],
	.param .u64 struct_by_value_param_2
)
{
	ret;
}`))
	d.handle("cuModuleGetFunction", d.module, cText("scale_f32"))
	d.handle("cuModuleGetFunction", d.module, cText("struct_by_value"))
	value := box[int32]()
	d.ok("cuFuncGetAttribute", at(value), 0, d.handle("cuModuleGetFunction", d.module, cText("scale_f32")))
	if *value != 256 {
		t.Errorf("scale_f32 allows %d threads", *value)
	}
}

// BenchmarkCosts measures a thread, a barrier and a shuffle.
func BenchmarkCosts(b *testing.B) {
	for _, order := range []string{"forward", "shuffled:1"} {
		for name, c := range map[string]struct {
			each int // threads, or threads times barriers
			args []any
		}{
			"empty":    {1000 * 256, []any{uintptr(0)}},
			"barriers": {1000 * 256 * 100, []any{int32(100)}},
			"shuffles": {1000 * 256 * 100, []any{uintptr(0), int32(100)}},
		} {
			b.Run(name+"/"+order, func(b *testing.B) {
				d := open(b, order, "empty u64", "barriers u32", "shuffles u64 u32")
				for b.Loop() {
					d.run(0, name, 1000, 256, c.args...)
					d.ok("cuCtxSynchronize")
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.each), "ns/each")
			})
		}
	}
}
