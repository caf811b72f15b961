package emu

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

var orders = []string{"forward", "reversed", "shuffled:1", "shuffled:7"}

// faulted runs a kernel that must fail at the next synchronisation and returns the error's
// text. The failure is sticky: later calls return it too.
func (d *driver) faulted(code int, kernel string, grid, block, shared int, args ...any) string {
	d.t.Helper()
	if got := d.launch(0, kernel, grid, block, shared, args...); got != 0 {
		d.t.Fatalf("launch of %s returned %d: %s", kernel, got, d.lastError())
	}
	d.want(code, "cuCtxSynchronize")
	text := d.lastError()
	d.want(code, "cuMemAlloc_v2", at(box[uintptr]()), 4)
	d.want(code, "cuCtxSynchronize")
	return text
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	missing := slices.DeleteFunc(parts, func(p string) bool { return strings.Contains(text, p) })
	if len(missing) > 0 {
		t.Errorf("%q is not in\n%s", missing, text)
	}
}

func TestMissingBarrierShowsBetweenOrders(t *testing.T) {
	results := map[string]bool{}
	for _, order := range orders {
		d := open(t, order, "missing_barrier u64 u64")
		y := d.alloc(512)
		d.run(0, "missing_barrier", 2, 256, y, d.upload(counting(512)))
		got := d.download(y, 512)
		results[fmt.Sprint(got)] = true
		wrong := 0
		for i, v := range got {
			if v != float32(i/256*256+255-i%256) {
				wrong++
			}
		}
		if wrong == 0 {
			t.Errorf("order %s: the result is right without the barrier", order)
		}
	}
	if len(results) != len(orders) {
		t.Errorf("%d orders gave %d results", len(orders), len(results))
	}
}

func TestWrongOrderOfArgumentsIsCaught(t *testing.T) {
	t.Run("output for input", func(t *testing.T) {
		d := open(t, "forward", scaleF32)
		x, y := d.upload(counting(100)), d.alloc(100)
		d.run(0, "scale_f32", 1, 256, x, y, float32(2), int64(100)) // want y, x
		if got := d.download(y, 1)[0]; got == got {
			t.Errorf("y was never written, but holds %v and not NaN", got)
		}
		if got := d.download(x, 1)[0]; got == got {
			t.Errorf("x was made of memory that nothing was written to, but holds %v and not NaN", got)
		}
	})
	t.Run("a number for a pointer", func(t *testing.T) {
		d := open(t, "forward", scaleF32)
		x, y := d.upload(counting(100)), d.alloc(100)
		text := d.faulted(codeIllegalAddress, "scale_f32", 1, 256, 0, y, int64(100), float32(2), x)
		contains(t, text, "kernel scale_f32, block (0,0,0), thread (0,0,0)", "address 0x64", "not in the device's memory")
	})
	t.Run("PTX of another source", func(t *testing.T) {
		d := open(t, "forward", "scale_f32 u64 f32 u64 u64", "block_sum u64 u64", "missing u64")
		d.want(codeInvalidPTX, "cuModuleGetFunction", at(box[uintptr]()), d.module, cText("scale_f32"))
		contains(t, d.lastError(), "kernel scale_f32", "parameter 1 has 4 bytes, in the source 8")
		d.want(codeInvalidPTX, "cuModuleGetFunction", at(box[uintptr]()), d.module, cText("block_sum"))
		contains(t, d.lastError(), "2 parameters, the source 3")
		d.want(codeNotFound, "cuModuleGetFunction", at(box[uintptr]()), d.module, cText("missing"))
		d.want(codeNotFound, "cuModuleGetFunction", at(box[uintptr]()), d.module, cText("lanes"))
	})
}

func TestThreadOutOfRangeIsCaught(t *testing.T) {
	for _, order := range orders {
		for _, n := range []int{64, 1000, 1024} { // 256 bytes divide the first and the last, not the second
			t.Run(fmt.Sprint(order, n), func(t *testing.T) {
				d := open(t, order, "no_bound u64 u64")
				y := d.alloc(n)
				text := d.faulted(codeIllegalAddress, "no_bound", n/256+1, 256, 0, y, d.upload(counting(1)))
				contains(t, text, "kernel no_bound", "past the end of the allocation of", fmt.Sprint(4*n, " bytes"))
			})
		}
	}
	d := open(t, "forward", "no_bound u64 u64")
	text := d.faulted(codeIllegalAddress, "no_bound", 1, 256, 0, d.alloc(64), d.upload(counting(1)))
	contains(t, text, "block (0,0,0), thread (64,0,0)", " 0 bytes past the end")
}

