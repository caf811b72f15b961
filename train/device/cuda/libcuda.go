package cuda

import (
	"bytes"
	"fmt"
	"runtime"
	"unsafe"

	"hgld/internal/dlopen"
)

// libcuda is the driver's library, opened at run time. Its fields hold the addresses of the
// functions named by their tags. Every driver from CUDA 11.4 to 13 has these functions.
type libcuda struct {
	path string
	// Arguments of the two calls in every operation. Keeping them here avoids allocations. The
	// Backend's lock guards them.
	launch  [11]uintptr
	current [1]uintptr

	init             uintptr `name:"cuInit"`
	driverGetVersion uintptr `name:"cuDriverGetVersion"`
	getErrorName     uintptr `name:"cuGetErrorName"`
	getErrorString   uintptr `name:"cuGetErrorString"`

	deviceGetCount     uintptr `name:"cuDeviceGetCount"`
	deviceGet          uintptr `name:"cuDeviceGet"`
	deviceGetName      uintptr `name:"cuDeviceGetName"`
	deviceGetAttribute uintptr `name:"cuDeviceGetAttribute"`
	deviceTotalMem     uintptr `name:"cuDeviceTotalMem_v2"`
	primaryCtxRetain   uintptr `name:"cuDevicePrimaryCtxRetain"`
	primaryCtxRelease  uintptr `name:"cuDevicePrimaryCtxRelease_v2"`
	ctxSetCurrent      uintptr `name:"cuCtxSetCurrent"`

	memGetInfo    uintptr `name:"cuMemGetInfo_v2"`
	memAlloc      uintptr `name:"cuMemAlloc_v2"`
	memFree       uintptr `name:"cuMemFree_v2"`
	memHostAlloc  uintptr `name:"cuMemHostAlloc"`
	memFreeHost   uintptr `name:"cuMemFreeHost"`
	memcpyHtoD    uintptr `name:"cuMemcpyHtoDAsync_v2"`
	memcpyDtoH    uintptr `name:"cuMemcpyDtoHAsync_v2"`
	memcpyDtoD    uintptr `name:"cuMemcpyDtoDAsync_v2"`
	memcpy2D      uintptr `name:"cuMemcpy2DAsync_v2"`
	memsetD8Async uintptr `name:"cuMemsetD8Async"`

	streamCreate      uintptr `name:"cuStreamCreate"`
	streamDestroy     uintptr `name:"cuStreamDestroy_v2"`
	streamSynchronize uintptr `name:"cuStreamSynchronize"`
	streamWaitEvent   uintptr `name:"cuStreamWaitEvent"`
	eventCreate       uintptr `name:"cuEventCreate"`
	eventDestroy      uintptr `name:"cuEventDestroy_v2"`
	eventRecord       uintptr `name:"cuEventRecord"`
	eventSynchronize  uintptr `name:"cuEventSynchronize"`
	eventQuery        uintptr `name:"cuEventQuery"`
	eventElapsedTime  uintptr `name:"cuEventElapsedTime"`

	moduleLoadData    uintptr `name:"cuModuleLoadDataEx"`
	moduleUnload      uintptr `name:"cuModuleUnload"`
	moduleGetFunction uintptr `name:"cuModuleGetFunction"`
	funcGetAttribute  uintptr `name:"cuFuncGetAttribute"`
	funcSetAttribute  uintptr `name:"cuFuncSetAttribute"`
	launchKernel      uintptr `name:"cuLaunchKernel"`

	streamBeginCapture uintptr `name:"cuStreamBeginCapture_v2"`
	streamEndCapture   uintptr `name:"cuStreamEndCapture"`
	graphInstantiate   uintptr `name:"cuGraphInstantiateWithFlags"`
	graphLaunch        uintptr `name:"cuGraphLaunch"`
	graphExecDestroy   uintptr `name:"cuGraphExecDestroy"`
	graphDestroy       uintptr `name:"cuGraphDestroy"`
}

// errOldLibrary is wrapped by the error for a library that lacks a function.
var errOldLibrary = fmt.Errorf("CUDA %s or newer is needed", versionText(leastDriver))

// openLibcuda opens the library, binds its functions and initialises the driver.
func openLibcuda() (*libcuda, error) {
	lib, err := dlopen.Open(candidates("libcuda.so.1")...)
	if err != nil {
		return nil, err
	}
	d := &libcuda{path: lib.Path}
	if err := lib.Functions(d); err != nil {
		return nil, fmt.Errorf("%w; %w", err, errOldLibrary)
	}
	return d, d.call("cuInit", d.init, 0)
}

