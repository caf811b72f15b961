// Package blas multiplies matrices on one thread: with its own kernels, with OpenBLAS if it is
// installed (opened at run time), or with gonum. Callers with several threads divide a product into
// tiles by its shape, and one thread computes each tile, so the bytes of a result do not depend on
// the number of threads.
package blas

import (
	"fmt"
	"os"
	"strings"
)

// Library multiplies matrices. It is safe for concurrent use, and each call runs on the caller's
// thread.
type Library interface {
	// Sgemm computes c = alpha·op(a)·op(b) + beta·c in row-major order, where op transposes if
	// asked: op(a) is [m,k], op(b) [k,n] and c [m,n]. lda, ldb and ldc are the distances between
	// stored rows. With beta 0, c is only written.
	Sgemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int,
		b []float32, ldb int, beta float32, c []float32, ldc int)
	// String returns the library, its version and its kernel.
	String() string
}

// Variable is the environment variable that selects the library of Default.
const Variable = "HGLD_BLAS"

// Default opens the library that HGLD_BLAS names; see Open.
func Default() (Library, error) { return Open(os.Getenv(Variable)) }

// Open returns the library called which: "native", "openblas", "gonum", or the path of an OpenBLAS.
// The default "" is native if it has kernels for the processor, else OpenBLAS if it is installed
// and usable, else gonum. Open fails only if a library named explicitly cannot be opened.
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

// vectors reports whether Native has a vector kernel for this processor.
func vectors() bool { return bestKernel().name != goKernel.name }

func named(which string, names ...string) (Library, error) {
	lib, err := openBLAS(names...)
	if err != nil {
		return nil, fmt.Errorf("blas: %s=%s: %w", Variable, which, err)
	}
	return lib, nil
}

// Which returns the name of the library that Default uses, and the reason if it is the slow one.
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
