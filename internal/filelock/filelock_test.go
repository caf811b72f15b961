package filelock

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestLockedErrorNamesTheHolder(t *testing.T) {
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
		defer l.Close() // otherwise the garbage collector may close it
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Hour) // select {} would end the process, because nothing could wake it
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

// Other users could lock a lock file that they can read.
func TestLockFileIsPrivateToItsUser(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"new": 0, "shared on purpose": 0o666} {
		path := filepath.Join(dir, name)
		want := os.FileMode(0o600)
		if mode != 0 {
			if err := os.WriteFile(path, nil, mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		if mode == 0o666 {
			want = mode
		}
		l, err := Acquire(path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("a lock file %s has the mode %v, want %v (%v)", name, info.Mode(), want, err)
		}
	}
}

func TestTakenFileIsReadableAndHasOneOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	if err := Take(first); err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if err := Take(second); !errors.As(err, &locked) || locked.Path != path {
		t.Errorf("error = %v, want a *LockedError of %s", err, path)
	}
	if text, err := os.ReadFile(path); string(text) != "text" {
		t.Errorf("read %q, %v", text, err)
	}
	if err := Release(first); err != nil {
		t.Fatal(err)
	}
	if err := Take(second); err != nil {
		t.Error(err)
	}
}
