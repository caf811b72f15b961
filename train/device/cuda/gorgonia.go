//go:build gorgonia

package cuda

/*
#include <stdint.h>
#include <cuda.h>

// Arguments are addresses as numbers: cgo would otherwise refuse an array of pointers
// to Go memory, which the backend keeps on the heap and alive.
static CUresult hg_launch(uintptr_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, uintptr_t stream, uintptr_t params) {
  return cuLaunchKernel((CUfunction)f, gx, gy, gz, bx, by, bz, shared, (CUstream)stream, (void **)params, 0);
}
static CUresult hg_alloc_host(void **p, size_t bytes) { return cuMemHostAlloc(p, bytes, 0); }
static CUresult hg_copy_rows(CUDA_MEMCPY2D *m, uintptr_t stream) { return cuMemcpy2DAsync(m, (CUstream)stream); }
static CUresult hg_free_stream(uintptr_t s) { return cuStreamDestroy((CUstream)s); }
static CUresult hg_free_event(uintptr_t e) { return cuEventDestroy((CUevent)e); }
static CUresult hg_allow_shared(uintptr_t f, int bytes) {
  return cuFuncSetAttribute((CUfunction)f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
}
static CUresult hg_load(uintptr_t *out, const void *image, char *log, size_t bytes) {
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)bytes};
  CUmodule module = 0;
  CUresult r = cuModuleLoadDataEx(&module, image, 2, names, values);
  *out = (uintptr_t)module;
  return r;
}
static CUresult hg_begin_capture(uintptr_t s) {
  return cuStreamBeginCapture((CUstream)s, CU_STREAM_CAPTURE_MODE_RELAXED);
}
static CUresult hg_end_capture(uintptr_t s, uintptr_t *out, int *captured) {
  CUgraph graph;
  CUgraphExec exec;
  CUresult r = cuStreamEndCapture((CUstream)s, &graph);
  *captured = r == CUDA_SUCCESS;
  if (r != CUDA_SUCCESS) return r;
  r = cuGraphInstantiateWithFlags(&exec, graph, 0);
  *out = (uintptr_t)exec;
  CUresult d = cuGraphDestroy(graph);
  return r != CUDA_SUCCESS ? r : d;
}
static CUresult hg_launch_graph(uintptr_t g, uintptr_t s) { return cuGraphLaunch((CUgraphExec)g, (CUstream)s); }
static CUresult hg_free_graph(uintptr_t g) { return cuGraphExecDestroy((CUgraphExec)g); }
*/
import "C"

import (
	"bytes"
	"reflect"
	"unsafe"

	"gorgonia.org/cu"
)

// gorgonia is the driver through gorgonia.org/cu. It links to libcuda when hgld is built, on a
// machine with a CUDA 12 toolkit or older. It calls directly what that package lacks: pinned
// memory, graphs, copies of rows, the compiler's text, and launches with structures as arguments. The package ends
// the process if there is no GPU.
type gorgonia struct{}

var builtin = []func() (Driver, string, error){
	func() (Driver, string, error) { return gorgonia{}, "gorgonia.org/cu", nil },
}

// as converts a handle of one package to that of another. All are a single pointer or number.
func as[To, From any](v From) To { return *(*To)(unsafe.Pointer(&v)) }

// failed describes an error of cu, which has the codes of CUDA.
func failed(call string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Call: call, Text: err.Error()}
	if v := reflect.ValueOf(err); v.CanInt() {
		e.Code, e.Name = int(v.Int()), err.Error()
	}
	return e
}

// code describes the result of a direct call.
func code(call string, r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	var name, text *C.char
	C.cuGetErrorName(r, &name)
	C.cuGetErrorString(r, &text)
	return &Error{Call: call, Code: int(r), Name: C.GoString(name), Text: C.GoString(text)}
}

func (gorgonia) Version() (int, error) { return cu.Version(), nil }

func (gorgonia) Devices() (int, error) {
	n, err := cu.NumDevices()
	return n, failed("cuDeviceGetCount", err)
}