// call calls a function and turns its result into an error.
func (d *libcuda) call(name string, fn uintptr, args ...uintptr) error {
	code := int(int32(dlopen.Call(fn, args...)))
	if code == 0 {
		return nil
	}
	return d.failure(name, code)
}

func (d *libcuda) failure(name string, code int) error {
	out := new(uintptr)
	text := func(fn uintptr) string {
		*out = 0
		dlopen.Call(fn, uintptr(code), dlopen.Address(out))
		return dlopen.Text(*out)
	}
	e := &Error{Call: name, Code: code, Name: text(d.getErrorName), Text: text(d.getErrorString)}
	runtime.KeepAlive(out)
	return e
}

// result calls a function whose first argument receives the result.
func result[T any](d *libcuda, name string, fn uintptr, args ...uintptr) (T, error) {
	out := new(T)
	err := d.call(name, fn, append([]uintptr{dlopen.Address(out)}, args...)...)
	runtime.KeepAlive(out)
	return *out, err
}

func (d *libcuda) Version() (int, error) {
	v, err := result[int32](d, "cuDriverGetVersion", d.driverGetVersion)
	return int(v), err
}

func (d *libcuda) Devices() (int, error) {
	n, err := result[int32](d, "cuDeviceGetCount", d.deviceGetCount)
	return int(n), err
}

// Numbers of CUdevice_attribute.
const (
	attributeMultiprocessors = 16
	attributeMajor           = 75
	attributeMinor           = 76
	attributeSharedOptin     = 97
)

func (d *libcuda) Device(ordinal int) (Card, error) {
	dev, err := result[int32](d, "cuDeviceGet", d.deviceGet, uintptr(ordinal))
	if err != nil {
		return Card{}, err
	}
	name := make([]byte, 256)
	if err := d.call("cuDeviceGetName", d.deviceGetName, dlopen.Address(&name[0]), uintptr(len(name)),
		uintptr(dev)); err != nil {
		return Card{}, err
	}
	memory, err := result[uint64](d, "cuDeviceTotalMem", d.deviceTotalMem, uintptr(dev))
	if err != nil {
		return Card{}, err
	}
	card := Card{Ordinal: ordinal, Name: string(name[:max(bytes.IndexByte(name, 0), 0)]), Memory: int(memory)}
	for _, a := range []struct {
		to     *int
		number uintptr
	}{
		{&card.Major, attributeMajor}, {&card.Minor, attributeMinor},
		{&card.Multiprocessors, attributeMultiprocessors}, {&card.SharedPerBlock, attributeSharedOptin},
	} {
		v, err := result[int32](d, "cuDeviceGetAttribute", d.deviceGetAttribute, a.number, uintptr(dev))
		if err != nil {
			return Card{}, err
		}
		*a.to = int(v)
	}
	return card, nil
}

func (d *libcuda) Retain(ordinal int) (Context, error) {
	dev, err := result[int32](d, "cuDeviceGet", d.deviceGet, uintptr(ordinal))
	if err != nil {
		return 0, err
	}
	return result[Context](d, "cuDevicePrimaryCtxRetain", d.primaryCtxRetain, uintptr(dev))
}

func (d *libcuda) SetCurrent(c Context) error {
	d.current[0] = uintptr(c)
	return d.call("cuCtxSetCurrent", d.ctxSetCurrent, d.current[:]...)
}

func (d *libcuda) Release(ordinal int) error {
	dev, err := result[int32](d, "cuDeviceGet", d.deviceGet, uintptr(ordinal))
	if err != nil {
		return err
	}
	return d.call("cuDevicePrimaryCtxRelease", d.primaryCtxRelease, uintptr(dev))
}

func (d *libcuda) MemInfo() (free, total int, err error) {
	out := new([2]uint64)
	err = d.call("cuMemGetInfo", d.memGetInfo, dlopen.Address(&out[0]), dlopen.Address(&out[1]))
	return int(out[0]), int(out[1]), err
}

func (d *libcuda) Alloc(bytes int) (Address, error) {
	return result[Address](d, "cuMemAlloc", d.memAlloc, uintptr(bytes))
}

func (d *libcuda) Free(a Address) error { return d.call("cuMemFree", d.memFree, uintptr(a)) }

func (d *libcuda) AllocHost(bytes int) (unsafe.Pointer, error) {
	return result[unsafe.Pointer](d, "cuMemHostAlloc", d.memHostAlloc, uintptr(bytes), 0)
}

func (d *libcuda) FreeHost(p unsafe.Pointer) error {
	return d.call("cuMemFreeHost", d.memFreeHost, uintptr(p))
}

