package emu

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"hgld/internal/dlopen"
	"hgld/internal/testing/must"
)

// Codes of cuda.h that the tests expect.
const (
	codeInvalidValue       = 1
	codeOutOfMemory        = 2
	codeInvalidContext     = 201
	codeInvalidImage       = 200
	codeInvalidPTX         = 218
	codeNotFound           = 500
	codeNotReady           = 600
	codeIllegalAddress     = 700
	codeMisaligned         = 716
	codeLaunchFailed       = 719
	codeCaptureUnsupported = 900
	codeCaptureInvalidated = 901
	codeCaptureUnjoined    = 904
	codeCaptureIsolation   = 905
	codeCapturedEvent      = 907
)

// driver calls the emulator as a program calls libcuda. Its context and module end with the
// test.
type driver struct {
	t      testing.TB
	lib    *dlopen.Library
	module uintptr
}

// ptxOf returns PTX that declares kernels: "name u64 f32 24" has a pointer, a float and a
// struct of 24 bytes.
func ptxOf(kernels ...string) string {
	var b strings.Builder
	b.WriteString(".version 7.5\n.target sm_80\n.address_size 64\n")
	for _, k := range kernels {
		words := strings.Fields(k)
		fmt.Fprintf(&b, "\t// .globl\t%s\n.visible .entry %s(\n", words[0], words[0])
		for i, w := range words[1:] {
			end := ",\n"
			if i == len(words)-2 {
				end = "\n"
			}
			if w[0] >= '0' && w[0] <= '9' {
				fmt.Fprintf(&b, "\t.param .align 8 .b8 %s_param_%d[%s]%s", words[0], i, w, end)
			} else {
				fmt.Fprintf(&b, "\t.param .%s %s_param_%d%s", w, words[0], i, end)
			}
		}
		b.WriteString(")\n.maxntid 256, 1, 1\n{\n\tret;\n}\n")
	}
	return b.String()
}

// open opens the emulator of testdata and loads a module. An empty order means that of the
// environment.
func open(t testing.TB, order string, kernels ...string) *driver {
	t.Helper()
	libs := os.Getenv("HGLD_EMU_TEST_LIBS") // set in a process under the address sanitizer
	if libs == "" {
		libs = BuildFolder(t, "testdata")
	}
	return openModule(t, libs, order, ptxOf(kernels...))
}

// openModule opens the emulator of a folder and loads a module.
func openModule(t testing.TB, libs, order, ptx string) *driver {
	t.Helper()
	lib, err := dlopen.Open(libs + "/libcuda.so.1")
	must.Do(t, err)
	runtime.LockOSThread() // the context is current on this thread
	d := &driver{t: t, lib: lib}
	d.ok("cuInit", 0)
	if order != "" {
		d.setOrder(order)
	}
	ctx := d.handle("cuCtxCreate_v2", 0, 0)
	t.Cleanup(func() {
		d.ok("cuCtxDestroy_v2", ctx)
		d.ok("hgEmuReset")
		runtime.UnlockOSThread()
	})
	d.module = d.handle("cuModuleLoadData", cText(ptx))
	return d
}

// call calls a function and returns its code.
func (d *driver) call(name string, args ...uintptr) int {
	d.t.Helper()
	fn, err := d.lib.Symbol(name)
	if err != nil {
		d.t.Fatal(err)
	}
	return int(int32(dlopen.Call(fn, args...)))
}

// ok is call for a function that must succeed.
func (d *driver) ok(name string, args ...uintptr) {
	d.t.Helper()
	d.want(0, name, args...)
}

func (d *driver) want(code int, name string, args ...uintptr) {
	d.t.Helper()
	if got := d.call(name, args...); got != code {
		d.t.Fatalf("%s returned %d, want %d: %s", name, got, code, d.lastError())
	}
}