func (gorgonia) Device(ordinal int) (Card, error) {
	dev, err := cu.GetDevice(ordinal)
	if err != nil {
		return Card{}, failed("cuDeviceGet", err)
	}
	card := Card{Ordinal: ordinal}
	if card.Name, err = dev.Name(); err != nil {
		return card, failed("cuDeviceGetName", err)
	}
	memory, err := dev.TotalMem()
	if err != nil {
		return card, failed("cuDeviceTotalMem", err)
	}
	card.Memory = int(memory)
	values, err := dev.Attributes(cu.ComputeCapabilityMajor, cu.ComputeCapabilityMinor, cu.MultiprocessorCount,
		attributeSharedOptin)
	if err != nil {
		return card, failed("cuDeviceGetAttribute", err)
	}
	card.Major, card.Minor, card.Multiprocessors, card.SharedPerBlock = values[0], values[1], values[2], values[3]
	return card, nil
}

func (gorgonia) Retain(ordinal int) (Context, error) {
	dev, err := cu.GetDevice(ordinal)
	if err != nil {
		return 0, failed("cuDeviceGet", err)
	}
	ctx, err := dev.RetainPrimaryCtx()
	return as[Context](ctx), failed("cuDevicePrimaryCtxRetain", err)
}

func (gorgonia) SetCurrent(c Context) error {
	return failed("cuCtxSetCurrent", cu.SetCurrentContext(as[cu.CUContext](c)))
}

func (gorgonia) Release(ordinal int) error {
	dev, err := cu.GetDevice(ordinal)
	if err != nil {
		return failed("cuDeviceGet", err)
	}
	return failed("cuDevicePrimaryCtxRelease", dev.ReleasePrimaryCtx())
}

func (gorgonia) MemInfo() (free, total int, err error) {
	f, t, err := cu.MemInfo()
	return int(f), int(t), failed("cuMemGetInfo", err)
}

func (gorgonia) Alloc(bytes int) (Address, error) {
	p, err := cu.MemAlloc(int64(bytes))
	return Address(p.Uintptr()), failed("cuMemAlloc", err)
}

func (gorgonia) Free(a Address) error { return failed("cuMemFree", cu.MemFree(cu.DevicePtr(a))) }

func (gorgonia) AllocHost(bytes int) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := code("cuMemHostAlloc", C.hg_alloc_host(&p, C.size_t(bytes)))
	return p, err
}

func (gorgonia) FreeHost(p unsafe.Pointer) error { return failed("cuMemFreeHost", cu.MemFreeHost(p)) }

func (gorgonia) ToDevice(dst Address, src unsafe.Pointer, bytes int, s Stream) error {
	return failed("cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, int64(bytes), as[cu.Stream](s)))
}

func (gorgonia) ToHost(dst unsafe.Pointer, src Address, bytes int, s Stream) error {
	return failed("cuMemcpyDtoHAsync", cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), int64(bytes), as[cu.Stream](s)))
}

func (gorgonia) Copy(dst, src Address, bytes int, s Stream) error {
	return failed("cuMemcpyDtoDAsync", cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), int64(bytes),
		as[cu.Stream](s)))
}

func (gorgonia) CopyRows(r Rows, s Stream) error {
	m := C.CUDA_MEMCPY2D{
		srcMemoryType: C.CU_MEMORYTYPE_DEVICE, srcDevice: C.CUdeviceptr(r.Src), srcPitch: C.size_t(r.SrcPitch),
		dstMemoryType: C.CU_MEMORYTYPE_DEVICE, dstDevice: C.CUdeviceptr(r.Dst), dstPitch: C.size_t(r.DstPitch),
		WidthInBytes: C.size_t(r.Width), Height: C.size_t(r.Rows),
	}
	if r.SrcHost != nil {
		m.srcMemoryType, m.srcHost = C.CU_MEMORYTYPE_HOST, r.SrcHost
	}
	if r.DstHost != nil {
		m.dstMemoryType, m.dstHost = C.CU_MEMORYTYPE_HOST, r.DstHost
	}
	return code("cuMemcpy2DAsync", C.hg_copy_rows(&m, C.uintptr_t(s)))
}

func (gorgonia) Set8(dst Address, v uint8, bytes int, s Stream) error {
	return failed("cuMemsetD8Async", cu.MemsetD8Async(cu.DevicePtr(dst), v, int64(bytes), as[cu.Stream](s)))
}

func (gorgonia) NewStream() (Stream, error) {
	s, err := cu.MakeStream(cu.NonBlocking)
	return as[Stream](s), failed("cuStreamCreate", err)
}

func (gorgonia) FreeStream(s Stream) error {
	return code("cuStreamDestroy", C.hg_free_stream(C.uintptr_t(s)))
}

