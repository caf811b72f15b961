package filelock

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestSecondHolderLearnsTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := Acquire(path); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("error = %v, want a LockedError with our process id", err)
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	again, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestUnknownOwnerIsAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(path); err == nil || err.Error() != path+" is locked by another process" {
		t.Errorf("error = %v", err)
	}
}

func TestLockEndsWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if os.Getenv("FILELOCK_HOLD") != "" {
		l, err := Acquire(os.Getenv("FILELOCK_HOLD"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // what nothing refers to any more may be closed at any time
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Hour) // select {} would end the process: the runtime sees that nothing can wake it
	}
	cmd := exec.Command(os.Args[0], "-test.run", "TestLockEndsWithItsProcess")
	cmd.Env = append(os.Environ(), "FILELOCK_HOLD="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	var locked *LockedError
	if _, err := Acquire(path); !errors.As(err, &locked) || locked.PID != cmd.Process.Pid {
		t.Errorf("error = %v, want one that names process %d", err, cmd.Process.Pid)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	l, err := Acquire(path)
	if err != nil {
		t.Fatalf("after the other process was killed: %v", err)
	}
	l.Close()
}
