package vendor

import (
	"errors"
	"fmt"
	"runtime"

	"hgld/internal/dlopen"
)

// blas is cuBLASLt. Its fields hold the addresses of the functions named by their tags.
type blas struct {
	path   string
	number int // of the version: 130401 is 13.4.1
	handle uintptr
	stream uintptr
	plans  map[Product]*productPlan

	// Arguments of the call in every product. Keeping them here avoids allocations.
	matmul [16]uintptr
	scale  [2]float32 // alpha and beta
	bias   uint64

	create        uintptr `name:"cublasLtCreate"`
	destroy       uintptr `name:"cublasLtDestroy"`
	getVersion    uintptr `name:"cublasLtGetVersion"`
	statusName    uintptr `name:"cublasLtGetStatusName"`
	layoutCreate  uintptr `name:"cublasLtMatrixLayoutCreate"`
	layoutDestroy uintptr `name:"cublasLtMatrixLayoutDestroy"`
	layoutSet     uintptr `name:"cublasLtMatrixLayoutSetAttribute"`
	descCreate    uintptr `name:"cublasLtMatmulDescCreate"`
	descDestroy   uintptr `name:"cublasLtMatmulDescDestroy"`
	descSet       uintptr `name:"cublasLtMatmulDescSetAttribute"`
	preferCreate  uintptr `name:"cublasLtMatmulPreferenceCreate"`
	preferDestroy uintptr `name:"cublasLtMatmulPreferenceDestroy"`
	preferSet     uintptr `name:"cublasLtMatmulPreferenceSetAttribute"`
	heuristic     uintptr `name:"cublasLtMatmulAlgoGetHeuristic"`
	multiply      uintptr `name:"cublasLtMatmul"`
}

// leastBlas is the oldest version of cuBLASLt: CUDA 12.0.
const leastBlas = 120000

// openBlas opens cuBLASLt. One of CUDA 13 needs a driver for CUDA 13.
func openBlas(find Find, driver int) (*blas, Found) {
	found := Found{Name: "cuBLASLt"}
	names := []string{"libcublasLt.so.12"}
	if ofDriver(driver) >= 13 {
		names = []string{"libcublasLt.so.13", "libcublasLt.so.12"}
	}
	lib, err := openFirst(find, names...)
	if err != nil {
		found.Err = err
		return nil, found
	}
	b := &blas{path: lib.Path, plans: map[Product]*productPlan{}}
	found.Path = lib.Path
	if found.Err = lib.Functions(b); found.Err != nil {
		return nil, found
	}
	b.number = int(dlopen.Call(b.getVersion))
	found.Version = version(b.number)
	if b.number < leastBlas {
		found.Err = fmt.Errorf("%s is version %s, at least %s is needed", lib.Path, found.Version, version(leastBlas))
	}
	return b, found
}

// start makes the handle in the current context.
func (b *blas) start() error {
	return b.result("cublasLtCreate", b.create, &b.handle)
}

func (b *blas) close() error {
	var errs []error
	for _, p := range b.plans {
		errs = append(errs, b.free(p))
	}
	b.plans = nil
	return errors.Join(append(errs, b.call("cublasLtDestroy", b.destroy, b.handle))...)
}

// call calls a function and turns its status into an error.
func (b *blas) call(name string, fn uintptr, args ...uintptr) error {
	code := int(int32(dlopen.Call(fn, args...)))
	if code == 0 {
		return nil
	}
	return &Error{Call: name, Code: code, Name: dlopen.Text(dlopen.Call(b.statusName, uintptr(code)))}
}

// result calls a function whose first argument receives a handle.
func (b *blas) result(name string, fn uintptr, to *uintptr, args ...uintptr) error {
	out := new(uintptr)
	err := b.call(name, fn, append([]uintptr{dlopen.Address(out)}, args...)...)
	*to = *out
	runtime.KeepAlive(out)
	return err
}

// setter collects the attributes of an object and keeps the first error.
type setter struct {
	b      *blas
	name   string
	fn     uintptr
	object uintptr
	err    error
}

// number sets an attribute to a number of 4 or 8 bytes.
func (s *setter) number(attribute int, v any) {
	if s.err != nil {
		return
	}
	set := func(at uintptr, bytes uintptr) {
		s.err = s.b.call(s.name, s.fn, s.object, uintptr(attribute), at, bytes)
	}
	switch v := v.(type) {
	case int32:
		set(dlopen.Address(&v), 4)
		runtime.KeepAlive(&v)
	case uint64:
		set(dlopen.Address(&v), 8)
		runtime.KeepAlive(&v)
	default:
		panic(fmt.Sprintf("vendor: an attribute of type %T", v))
	}
}