func (d *libcuda) ToDevice(dst Address, src unsafe.Pointer, bytes int, s Stream) error {
	return d.call("cuMemcpyHtoDAsync", d.memcpyHtoD, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

func (d *libcuda) ToHost(dst unsafe.Pointer, src Address, bytes int, s Stream) error {
	return d.call("cuMemcpyDtoHAsync", d.memcpyDtoH, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

func (d *libcuda) Copy(dst, src Address, bytes int, s Stream) error {
	return d.call("cuMemcpyDtoDAsync", d.memcpyDtoD, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

// memcpy2D is CUDA_MEMCPY2D. Offsets and arrays stay zero and have no names here.
type memcpy2D struct {
	_             [2]uint64
	srcType       uint32
	_             uint32
	srcHost, src  uint64
	_             uint64
	srcPitch      uint64
	_             [2]uint64
	dstType       uint32
	_             uint32
	dstHost, dst  uint64
	_             uint64
	dstPitch      uint64
	width, height uint64
}

// Numbers of CUmemorytype.
const (
	memoryOnHost   = 1
	memoryOnDevice = 2
)

func (d *libcuda) CopyRows(r Rows, s Stream) error {
	m := &memcpy2D{
		srcType: memoryOnDevice, src: uint64(r.Src), srcPitch: uint64(r.SrcPitch),
		dstType: memoryOnDevice, dst: uint64(r.Dst), dstPitch: uint64(r.DstPitch),
		width: uint64(r.Width), height: uint64(r.Rows),
	}
	if r.SrcHost != nil {
		m.srcType, m.srcHost = memoryOnHost, uint64(uintptr(r.SrcHost))
	}
	if r.DstHost != nil {
		m.dstType, m.dstHost = memoryOnHost, uint64(uintptr(r.DstHost))
	}
	err := d.call("cuMemcpy2DAsync", d.memcpy2D, dlopen.Address(m), uintptr(s))
	runtime.KeepAlive(m)
	return err
}

func (d *libcuda) Set8(dst Address, v uint8, bytes int, s Stream) error {
	return d.call("cuMemsetD8Async", d.memsetD8Async, uintptr(dst), uintptr(v), uintptr(bytes), uintptr(s))
}

const (
	streamNonBlocking  = 1 // CU_STREAM_NON_BLOCKING
	eventBlockingSync  = 1 // CU_EVENT_BLOCKING_SYNC
	eventDisableTiming = 2 // CU_EVENT_DISABLE_TIMING
	captureRelaxed     = 2 // CU_STREAM_CAPTURE_MODE_RELAXED: other threads may continue to upload
)

func (d *libcuda) NewStream() (Stream, error) {
	return result[Stream](d, "cuStreamCreate", d.streamCreate, streamNonBlocking)
}

func (d *libcuda) FreeStream(s Stream) error {
	return d.call("cuStreamDestroy", d.streamDestroy, uintptr(s))
}

func (d *libcuda) SyncStream(s Stream) error {
	return d.call("cuStreamSynchronize", d.streamSynchronize, uintptr(s))
}

func (d *libcuda) WaitEvent(s Stream, e Event) error {
	return d.call("cuStreamWaitEvent", d.streamWaitEvent, uintptr(s), uintptr(e), 0)
}

// eventFlags are the flags of events by use. CUDA documents that streams wait fastest for events that
// neither block nor have the time.
var eventFlags = [...]uint32{Ordered: eventDisableTiming, Awaited: eventDisableTiming | eventBlockingSync, Timed: 0}

func (d *libcuda) NewEvent(use EventUse) (Event, error) {
	return result[Event](d, "cuEventCreate", d.eventCreate, uintptr(eventFlags[use]))
}

func (d *libcuda) FreeEvent(e Event) error {
	return d.call("cuEventDestroy", d.eventDestroy, uintptr(e))
}

func (d *libcuda) Record(e Event, s Stream) error {
	return d.call("cuEventRecord", d.eventRecord, uintptr(e), uintptr(s))
}

func (d *libcuda) SyncEvent(e Event) error {
	return d.call("cuEventSynchronize", d.eventSynchronize, uintptr(e))
}

func (d *libcuda) Done(e Event) (bool, error) {
	switch code := int(int32(dlopen.Call(d.eventQuery, uintptr(e)))); code {
	case 0:
		return true, nil
	case codeNotReady:
		return false, nil
	default:
		return false, d.failure("cuEventQuery", code)
	}
}

func (d *libcuda) Elapsed(from, to Event) (float32, error) {
	return result[float32](d, "cuEventElapsedTime", d.eventElapsedTime, uintptr(from), uintptr(to))
}

// Numbers of CUjit_option.
const (
	jitErrorLog      = 5
	jitErrorLogBytes = 6
)

// jitLogBytes is the room for what the driver's compiler says.
const jitLogBytes = 8 << 10

// explained adds what the driver's compiler said, up to a zero byte, to its error.
func explained(err error, log []byte) error {
	text, _, _ := bytes.Cut(log, []byte{0})
	if err == nil || len(text) == 0 {
		return err
	}
	return fmt.Errorf("%w: %s", err, bytes.TrimSpace(text))
}

// jitOptions asks for what the driver's compiler says of PTX that it refuses.
type jitOptions struct {
	names  [2]uint32
	values [2]uintptr // of an option: a pointer or a number
	log    [jitLogBytes]byte
}

func (d *libcuda) Load(image []byte) (Module, error) {
	image = append(bytes.Clone(image), 0)
	o := &jitOptions{names: [2]uint32{jitErrorLog, jitErrorLogBytes}}
	o.values = [2]uintptr{dlopen.Address(&o.log[0]), uintptr(len(o.log) - 1)}
	m, err := result[Module](d, "cuModuleLoadDataEx", d.moduleLoadData, dlopen.Address(&image[0]),
		uintptr(len(o.names)), dlopen.Address(&o.names[0]), dlopen.Address(&o.values[0]))
	runtime.KeepAlive(image)
	runtime.KeepAlive(o)
	return m, explained(err, o.log[:])
}

func (d *libcuda) Unload(m Module) error {
	return d.call("cuModuleUnload", d.moduleUnload, uintptr(m))
}

func (d *libcuda) Function(m Module, name string) (Function, error) {
	text := append([]byte(name), 0)
	f, err := result[Function](d, "cuModuleGetFunction", d.moduleGetFunction, uintptr(m), dlopen.Address(&text[0]))
	runtime.KeepAlive(text)
	if err != nil {
		err = fmt.Errorf("kernel %s: %w", name, err)
	}
	return f, err
}

// Numbers of CUfunction_attribute.
const (
	functionMaxThreads    = 0
	functionShared        = 1
	functionLocal         = 3
	functionRegisters     = 4
	functionDynamicShared = 8
)

func (d *libcuda) Attributes(f Function) (FunctionAttributes, error) {
	var a FunctionAttributes
	for _, x := range []struct {
		to     *int
		number uintptr
	}{
		{&a.Registers, functionRegisters}, {&a.Shared, functionShared},
		{&a.Local, functionLocal}, {&a.MaxThreads, functionMaxThreads},
	} {
		v, err := result[int32](d, "cuFuncGetAttribute", d.funcGetAttribute, x.number, uintptr(f))
		if err != nil {
			return a, err
		}
		*x.to = int(v)
	}
	return a, nil
}

func (d *libcuda) AllowShared(f Function, bytes int) error {
	return d.call("cuFuncSetAttribute", d.funcSetAttribute, uintptr(f), functionDynamicShared, uintptr(bytes))
}

func (d *libcuda) Launch(f Function, grid, block [3]uint32, shared int, s Stream, params unsafe.Pointer) error {
	d.launch = [11]uintptr{
		uintptr(f),
		uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2]),
		uintptr(block[0]), uintptr(block[1]), uintptr(block[2]),
		uintptr(shared), uintptr(s), uintptr(params), 0,
	}
	return d.call("cuLaunchKernel", d.launchKernel, d.launch[:]...)
}

func (d *libcuda) BeginCapture(s Stream) error {
	return d.call("cuStreamBeginCapture", d.streamBeginCapture, uintptr(s), captureRelaxed)
}

func (d *libcuda) EndCapture(s Stream) (Graph, error) {
	out := new(uintptr)
	if err := d.call("cuStreamEndCapture", d.streamEndCapture, uintptr(s), dlopen.Address(out)); err != nil {
		return 0, err
	}
	g, err := result[Graph](d, "cuGraphInstantiateWithFlags", d.graphInstantiate, *out, 0)
	if e := d.call("cuGraphDestroy", d.graphDestroy, *out); err == nil {
		err = e
	}
	return g, err
}

func (d *libcuda) LaunchGraph(g Graph, s Stream) error {
	return d.call("cuGraphLaunch", d.graphLaunch, uintptr(g), uintptr(s))
}

func (d *libcuda) FreeGraph(g Graph) error {
	return d.call("cuGraphExecDestroy", d.graphExecDestroy, uintptr(g))
}
