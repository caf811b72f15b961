package blas

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"

	"hgld/internal/dlopen"
)

// systemNames are tried in order: the names of the Linux distributions, then Homebrew's.
var systemNames = []string{
	"libopenblas.so.0", "libopenblas.so",
	"libopenblas.dylib", "/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
}

// openBLASLibrary calls the Fortran interface of OpenBLAS. It takes every argument by address, so a
// call needs no conversion of floats.
type openBLASLibrary struct {
	sgemm  uintptr
	config string
	frames sync.Pool // of *frame
}

// frame holds the arguments of one call. It is on the heap because a goroutine's stack may move.
type frame struct {
	transA, transB         byte
	m, n, k, ldA, ldB, ldC int32
	alpha, beta            float32
	args                   [15]uintptr // addresses of the fields above and of the matrices
}

// coreType returns the kernels that OpenBLAS should use if its own choice is known to be slow, else
// "". On AVX-512 processors that it does not know by name (AMD's, and any newer than the library)
// OpenBLAS uses AVX2 kernels, at half the speed.
func coreType() string {
	x := cpu.X86
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
		return "SkylakeX"
	}
	return ""
}

// openBLAS opens an OpenBLAS and restricts it to the calling thread.
func openBLAS(names ...string) (Library, error) {
	if err := prepare(); err != nil {
		return nil, err
	}
	lib, err := dlopen.Open(names...)
	if err != nil {
		return nil, err
	}
	o := &openBLASLibrary{frames: sync.Pool{New: func() any { return new(frame) }}}
	if o.sgemm, err = lib.Symbol("sgemm_"); err != nil {
		return nil, err
	}
	var config, core func() string
	var threads func(int32)
	for _, f := range []struct {
		fptr any
		name string
	}{{&config, "openblas_get_config"}, {&core, "openblas_get_corename"}, {&threads, "openblas_set_num_threads"}} {
		if err := lib.Bind(f.fptr, f.name); err != nil {
			return nil, err
		}
	}
	threads(1)
	o.config = fmt.Sprintf("%s, kernels for %s, from %s", brief(config()), core(), lib.Path)
	switch {
	case strings.Contains(config(), "USE64BITINT"):
		return nil, fmt.Errorf("%s is built for 64-bit integers", lib.Path)
	case strings.Contains(config(), "SINGLE_THREADED") && !strings.Contains(config(), "USE_LOCKING"):
		return nil, fmt.Errorf("%s is built for programs with a single thread", lib.Path)
	}
	return o, nil
}

// prepare sets the environment variables that OpenBLAS reads when it is loaded: one thread, and the
// kernels of coreType unless the user has chosen others.
func prepare() error {
	settings := [][2]string{{"OPENBLAS_NUM_THREADS", "1"}}
	if core := coreType(); core != "" && os.Getenv("OPENBLAS_CORETYPE") == "" {
		settings = append(settings, [2]string{"OPENBLAS_CORETYPE", core})
	}
	for _, s := range settings {
		if err := dlopen.Setenv(s[0], s[1]); err != nil {
			return err
		}
	}
	return nil
}

// brief returns the name and version at the start of a configuration.
func brief(config string) string {
	words := strings.Fields(config)
	return strings.Join(words[:min(2, len(words))], " ")
}

func (o *openBLASLibrary) String() string { return o.config }

// Sgemm computes cᵀ = op(b)ᵀ·op(a)ᵀ, because Fortran stores columns.
func (o *openBLASLibrary) Sgemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int) {
	if m == 0 || n == 0 {
		return
	}
	check(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
	f := o.frames.Get().(*frame)
	*f = frame{
		transA: letter(transA), transB: letter(transB),
		m: int32(n), n: int32(m), k: int32(k),
		ldA: int32(lda), ldB: int32(ldb), ldC: int32(ldc),
		alpha: alpha, beta: beta,
	}
	f.args = [15]uintptr{
		address(&f.transB), address(&f.transA), address(&f.m), address(&f.n), address(&f.k),
		address(&f.alpha), address(unsafe.SliceData(b)), address(&f.ldB), address(unsafe.SliceData(a)), address(&f.ldA),
		address(&f.beta), address(unsafe.SliceData(c)), address(&f.ldC),
		1, 1, // the lengths of the two strings
	}
	dlopen.Call(o.sgemm, f.args[:]...)
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	runtime.KeepAlive(c)
	o.frames.Put(f)
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func letter(trans bool) byte {
	if trans {
		return 'T'
	}
	return 'N'
}

// check panics if C code would read or write beyond a slice.
func check(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	if !fits(len(a), m, k, lda, transA) || !fits(len(b), k, n, ldb, transB) || !fits(len(c), m, n, ldc, false) {
		panic(errors.New("blas: a matrix is shorter than its shape"))
	}
	if max(m, n, k, lda, ldb, ldc) > 1<<31-1 {
		panic(errors.New("blas: a dimension exceeds 32 bits"))
	}
}

// fits reports whether a matrix of rows × cols, or its transpose, fits in length numbers.
func fits(length, rows, cols, ld int, trans bool) bool {
	if trans {
		rows, cols = cols, rows
	}
	return ld >= max(1, cols) && (rows == 0 || cols == 0 || length >= (rows-1)*ld+cols)
}
