//go:build linux && amd64

package iotrace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"

	"golang.org/x/sys/unix"
)

// TestMain also acts as the traced program: if IOTRACE_CHILD is set, it runs that function in
// the folder IOTRACE_DIR.
func TestMain(m *testing.M) {
	if name := os.Getenv("IOTRACE_CHILD"); name != "" {
		if err := programs[name](os.Getenv("IOTRACE_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(7)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var programs = map[string]func(dir string) error{
	"edits": edits, "many": many, "copy": copyFile, "parent": parent, "sleep": sleep, "whole": whole,
}

func program(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "IOTRACE_CHILD="+name, "IOTRACE_DIR="+dir)
	cmd.Stderr = &bytes.Buffer{}
	return cmd
}

// record runs a program in a new folder. It returns its calls, also as one line each without
// the name of the temporary folder.
func record(t *testing.T, name string) (dir string, ops []Op, lines []string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	cmd := program(t, name, dir)
	ops, err = Record(t.Context(), cmd, dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, cmd.Stderr)
	}
	for _, op := range ops {
		line := strings.ReplaceAll(fmt.Sprintf("%s %s", op.Kind, op.Path), dir+"/", "")
		line = strings.ReplaceAll(line, dir, ".")
		switch op.Kind {
		case Write:
			line += fmt.Sprintf(" %d %q", op.Offset, op.Data)
		case Truncate:
			line += fmt.Sprintf(" %d", op.Length)
		case Allocate, Map, SyncPart:
			line += fmt.Sprintf(" %d+%d", op.Offset, op.Length)
		case Rename, Link, Symlink:
			line += " " + strings.ReplaceAll(op.To, dir+"/", "")
		case Seek:
			line += fmt.Sprintf(" %d", op.Result)
		case Open:
			if op.Created {
				line += " new"
			}
		}
		lines = append(lines, line)
	}
	return dir, ops, lines
}

// edits makes calls of every kind.
func edits(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	f, err := os.Create("a.tmp")
	if err != nil {
		return err
	}
	second, err := unix.Dup(int(f.Fd()))
	if err != nil {
		return err
	}
	_, e1 := f.WriteString("hello ")
	_, e2 := unix.Write(second, []byte("world"))
	_, e3 := f.WriteAt([]byte("J"), 0)
	_, e4 := f.Seek(3, io.SeekStart)
	_, e5 := unix.Writev(int(f.Fd()), [][]byte{[]byte("p"), []byte("q!")})
	e6 := errors.Join(unix.Fallocate(int(f.Fd()), 0, 20, 10), f.Truncate(7), f.Sync(), unix.Fdatasync(int(f.Fd())),
		unix.SyncFileRange(int(f.Fd()), 1, 2, 0), unix.Flock(int(f.Fd()), unix.LOCK_EX))
	memory, e7 := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	private, e8 := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err := errors.Join(e1, e2, e3, e4, e5, e6, e7, e8); err != nil {
		return err
	}
	e1 = errors.Join(unix.Munmap(memory), unix.Munmap(private), unix.Mkdir("sub", 0o750), os.Rename("a.tmp", "sub/a"))
	_, e2 = f.WriteString("x")
	e3 = errors.Join(f.Close(), unix.Close(second), os.Link("sub/a", "b"), os.Symlink("sub/a", "c"), os.Remove("sub/a"))
	log, e4 := os.OpenFile("b", os.O_APPEND|os.O_WRONLY, 0)
	if err := errors.Join(e1, e2, e3, e4); err != nil {
		return err
	}
	_, e1 = log.WriteString("end")
	e2 = errors.Join(log.Close(), os.Remove("c"), os.Remove("sub"))
	folder, e3 := os.Open(".")
	e4 = errors.Join(folder.Sync(), folder.Close(), os.WriteFile("/dev/null", []byte("elsewhere"), 0o644))
	return errors.Join(e1, e2, e3, e4)
}

func TestRecordsEveryChangeInOrder(t *testing.T) {
	_, ops, lines := record(t, "edits")
	want := []string{
		"open a.tmp new", "dup a.tmp", `write a.tmp 0 "hello "`, `write a.tmp 6 "world"`, `write a.tmp 0 "J"`,
		"seek a.tmp 3", `write a.tmp 3 "pq!"`, "allocate a.tmp 20+10", "truncate a.tmp 7", "sync a.tmp", "syncdata a.tmp",
		"syncpart a.tmp 1+2", "lock a.tmp", "map a.tmp 0+4096", "mkdir sub", "rename a.tmp sub/a", `write sub/a 6 "x"`,
		"close sub/a", "close sub/a", "link sub/a b", "symlink c sub/a", "remove sub/a",
		"open b", `write b 7 "end"`, "close b",
		"remove c", "remove sub", "open .", "sync .", "close .",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	inode := ops[0].Inode
	for _, op := range ops {
		if op.PID != ops[0].PID || op.Kind == Write && op.Inode != inode || op.Kind == Close && op.Inode == 0 {
			t.Errorf("%s: process %d, inode %d; the first has %d, %d", op, op.PID, op.Inode, ops[0].PID, inode)
		}
	}
	if ops[0].Flags&os.O_TRUNC == 0 || ops[0].Mode != 0o666 || ops[14].Mode != 0o750 ||
		ops[26].Flags != unix.AT_REMOVEDIR {
		t.Errorf("flags and modes: %+v, %+v, %+v", ops[0], ops[14], ops[26])
	}
}

// many appends to one file from several threads and copies each line into a file of its own.
func many(dir string) error {
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wait.Go(func() {
			for n := range 20 {
				line := fmt.Appendf(nil, "%d %d\n", i, n)
				_, err := log.Write(line)
				name := filepath.Join(dir, fmt.Sprintf("%d", i))
				errs[i] = errors.Join(errs[i], err, os.WriteFile(name+".tmp", line, 0o644), os.Rename(name+".tmp", name))
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func TestThreadsAreInTheOrderOfTheirEffect(t *testing.T) {
	dir, ops, _ := record(t, "many")
	files := map[string][]byte{}
	for _, op := range ops { // replay them one by one
		switch op.Kind {
		case Write:
			if int64(len(files[op.Path])) != op.Offset {
				t.Fatalf("%s: the file has %d bytes", op, len(files[op.Path]))
			}
			files[op.Path] = append(files[op.Path], op.Data...)
		case Open:
			if op.Flags&os.O_TRUNC != 0 {
				files[op.Path] = nil
			}
		case Rename:
			files[op.To] = files[op.Path]
			delete(files, op.Path)
		}
	}
	if len(files) != 9 {
		t.Errorf("%d files, want 9", len(files))
	}
	for path, want := range files {
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %q, want %q, error %v", strings.TrimPrefix(path, dir), got, want, err)
		}
	}
}

// copyFile copies a file inside the kernel and reads it back.
func copyFile(dir string) error {
	from, err := os.Create(filepath.Join(dir, "from"))
	if err != nil {
		return err
	}
	to, err := os.Create(filepath.Join(dir, "to"))
	if err != nil {
		return err
	}
	_, e1 := from.WriteString("0123456789")
	_, e2 := from.Seek(2, io.SeekStart)
	_, e3 := to.WriteString("ab")
	_, e4 := io.Copy(to, from)
	at := int64(1)
	_, e5 := from.Seek(0, io.SeekStart)
	_, e6 := unix.CopyFileRange(int(from.Fd()), nil, int(to.Fd()), &at, 3, 0)
	_, e7 := from.Seek(0, io.SeekStart)
	_, e8 := unix.Sendfile(int(to.Fd()), int(from.Fd()), nil, 4)
	return errors.Join(e1, e2, e3, e4, e5, e6, e7, e8)
}

func TestKernelCopiesCountAsWrites(t *testing.T) {
	_, _, lines := record(t, "copy")
	for _, want := range []string{`write to 2 "23456789"`, `write to 1 "012"`, `write to 10 "0123"`} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is not among\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

// parent starts a child process that writes.
func parent(dir string) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "IOTRACE_CHILD=many", "IOTRACE_DIR="+dir)
	return cmd.Run()
}

func TestProcessesOfTheProgramAreFollowed(t *testing.T) {
	if _, ops, _ := record(t, "parent"); len(ops) < 500 {
		t.Errorf("%d calls, want those of the child", len(ops))
	}
}

func TestOtherChildrenAreLeftAlone(t *testing.T) {
	dir, children, traced := t.TempDir(), 10, 2
	if effort.Exhaustive() {
		children, traced = 40, 5
	}
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			for range children {
				if err := exec.Command("/bin/true").Run(); err != nil {
					t.Errorf("a child that is not traced: %v", err)
				}
			}
		})
		wait.Go(func() {
			for range traced {
				if _, err := Record(t.Context(), program(t, "many", t.TempDir()), dir); err != nil {
					t.Errorf("a traced one: %v", err)
				}
			}
		})
	}
	wait.Wait()
}

func sleep(string) error { time.Sleep(time.Minute); return nil }

// whole replaces the contents of the file "in" with two copies of them.
func whole(dir string) error {
	name := filepath.Join(dir, "in")
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	n, err := f.Write(append(data, data...))
	if err != nil {
		return fmt.Errorf("%d bytes: %w", n, err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// forgiven reports whether os.ReadFile or os.Rename ignores the failure of a call: a query of
// a size or type, or the close of a file that was read.
func forgiven(c Call) bool {
	return c.Kind == Stat || c.Kind == Close && filepath.Base(c.Path) == "in"
}

func TestFaultHitsTheCallThatItCounts(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	prepare := func() {
		must.Do(t, os.WriteFile(in, []byte("some text"), 0o644))
	}
	prepare()
	calls := must.Get(Count(t.Context(), program(t, "whole", dir), dir))(t)
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.EMFILE, syscall.EACCES, 0} {
		n := 0
		for _, want := range calls {
			if !(Fault{Err: errno}).Applies(want) {
				continue
			}
			n++
			prepare()
			cmd := program(t, "whole", dir)
			hit, err := Inject(t.Context(), cmd, dir, Fault{Err: errno, N: n})
			said := fmt.Sprint(cmd.Stderr)
			if hit == nil || hit.Call != want.Call || hit.Path != want.Path {
				t.Errorf("%v at call %d hit %v, want %v", errno, n, hit, want)
			}
			got, _ := os.ReadFile(in)
			switch {
			case errno == 0 && (err != nil || string(got) != "some textsome text"):
				t.Errorf("short at %d (%s): %v, %q, %s", n, want, err, got, said)
			case errno != 0 && !forgiven(want):
				if cmd.ProcessState.ExitCode() != 7 || !strings.Contains(said, errno.Error()) {
					t.Errorf("%v at %d (%s): %v, %s", errno, n, want, err, said)
				}
				if string(got) != "some text" {
					t.Errorf("%v at %d (%s): the call has run, the file has %q", errno, n, want, got)
				}
			}
		}
		if n == 0 {
			t.Errorf("%v applies to none of %v", errno, calls)
		}
		prepare()
		hit, err := Inject(t.Context(), program(t, "whole", dir), dir, Fault{Err: errno, N: n + 1})
		if hit != nil || err != nil {
			t.Errorf("call %d of %d: hit %v, error %v", n+1, n, hit, err)
		}
	}
}

func TestContextEndsTheProgram(t *testing.T) {
	cmd := program(t, "sleep", "")
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	start := time.Now()
	if _, err := Record(ctx, cmd, t.TempDir()); err == nil || time.Since(start) > 20*time.Second {
		t.Errorf("error %v after %v", err, time.Since(start))
	}
}
