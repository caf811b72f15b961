// Package cuda is the Backend on NVIDIA's cards: kernels of our own, compiled to PTX
// that the binary carries, launched through libcuda.so.1, which is opened at run time.
// Nothing of NVIDIA's is needed to build hgld, and a machine without a card runs it.
//
// An operation is two files side by side: axpby.cu, the kernel with its formula, and
// axpby.go, which checks shapes and launches it. ../reference has the definition. Kernels
// are written in hg.h alone, whose arithmetic is IEEE 754 throughout, sums are joined
// in an order that depends on shapes alone, and no float is added atomically: the same
// step gives the same bytes on every card, and on the emulator of package emu.
//
// Operations are queued on one compute stream in call order. Uploads go through a
// stream of their own and wait only for the last use of their buffer.
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

//go:generate ../../../scripts/ptx

// Backend computes on one card. Operations come from one goroutine; Upload may be
// called from any.
type Backend struct {
	// Poison fills what Alloc returns and all scratch with NaN (bytes 0xFF) before each
	// operation, so that a test sees one that reads what it should have written.
	Poison bool

	drv  Driver
	ctx  Context
	card Card

	call call // the operation that is being put together

	mu      sync.Mutex // guards all below
	err     error      // the first failure
	closed  bool
	compute Stream
	copies  Stream
	modules map[string]Module
	kernels map[string]*kernel

	arena     scratch
	inUse     int       // bytes allocated
	retired   []retired // memory that is freed when the work queued before it is done
	staging   []*staging
	downloads map[device.Ticket]*download
	copied    map[device.Ticket]Event // uploads from a HostBuffer
	ticket    device.Ticket
	spare     []Event

	capture  *program // what is being recorded
	captured *sync.Cond
	programs int
}

// ErrNoCard is the reason why Open and Probe found nothing to compute on, wrapped in a
// sentence that says what is missing.
var ErrNoCard = errors.New("no usable CUDA device")

// leastMajor is the compute capability from which the PTX is made: Ampere, 2020.
const leastMajor = 8

// Open returns a Backend on the card with the given number. The error wraps ErrNoCard
// if there is no driver or no such card.
func Open(ordinal int) (*Backend, error) {
	drv, _, err := openDriver()
	if err != nil {
		return nil, fmt.Errorf("cuda: %w: %w", ErrNoCard, err)
	}
	return OpenWith(drv, ordinal)
}

// OpenWith is Open with a given driver.
func OpenWith(drv Driver, ordinal int) (*Backend, error) {
	n, err := drv.Devices()
	if err != nil {
		return nil, fmt.Errorf("cuda: %w: %w", ErrNoCard, err)
	}
	if ordinal < 0 || ordinal >= n {
		return nil, fmt.Errorf("cuda: %w: there is no card %d, the driver has %d", ErrNoCard, ordinal, n)
	}
	card, err := drv.Device(ordinal)
	if err != nil {
		return nil, fmt.Errorf("cuda: card %d: %w", ordinal, err)
	}
	if err := card.fit(); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	b := &Backend{
		drv: drv, card: card,
		modules: map[string]Module{}, kernels: map[string]*kernel{}, downloads: map[device.Ticket]*download{},
		copied: map[device.Ticket]Event{},
	}
	b.captured = sync.NewCond(&b.mu)
	defer pin()()
	if b.ctx, err = drv.Retain(ordinal); err == nil {
		err = drv.SetCurrent(b.ctx)
	}
	if err == nil {
		b.compute, err = drv.NewStream()
	}
	if err == nil {
		b.copies, err = drv.NewStream()
	}
	if err != nil {
		return nil, fmt.Errorf("cuda: %s: %w", card.Name, err)
	}
	return b, nil
}

// Close waits for what is queued and gives the card back. Nothing of the Backend may
// be used afterwards.
func (b *Backend) Close() error {
	err := b.Sync()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return err
	}
	b.closed = true
	defer b.enter()()
	b.freeAll()
	for _, m := range b.modules {
		b.drv.Unload(m)
	}
	for _, e := range b.spare {
		b.drv.FreeEvent(e)
	}
	b.drv.FreeStream(b.compute)
	b.drv.FreeStream(b.copies)
	return errors.Join(err, b.drv.Release(b.card.Ordinal))
}

// Name is "cuda:0 (NVIDIA H200)".
func (b *Backend) Name() string { return fmt.Sprintf("cuda:%d (%s)", b.card.Ordinal, b.card.Name) }

// Card describes the card that the Backend computes on.
func (b *Backend) Card() Card { return b.card }

// Supports reports whether activations can be stored in t. Copy converts between all
// types.
func (b *Backend) Supports(t device.DType) bool { return t == device.F32 }

// enter pins the goroutine to its thread and makes the context current there. What it
// returns undoes the first.
func (b *Backend) enter() func() {
	unpin := pin()
	b.check("", b.drv.SetCurrent(b.ctx))
	return unpin
}

// pin keeps the goroutine on its thread until what it returns is called.
func pin() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// check keeps the first failure with the operation that it came from. Failures of
// operations that were queued earlier are found by a later one.
func (b *Backend) check(op string, err error) bool {
	if err == nil {
		return true
	}
	if b.err == nil {
		if op != "" {
			err = fmt.Errorf("%s: %w", op, err)
		}
		b.err = fmt.Errorf("cuda: %w", err)
	}
	return false
}

// shapes describes a call whose arrays do not fit together.
func shapes(op string, arrays ...device.Array) string {
	return fmt.Sprintf("cuda: %s: shapes do not fit: %v", op, arrays)
}

// blocks returns how many blocks of size elements cover n.
func blocks(n, size int) int { return (n + size - 1) / size }

// openDriver returns the first driver that can be used, with the path of its library.
// The error lists why each could not.
func openDriver() (drv Driver, path string, err error) {
	var reasons []string
	for _, open := range slices.Concat(builtin, []func() (Driver, string, error){atRunTime}) {
		drv, path, err := open()
		if err == nil {
			return drv, path, nil
		}
		reasons = append(reasons, err.Error())
	}
	return nil, "", errors.New(strings.Join(reasons, "; "))
}

// atRunTime opens libcuda.
func atRunTime() (Driver, string, error) {
	d, err := openLibcuda()
	if err != nil {
		return nil, "", err
	}
	return d, d.path, nil
}
