package cuda_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
)

// numbers returns the bytes of F32 numbers.
func numbers(v ...float32) []byte {
	var out []byte
	for _, x := range v {
		out = binary.NativeEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

// download returns the bytes of an array.
func download(t *testing.T, b *cuda.Backend, a device.Array) []byte {
	t.Helper()
	out := make([]byte, a.Len()*a.Type.Size())
	must.Do(t, b.Wait(b.Download(out, a)))
	return out
}

// It is the first test: a driver that another has opened would be found.
func TestNoDriverNamesWhatIsMissing(t *testing.T) {
	const alone = "HGLD_TEST_NO_DRIVER"
	if os.Getenv(alone) == "" { // a driver that another test opened stays open in its process
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	t.Setenv(cuda.LibrariesVariable, "")
	t.Setenv("PATH", "")
	cuda.KernelCards(t, t.TempDir())
	for _, err := range []error{func() error { _, err := cuda.Open(0); return err }(),
		func() error { _, err := cuda.Probe(); return err }()} {
		if !errors.Is(err, cuda.ErrNoCard) || !errors.Is(err, device.ErrNoGPU) ||
			!strings.Contains(err.Error(), "libcuda.so.1") {
			t.Errorf("got %v", err)
		}
	}
}

// A slot is uploaded again while operations that read it are queued. Each operation must see
// the numbers of its own turn.
func TestUploadsAndOperationsAreOrdered(t *testing.T) {
	b := emulated(t)
	const n, turns = 1000, 20
	slot, sum := device.New(b, device.F32, n), device.New(b, device.F32, n)
	b.Fill(sum, 0)
	for turn := range turns {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(turn + i)
		}
		b.Upload(slot, numbers(v...))
		b.Axpby(sum, 1, sum, 1, slot)
	}
	want := make([]float32, n)
	for i := range want {
		want[i] = float32(turns*i + turns*(turns-1)/2)
	}
	if !bytes.Equal(download(t, b, sum), numbers(want...)) {
		t.Error("an operation saw an upload of another turn")
	}
}

func TestUploadsFromOtherGoroutines(t *testing.T) {
	b := emulated(t)
	const n, slots = 5000, 4
	var arrays [slots]device.Array
	for i := range arrays {
		arrays[i] = device.New(b, device.F32, n)
	}
	var group sync.WaitGroup
	for i := range arrays {
		group.Go(func() {
			v := make([]float32, n)
			for j := range v {
				v[j] = float32(i)
			}
			b.Upload(arrays[i], numbers(v...))
		})
	}
	busy := device.New(b, device.F32, n)
	for range 50 {
		b.Fill(busy, 1)
	}
	group.Wait()
	for i, a := range arrays {
		if got := download(t, b, a); !bytes.Equal(got[4*(n-1):], numbers(float32(i))) {
			t.Errorf("slot %d holds %v", i, got[4*(n-1):])
		}
	}
}

// 20 MiB go through three blocks of pinned memory, as rows of a view too.
func TestLargeTransfers(t *testing.T) {
	b := emulated(t)
	const rows, cols = 1300, 4001
	v := make([]byte, 4*rows*cols)
	for i := 0; i < len(v); i += 4 {
		binary.NativeEndian.PutUint32(v[i:], uint32(i))
	}
	flat := device.New(b, device.I32, rows, cols)
	view := device.New(b, device.I32, rows, cols+7).ColRange(3, cols+3)
	for _, a := range []device.Array{flat, view} {
		b.Upload(a, v)
		if !bytes.Equal(download(t, b, a), v) {
			t.Errorf("%v with stride %d came back changed", a, a.Ld)
		}
	}
}

func TestHostBufferUploads(t *testing.T) {
	b := emulated(t)
	h := b.HostBuffer(4096)
	dst := device.New(b, device.F32, 4)
	copy(h.Bytes()[16:], numbers(1, 2, 3, 4))
	ticket := h.UploadAsync(dst, 16)
	b.Axpby(dst, 2, dst, 0, device.Array{})
	must.Do(t, b.Wait(ticket))
	if !bytes.Equal(download(t, b, dst), numbers(2, 4, 6, 8)) {
		t.Error("the upload was not waited for")
	}
	h.Free()
}

// A goroutine may go on in a thread to which no context is current.
func TestUploadCanBeAwaitedInAnyThread(t *testing.T) {
	b := emulated(t)
	drv, _, err := cuda.OpenDriver()
	must.Do(t, err)
	h := b.HostBuffer(4096)
	dst := device.New(b, device.U8, 4096)
	ticket := h.UploadAsync(dst, 0)
	h.UploadAsync(dst, 0)
	done := make(chan error)
	for _, wait := range []func() error{
		func() error { return b.Wait(ticket) },
		func() error { h.Free(); return b.Sync() },
	} {
		go func() {
			runtime.LockOSThread() // for good: the thread ends with the goroutine
			if err := drv.SetCurrent(0); err != nil {
				done <- err
				return
			}
			done <- wait()
		}()
		must.Do(t, <-done)
	}
}

func TestProgramEqualsTheFirstPass(t *testing.T) {
	b := emulated(t)
	x, y := device.New(b, device.F32, 300, 40), device.New(b, device.F32, 40)
	step := func() {
		b.Sums(y, x, device.SumCols, 0) // uses scratch memory
		b.Axpby(x, 0.5, x, 1, y)
	}
	var first, again []byte
	b.Fill(x, 1)
	step()
	step()
	first = download(t, b, x)
	b.Fill(x, 1)
	p, err := b.Record(step)
	must.Do(t, err)
	p.Run()
	p.Run()
	again = download(t, b, x)
	p.Close()
	if !bytes.Equal(first, again) {
		t.Error("the program computed something else")
	}
}

// failing is emulated for a test whose backend ends in failure.
func failing(t *testing.T) *cuda.Backend {
	t.Helper()
	if !conformance.OnCard() {
		t.Setenv(cuda.LibrariesVariable, emu.Build(t))
	}
	b, err := cuda.Open(0)
	must.Do(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

func TestRecordingAnOperationThatNeverRanFails(t *testing.T) {
	b := failing(t)
	x, y := device.New(b, device.F32, 3000, 400), device.New(b, device.F32, 400)
	b.Fill(x, 1)
	_, err := b.Record(func() { b.Sums(y, x, device.SumCols, 0) })
	if err == nil || !strings.Contains(err.Error(), "Sums") {
		t.Errorf("got %v", err)
	}
}

func TestOutOfMemoryReportsSizes(t *testing.T) {
	b := failing(t)
	b.Alloc(300 << 10)
	want := 2 * b.Card().Memory
	b.Alloc(want)
	var oom *device.OutOfMemory
	if err := b.Sync(); !errors.As(err, &oom) || oom.Want != want || oom.Used < 300<<10 {
		t.Errorf("got %v", err)
	}
}

// Modules, graphs and local memory of kernels are on the GPU, too. The host's pinned memory is not.
func TestDriverWithoutMemoryIsADeviceWithoutMemory(t *testing.T) {
	for calls, short := range map[string]bool{
		"cuModuleLoadDataEx:1:2": true, "cuLaunchKernel:1:2": true, "cuGraphInstantiateWithFlags:1:2": true,
		"cuMemHostAlloc:1:2": false, "cuModuleLoadDataEx:1:218,cuModuleLoadDataEx:2:218": false,
	} {
		t.Run(calls, func(t *testing.T) {
			c := open(t)
			x := device.New(c, device.F32, 1<<18)
			c.emulator.Fail(calls)
			c.Fill(x, 1)
			c.Upload(x.RowRange(0, 1), make([]byte, 4))
			if p, err := c.Record(func() { c.Fill(x, 1) }); err == nil {
				p.Close()
			}
			err := c.Sync()
			var oom *device.OutOfMemory
			call, _, _ := strings.Cut(calls, ":")
			if err == nil || errors.As(err, &oom) != short || !strings.Contains(err.Error(), call+": CUDA_ERROR_") {
				t.Fatalf("got %v", err)
			}
			if short && (oom.Used < 1<<20 || !strings.Contains(err.Error(), "1.0 MiB are in use here, ")) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFailuresAreStickyAndNameTheOperation(t *testing.T) {
	libs := emu.Build(t)
	t.Setenv(cuda.LibrariesVariable, libs)
	b, err := cuda.Open(0)
	must.Do(t, err)
	x := device.New(b, device.F32, 10)
	emu.Open(t, libs).Fail("cuLaunchKernel:2:719")
	b.Fill(x, 1)
	b.Scale(x, x, x.RowRange(0, 1))
	b.Fill(x, 2)
	if err := b.Sync(); err == nil || !strings.Contains(err.Error(), "Scale: cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED") {
		t.Errorf("got %v", err)
	}
	b.Close()
}

// eventUses is a driver that counts the events by use.
type eventUses struct {
	cuda.Driver
	made map[cuda.EventUse]int
}

func (d eventUses) NewEvent(use cuda.EventUse) (cuda.Event, error) {
	d.made[use]++
	return d.Driver.NewEvent(use)
}

// The host waits for a step by its downloads. A processor that spins meanwhile decodes no images. For
// what only streams wait for, CUDA documents another kind of event as the fastest.
func TestDownloadsWaitWithoutSpinning(t *testing.T) {
	emulated(t)
	drv, _, err := cuda.OpenDriver()
	must.Do(t, err)
	d := eventUses{drv, map[cuda.EventUse]int{}}
	b, err := cuda.OpenWith(d, 0)
	must.Do(t, err)
	defer b.Close()
	x := device.New(b, device.F32, 10)
	b.Fill(x, 1)
	download(t, b, x)
	if d.made[cuda.Awaited] != 1 || d.made[cuda.Ordered] != 0 {
		t.Errorf("for a download, events were made for the uses %v", d.made)
	}
	b.Upload(x, make([]byte, 40))
	if d.made[cuda.Awaited] > 2 || d.made[cuda.Ordered] == 0 || d.made[cuda.Timed] != 0 {
		t.Errorf("and for an upload, events were made for the uses %v", d.made)
	}
}

// What the driver's compiler says of PTX is all that there is to go by from afar.
func TestRejectedPTXReportsTheCompilerLog(t *testing.T) {
	emulated(t)
	drv, _, err := cuda.OpenDriver()
	must.Do(t, err)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, err := drv.Retain(0)
	if err == nil {
		err = drv.SetCurrent(ctx)
	}
	must.Do(t, err)
	defer drv.Release(0)
	_, err = drv.Load([]byte(".version 7.5\n.target sm_80\n.address_size 64\n.entry odd(.param .v9 x) { }"))
	if err == nil || !strings.Contains(err.Error(), "PTX") || !strings.Contains(err.Error(), "v9") {
		t.Errorf("got %v", err)
	}
}

// A steady step allocates no host memory.
func TestLaunchesAllocateNothing(t *testing.T) {
	b := emulated(t)
	x := device.New(b, device.F32, 64)
	b.Fill(x, 1)
	b.Axpby(x, 1, x, 1, x)
	if n := testing.AllocsPerRun(100, func() { b.Axpby(x, 1, x, 1, x) }); n > 0 {
		t.Errorf("%v allocations a launch", n)
	}
}

// copying is a driver that notes the stream of each copy to the GPU.
type copying struct {
	cuda.Driver
	streams map[int]map[cuda.Stream]bool // by the bytes of a copy
	pinned  []int                        // blocks of pinned memory
}

func (d *copying) ToDevice(dst cuda.Address, src unsafe.Pointer, bytes int, s cuda.Stream) error {
	if d.streams[bytes] == nil {
		d.streams[bytes] = map[cuda.Stream]bool{}
	}
	d.streams[bytes][s] = true
	return d.Driver.ToDevice(dst, src, bytes, s)
}

func (d *copying) AllocHost(bytes int) (unsafe.Pointer, error) {
	d.pinned = append(d.pinned, bytes)
	return d.Driver.AllocHost(bytes)
}

// The labels of a step are needed at once. The images of the next one are on their way meanwhile, as many as fill
// all blocks of pinned memory.
func TestSmallUploadsDoNotQueueBehindLargeOnes(t *testing.T) {
	emulated(t)
	drv, _, err := cuda.OpenDriver()
	must.Do(t, err)
	d := &copying{Driver: drv, streams: map[int]map[cuda.Stream]bool{}}
	b, err := cuda.OpenWith(d, 0)
	must.Do(t, err)
	defer b.Close()
	images, labels := device.New(b, device.U8, 40<<20), device.New(b, device.F32, 4)
	b.Upload(images, make([]byte, 40<<20))
	b.Upload(labels, numbers(1, 2, 3, 4))
	b.Upload(images.RowRange(0, 16), make([]byte, 16)) // of a large array, so behind the others to it
	sum := device.New(b, device.F32, 4)
	b.Axpby(sum, 1, labels, 1, labels)
	if !bytes.Equal(download(t, b, sum), numbers(2, 4, 6, 8)) {
		t.Error("an operation did not wait for a small upload")
	}
	var large cuda.Stream
	for s := range d.streams[8<<20] {
		large = s
	}
	if len(d.streams[8<<20]) != 1 || len(d.streams[16]) != 2 || !d.streams[16][large] {
		t.Errorf("copies by size used the streams %v", d.streams)
	}
	if last := d.pinned[len(d.pinned)-1]; last >= 8<<20 {
		t.Errorf("a small upload or download takes one of the blocks %v", d.pinned)
	}
}