// A write just before or after an allocation whose size is not a multiple of 256.
func TestPatternAroundAllocationIsChecked(t *testing.T) {
	for name, offset := range map[string]uintptr{"wrote before the start of": ^uintptr(3), "wrote past the end of": 40} {
		d := open(t, "forward", scaleF32)
		x, y := d.upload(counting(1)), d.alloc(10)
		text := d.faulted(codeIllegalAddress, "scale_f32", 1, 1, 0, y+offset, x, float32(2), int64(1))
		contains(t, text, "kernel scale_f32", name, "the allocation of 40 bytes")
	}
}

// TestHostReadsDeviceMemory is run by the test below in a separate process.
func TestHostReadsDeviceMemory(t *testing.T) {
	if os.Getenv("HGLD_EMU_HOST_READ") == "" {
		return
	}
	d := open(t, "forward", scaleF32)
	x, y := d.upload(counting(4)), d.alloc(4)
	d.run(0, "scale_f32", 1, 4, y, x, float32(2), int64(4))
	fmt.Println("a kernel read", d.download(y, 4))
	fmt.Println("the host read", **(**float32)(unsafe.Pointer(&y)))
}

func TestHostReadOfDeviceMemoryFaults(t *testing.T) {
	BuildFolder(t, "testdata") // build here, since the subprocess has a time limit
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHostReadsDeviceMemory$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), "HGLD_EMU_HOST_READ=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the process went on:\n%s", out)
	}
	contains(t, string(out), "a kernel read [0 2 4 6]", "unexpected fault address", "TestHostReadsDeviceMemory")
	if bytes.Contains(out, []byte("the host read")) {
		t.Errorf("the host could read:\n%s", out)
	}
}

func TestUploadThatDoesNotWaitShows(t *testing.T) {
	for _, waits := range []bool{true, false} {
		d := open(t, "forward", scaleF32)
		host, s, sent := d.pinned(1), d.stream(), d.event()
		first, second := d.alloc(1), d.alloc(1)
		host[0] = 1
		d.ok("cuMemcpyHtoDAsync_v2", first, at(&host[0]), 4, s)
		d.ok("cuEventRecord", sent, s)
		if waits {
			d.ok("cuEventSynchronize", sent)
		}
		host[0] = 2
		d.ok("cuMemcpyHtoDAsync_v2", second, at(&host[0]), 4, s)
		if got := d.download(first, 1)[0]; (got == 1) != waits {
			t.Errorf("waits %v: the first upload arrived as %v", waits, got)
		}
	}
}

func TestDivergentBarrierIsAnError(t *testing.T) {
	for _, order := range orders {
		d := open(t, order, "divergent_warp u64", "divergent_exit u64")
		text := d.faulted(codeLaunchFailed, "divergent_exit", 3, 256, 0, d.alloc(256))
		contains(t, text, "kernel divergent_exit, block (", "divergent barrier: of 256 threads 100 wait at __syncthreads",
			"0 at a warp operation, 156 have exited")
		d = open(t, order, "divergent_warp u64")
		text = d.faulted(codeLaunchFailed, "divergent_warp", 1, 256, 0, d.alloc(256))
		contains(t, text, "of 256 threads 240 wait at __syncthreads, 16 at a warp operation, 0 have exited",
			"waits at __shfl_xor_sync for the lanes of mask 0xffffffff")
	}
}

func TestWarpOperationOfAbsentLanesIsAnError(t *testing.T) {
	d := open(t, "forward", "exited_lane u64", "unnamed_lane u64")
	contains(t, d.faulted(codeLaunchFailed, "exited_lane", 1, 32, 0, d.alloc(32)),
		"__shfl_down_sync: mask 0xffffffff names lane 0, which has exited")
	// In reversed order lanes 31…16 wait first, and then the others exit.
	d = open(t, "reversed", "exited_lane u64")
	contains(t, d.faulted(codeLaunchFailed, "exited_lane", 1, 32, 0, d.alloc(32)),
		"16 at a warp operation, 16 have exited")
	d = open(t, "forward", "unnamed_lane u64")
	contains(t, d.faulted(codeLaunchFailed, "unnamed_lane", 1, 32, 0, d.alloc(32)),
		"reads lane", "which its mask does not name")
	d = open(t, "forward", "lanes u64 u64")
	contains(t, d.faulted(codeLaunchFailed, "lanes", 1, 40, 0, d.alloc(400), d.upload(make([]float32, 64))),
		"mask 0xffffffff names lane 8, which lies past the end of the block")
}

