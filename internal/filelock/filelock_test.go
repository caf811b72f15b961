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

	"hgld/internal/testing/must"
)

func TestLockedErrorNamesTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l := must.Get(Acquire(path))(t)
	var locked *LockedError
	if _, err := Acquire(path); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("error = %v, want a LockedError with our process id", err)
	}
	must.Do(t, l.Remove())
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	again := must.Get(Acquire(path))(t)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestUnknownOwnerIsAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l := must.Get(Acquire(path))(t)
	defer l.Close()
	must.Do(t, os.Truncate(path, 0))
	if _, err := Acquire(path); err == nil || err.Error() != path+" is locked by another process" {
		t.Errorf("error = %v", err)
	}
}

func TestLockEndsWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if os.Getenv("FILELOCK_HOLD") != "" {
		l := must.Get(Acquire(os.Getenv("FILELOCK_HOLD")))(t)
		defer l.Close() // otherwise the garbage collector may close it
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Hour) // select {} would end the process, because nothing could wake it
	}
	cmd := exec.Command(os.Args[0], "-test.run", "TestLockEndsWithItsProcess")
	cmd.Env = append(os.Environ(), "FILELOCK_HOLD="+path, "TMPDIR="+t.TempDir()) // its own is left behind
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	var locked *LockedError
	if _, err := Acquire(path); !errors.As(err, &locked) || locked.PID != cmd.Process.Pid {
		t.Errorf("error = %v, want one that names process %d", err, cmd.Process.Pid)
	}
	must.Do(t, cmd.Process.Kill())
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
			must.Do(t, os.WriteFile(path, nil, mode))
			must.Do(t, os.Chmod(path, mode))
		}
		if mode == 0o666 {
			want = mode
		}
		l := must.Get(Acquire(path))(t)
		defer l.Close()
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("a lock file %s has the mode %v, want %v (%v)", name, info.Mode(), want, err)
		}
	}
}

func TestTakenFileIsReadableAndHasOneOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	must.Do(t, os.WriteFile(path, []byte("text"), 0o600))
	open := func() *os.File {
		f := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
		t.Cleanup(func() { f.Close() })
		return f
	}
	first, second := open(), open()
	must.Do(t, Take(first))
	var locked *LockedError
	if err := Take(second); !errors.As(err, &locked) || locked.Path != path {
		t.Errorf("error = %v, want a *LockedError of %s", err, path)
	}
	if text, err := os.ReadFile(path); string(text) != "text" {
		t.Errorf("read %q, %v", text, err)
	}
	must.Do(t, Release(first))
	if err := Take(second); err != nil {
		t.Error(err)
	}
}
