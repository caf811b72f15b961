package emu

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// One stream computes and another copies its result; only an event orders them.
func TestMissingDependencyShowsInSomeOrder(t *testing.T) {
	for _, waits := range []bool{true, false} {
		wrong := 0
		for _, order := range append(orders, "shuffled:2", "shuffled:3") {
			d := open(t, order, scaleF32)
			copies, compute := d.stream(), d.stream() // in forward order the copies run first
			done := d.event()
			x, y, host := d.upload(counting(4)), d.alloc(4), d.pinned(4)
			d.run(compute, "scale_f32", 1, 4, y, x, float32(2), int64(4))
			d.ok("cuEventRecord", done, compute)
			if waits {
				d.ok("cuStreamWaitEvent", copies, done, 0)
			}
			d.ok("cuMemcpyDtoHAsync_v2", at(&host[0]), y, 16, copies)
			d.ok("cuCtxSynchronize")
			if !slices.Equal(host, []float32{0, 2, 4, 6}) {
				wrong++
			}
		}
		if (wrong == 0) != waits {
			t.Errorf("waits %v: %d orders gave another result", waits, wrong)
		}
	}
}

func TestWorkIsQueuedUntilItIsWaitedFor(t *testing.T) {
	d := open(t, "forward", scaleF32)
	s, e, host := d.stream(), d.event(), d.pinned(1)
	y := d.upload([]float32{1})
	d.run(s, "scale_f32", 1, 1, y, y, float32(5), int64(1))
	d.ok("cuEventRecord", e, s)
	d.ok("cuMemcpyDtoHAsync_v2", at(&host[0]), y, 4, s)
	if host[0] == host[0] {
		t.Errorf("a queued copy wrote %v", host[0])
	}
	// A synchronous copy does not wait for a non-blocking stream.
	direct := heap[float32](1)
	d.ok("cuMemcpyDtoH_v2", at(&direct[0]), y, 4)
	if direct[0] != 1 {
		t.Errorf("a synchronous copy waited for another stream: %v", direct[0])
	}
	d.want(codeNotReady, "cuEventQuery", e) // runs the kernel
	d.ok("cuEventQuery", e)                 // reaches the record
	d.ok("cuStreamQuery", s)                // makes the copy
	if host[0] != 5 {
		t.Errorf("the copy wrote %v", host[0])
	}
	// An event waits for its last record.
	d.run(s, "scale_f32", 1, 1, y, y, float32(5), int64(1))
	d.ok("cuEventRecord", e, s)
	d.ok("cuEventSynchronize", e)
	if got := d.download(y, 1)[0]; got != 25 {
		t.Errorf("after the event y = %v", got)
	}
	d.ok("cuEventDestroy_v2", e)
	d.ok("cuStreamDestroy_v2", s)
	d.want(400, "cuStreamSynchronize", s)
}

func TestCopiesAndFills(t *testing.T) {
	for _, order := range orders {
		d := open(t, order, scaleF32)
		s := d.stream()
		x, y := d.upload(counting(12)), d.alloc(12)
		d.ok("cuMemsetD8Async", y, 0, 48, s)
		// Rows 1 and 2 of a 3×4 matrix, columns 1 and 2, go to rows 0 and 1.
		c := box[[16]uintptr]()
		*c = [16]uintptr{4, 1, 2, 0, x, 0, 16, 8, 0, 2, 0, y, 0, 16, 8, 2}
		d.ok("cuMemcpy2DAsync_v2", at(c), s)
		d.ok("cuMemcpyDtoDAsync_v2", y+40, x+4, 8, s)
		d.ok("cuMemsetD32Async", y+32, 0x40400000, 1, s)
		d.ok("cuStreamSynchronize", s)
		if got, want := d.download(y, 12), []float32{0, 0, 5, 6, 0, 0, 9, 10, 3, 0, 1, 2}; !slices.Equal(got, want) {
			t.Errorf("order %s: %v, want %v", order, got, want)
		}
		d.want(codeInvalidValue, "cuMemcpyDtoDAsync_v2", x+4, x, 8, s)
		d.want(codeInvalidValue, "cuMemcpyDtoDAsync_v2", y, x, 52, s)
		d.want(codeInvalidValue, "cuMemsetD8Async", y+1, 0, 48, s)
		(*c)[14] = 17 // a row of 17 bytes at a pitch of 16
		d.want(codeInvalidValue, "cuMemcpy2DAsync_v2", at(c), s)
	}
}

