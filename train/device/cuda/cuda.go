// Package cuda implements Backend on NVIDIA GPUs. The binary embeds its own kernels
// and launches them through libcuda.so.1, which it opens at run time. Building hgld needs no
// NVIDIA software, and hgld also runs on machines without a GPU.
//
// An operation consists of two files. axpby.cu holds the kernel with its formula, and axpby.go
// checks shapes and launches it. ../reference holds the definition. Kernels use only hg.h,
// whose arithmetic is IEEE 754 throughout. Sums are joined in an order that depends only on
// shapes, and no float is added atomically. The same step in F32 therefore produces the same
// bytes on every GPU and on the emulator of package emu.
//
// Activations are F32 or BF16; typed.h makes the kernels for both. Products of BF16 arrays
// (tensor.go) and their attention use tensor cores, which round sums in the GPU's way: a GPU
// repeats its bytes, and another may give others.
//
// Operations are queued on one compute stream in call order. Uploads use two separate streams, one for small arrays,
// and wait only for the last use of their buffer.
package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"hgld/train/device"
)

//go:generate ../../../scripts/build_ptx --cubin

// Backend computes on one GPU. Only one goroutine may call operations. Any goroutine may call
// Upload.
type Backend struct {
	// Poison fills new allocations, and all scratch memory before each operation, with NaN
	// (bytes 0xFF). A test then detects an operation that reads what it should have written.
	Poison bool

	// Log, if set, is told once for each reason why NVIDIA's libraries do not compute something
	// that they might. It is called while an operation is queued.
	Log func(text string)

	drv  Driver
	ctx  Context
	card Card

	call   call // the current operation
	vendor vendors
	chosen choices

	// sortScratch bounds the scratch memory of a sort of more than one query. Queries that do not
	// fit are sorted in turn.
	sortScratch int
	rankScratch int // bounds that of the sorted queries of RankLoss in the same way

	mu      sync.Mutex // guards all fields below
	err     error      // the first failure
	closed  bool
	compute Stream
	small   Stream // of uploads to small arrays
	copies  Stream // of uploads to all others
	modules map[string]Module
	kernels map[kernelKey]*kernel

	unpacked bool              // cubins is decided
	cubins   map[string][]byte // machine code for the GPU, by module; empty: the driver compiles PTX
	arch     string            // of cubins, such as sm_90
	ptx      map[string]string // what the driver compiles, by module; nil: not unpacked

	arena     scratch
	inUse     int              // allocated bytes
	retired   []retired        // freed memory that queued work may still use
	staging   [2]stagingBlocks // for small copies and for all others
	downloads map[device.Ticket]*download
	copied    map[device.Ticket]Event // end of each upload from a HostBuffer
	ticket    device.Ticket
	spare     []Event

	capture  *program // program being recorded
	captured *sync.Cond
	programs int
}

// ErrNoCard is the error of Open and Probe if there is nothing to compute on. It is wrapped in
// a sentence that says what is missing.
var ErrNoCard = errors.New("no usable CUDA device")

// What the PTX needs: the lowest compute capability (Ampere, 2020), and the oldest driver, by the
// CUDA version that it supports. Drivers from CUDA 11.5 on compile PTX 7.5.
const (
	leastMajor  = 8
	leastDriver = 11050
)

// Open returns a Backend on the GPU with the given number. The error wraps ErrNoCard
// if there is no driver or no such GPU.
func Open(ordinal int) (*Backend, error) {
	drv, _, err := openDriver()
	if err != nil {
		return nil, fmt.Errorf("cuda: %w: %w", ErrNoCard, err)
	}
	return OpenWith(drv, ordinal)
}