// handle is ok for a function whose first argument receives a result.
func (d *driver) handle(name string, args ...uintptr) uintptr {
	d.t.Helper()
	out := box[uintptr]()
	d.ok(name, append([]uintptr{at(out)}, args...)...)
	return *out
}

func (d *driver) lastError() string {
	var last func() string
	if err := d.lib.Bind(&last, "hgEmuLastError"); err != nil {
		d.t.Fatal(err)
	}
	return last()
}

func (d *driver) setOrder(order string) { d.ok("hgEmuOrder", cText(order)) }

func (d *driver) fail(text string) { d.ok("hgEmuFail", cText(text)) }

// alloc returns device memory for n floats.
func (d *driver) alloc(n int) uintptr {
	d.t.Helper()
	return d.handle("cuMemAlloc_v2", uintptr(4*n))
}

// upload returns device memory that holds values.
func (d *driver) upload(values []float32) uintptr {
	d.t.Helper()
	p := d.alloc(len(values))
	host := heap[float32](len(values))
	copy(host, values)
	d.ok("cuMemcpyHtoD_v2", p, at(&host[0]), uintptr(4*len(host)))
	return p
}

// download waits for all work and returns n floats.
func (d *driver) download(p uintptr, n int) []float32 {
	d.t.Helper()
	d.ok("cuCtxSynchronize")
	host := heap[float32](n)
	d.ok("cuMemcpyDtoH_v2", at(&host[0]), p, uintptr(4*n))
	return host
}

// pinned returns n floats of pinned memory.
func (d *driver) pinned(n int) []float32 {
	d.t.Helper()
	p := d.handle("cuMemHostAlloc", uintptr(4*n), 0)
	return unsafe.Slice(*(**float32)(unsafe.Pointer(&p)), n)
}

func (d *driver) stream() uintptr { return d.handle("cuStreamCreate", 1) }

func (d *driver) event() uintptr { return d.handle("cuEventCreate", 2) }

// launch queues a kernel. Arguments are uintptr (a pointer), float32, int32, int64 or
// a slice of bytes.
func (d *driver) launch(stream uintptr, kernel string, grid, block, shared int, args ...any) int {
	d.t.Helper()
	fn := d.handle("cuModuleGetFunction", d.module, cText(kernel))
	store := heap[[64]byte](len(args) + 1)
	pointers := heap[unsafe.Pointer](len(args) + 1)
	for i, a := range args {
		p := unsafe.Pointer(&store[i])
		pointers[i] = p
		switch a := a.(type) {
		case uintptr:
			*(*uintptr)(p) = a
		case float32:
			*(*float32)(p) = a
		case int32:
			*(*int32)(p) = a
		case int64:
			*(*int64)(p) = a
		case []byte:
			copy(store[i][:], a)
		default:
			d.t.Fatalf("argument of type %T", a)
		}
	}
	code := d.call("cuLaunchKernel", fn, uintptr(grid), 1, 1, uintptr(block), 1, 1, uintptr(shared), stream,
		at(&pointers[0]), 0)
	for i := range store { // the call copies the arguments
		store[i] = [64]byte{}
	}
	return code
}

// run is launch for a launch that must succeed.
func (d *driver) run(stream uintptr, kernel string, grid, block int, args ...any) {
	d.t.Helper()
	if code := d.launch(stream, kernel, grid, block, 0, args...); code != 0 {
		d.t.Fatalf("launch of %s returned %d: %s", kernel, code, d.lastError())
	}
}

// kept makes the compiler allocate memory on the heap if C gets its address.
var kept any

func heap[T any](n int) []T {
	s := make([]T, n)
	kept = s
	return s
}

func box[T any]() *T { return &heap[T](1)[0] }

func at[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

var texts = map[string][]byte{} // live as long as the process

func cText(s string) uintptr {
	b, ok := texts[s]
	if !ok {
		b = append([]byte(s), 0)
		texts[s] = b
	}
	return at(&b[0])
}