func TestCopyOfFreedPinnedMemoryIsAnError(t *testing.T) {
	d := open(t, "forward", scaleF32)
	host, s, x := d.pinned(1), d.stream(), d.alloc(1)
	d.ok("cuMemcpyHtoDAsync_v2", x, at(&host[0]), 4, s)
	d.ok("cuMemFreeHost", at(&host[0]))
	d.want(codeInvalidValue, "cuMemFreeHost", at(&host[0]))
	d.want(codeIllegalAddress, "cuStreamSynchronize", s)
	contains(t, d.lastError(), "pinned memory that was freed")
}

func TestPageableMemoryIsReadAtTheCall(t *testing.T) {
	d := open(t, "forward", scaleF32)
	s, x, host := d.stream(), d.alloc(1), heap[float32](1)
	host[0] = 1
	d.ok("cuMemcpyHtoDAsync_v2", x, at(&host[0]), 4, s)
	host[0] = 2
	d.ok("cuMemcpyDtoHAsync_v2", at(&host[0]), x, 4, s) // done on return
	if host[0] != 1 {
		t.Errorf("the copies brought %v", host[0])
	}
}

// record captures y = 2·x, z = 3·y on two streams, and returns the graph.
func (d *driver) record(s, other, x, y, z uintptr) uintptr {
	d.t.Helper()
	fork, join := d.event(), d.event()
	d.ok("cuStreamBeginCapture_v2", s, 1)
	d.run(s, "scale_f32", 1, 256, y, x, float32(2), int64(4))
	d.ok("cuEventRecord", fork, s)
	d.ok("cuStreamWaitEvent", other, fork, 0)
	d.run(other, "scale_f32", 1, 256, z, y, float32(3), int64(4))
	d.ok("cuEventRecord", join, other)
	d.ok("cuStreamWaitEvent", s, join, 0)
	d.want(codeCapturedEvent, "cuEventQuery", join)
	status := box[int32]()
	d.ok("cuStreamIsCapturing", other, at(status))
	if *status != 1 {
		d.t.Errorf("the second stream has capture status %d", *status)
	}
	graph := box[uintptr]()
	d.ok("cuStreamEndCapture", s, at(graph))
	d.ok("cuStreamIsCapturing", other, at(status))
	if *status != 0 {
		d.t.Errorf("after the capture the status is %d", *status)
	}
	executable := d.handle("cuGraphInstantiateWithFlags", *graph, 0)
	d.ok("cuGraphDestroy", *graph)
	return executable
}

func TestCaptureAndReplay(t *testing.T) {
	for _, order := range orders {
		d := open(t, order, scaleF32)
		s := d.stream()
		x, y, z := d.alloc(4), d.alloc(4), d.alloc(4)
		graph := d.record(s, d.stream(), x, y, z)
		if got := d.download(y, 1)[0]; got == got {
			t.Errorf("order %s: capturing wrote %v", order, got)
		}
		host := d.pinned(4)
		for pass := range 3 {
			for i := range host {
				host[i] = float32(pass*10 + i)
			}
			d.ok("cuMemcpyHtoDAsync_v2", x, at(&host[0]), 16, s)
			d.ok("cuGraphLaunch", graph, s)
			d.ok("cuStreamSynchronize", s)
			for i, v := range d.download(z, 4) {
				if v != 6*host[i] {
					t.Errorf("order %s, pass %d: z[%d] = %v", order, pass, i, v)
				}
			}
		}
		d.ok("cuGraphExecDestroy", graph)
		d.want(400, "cuGraphLaunch", graph, s)
	}
}

func TestCallsThatACaptureForbids(t *testing.T) {
	d := open(t, "forward", scaleF32)
	s, x := d.stream(), d.alloc(1)
	out := box[uintptr]()
	ptx := cText(ptxOf(scaleF32))
	for name, call := range map[string]func() int{
		"alloc":       func() int { return d.call("cuMemAlloc_v2", at(out), 4) },
		"free":        func() int { return d.call("cuMemFree_v2", x) },
		"pinned":      func() int { return d.call("cuMemHostAlloc", at(out), 4, 0) },
		"stream sync": func() int { return d.call("cuStreamSynchronize", s) },
		"sync":        func() int { return d.call("cuCtxSynchronize") },
		"module":      func() int { return d.call("cuModuleLoadData", at(out), ptx) },
		"copy":        func() int { return d.call("cuMemcpyDtoH_v2", at(box[float32]()), x, 4) },
		"query":       func() int { return d.call("cuStreamQuery", s) },
	} {
		d.ok("cuStreamBeginCapture_v2", s, 0)
		if code := call(); code != codeCaptureUnsupported {
			t.Errorf("%s returned %d", name, code)
		}
		if code := d.launch(s, "scale_f32", 1, 1, 0, x, x, float32(1), int64(1)); code != codeCaptureInvalidated {
			t.Errorf("a launch after %s returned %d", name, code)
		}
		d.want(codeCaptureInvalidated, "cuStreamEndCapture", s, at(out))
		if *out != 0 {
			t.Errorf("%s: a graph came of an invalid capture", name)
		}
	}
	d.ok("cuStreamSynchronize", s) // the context still works
}