// OpenWith is Open with a given driver.
func OpenWith(drv Driver, ordinal int) (*Backend, error) {
	if _, err := versionOf(drv); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	n, err := drv.Devices()
	if err != nil {
		return nil, fmt.Errorf("cuda: %w: %w", ErrNoCard, err)
	}
	if ordinal < 0 || ordinal >= n {
		return nil, fmt.Errorf("cuda: %w: there is no GPU %d, the driver has %d", ErrNoCard, ordinal, n)
	}
	card, err := drv.Device(ordinal)
	if err != nil {
		return nil, fmt.Errorf("cuda: GPU %d: %w", ordinal, err)
	}
	if err := card.fit(); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	b := &Backend{
		drv: drv, card: card, sortScratch: sortScratch, rankScratch: rankScratch,
		modules: map[string]Module{}, kernels: map[kernelKey]*kernel{}, downloads: map[device.Ticket]*download{},
		copied: map[device.Ticket]Event{}, staging: [2]stagingBlocks{{bytes: smallBytes}, {bytes: stagingBytes}},
	}
	b.captured = sync.NewCond(&b.mu)
	if err := b.vendor.read(); err != nil {
		return nil, err
	}
	defer pin()()
	if b.ctx, err = drv.Retain(ordinal); err != nil {
		return nil, fmt.Errorf("cuda: %s: %w", card.Name, err)
	}
	if err = drv.SetCurrent(b.ctx); err == nil {
		b.compute, err = drv.NewStream()
	}
	if err == nil {
		b.small, err = drv.NewStream()
	}
	if err == nil {
		b.copies, err = drv.NewStream()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cuda: %s: %w", card.Name, err), drv.Release(ordinal))
	}
	return b, nil
}

// Close waits for queued work and releases the GPU. The Backend is unusable afterwards.
func (b *Backend) Close() error {
	err := b.Sync()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return err
	}
	b.closed = true
	defer b.enter()()
	if b.vendor.libraries != nil {
		err = errors.Join(err, b.vendor.libraries.Close())
	}
	b.freeAll()
	for _, m := range b.modules {
		b.drv.Unload(m)
	}
	for _, e := range b.spare {
		b.drv.FreeEvent(e)
	}
	b.drv.FreeStream(b.compute)
	b.drv.FreeStream(b.small)
	b.drv.FreeStream(b.copies)
	return errors.Join(err, b.drv.Release(b.card.Ordinal))
}

// Name returns the name of the GPU, such as "cuda:0 (NVIDIA H200)".
func (b *Backend) Name() string { return fmt.Sprintf("cuda:%d (%s)", b.card.Ordinal, b.card.Name) }

// OwnMemory is true: device.Discrete.
func (b *Backend) OwnMemory() bool { return true }

// Card describes the GPU that the Backend computes on.
func (b *Backend) Card() Card { return b.card }

// Supports reports whether activations can be stored in t. Copy converts between all
// types.
func (b *Backend) Supports(t device.DType) bool { return t == device.F32 || t == device.BF16 }

// enter locks the goroutine to its thread and makes the context current there. The returned
// function unlocks the goroutine.
func (b *Backend) enter() func() {
	unpin := pin()
	b.check("", b.drv.SetCurrent(b.ctx))
	return unpin
}

// pin locks the goroutine to its thread until the returned function is called.
func pin() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// check records the first failure with the name of its operation. A later operation may report
// the failure of an earlier queued one.
func (b *Backend) check(op string, err error) bool {
	if err == nil {
		return true
	}
	if b.err == nil {
		err = b.shortage(err)
		if op != "" {
			err = fmt.Errorf("%s: %w", op, err)
		}
		b.err = fmt.Errorf("cuda: %w", err)
	}
	return false
}

// shapes describes a call whose arrays have incompatible shapes.
func shapes(op string, arrays ...device.Array) string {
	return fmt.Sprintf("cuda: %s: shapes do not fit: %v", op, arrays)
}

// blocks returns the number of blocks of size elements that cover n.
func blocks(n, size int) int { return (n + size - 1) / size }

// openDriver returns the first usable driver and the path of its library. The error lists why
// each one failed. It wraps device.ErrNoGPU if there seems to be no GPU.
func openDriver() (drv Driver, path string, err error) {
	var failed noDriver
	for _, open := range slices.Concat(builtin, []func() (Driver, string, error){atRunTime}) {
		drv, path, err := open()
		if err == nil {
			return drv, path, nil
		}
		failed = append(failed, err)
	}
	if !slices.ContainsFunc(failed, func(err error) bool { return !nothingThere(err) }) {
		return nil, "", absentError{failed}
	}
	return nil, "", failed
}

// noDriver is why no driver is usable.
type noDriver []error

func (e noDriver) Error() string {
	var reasons []string
	for _, err := range e {
		reasons = append(reasons, err.Error())
	}
	return strings.Join(reasons, "; ")
}

func (e noDriver) Unwrap() []error { return e }

// atRunTime opens libcuda.
func atRunTime() (Driver, string, error) {
	d, err := openLibcuda()
	if err != nil {
		return nil, "", err
	}
	return d, d.path, nil
}
