package child

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// overhead is what a task may take beside its data and its work: stacks of threads, tables of codecs, and
// what the heap grows by at once.
func overhead() int64 { return 64<<20 + 4<<20*int64(runtime.NumCPU()) }

// limit keeps this process from opening files, writing them and leaving a core. It returns a function that
// limits the memory to what is in use now, and a number of bytes and the overhead more. It counts private
// memory that can be written, used or not, but not what is merely reserved, as Go's runtime does.
func limit() (setMemory func(more int64) error, err error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	var kb int64
	_, after, _ := strings.Cut(string(text), "\nVmData:")
	if _, err := fmt.Sscan(after, &kb); err != nil {
		return nil, fmt.Errorf("VmData in /proc/self/status: %w", err)
	}
	base := kb<<10 + overhead()
	for _, resource := range []int{unix.RLIMIT_CORE, unix.RLIMIT_FSIZE, unix.RLIMIT_NOFILE} {
		err = errors.Join(err, unix.Setrlimit(resource, &unix.Rlimit{}))
	}
	return func(more int64) error {
		return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(base + more), Max: unix.RLIM_INFINITY})
	}, err
}
