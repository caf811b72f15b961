package emu

import (
	"path/filepath"
	"testing"

	"hgld/internal/dlopen"
)

// Control gives access to the emulator's functions beyond those of a driver. It acts on the
// library that the driver under test opened in this process from the same folder.
type Control struct {
	order, fail func(string) int32
	memory      func(uint64) int32
	version     func(int32) int32
	reset       func() int32
	lastError   func() string
	count       func()
	counts      func() string
	t           testing.TB
}

// Open returns the control of the library in a folder from Build. The end of the test restores
// the settings of the environment.
func Open(t testing.TB, folder string) *Control {
	t.Helper()
	lib, err := dlopen.Open(filepath.Join(folder, "libcuda.so.1"))
	if err != nil {
		t.Fatal(err)
	}
	c := &Control{t: t}
	for name, fn := range map[string]any{
		"hgEmuOrder": &c.order, "hgEmuFail": &c.fail, "hgEmuMemory": &c.memory, "hgEmuReset": &c.reset,
		"hgEmuVersion": &c.version, "hgEmuLastError": &c.lastError,
		"hgEmuCount": &c.count, "hgEmuCounts": &c.counts,
	} {
		if err := lib.Bind(fn, name); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { c.reset() })
	return c
}

// Order sets the order in which threads, blocks and streams run: forward, reversed or
// shuffled:SEED, as in HGLD_EMU_ORDER.
func (c *Control) Order(order string) {
	c.t.Helper()
	if c.order(order) != 0 {
		c.t.Fatalf("order %q, want forward, reversed or shuffled:SEED", order)
	}
}

// Fail makes calls fail, as HGLD_EMU_FAIL does. calls is a list of function:n or
// function:n:code, separated by commas. The n-th call of the function from now on returns the
// code. The name of a kernel means its n-th execution.
func (c *Control) Fail(calls string) {
	c.t.Helper()
	if c.fail(calls) != 0 {
		c.t.Fatalf("failures %q, want function:n or function:n:code", calls)
	}
}

// Memory sets the size of the device's memory in bytes, as HGLD_EMU_MEMORY does.
func (c *Control) Memory(bytes int) {
	c.t.Helper()
	if c.memory(uint64(bytes)) != 0 {
		c.t.Fatalf("a memory of %d bytes", bytes)
	}
}

// Version sets the version of CUDA that the driver reports, as HGLD_EMU_VERSION does.
func (c *Control) Version(v int) { c.version(int32(v)) }

// LastError returns the text of the last error. For an error in a kernel it names the kernel,
// block, thread and address.
func (c *Control) LastError() string { return c.lastError() }
