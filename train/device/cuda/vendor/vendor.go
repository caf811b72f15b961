// Package vendor computes matrix products, convolutions and attention with NVIDIA's own libraries,
// cuBLASLt and cuDNN 9. It opens them at run time. Where one is missing, too old, or does not
// support a shape, package cuda computes with its own kernels.
//
// A shape gets a plan on its first use, which is kept, also for other runs: the library's heuristic proposes
// algorithms in a fixed order, and the first that is deterministic and fits into the workspace
// is taken. The same shapes therefore give the same bytes in every run with the same GPU and
// library. Other GPUs and other versions may add up in another order.
package vendor

import (
	"errors"
	"fmt"
	"strings"

	"hgld/internal/dlopen"
)

// Find lists the paths at which a library may be, in the order of trial. None: it is not there.
type Find func(name string) []string

// Found describes a library.
type Found struct {
	Name    string // cuBLASLt
	Path    string // as it was opened; "" if it was not
	Version string // 13.4.1
	Err     error  // why it is not used
}

// Libraries are the opened libraries with their plans. A method must be called with the CUDA
// context current that was current in Open, and one at a time.
type Libraries struct {
	blas *blas
	dnn  *dnn

	measured string    // see Measured
	choices  planStore // see Choice
}

// Open opens the libraries that work with a driver for the given CUDA version (13000 is 13.0).
// Their work goes to a stream. GPU names the kind of GPU: cuDNN's plans for it are kept, see
// [PlansVariable]. The reports say which were found.
func Open(find Find, driver int, card string, stream uintptr) (*Libraries, []Found) {
	l := &Libraries{}
	blas, foundBlas := openBlas(find, driver)
	if foundBlas.Err == nil {
		blas.stream = stream
		foundBlas.Err = blas.start()
	}
	if foundBlas.Err == nil {
		l.blas = blas
	}
	dnn, foundDnn := openDnn(find, driver)
	if foundDnn.Err == nil {
		foundDnn.Err = dnn.start(stream)
	}
	if foundDnn.Err == nil {
		l.dnn = dnn
		dnn.kept = newPlanStore(fmt.Sprintf("%s, CUDA %d, %s", foundDnn.Version, driver, card))
	}
	l.measured = fmt.Sprintf("cuDNN %s, cuBLASLt %s, CUDA %d, %s", foundDnn.Version, foundBlas.Version, driver, card)
	l.choices = newPlanStore(l.measured)
	return l, []Found{foundBlas, foundDnn}
}

// Probe reports the libraries without computing with them, so that it needs no GPU.
func Probe(find Find, driver int) []Found {
	_, blas := openBlas(find, driver)
	_, dnn := openDnn(find, driver)
	return []Found{blas, dnn}
}

// Close frees the plans and ends the use of the libraries. Queued work must be done.
func (l *Libraries) Close() error {
	var errs []error
	if l.blas != nil {
		errs = append(errs, l.blas.close())
	}
	if l.dnn != nil {
		errs = append(errs, l.dnn.close())
	}
	l.blas, l.dnn = nil, nil
	return errors.Join(errs...)
}

// Error is a failed call of a library.
type Error struct {
	Call string // cublasLtMatmul
	Code int    // cublasStatus_t or cudnnStatus_t
	Name string // CUBLAS_STATUS_NOT_SUPPORTED
	Text string // the library's own explanation, or ""
}

// Error returns the call, the name of its code and the library's explanation.
func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s: %s (%d)", e.Call, e.Name, e.Code)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Call, e.Name, e.Text)
}

// OutOfMemory reports whether the library had too little memory of the GPU.
func (e *Error) OutOfMemory() bool {
	return strings.Contains(e.Name, "ALLOC") && !strings.Contains(e.Name, "HOST")
}

// ErrNoPlan is the error for a shape that a library has no deterministic algorithm for.
var ErrNoPlan = errors.New("no deterministic algorithm within the workspace")

// noPlan is ErrNoPlan with the number of the plan, if it is not the first that is missing.
func noPlan(number int) error {
	if number == 0 {
		return ErrNoPlan
	}
	return fmt.Errorf("no plan %d: %w", number, ErrNoPlan)
}

// MostWorkspace is the largest workspace of a plan in bytes.
const MostWorkspace = 256 << 20

// openFirst opens the first library of the given names that a find function knows.
func openFirst(find Find, names ...string) (*dlopen.Library, error) {
	var reasons []string
	for _, name := range names {
		paths := find(name)
		if len(paths) == 0 {
			reasons = append(reasons, name+" is not there")
			continue
		}
		lib, err := dlopen.Open(paths...)
		if err == nil {
			return lib, nil
		}
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
		reasons = append(reasons, err.Error())
	}
	return nil, errors.New(strings.Join(reasons, "; "))
}

// ofDriver returns the major version of CUDA that a driver supports.
func ofDriver(driver int) int { return driver / 1000 }

// version writes a number such as 130401 as 13.4.1.
func version(n int) string { return fmt.Sprintf("%d.%d.%d", n/10000, n/100%100, n%100) }

// alignment returns the largest power of two up to 16 that divides all addresses.
func alignment(addresses ...uint64) int {
	all := uint64(16)
	for _, a := range addresses {
		all |= a
	}
	return int(all & -all)
}
