package mpi

import (
	"fmt"
	"runtime"
	"unsafe"

	"hgld/internal/dlopen"
)

// longest is the most bytes of a process that go in one call, since MPI counts them in 32 bits.
const longest = 1 << 26

// AllGather writes the part of every process to all, one after another in the order of ranks.
func (w *World) AllGather(all, part []byte) error {
	w.calls.Add(1)
	if len(all) != w.size*len(part) {
		return fmt.Errorf("mpi: AllGather of %d bytes from %d processes to %d", len(part), w.size, len(all))
	}
	if len(part) <= longest {
		return w.allgather(all, part)
	}
	room := make([]byte, w.size*longest)
	for lo := 0; lo < len(part); lo += longest {
		n := min(longest, len(part)-lo)
		if err := w.allgather(room[:w.size*n], part[lo:lo+n]); err != nil {
			return err
		}
		for r := range w.size {
			copy(all[r*len(part)+lo:], room[r*n:(r+1)*n])
		}
	}
	return nil
}

func (w *World) allgather(all, part []byte) error {
	n := uintptr(len(part))
	if n == 0 {
		return nil
	}
	err := w.call("MPI_Allgather", w.fn.allgather, dlopen.Address(&part[0]), n, w.constants.bytes,
		dlopen.Address(&all[0]), n, w.constants.bytes, w.constants.world)
	runtime.KeepAlive(all)
	runtime.KeepAlive(part)
	return err
}

// Broadcast replaces x by that of rank 0.
func (w *World) Broadcast(x []byte) error {
	w.calls.Add(1)
	for len(x) > 0 {
		n := min(longest, len(x))
		err := w.call("MPI_Bcast", w.fn.bcast, dlopen.Address(&x[0]), uintptr(n), w.constants.bytes, 0, w.constants.world)
		runtime.KeepAlive(x)
		if err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
}

// sums is the memory of AllReduce: a share of the numbers from every process, and the numbers themselves where the
// processes do not divide them.
type sums struct{ from, padded []float32 }

// block is the most numbers that are added in one call.
const block = 1 << 22

// AllReduce replaces x by its sum over all processes. Every process gets its share of the numbers from all others,
// adds them in the order of ranks, and sends the sums to all. That moves as many bytes as a ring, 2(n−1)/n of x, and
// the bytes of the result do not depend on the library.
func (w *World) AllReduce(x []float32) error {
	w.calls.Add(1)
	for len(x) > 0 {
		n := min(block, len(x))
		if err := w.add(x[:n]); err != nil {
			return err
		}
		x = x[n:]
	}
	return nil
}

func (w *World) add(x []float32) error {
	part := (len(x) + w.size - 1) / w.size
	all := part * w.size
	if len(w.sums.from) < all {
		w.sums = sums{make([]float32, all), make([]float32, all)}
	}
	to := x
	if all != len(x) {
		to = w.sums.padded[:all]
		clear(to[copy(to, x):])
	}
	from := w.sums.from[:all]
	n := uintptr(4 * part)
	err := w.call("MPI_Alltoall", w.fn.alltoall, dlopen.Address(&to[0]), n, w.constants.bytes, dlopen.Address(&from[0]), n,
		w.constants.bytes, w.constants.world)
	runtime.KeepAlive(to)
	if err != nil {
		return err
	}
	sum := from[:part]
	for r := 1; r < w.size; r++ {
		for i, v := range from[r*part : (r+1)*part] {
			sum[i] += v
		}
	}
	if err := w.allgather(bytesOf(to), bytesOf(sum)); err != nil {
		return err
	}
	if all != len(x) {
		copy(x, to)
	}
	return nil
}

func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
