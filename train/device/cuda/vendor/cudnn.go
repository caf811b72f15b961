package vendor

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"hgld/internal/dlopen"
)

// dnn is cuDNN. Its fields hold the addresses of the functions named by their tags.
type dnn struct {
	path    string
	version int
	handle  uintptr
	plans   map[Graph]*graphPlan
	trying  bool      // see Libraries.Try
	tried   []Graph   // planned since then
	kept    planStore // of other runs

	// described is the description of a GPU for which plans are made where there is none. They
	// cannot be executed. 0: the GPU of the handle.
	described uintptr

	create        uintptr `name:"cudnnCreate"`
	destroy       uintptr `name:"cudnnDestroy"`
	setStream     uintptr `name:"cudnnSetStream"`
	getVersion    uintptr `name:"cudnnGetVersion"`
	getCudart     uintptr `name:"cudnnGetCudartVersion"`
	statusName    uintptr `name:"cudnnGetErrorString"`
	lastError     uintptr `name:"cudnnGetLastErrorString"`
	descCreate    uintptr `name:"cudnnBackendCreateDescriptor"`
	descDestroy   uintptr `name:"cudnnBackendDestroyDescriptor"`
	descFinalize  uintptr `name:"cudnnBackendFinalize"`
	descSet       uintptr `name:"cudnnBackendSetAttribute"`
	descGet       uintptr `name:"cudnnBackendGetAttribute"`
	executeOnCard uintptr `name:"cudnnBackendExecute"`
}

// leastDnn is the oldest version of cuDNN.
const leastDnn = 90000

// dnnGraph is the part of cuDNN that the library loads in its first call.
const dnnGraph = "libcudnn_graph.so.9"

// openDnn opens cuDNN. One built for CUDA 13 needs a driver for CUDA 13. cuDNN ends the process if it does not find its
// own parts or the cuBLASLt of its CUDA, so it is not called without them.
func openDnn(find Find, driver int) (*dnn, Found) {
	found := Found{Name: "cuDNN"}
	lib, err := openFirst(func(name string) []string {
		return newest(find(name), func(toolkit int) bool {
			return toolkit <= ofDriver(driver) && slices.ContainsFunc(find(fmt.Sprintf("libcublasLt.so.%d", toolkit)),
				func(path string) bool { return where(path) != "" })
		})
	}, "libcudnn.so.9")
	if err != nil {
		found.Err = err
		return nil, found
	}
	d := &dnn{path: lib.Path, plans: map[Graph]*graphPlan{}}
	found.Path = lib.Path
	if found.Err = lib.Functions(d); found.Err != nil {
		return nil, found
	}
	if err := beside(lib, dnnGraph); err != nil {
		found.Err = fmt.Errorf("%s lacks %s, a part of cuDNN: %w", lib.Path, dnnGraph, err)
		return nil, found
	}
	n, toolkit := int(dlopen.Call(d.getVersion)), int(dlopen.Call(d.getCudart))/1000
	d.version, found.Version = n, version(n)
	switch {
	case n < leastDnn:
		found.Err = fmt.Errorf("%s is version %s, at least %s is needed", lib.Path, found.Version, version(leastDnn))
	case toolkit > ofDriver(driver):
		found.Err = fmt.Errorf("%s was built for CUDA %d, the driver supports CUDA %d", lib.Path, toolkit, ofDriver(driver))
	default:
		blas := fmt.Sprintf("libcublasLt.so.%d", toolkit)
		if _, err := openFirst(find, blas); err != nil {
			found.Err = fmt.Errorf("%s needs %s: %w", lib.Path, blas, err)
		}
		openCompiler(find, toolkit)
	}
	return d, found
}

// beside opens a part of a library: from its folder, or where the loader found the library.
func beside(lib *dlopen.Library, name string) error {
	if dir := filepath.Dir(lib.Path); dir != "." {
		name = filepath.Join(dir, name)
	}
	_, err := dlopen.Open(name)
	return err
}

