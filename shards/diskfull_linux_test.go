package shards

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestDiskFullAnywhereLeavesTheStateGood builds on disks of 32, 48, 64 … KiB until
// one is large enough, so that every write meets the end of the disk once. The
// error must be ENOSPC, nothing may open as a data set, and with more room the
// next build must come to the right bytes. It runs in a child with a user and
// mount namespace of its own; where the system allows none, it tests nothing.
func TestDiskFullAnywhereLeavesTheStateGood(t *testing.T) {
	if dir := os.Getenv("HGLD_DISK_CHILD"); dir != "" {
		fillDisks(t, dir)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestDiskFullAnywhereLeavesTheStateGood$")
	child.Env = append(os.Environ(), "HGLD_DISK_CHILD="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "cannot mount") {
		t.Logf("no namespaces here: %v %s", err, out)
		return
	}
	if err != nil || !strings.Contains(string(out), "disks were too small") {
		t.Errorf("%v\n%s", err, out)
	}
}

func fillDisks(t *testing.T, dir string) {
	src := newSource(t, 40)
	fresh := t.TempDir()
	mustBuild(t, src, fresh, small())
	want := contents(t, fresh)
	for kib := 32; ; kib += 16 {
		size := fmt.Sprintf("size=%dk", kib)
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, size); err != nil {
			t.Fatal("cannot mount: ", err)
		}
		_, err := Build(t.Context(), src, dir, small())
		if err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%d KiB: %v, want ENOSPC", kib, err)
			}
			if _, err := Open(dir); err == nil {
				t.Errorf("%d KiB: the folder opens", kib)
			}
			if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
				t.Fatal("cannot mount more: ", err)
			}
			mustBuild(t, src, dir, small())
		}
		sameContents(t, contents(t, dir), want)
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			fmt.Printf("%d disks were too small\n", (kib-32)/16)
			return
		}
	}
}