func TestUnjoinedCaptureIsAnError(t *testing.T) {
	d := open(t, "forward", scaleF32)
	s, other, x := d.stream(), d.stream(), d.alloc(1)
	fork, outside, out := d.event(), d.event(), box[uintptr]()
	d.ok("cuEventRecord", outside, other)
	d.ok("cuStreamBeginCapture_v2", s, 1)
	d.ok("cuEventRecord", fork, s)
	d.ok("cuStreamWaitEvent", other, fork, 0)
	d.run(other, "scale_f32", 1, 1, x, x, float32(1), int64(1))
	d.want(codeCaptureUnjoined, "cuStreamEndCapture", s, at(out))
	d.ok("cuStreamBeginCapture_v2", s, 1)
	d.want(codeCaptureIsolation, "cuStreamWaitEvent", s, outside, 0)
	d.want(codeCaptureInvalidated, "cuStreamEndCapture", s, at(out))
}

func TestInjectedFailures(t *testing.T) {
	d := open(t, "forward", scaleF32)
	x := d.upload(counting(4))
	d.fail("cuMemAlloc_v2:2:2,scale_f32:3:719")
	d.alloc(1)
	d.want(codeOutOfMemory, "cuMemAlloc_v2", at(box[uintptr]()), 4)
	d.alloc(1)
	for range 2 {
		d.run(0, "scale_f32", 1, 4, x, x, float32(2), int64(4))
	}
	if got := d.download(x, 4)[1]; got != 4 {
		t.Errorf("x[1] = %v", got)
	}
	contains(t, d.faulted(codeLaunchFailed, "scale_f32", 1, 4, 0, x, x, float32(2), int64(4)), "kernel scale_f32")
	for _, text := range []string{"cuInit", "cuInit:0", "cuInit:x", ":1", "cuInit:1:"} {
		d.want(1, "hgEmuFail", cText(text))
	}
	for _, text := range []string{"", "backward", "shuffled", "shuffled:", "shuffled:1x"} {
		d.want(1, "hgEmuOrder", cText(text))
	}
}

func TestMemoryHasALimit(t *testing.T) {
	d := open(t, "forward", scaleF32)
	d.ok("hgEmuMemory", 1<<20)
	free, total := box[uintptr](), box[uintptr]()
	before := d.alloc(1000)
	d.want(codeOutOfMemory, "cuMemAlloc_v2", at(box[uintptr]()), 1<<20)
	contains(t, d.lastError(), "1048576 bytes: 4000 of 1048576 are in use")
	d.ok("cuMemGetInfo_v2", at(free), at(total))
	if *free != 1<<20-4000 || *total != 1<<20 {
		t.Errorf("%d of %d bytes are free", *free, *total)
	}
	d.ok("cuMemFree_v2", before)
	d.ok("cuMemFree_v2", d.alloc(1<<18))
}

func TestThreadWithoutContext(t *testing.T) {
	d := open(t, "forward", scaleF32)
	var wait sync.WaitGroup
	wait.Go(func() {
		runtime.LockOSThread() // stays locked, so the thread ends with the goroutine
		if code := d.call("cuMemAlloc_v2", at(box[uintptr]()), 4); code != codeInvalidContext {
			t.Errorf("cuMemAlloc on a thread without a context returned %d", code)
		}
	})
	wait.Wait()
}

// The primary context is shared by all who retain it and ends with the last release.
func TestPrimaryContext(t *testing.T) {
	d := open(t, "forward", scaleF32)
	own := d.handle("cuCtxGetCurrent")
	primary := d.handle("cuDevicePrimaryCtxRetain", 0)
	if d.handle("cuDevicePrimaryCtxRetain", 0) != primary {
		t.Error("retaining it twice gave two contexts")
	}
	d.ok("cuDevicePrimaryCtxRelease_v2", 0)
	d.ok("cuCtxSetCurrent", primary)
	x := d.alloc(1)
	d.ok("cuDevicePrimaryCtxRelease_v2", 0)
	d.want(codeInvalidContext, "cuMemFree_v2", x)
	d.want(codeInvalidContext, "cuDevicePrimaryCtxRelease_v2", 0)
	d.ok("cuCtxSetCurrent", own)
	d.want(codeInvalidValue, "cuMemFree_v2", x) // freed with its context
}

