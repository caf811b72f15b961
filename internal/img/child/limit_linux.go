package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// overhead is what a task may take beside its data and its work: stacks of threads, tables of codecs, and
// what the heap grows by at once.
func overhead() int64 { return 256<<20 + 4<<20*int64(runtime.NumCPU()) }

// limit keeps this process from opening files, writing them and leaving a core.
func limit() (*memory, error) {
	file, err := os.Open("/proc/self/statm")
	if err != nil {
		return nil, err
	}
	m := &memory{file: file}
	if m.start, err = m.used(); err != nil {
		return nil, err
	}
	for _, resource := range []int{unix.RLIMIT_CORE, unix.RLIMIT_FSIZE, unix.RLIMIT_NOFILE} {
		err = errors.Join(err, unix.Setrlimit(resource, &unix.Rlimit{}))
	}
	return m, err
}

// memory is that of this process: the private memory that can be written, used or not. What is merely
// reserved, as Go's runtime does, is not counted.
type memory struct {
	file  *os.File
	start int64
}

func (m *memory) used() (bytes int64, err error) {
	text := make([]byte, 200)
	n, err := m.file.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return 0, err
	}
	fields := strings.Fields(string(text[:n]))
	if len(fields) < 6 {
		return 0, fmt.Errorf("/proc/self/statm says %.80q", text[:n])
	}
	pages, err := strconv.ParseInt(fields[5], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// allow limits the memory to that of the start, the overhead, and a number of bytes.
func (m *memory) allow(more int64) error {
	return unix.Setrlimit(unix.RLIMIT_DATA,
		&unix.Rlimit{Cur: uint64(m.start + overhead() + more), Max: unix.RLIM_INFINITY})
}

// full reports whether so much memory was not given back that a next task may lack it.
func (m *memory) full() bool {
	used, err := m.used()
	return err != nil || used > m.start+overhead()/2
}
