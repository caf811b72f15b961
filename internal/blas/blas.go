// Package blas multiplies matrices on one thread: by kernels of its own, by OpenBLAS if
// it is installed, opened at run time, or by gonum. Callers with several threads cut a
// product into tiles by its shape, and one thread computes each tile. So the bytes of a
// result do not depend on the number of threads.
package blas

import (
	"fmt"
	"os"
	"strings"
)

// Library multiplies matrices. It may be used by several goroutines at once; a
// call works on the caller's thread alone.
type Library interface {
	// Sgemm is c = alpha·op(a)·op(b) + beta·c in row-major order, where op
	// transposes if asked: op(a) is [m,k], op(b) [k,n], c [m,n]; lda, ldb and ldc are
	// the distances between rows as they are stored. With beta 0, c is written only.
	Sgemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int,
		b []float32, ldb int, beta float32, c []float32, ldc int)
	// String names library, version and kernel.
	String() string
}

// Variable is the environment variable that Default follows.
const Variable = "HGLD_BLAS"

// Default opens what HGLD_BLAS asks for (see Open).
func Default() (Library, error) { return Open(os.Getenv(Variable)) }

// Open returns the library called which: "native", "openblas", "gonum", or the
// path of an OpenBLAS. "" means native where it has kernels for the processor's
// vectors, else OpenBLAS where it is installed and usable, else gonum. Only a
// library that was asked for by name and cannot be opened is an error.
func Open(which string) (Library, error) {
	switch which {
	case "native":
		return Native(), nil
	case "gonum":
		return Gonum(), nil
	case "":
		if vectors() {
			return Native(), nil
		}
		if lib, err := openBLAS(systemNames...); err == nil {
			return lib, nil
		}
		return Gonum(), nil
	case "openblas":
		return named(which, systemNames...)
	}
	if !strings.ContainsAny(which, `/\.`) {
		return nil, fmt.Errorf("blas: unknown library %.80q (known: native, openblas, gonum, or the path of an OpenBLAS)",
			which)
	}
	return named(which, which)
}

// vectors reports whether Native has a kernel for this processor.
func vectors() bool { return bestKernel().name != goKernel.name }

func named(which string, names ...string) (Library, error) {
	lib, err := openBLAS(names...)
	if err != nil {
		return nil, fmt.Errorf("blas: %s=%s: %w", Variable, which, err)
	}
	return lib, nil
}

// Which names the library that Default uses and, if that is the slow one, the reason.
func Which() string {
	lib, err := Default()
	if err != nil {
		return err.Error()
	}
	if os.Getenv(Variable) != "" {
		return fmt.Sprintf("%s (%s is set)", lib, Variable)
	}
	if _, slow := lib.(gonumLibrary); slow {
		_, err := openBLAS(systemNames...)
		return fmt.Sprintf("%s; OpenBLAS would be faster: %v", lib, err)
	}
	return lib.String()
}