func TestSharedMemoryIsBoundedAndPoisoned(t *testing.T) {
	d := open(t, "forward", "shared_overrun u64 u32")
	contains(t, d.faulted(codeIllegalAddress, "shared_overrun", 1, 1, 0, d.alloc(1), int32(65)),
		"wrote 0 bytes past the end of the shared array small of 256 bytes")
	d = open(t, "forward", "shared_too_large u64")
	contains(t, d.faulted(701, "shared_too_large", 1, 1, 0, d.alloc(1)), "more needs 4 bytes", "49152")
	d = open(t, "forward", "dynamic_overrun u64 u32")
	contains(t, d.faulted(codeIllegalAddress, "dynamic_overrun", 1, 1, 1024, d.alloc(1), int32(257)), "shared memory")

	d = open(t, "forward", "dynamic_overrun u64 u32", "uninitialised_shared u64")
	fn := d.handle("cuModuleGetFunction", d.module, cText("dynamic_overrun"))
	y := d.alloc(4)
	if code := d.launch(0, "dynamic_overrun", 1, 1, 99<<10, y, int32(99<<8)); code != codeInvalidValue {
		t.Errorf("99 KiB of dynamic memory without opting in: %d", code)
	}
	d.ok("cuFuncSetAttribute", fn, 8, 99<<10)
	d.want(codeInvalidValue, "cuFuncSetAttribute", fn, 8, 100<<10) // GPUs of 8.6 have 99 KiB
	if code := d.launch(0, "dynamic_overrun", 1, 1, 99<<10, y, int32(99<<8)); code != 0 {
		t.Errorf("99 KiB of dynamic memory after opting in: %d %s", code, d.lastError())
	}
	if got := d.download(y, 1)[0]; got != 1 {
		t.Errorf("dynamic memory held %v", got)
	}
	if code := d.launch(0, "uninitialised_shared", 4, 1, 16, y); code != 0 {
		t.Fatal(d.lastError())
	}
	if got := d.download(y, 4); slices.ContainsFunc(got, func(v float32) bool { return v == v }) {
		t.Errorf("shared memory held %v at the start of blocks, want NaN", got)
	}
}

func TestFreedMemoryIsInaccessibleToKernels(t *testing.T) {
	d := open(t, "forward", scaleF32)
	x, y := d.upload(counting(100)), d.alloc(100)
	d.ok("cuMemFree_v2", x)
	d.want(codeInvalidValue, "cuMemFree_v2", x)
	d.want(codeInvalidValue, "cuMemcpyDtoH_v2", at(box[float32]()), x, 4)
	text := d.faulted(codeIllegalAddress, "scale_f32", 1, 256, 0, y, x, float32(2), int64(100))
	contains(t, text, "kernel scale_f32", "in an allocation of 400 bytes that was freed")
}

func TestOtherFaultsOfKernelsAreErrors(t *testing.T) {
	d := open(t, "forward", "divide u64 u32 u32")
	contains(t, d.faulted(codeLaunchFailed, "divide", 1, 1, 0, d.alloc(1), int32(1), int32(0)), "division by zero")
	d = open(t, "forward", "full_stack u64 u32")
	contains(t, d.faulted(codeLaunchFailed, "full_stack", 1, 1, 0, d.alloc(2), int32(1000)), "stack is full")
	d = open(t, "forward", scaleF32)
	x := d.upload(counting(1))
	contains(t, d.faulted(codeIllegalAddress, "scale_f32", 1, 1, 0, uintptr(0), x, float32(1), int64(1)), "address 0x0")
	// A fault must not leave threads behind: the next context works.
	d = open(t, "shuffled:3", blockSum)
	sums := d.alloc(1)
	d.run(0, "block_sum", 1, 256, sums, d.upload(counting(256)), int64(256))
	if got := d.download(sums, 1)[0]; got != 255*128 {
		t.Errorf("sum after faults = %v", got)
	}
}

func TestGoPanicsOnItsOwnFaults(t *testing.T) {
	open(t, "forward", scaleF32) // installs our signal handlers before Go's
	defer func() {
		if recover() == nil {
			t.Error("a nil pointer's use did not panic")
		}
	}()
	var p *float32
	_ = *p
}

func TestFreshMemoryIsPoisoned(t *testing.T) {
	d := open(t, "forward", scaleF32)
	for _, v := range d.download(d.alloc(1000), 1000) {
		if math.Float32bits(v) != 0xffffffff {
			t.Fatalf("fresh memory holds %x", math.Float32bits(v))
		}
	}
	if host := d.pinned(10); math.Float32bits(host[9]) != 0xffffffff {
		t.Errorf("fresh pinned memory holds %v", host)
	}
}

func TestAbandonedThreadsDoNotRun(t *testing.T) {
	d := open(t, "forward", "divergent_exit u64")
	start := time.Now()
	d.faulted(codeLaunchFailed, "divergent_exit", 1<<26, 256, 0, d.alloc(256))
	if took := time.Since(start); took > time.Minute { // all blocks take longer
		t.Errorf("a kernel went on for %v after its first block failed", took)
	}
}
