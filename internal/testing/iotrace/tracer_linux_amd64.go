package iotrace

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// handler is called before and after every call on a file below the root.
type handler interface {
	wants(k Kind) bool
	serial() bool // whether calls that change files run one at a time
	enter(c *call) error
	leave(c *call, result int64) error
}

// call is a system call on a file below the root.
type call struct {
	thread   *thread
	shape    shape
	nr       uint64
	args     [6]uint64
	path, to string
	existed  bool // Open: the file existed before
	inode    uint64
	restore  *unix.PtraceRegs
	instead  int64 // replaces the result if negative
}

// tracer follows one program. It runs entirely on the OS thread that the kernel knows as the
// tracer.
type tracer struct {
	root    string
	handler handler
	threads map[int]*thread
	running *thread   // thread whose changing call runs, if these run one at a time
	held    []*thread // threads that wait for it, stopped before their call
}

// trace runs cmd under a handler until it ends, and returns the error of cmd.Wait.
func trace(ctx context.Context, cmd *exec.Cmd, root string, h handler) error {
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return fmt.Errorf("iotrace: %w", err)
	}
	t := &tracer{root: root, handler: h, threads: map[int]*thread{}}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // ptrace only works from the thread that started the program
		defer runtime.UnlockOSThread()
		done <- t.run(ctx, cmd)
	}()
	return <-done
}

func (t *tracer) run(ctx context.Context, cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	cmd.SysProcAttr.Setpgid = true // own process group, so that next waits for no other child of this thread
	if err := cmd.Start(); errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("iotrace: this machine does not let a process trace its own child (ptrace): %w", err)
	} else if err != nil {
		return fmt.Errorf("iotrace: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	err := t.first(cmd.Process.Pid)
	var waited chan error
	for err == nil {
		var pid int
		var ended bool
		pid, ended, err = next(cmd.Process.Pid)
		switch {
		case err != nil:
		case !ended || pid != cmd.Process.Pid:
			err = t.stopped(pid)
		case waited == nil: // cmd.Wait collects the end of its process
			waited = make(chan error, 1)
			go func() { waited <- cmd.Wait() }()
		default: // cmd.Wait has not collected it yet
			time.Sleep(100 * time.Microsecond)
		}
	}
	if waited != nil && errors.Is(err, unix.ECHILD) { // all threads have ended
		return <-waited
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return fmt.Errorf("iotrace: %w", err)
}

// first waits until the program is loaded, then starts it.
func (t *tracer) first(pid int) error {
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != nil {
		return err
	}
	if !status.Stopped() {
		return fmt.Errorf("the program ended before it began: status %#x", uint32(status))
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACEEXEC |
		unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK
	if err := unix.PtraceSetOptions(pid, options); err != nil {
		return fmt.Errorf("ptrace options: %w", err)
	}
	t.threads[pid] = &thread{id: pid, started: true}
	return unix.PtraceSyscall(pid, 0)
}

// next waits until a thread of the program's process group stops or ends. It does not collect
// the event.
func next(group int) (pid int, ended bool, err error) {
	var info unix.Siginfo
	for {
		const options = unix.WEXITED | unix.WSTOPPED | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD
		if err = unix.Waitid(unix.P_PGID, group, &info, options, nil); err != unix.EINTR {
			break
		}
	}
	const cldTrapped = 4 // smaller codes mean that the process ended
	pid = int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), 16)))
	return pid, info.Code < cldTrapped, err
}

// stopped handles the stop or end of a thread and resumes it.
func (t *tracer) stopped(pid int) error {
	var status unix.WaitStatus
	if got, err := unix.Wait4(pid, &status, unix.WALL|unix.WNOTHREAD|unix.WNOHANG, nil); err != nil || got != pid {
		return ifAlive(err)
	}
	if !status.Stopped() {
		t.ended(pid)
		return nil
	}
	th := t.threads[pid]
	if th == nil {
		th = &thread{id: pid}
		t.threads[pid] = th
	}
	signal := status.StopSignal()
	switch {
	case signal == unix.SIGTRAP|0x80:
		return t.atCall(th)
	case signal == unix.SIGTRAP && status.TrapCause() > 0:
		if status.TrapCause() == unix.PTRACE_EVENT_EXEC {
			t.replaced(th)
		}
		signal = 0
	case signal == unix.SIGSTOP && !th.started: // a newly attached thread starts with SIGSTOP
		th.started = true
		signal = 0
	}
	return ifAlive(unix.PtraceSyscall(pid, int(signal)))
}

