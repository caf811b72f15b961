//go:build clib

package main

// #include <stdlib.h>
// #include "hgld.h"
import "C"

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"hgld/internal/crash"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/python/call"
)

// version is that of the wheel, set through the linker.
var version = "0.1.0-dev"

// hgld.h documents the exported functions.

// broken holds the panics of goroutines that hgld started. Their results are missing, so a call that
// ran at the time fails.
var broken struct {
	count atomic.Int64
	last  atomic.Value
}

func init() {
	crash.Report = func(panicked any, trace []byte) {
		broken.last.Store(fmt.Sprintf("%v\n%s", panicked, trace))
		broken.count.Add(1)
	}
}

// try runs f and turns its error, or a panic, into a text for C.
func try(to **C.char, f func() error) (failed C.int) {
	before := broken.count.Load()
	err := recovered(f)
	if err == nil && broken.count.Load() != before {
		err = fmt.Errorf("hgld has a bug: %v", broken.last.Load())
	}
	if err == nil {
		return 0
	}
	if to != nil {
		*to = C.CString(err.Error())
	}
	return 1
}

func recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("hgld has a bug: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// handles numbers what the caller holds.
type handles[T any] struct {
	mu   sync.Mutex
	next uint64
	held map[uint64]T
}

func (h *handles[T]) add(value T) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		h.held = map[uint64]T{}
	}
	h.next++
	h.held[h.next] = value
	return h.next
}

func (h *handles[T]) get(n uint64) (T, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	value, open := h.held[n]
	if !open {
		return value, fmt.Errorf("handle %d is closed, or was never open", n)
	}
	return value, nil
}

func (h *handles[T]) remove(n uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.held, n)
}

var (
	losses  handles[*call.Loss]
	results handles[*call.Result]
	running handles[context.CancelFunc] // evaluations, by the number that the caller chose
)

func backend(threads int) device.Backend { return cpu.New(threads) }

// text gives C a value as JSON, unless there is an error already.
func text(to **C.char, value any, err error) error {
	if err != nil {
		return err
	}
	data, err := json.Marshal(value)
	if err == nil {
		*to = C.CString(string(data))
	}
	return err
}

//export hgld_abi
func hgld_abi() C.int { return C.HGLD_ABI }

//export hgld_version
func hgld_version() *C.char { return C.CString(version) }

//export hgld_free
func hgld_free(text *C.char) { C.free(unsafe.Pointer(text)) }

//export hgld_losses
func hgld_losses(json, failure **C.char) C.int {
	return try(failure, func() error {
		list, err := call.Table()
		return text(json, list, err)
	})
}

//export hgld_loss_open
func hgld_loss_open(spec *C.char, loss *C.hgld_loss, failure **C.char) C.int {
	return try(failure, func() error {
		l, err := call.Open(backend, []byte(C.GoString(spec)))
		if err == nil {
			*loss = C.hgld_loss(losses.add(l))
		}
		return err
	})
}

//export hgld_loss_close
func hgld_loss_close(loss C.hgld_loss) { losses.remove(uint64(loss)) }

//export hgld_loss_describe
func hgld_loss_describe(loss C.hgld_loss, json, failure **C.char) C.int {
	return try(failure, func() error {
		l, err := losses.get(uint64(loss))
		if err != nil {
			return err
		}
		return text(json, l.Describe(), nil)
	})
}

//export hgld_loss_start
func hgld_loss_start(loss C.hgld_loss, seed C.uint64_t, params *C.hgld_matrix, failure **C.char) C.int {
	return try(failure, func() error {
		l, err := losses.get(uint64(loss))
		if err != nil {
			return err
		}
		into, err := matrices(params, len(l.Describe().Params))
		if err != nil {
			return err
		}
		return l.Start(uint64(seed), into)
	})
}

//export hgld_loss_compute
func hgld_loss_compute(loss C.hgld_loss, batch *C.hgld_batch, gradient *C.hgld_gradient, value *C.double,
	failure **C.char) C.int {
	return try(failure, func() error {
		l, err := losses.get(uint64(loss))
		if err != nil {
			return err
		}
		in, err := batchOf(l, batch)
		if err != nil {
			return err
		}
		out, err := gradientOf(l, gradient)
		if err != nil {
			return err
		}
		v, err := l.Compute(in, out)
		if err == nil {
			*value = C.double(v)
		}
		return err
	})
}

//export hgld_classes
func hgld_classes(labels *C.char, json, failure **C.char) C.int {
	return try(failure, func() error {
		numbered, err := call.Number([]byte(C.GoString(labels)))
		return text(json, numbered, err)
	})
}

//export hgld_evaluate
func hgld_evaluate(measures *C.char, query, gallery *C.hgld_side, self *C.int32_t, cancel C.uint64_t,
	result *C.hgld_result, failure **C.char) C.int {
	return try(failure, func() error {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		if cancel != 0 {
			running.put(uint64(cancel), stop)
			defer running.remove(uint64(cancel))
		}
		r, err := evaluated(ctx, C.GoString(measures), query, gallery, self)
		if err == nil {
			*result = C.hgld_result(results.add(r))
		}
		return err
	})
}

//export hgld_cancel
func hgld_cancel(cancel C.uint64_t) {
	if stop, err := running.get(uint64(cancel)); err == nil {
		stop()
	}
}

//export hgld_result_json
func hgld_result_json(result C.hgld_result, json, failure **C.char) C.int {
	return try(failure, func() error {
		r, err := results.get(uint64(result))
		if err != nil {
			return err
		}
		short := *r.Result
		short.PerQuery = nil
		return text(json, &call.Result{Result: &short, Notes: r.Notes}, nil)
	})
}

//export hgld_result_values
func hgld_result_values(result C.hgld_result, key *C.char, values *C.double, n C.int64_t, failure **C.char) C.int {
	return try(failure, func() error {
		r, err := results.get(uint64(result))
		switch {
		case err != nil:
			return err
		case r.PerQuery == nil:
			return fmt.Errorf("the evaluation kept no values of single queries")
		}
		list, known := r.PerQuery.Values[C.GoString(key)]
		if !known || len(list) != int(n) {
			return fmt.Errorf("metric %.80q has %d values, want %d", C.GoString(key), len(list), int(n))
		}
		to := unsafe.Slice((*float64)(unsafe.Pointer(values)), len(list))
		for i, v := range list {
			to[i] = float64(v)
		}
		return nil
	})
}

//export hgld_result_close
func hgld_result_close(result C.hgld_result) { results.remove(uint64(result)) }

//export hgld_ring_first
func hgld_ring_first(size, batch, n C.int64_t) C.int64_t {
	if batch < 1 || size < batch || n < 0 { // a panic would end the caller's process
		return -1
	}
	return C.int64_t(call.RingFirst(int(size), int(batch), int(n)))
}
