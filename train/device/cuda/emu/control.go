package emu

import (
	"path/filepath"
	"testing"

	"hgld/internal/dlopen"
)

// Control reaches what the emulator has and a driver has not. It acts on the library
// in this process that the driver under test opened from the same folder.
type Control struct {
	order, fail func(string) int32
	memory      func(uint64) int32
	reset       func() int32
	lastError   func() string
	t           testing.TB
}

// Open returns the control of the library in a folder that Build returned. When the
// test ends, all is set back to what the environment says.
func Open(t testing.TB, folder string) *Control {
	t.Helper()
	lib, err := dlopen.Open(filepath.Join(folder, "libcuda.so.1"))
	if err != nil {
		t.Fatal(err)
	}
	c := &Control{t: t}
	for name, fn := range map[string]any{
		"hgEmuOrder": &c.order, "hgEmuFail": &c.fail, "hgEmuMemory": &c.memory, "hgEmuReset": &c.reset,
		"hgEmuLastError": &c.lastError,
	} {
		if err := lib.Bind(fn, name); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { c.reset() })
	return c
}

// Order sets in which order threads, blocks and streams run: forward, reversed or
// shuffled:SEED, as HGLD_EMU_ORDER does.
func (c *Control) Order(order string) {
	c.t.Helper()
	if c.order(order) != 0 {
		c.t.Fatalf("order %q, want forward, reversed or shuffled:SEED", order)
	}
}

// Fail makes calls fail, as HGLD_EMU_FAIL does: function:n or function:n:code,
// several with commas between. The n-th call of the function from now on returns the
// code. A kernel's name stands for its n-th execution.
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

// LastError returns the text of the last error, which names kernel, block, thread and
// address where a kernel had it.
func (c *Control) LastError() string { return c.lastError() }
