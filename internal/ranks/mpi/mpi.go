// Package mpi moves numbers between processes through an MPI library that is opened at run time, without cgo. It knows
// the three binary interfaces that exist:
//
//	openmpi   libmpi.so.40: Open MPI 4 and 5
//	mpich     libmpi.so.12, on Debian libmpich.so.12: MPICH, Intel MPI, MVAPICH, Cray MPICH
//	standard  libmpi_abi.so.1 of MPI 5.0: MPICH from 4.3 on, Intel MPI from 2021.17 on
//
// MPI only moves bytes here. Sums are computed in the order of ranks, so that all libraries give the same bytes.
package mpi

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"hgld/internal/dlopen"
)

// Variable names the library to open.
const Variable = "HGLD_MPI_LIB"

// The names of each interface's library.
var (
	openMPI = []string{"libmpi.so.40"}
	mpich   = []string{"libmpi_abi.so.1", "libmpi.so.12", "libmpich.so.12"}
)

// Library is an open MPI library.
type Library struct {
	Path    string // as it was opened
	ABI     string // openmpi, mpich or standard
	Version string // the first line of the library's own words

	fn        functions
	constants constants
	out       []int32 // where functions leave their results
}

// functions are the addresses of the functions that are called.
type functions struct {
	initialized    uintptr `name:"MPI_Initialized"`
	initThread     uintptr `name:"MPI_Init_thread"`
	finalize       uintptr `name:"MPI_Finalize"`
	commRank       uintptr `name:"MPI_Comm_rank"`
	commSize       uintptr `name:"MPI_Comm_size"`
	setErrhandler  uintptr `name:"MPI_Comm_set_errhandler"`
	errorString    uintptr `name:"MPI_Error_string"`
	libraryVersion uintptr `name:"MPI_Get_library_version"`
	bcast          uintptr `name:"MPI_Bcast"`
	allgather      uintptr `name:"MPI_Allgather"`
	alltoall       uintptr `name:"MPI_Alltoall"`
}

// constants are the values of MPI's handles and levels, which differ between the interfaces.
type constants struct {
	world      uintptr // MPI_COMM_WORLD
	bytes      uintptr // MPI_BYTE
	returns    uintptr // MPI_ERRORS_RETURN
	serialized uintptr // MPI_THREAD_SERIALIZED: any thread may call, one at a time
}

// longestVersion is the greatest MPI_MAX_LIBRARY_VERSION_STRING, and longestError the greatest MPI_MAX_ERROR_STRING.
const (
	longestVersion = 8192
	longestError   = 1024
)

// Open opens the library that suits the launcher: that of $HGLD_MPI_LIB, or else the first that is found. It does not
// start it.
func Open(getenv func(string) string) (*Library, error) {
	names := append(append([]string{}, mpich...), openMPI...)
	if getenv("OMPI_COMM_WORLD_SIZE") != "" || getenv("PMIX_RANK") != "" || getenv("PMI_RANK") == "" {
		names = append(append([]string{}, openMPI...), mpich...)
	}
	if name := getenv(Variable); name != "" {
		names = []string{name}
	}
	// Open MPI and UCX install signal handlers on the stack of the thread, which the Go runtime does not survive.
	for name, value := range map[string]string{
		"OMPI_MCA_opal_signal": "", "UCX_ERROR_SIGNALS": "", "UCX_HANDLE_ERRORS": "none",
	} {
		if _, set := os.LookupEnv(name); set {
			continue
		}
		if err := dlopen.Setenv(name, value); err != nil {
			return nil, fmt.Errorf("mpi: %w", err)
		}
	}
	lib, err := dlopen.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("mpi: %w", err)
	}
	l := &Library{Path: lib.Path, out: make([]int32, 4)}
	if err := lib.Functions(&l.fn); err != nil {
		return nil, fmt.Errorf("mpi: %w", err)
	}
	if err := l.recognise(lib); err != nil {
		return nil, fmt.Errorf("mpi: %w", err)
	}
	text := make([]byte, longestVersion+1)
	dlopen.Call(l.fn.libraryVersion, dlopen.Address(&text[0]), dlopen.Address(&l.out[0]))
	runtime.KeepAlive(text)
	n := min(max(int(l.out[0]), 0), longestVersion)
	line, _, _ := strings.Cut(strings.TrimRight(string(text[:n]), "\x00"), "\n")
	l.Version = strings.Join(strings.Fields(line), " ")
	return l, nil
}