func TestDeviceDescribesItself(t *testing.T) {
	d := open(t, "forward", scaleF32)
	n, name := box[int32](), heap[byte](64)
	d.ok("cuDeviceGetCount", at(n))
	d.ok("cuDeviceGetName", at(&name[0]), 64, 0)
	contains(t, string(name), "hgld emulator")
	d.want(101, "cuDeviceGet", at(n), 1)
	for attribute, want := range map[uintptr]int32{1: 1024, 10: 32, 75: 8, 76: 0, 97: 99 << 10} {
		d.ok("cuDeviceGetAttribute", at(n), attribute, 0)
		if *n != want {
			t.Errorf("attribute %d is %d, want %d", attribute, *n, want)
		}
	}
	out := box[*byte]()
	d.ok("cuGetErrorName", codeIllegalAddress, at(out))
	if got := unsafe.String(*out, 26); got != "CUDA_ERROR_ILLEGAL_ADDRESS" {
		t.Errorf("error 700 is called %q", got)
	}
	d.want(codeInvalidValue, "cuGetErrorString", 12345, at(out))
}

// Threads of the program use the library concurrently, each with its own memory and stream.
func TestThreadsShareTheLibrary(t *testing.T) {
	d := open(t, "shuffled:5", scaleF32)
	ctx := d.handle("cuCtxGetCurrent")
	var wait sync.WaitGroup
	for k := range 4 {
		wait.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			defer d.call("cuCtxSetCurrent", 0)
			results := make([]uint32, 100)
			pin := new(runtime.Pinner)
			defer pin.Unpin()
			pin.Pin(&results[0])
			var x, s uintptr
			pin.Pin(&x)
			pin.Pin(&s)
			for range 20 {
				code := d.call("cuCtxSetCurrent", ctx) | d.call("cuMemAlloc_v2", at(&x), 400) |
					d.call("cuStreamCreate", at(&s), 1) | d.call("cuMemsetD32Async", x, uintptr(k+1), 100, s) |
					d.call("cuMemcpyDtoHAsync_v2", at(&results[0]), x, 400, s) | d.call("cuMemFree_v2", x) |
					d.call("cuStreamDestroy_v2", s)
				if code != 0 || results[99] != uint32(k+1) {
					t.Errorf("thread %d: code %d, the device held %d", k, code, results[99])
				}
			}
		})
	}
	wait.Wait()
}

// TestEnvironmentInProcess is run by the test below in a separate process.
func TestEnvironmentInProcess(t *testing.T) {
	if os.Getenv("HGLD_EMU_ENVIRONMENT") == "" {
		return
	}
	d := open(t, "", "tickets u64 u64")
	y := d.alloc(4)
	d.run(0, "tickets", 1, 4, y, d.uploadInts([]int32{0}))
	total := box[uintptr]()
	d.ok("cuDeviceTotalMem_v2", at(total), 0)
	fmt.Println("tickets", d.bits(y, 4), "memory", *total)
	d.ok("cuInit", 0) // an unchanged environment does not reset the emulator
	d.want(77, "cuCtxSynchronize")
	d.ok("cuCtxSynchronize")
	d.ok("hgEmuOrder", cText("forward"))
	d.ok("hgEmuMemory", 1)
	d.ok("hgEmuReset") // resets the emulator
	d.run(0, "tickets", 1, 4, y, d.uploadInts([]int32{0}))
	d.ok("cuCtxSynchronize")
	d.want(77, "cuCtxSynchronize")
	fmt.Println("again", d.bits(y, 4))
}

func TestEnvironmentSetsOptions(t *testing.T) {
	BuildFolder(t, "testdata")
	run := func(env ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEnvironmentInProcess$", "-test.timeout=60s")
		cmd.Env = append(append(os.Environ(), "HGLD_EMU_ENVIRONMENT=1"), env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("HGLD_EMU_ORDER=reversed", "HGLD_EMU_MEMORY=65536", "HGLD_EMU_FAIL=cuCtxSynchronize:2:77")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	contains(t, out, "tickets [3 2 1 0] memory 65536", "again [3 2 1 0]")
	for _, wrong := range []string{
		"HGLD_EMU_ORDER=sideways", "HGLD_EMU_MEMORY=2G", "HGLD_EMU_DEVICES=0", "HGLD_EMU_FAIL=cuInit",
	} {
		out, err := run(wrong)
		if err == nil {
			t.Errorf("%s was taken", wrong)
		}
		name, value, _ := strings.Cut(wrong, "=")
		contains(t, out, name+` is "`+value+`", want`)
	}
}
