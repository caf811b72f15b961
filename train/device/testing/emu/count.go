package emu

import (
	"fmt"
	"strings"
)

// Counts are what kernels translated from PTX asked of a multiprocessor.
type Counts struct {
	Instructions map[string]int // of all threads, by kernel; those of PTX
	Accesses     []Accesses     // by kernel and line
}

// Accesses are those of a line of PTX.
type Accesses struct {
	Kernel, File string // which kernel, and the file of its module
	Line         int    // of the file
	Shared       bool   // in shared memory; otherwise in global memory
	Warps        int    // the number of accesses of a warp
	Actual       int    // wavefronts of shared memory that these take, or sectors of 32 bytes of global memory
	Ideal        int    // the least for the bytes that they touch: 128 in a wavefront, 32 in a sector
}

// String describes the accesses in a sentence.
func (a Accesses) String() string {
	space := map[bool]string{true: "wavefronts of shared memory", false: "sectors of global memory"}[a.Shared]
	return fmt.Sprintf("%s, %s:%d: %d accesses take %d %s, and %d would do", a.Kernel, a.File, a.Line, a.Warps, a.Actual,
		space, a.Ideal)
}

// Count counts what kernels do while run executes; their last must have ended when it returns. Only a library
// of BuildPTX counts, others return nothing.
func (c *Control) Count(run func()) Counts {
	c.t.Helper()
	c.count()
	run()
	counts := Counts{Instructions: map[string]int{}}
	for row := range strings.Lines(c.counts()) {
		var a Accesses
		var n int
		var space string
		if _, err := fmt.Sscan(row, &a.Kernel, &n); err == nil {
			counts.Instructions[a.Kernel] = n
			continue
		}
		if _, err := fmt.Sscan(row, &a.Kernel, &a.File, &a.Line, &space, &a.Warps, &a.Actual, &a.Ideal); err != nil {
			c.t.Fatalf("the emulator counted %q: %v", row, err)
		}
		a.Shared = space == "shared"
		counts.Accesses = append(counts.Accesses, a)
	}
	return counts
}
