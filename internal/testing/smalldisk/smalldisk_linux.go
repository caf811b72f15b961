// Package smalldisk tests that a program survives a full disk at every write: it runs the test on
// disks of increasing size until one is large enough.
package smalldisk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// child names the folder for the disks in the environment of the child process.
const child = "HGLD_DISK_CHILD"

// Run calls attempt with an empty disk of first KiB, then of first+step, and so on until it returns
// nil. Every other error must be ENOSPC. The disk then gets more room, and again is called with it:
// it must check that the state is valid and that a second attempt succeeds. done is called at the
// end of each round, including the last.
//
// All of this runs in a child process with its own user and mount namespace, in which the test is
// the only one. If the system does not allow such a namespace, the test is skipped.
func Run(t *testing.T, first, step int, attempt func(dir string) error, again, done func(dir string)) {
	t.Helper()
	if dir := os.Getenv(child); dir != "" {
		disks(t, dir, first, step, attempt, again, done)
		return
	}
	self := must.Get(os.Executable())(t)
	cmd := exec.Command(self, "-test.run=^"+regexp.QuoteMeta(t.Name())+"$")
	cmd.Env = append(os.Environ(), child+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "cannot mount") {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	if err != nil || !strings.Contains(string(out), "disks were too small") {
		t.Errorf("%v\n%s", err, out)
	}
}

// unmount waits for what an attempt reads ahead: it may end a moment after the attempt.
func unmount(dir string) error {
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if err := syscall.Unmount(dir, 0); !errors.Is(err, syscall.EBUSY) || time.Now().After(until) {
			return err
		}
	}
}

func disks(t *testing.T, dir string, first, step int, attempt func(dir string) error, again, done func(dir string)) {
	for n := 0; ; n++ {
		kib := first + n*step
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
			t.Fatal("cannot mount: ", err)
		}
		err := attempt(dir)
		if err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%d KiB: %v, want ENOSPC", kib, err)
			}
			if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
				t.Fatal("cannot mount more: ", err)
			}
			again(dir)
		}
		done(dir)
		must.Do(t, unmount(dir))
		if err == nil {
			fmt.Printf("%d disks were too small\n", n)
			return
		}
		if t.Failed() {
			return
		}
	}
}