func (gorgonia) SyncStream(s Stream) error {
	return failed("cuStreamSynchronize", as[cu.Stream](s).Synchronize())
}

func (gorgonia) WaitEvent(s Stream, e Event) error {
	return failed("cuStreamWaitEvent", as[cu.Stream](s).Wait(as[cu.Event](e), 0))
}

func (gorgonia) NewEvent(use EventUse) (Event, error) {
	e, err := cu.MakeEvent(cu.EventFlags(eventFlags[use]))
	return as[Event](e), failed("cuEventCreate", err)
}

func (gorgonia) FreeEvent(e Event) error {
	return code("cuEventDestroy", C.hg_free_event(C.uintptr_t(e)))
}

func (gorgonia) Record(e Event, s Stream) error {
	return failed("cuEventRecord", as[cu.Event](e).Record(as[cu.Stream](s)))
}

func (gorgonia) SyncEvent(e Event) error {
	return failed("cuEventSynchronize", as[cu.Event](e).Synchronize())
}

func (gorgonia) Done(e Event) (bool, error) {
	err := as[cu.Event](e).Query()
	if err == error(cu.NotReady) {
		return false, nil
	}
	return err == nil, failed("cuEventQuery", err)
}

func (gorgonia) Elapsed(from, to Event) (float32, error) {
	ms, err := as[cu.Event](from).Elapsed(as[cu.Event](to))
	return float32(ms), failed("cuEventElapsedTime", err)
}

func (gorgonia) Load(image []byte) (Module, error) {
	image = append(bytes.Clone(image), 0)
	log := make([]byte, jitLogBytes)
	var m C.uintptr_t
	err := code("cuModuleLoadDataEx", C.hg_load(&m, unsafe.Pointer(&image[0]), (*C.char)(unsafe.Pointer(&log[0])),
		C.size_t(len(log)-1)))
	return Module(m), explained(err, log)
}

func (gorgonia) Unload(m Module) error {
	return failed("cuModuleUnload", as[cu.Module](m).Unload())
}

func (gorgonia) Function(m Module, name string) (Function, error) {
	f, err := as[cu.Module](m).Function(name)
	return as[Function](f), failed("kernel "+name+": cuModuleGetFunction", err)
}

func (gorgonia) Attributes(f Function) (FunctionAttributes, error) {
	var values [4]int
	for i, a := range []cu.FunctionAttribute{cu.NumRegs, cu.SharedSizeBytes, cu.LocalSizeBytes, cu.FnMaxThreadsPerBlock} {
		v, err := as[cu.Function](f).Attribute(a)
		if err != nil {
			return FunctionAttributes{}, failed("cuFuncGetAttribute", err)
		}
		values[i] = v
	}
	return FunctionAttributes{values[0], values[1], values[2], values[3]}, nil
}

func (gorgonia) AllowShared(f Function, bytes int) error {
	return code("cuFuncSetAttribute", C.hg_allow_shared(C.uintptr_t(f), C.int(bytes)))
}

func (gorgonia) Launch(f Function, grid, block [3]uint32, shared int, s Stream, params unsafe.Pointer) error {
	return code("cuLaunchKernel", C.hg_launch(C.uintptr_t(f), C.uint(grid[0]), C.uint(grid[1]), C.uint(grid[2]),
		C.uint(block[0]), C.uint(block[1]), C.uint(block[2]), C.uint(shared), C.uintptr_t(s), C.uintptr_t(uintptr(params))))
}

func (gorgonia) BeginCapture(s Stream) error {
	return code("cuStreamBeginCapture", C.hg_begin_capture(C.uintptr_t(s)))
}

func (gorgonia) EndCapture(s Stream) (Graph, error) {
	var g C.uintptr_t
	var captured C.int
	r := C.hg_end_capture(C.uintptr_t(s), &g, &captured)
	if captured == 0 {
		return 0, code("cuStreamEndCapture", r)
	}
	return Graph(g), code("cuGraphInstantiateWithFlags", r)
}

func (gorgonia) LaunchGraph(g Graph, s Stream) error {
	return code("cuGraphLaunch", C.hg_launch_graph(C.uintptr_t(g), C.uintptr_t(s)))
}

func (gorgonia) FreeGraph(g Graph) error {
	return code("cuGraphExecDestroy", C.hg_free_graph(C.uintptr_t(g)))
}