// recognise finds the interface of a library and its constants.
func (l *Library) recognise(lib *dlopen.Library) error {
	world, err := lib.Symbol("ompi_mpi_comm_world")
	switch {
	case err == nil:
		l.ABI, l.constants = "openmpi", constants{world: world, serialized: 2}
		if l.constants.bytes, err = lib.Symbol("ompi_mpi_byte"); err != nil {
			return err
		}
		l.constants.returns, err = lib.Symbol("ompi_mpi_errors_return")
		return err
	case l.isStandard(lib):
		l.ABI, l.constants = "standard", constants{world: 0x101, bytes: 0x247, returns: 0x143, serialized: 2048}
	default:
		l.ABI = "mpich"
		l.constants = constants{world: 0x44000000, bytes: 0x4c00010d, returns: 0x54000001, serialized: 2}
	}
	return nil
}

// isStandard reports whether a library has the interface of MPI 5.0. An implementation's own library may export the
// function that tells, and then answers -1.
func (l *Library) isStandard(lib *dlopen.Library) bool {
	fn, err := lib.Symbol("MPI_Abi_get_version")
	if err != nil {
		return false
	}
	l.out[0] = -1
	dlopen.Call(fn, dlopen.Address(&l.out[0]), dlopen.Address(&l.out[1]))
	return l.out[0] >= 1 && strings.Contains(l.Path, "_abi")
}

func (l *Library) call(name string, fn uintptr, args ...uintptr) error {
	code := int32(dlopen.Call(fn, args...))
	if code == 0 {
		return nil
	}
	text := make([]byte, longestError+1)
	n := make([]int32, 1)
	dlopen.Call(l.fn.errorString, uintptr(uint32(code)), dlopen.Address(&text[0]), dlopen.Address(&n[0]))
	runtime.KeepAlive(text)
	return fmt.Errorf("mpi: %s: %s (%d)", name, text[:min(max(int(n[0]), 0), longestError)], code)
}

// World is the group of all processes that the launcher started. One goroutine at a time may use it.
type World struct {
	*Library
	rank, size int
	sums       sums
	calls      atomic.Int64 // collective calls begun
}

// Start starts the library. It returns when the processes of the launcher know one another.
func (l *Library) Start() (*World, error) {
	out := dlopen.Address(&l.out[0])
	if err := l.call("MPI_Initialized", l.fn.initialized, out); err != nil {
		return nil, err
	}
	if l.out[0] == 0 {
		if err := l.call("MPI_Init_thread", l.fn.initThread, 0, 0, l.constants.serialized, out); err != nil {
			return nil, err
		}
		if uintptr(l.out[0]) < l.constants.serialized {
			return nil, fmt.Errorf("mpi: %s can only be called from one thread", l.Path)
		}
	}
	if err := l.call("MPI_Comm_set_errhandler", l.fn.setErrhandler, l.constants.world, l.constants.returns); err != nil {
		return nil, err
	}
	w := &World{Library: l}
	for _, v := range []struct {
		name string
		fn   uintptr
		to   *int
	}{{"MPI_Comm_rank", l.fn.commRank, &w.rank}, {"MPI_Comm_size", l.fn.commSize, &w.size}} {
		if err := l.call(v.name, v.fn, l.constants.world, out); err != nil {
			return nil, err
		}
		*v.to = int(l.out[0])
	}
	return w, nil
}

// Rank returns the number of this process, from 0, and how many there are.
func (w *World) Rank() (rank, ranks int) { return w.rank, w.size }

// Calls returns how many collective calls this process has begun. Any goroutine may call it.
func (w *World) Calls() int64 { return w.calls.Load() }

// Close ends the use of MPI. All processes call it; a process that ends without it is a crash to the launcher.
func (w *World) Close() error { return w.call("MPI_Finalize", w.fn.finalize) }