// ifAlive drops the error for a thread that was killed while stopped, since its end is
// reported next.
func ifAlive(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// ended removes a thread.
func (t *tracer) ended(pid int) {
	th := t.threads[pid]
	delete(t.threads, pid)
	if th != nil && th == t.running {
		t.running = nil
		_ = t.release() // skips waiting threads that have died
	}
}

// replaced removes the other threads of a process that executes a new program.
func (t *tracer) replaced(th *thread) {
	process := th.process()
	for pid, other := range t.threads {
		if other != th && other.process() == process {
			t.ended(pid)
		}
	}
	th.call = nil
}

// atCall handles a stop before or after a system call.
func (t *tracer) atCall(th *thread) error {
	info, err := th.info()
	if err != nil {
		return ifAlive(err)
	}
	switch info.Op {
	case unix.PTRACE_SYSCALL_INFO_ENTRY:
		th.call = nil
		s, ok := shapeOf(info.Nr, info.Args)
		if !ok || !t.handler.wants(s.kind) {
			break
		}
		c := &call{thread: th, shape: s, nr: info.Nr, args: info.Args}
		if !t.concerns(c) {
			break
		}
		th.call = c
		if t.handler.serial() && s.kind.changes() {
			if t.running != nil {
				t.held = append(t.held, th)
				return nil
			}
			t.running = th
		}
		return t.begin(c)
	case unix.PTRACE_SYSCALL_INFO_EXIT:
		if th.call != nil {
			return t.finish(th.call, int64(info.Nr)) // at an exit, Nr holds the result
		}
	}
	return ifAlive(unix.PtraceSyscall(th.id, 0))
}

// concerns resolves the paths of a call and reports whether one is below the root.
func (t *tracer) concerns(c *call) bool {
	s := c.shape
	switch {
	case s.fd != none:
		c.path = c.thread.fdPath(int(int32(c.args[s.fd])))
	default:
		c.path = c.pathAt(s.dir, s.path)
		if s.to != none {
			c.to = c.pathAt(s.toDir, s.to)
		}
	}
	return below(t.root, c.path) || c.to != "" && below(t.root, c.to)
}

// begin reports a call to the handler and lets it run.
func (t *tracer) begin(c *call) error {
	t.concerns(c) // resolve again: another call may have renamed a folder meanwhile
	if c.shape.kind == Open {
		c.existed = exists(c.path)
	}
	if err := t.handler.enter(c); err != nil {
		return ifAlive(err)
	}
	return ifAlive(unix.PtraceSyscall(c.thread.id, 0))
}

// finish reports a call's result to the handler and resumes its thread.
func (t *tracer) finish(c *call, result int64) error {
	th := c.thread
	th.call = nil
	if err := c.replace(&result); err != nil {
		return ifAlive(err)
	}
	if err := t.handler.leave(c, result); err != nil {
		return ifAlive(err)
	}
	if err := unix.PtraceSyscall(th.id, 0); ifAlive(err) != nil {
		return err
	}
	if t.running != th {
		return nil
	}
	t.running = nil
	return t.release()
}

// release lets the next waiting call begin.
func (t *tracer) release() error {
	for len(t.held) > 0 && t.running == nil {
		th := t.held[0]
		t.held = t.held[1:]
		if t.threads[th.id] != th || th.call == nil {
			continue
		}
		t.running = th
		return t.begin(th.call)
	}
	return nil
}

// changes reports whether calls of a kind change the disk, or must stay in order with calls
// that do. flock does not count, since it may wait for another call.
func (k Kind) changes() bool { return k.recorded() && k != Lock && k != Dup }