// openCompiler opens NVRTC, with which cuDNN compiles fused convolutions, so that cuDNN finds
// it also where the loader does not look. Without it cuDNN has fewer algorithms.
func openCompiler(find Find, toolkit int) {
	_, _ = dlopen.Open(find(fmt.Sprintf("libnvrtc.so.%d", toolkit))...)
}

// start makes the handle in the current context.
func (d *dnn) start(stream uintptr) error {
	out := new(uintptr)
	err := d.call("cudnnCreate", d.create, dlopen.Address(out))
	d.handle = *out
	if err == nil {
		err = d.call("cudnnSetStream", d.setStream, d.handle, stream)
	}
	return err
}

func (d *dnn) close() error {
	var errs []error
	for _, p := range d.plans {
		errs = append(errs, p.made.free())
	}
	d.plans = nil
	return errors.Join(append(errs, d.call("cudnnDestroy", d.destroy, d.handle))...)
}

// call calls a function and turns its status into an error.
func (d *dnn) call(name string, fn uintptr, args ...uintptr) error {
	code := int(int32(dlopen.Call(fn, args...)))
	if code == 0 {
		return nil
	}
	text := make([]byte, 512)
	dlopen.Call(d.lastError, dlopen.Address(&text[0]), uintptr(len(text)))
	e := &Error{Call: name, Code: code, Name: dlopen.Text(dlopen.Call(d.statusName, uintptr(code))),
		Text: dlopen.Text(dlopen.Address(&text[0]))}
	runtime.KeepAlive(text)
	return e
}

// descriptors are objects of cuDNN's graph API that belong together. The first failure is kept,
// and later calls do nothing.
type descriptors struct {
	d   *dnn
	all []uintptr // in the order of creation
	err error
}

// free destroys the descriptors, the last one first, since later ones refer to earlier ones.
func (s *descriptors) free() error { return s.freeFrom(0) }

// freeFrom destroys all but the first n descriptors.
func (s *descriptors) freeFrom(n int) error {
	var errs []error
	for i := len(s.all) - 1; i >= n; i-- {
		errs = append(errs, s.d.call("cudnnBackendDestroyDescriptor", s.d.descDestroy, s.all[i]))
	}
	s.all = s.all[:n]
	return errors.Join(errs...)
}

// new makes a descriptor. Its attributes must be set and then finalized.
func (s *descriptors) new(kind int) uintptr {
	if s.err != nil {
		return 0
	}
	out := new(uintptr)
	s.err = s.d.call("cudnnBackendCreateDescriptor", s.d.descCreate, uintptr(kind), dlopen.Address(out))
	if s.err == nil {
		s.all = append(s.all, *out)
	}
	return *out
}

// set sets an attribute to an array. T is what cuDNN reads for the type of the attribute.
func set[T int32 | int64 | float32 | uint8 | uintptr](s *descriptors, of uintptr, attribute, kind int, values ...T) {
	if s.err != nil {
		return
	}
	held := append([]T(nil), values...)
	s.err = s.d.call("cudnnBackendSetAttribute", s.d.descSet, of, uintptr(attribute), uintptr(kind),
		uintptr(len(held)), dlopen.Address(&held[0]))
	runtime.KeepAlive(held)
	if s.err != nil {
		s.err = fmt.Errorf("attribute %d: %w", attribute, s.err)
	}
}

// finalize ends the setting of attributes.
func (s *descriptors) finalize(of uintptr) {
	if s.err == nil {
		s.err = s.d.call("cudnnBackendFinalize", s.d.descFinalize, of)
	}
}

// get reads an attribute into an array and returns the number of elements there are, which may
// be more than fit. Descriptors must exist before they are read: the call fills them.
func get[T int32 | int64 | uintptr | uint8](s *descriptors, of uintptr, attribute, kind int, to []T) int {
	if s.err != nil {
		return 0
	}
	n, at := new(int64), uintptr(0)
	if len(to) > 0 {
		at = dlopen.Address(&to[0])
	}
	s.err = s.d.call("cudnnBackendGetAttribute", s.d.descGet, of, uintptr(attribute), uintptr(kind), uintptr(len(to)),
		dlopen.Address(n), at)
	runtime.KeepAlive(to)
	return int(*n)
}
