//go:build unix && !solaris && !aix

package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hgld/internal/testing/must"
)

// withoutLocks makes flock fail as on a file system without locks. Leases are renewed often, and last for longer than a
// busy machine stalls; a test that needs an old one makes it old.
func withoutLocks(t *testing.T, err error) {
	t.Helper()
	was, times := flock, leaseTimes
	flock = func(int, int) error { return err }
	leaseTimes.renew, leaseTimes.last = 30*time.Millisecond, 10*time.Minute
	t.Cleanup(func() { flock, leaseTimes = was, times })
}

// leave writes a lease of another machine's process that has died.
func leave(t *testing.T, path string, number int, age time.Duration) {
	t.Helper()
	o := Owner{PID: 7, Host: "other-machine", Job: "SLURM 12_3"}
	must.Do(t, os.WriteFile(leaseName(path, number), o.text(), 0o600))
	grow(t, path, number, age)
}

// grow makes a lease as old as if it had not been renewed for so long.
func grow(t *testing.T, path string, number int, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	must.Do(t, os.Chtimes(leaseName(path, number), then, then))
}

// noFiles checks that nothing but the lock file is left.
func noFiles(t *testing.T, path string) {
	t.Helper()
	names, err := filepath.Glob(path + ".*")
	if err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}

func TestLeaseReplacesTheLock(t *testing.T) {
	for _, err := range []error{unix.ENOSYS, unix.ENOLCK, unix.EOPNOTSUPP} {
		t.Run(err.Error(), func(t *testing.T) {
			withoutLocks(t, err)
			path := filepath.Join(t.TempDir(), "lock")
			l := must.Get(Acquire(path))(t)
			grow(t, path, 1, 2*leaseTimes.last)
			must.Become(t, "the lease is renewed", func() bool {
				age, err := Age(leaseName(path, 1))
				return err == nil && age < leaseTimes.last
			})
			for what, err := range map[string]error{"acquire": acquired(Acquire(path)), "check": Check(path)} {
				var locked *LockedError
				if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Lease <= 0 {
					t.Errorf("%s: %v, want a LockedError with our process id and the rest of the lease", what, err)
				}
			}
			if held, err := l.Held(); err != nil || !held {
				t.Errorf("held: %v, %v", held, err)
			}
			must.Do(t, l.Close())
			noFiles(t, path)
			if err := Check(path); err != nil {
				t.Error(err)
			}
			again := must.Get(Acquire(path))(t)
			if err := again.Remove(); err != nil {
				t.Error(err)
			}
			again.Close() // as a deferred one
			noFiles(t, path)
		})
	}
	if err := errors.New("disk"); unsupported(err) {
		t.Error("any error is taken for a file system without locks")
	}
}

// acquired closes a lock that should not have been acquired.
func acquired(l *Lock, err error) error {
	if l != nil {
		return errors.Join(errors.New("acquired"), l.Close())
	}
	return err
}

func TestExpiredLeaseIsTakenOver(t *testing.T) {
	withoutLocks(t, unix.ENOLCK)
	path := filepath.Join(t.TempDir(), "lock")
	leave(t, path, 3, 0)
	var locked *LockedError
	_, err := Acquire(path)
	if !errors.As(err, &locked) || locked.PID != 7 || !strings.Contains(err.Error(), fmt.Sprintf(
		"locked by process 7 on other-machine (SLURM 12_3); if that has died, its lock ends in %d s",
		int(locked.Lease.Seconds())+1)) || locked.Lease < leaseTimes.last/2 {
		t.Errorf("error = %v", err)
	}
	leaseTimes.last = 300 * time.Millisecond
	start := time.Now()
	grow(t, path, 3, 0)
	l, err := AcquireOrWait(t.Context(), path)
	if err != nil || time.Since(start) < leaseTimes.last/2 {
		t.Fatalf("after %v: %v", time.Since(start), err)
	}
	if _, err := os.Stat(leaseName(path, 4)); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	noFiles(t, path)
}

func TestWaitEndsWhenTheLeaseIsRenewed(t *testing.T) {
	withoutLocks(t, unix.ENOLCK)
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Acquire(path)
	must.Do(t, err)
	defer l.Close()
	if _, err = AcquireOrWait(t.Context(), path); !errors.As(err, new(*LockedError)) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := AcquireOrWait(ctx, path); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A suspended process does not renew its lease. When it goes on, it must not believe that it holds the lock.
func TestLostLeaseIsNotHeld(t *testing.T) {
	withoutLocks(t, unix.ENOLCK)
	leaseTimes.renew = time.Hour
	path := filepath.Join(t.TempDir(), "lock")
	slow := must.Get(Acquire(path))(t)
	grow(t, path, 1, 2*leaseTimes.last)
	next := must.Get(Acquire(path))(t)
	if held, err := slow.Held(); err != nil || held {
		t.Errorf("held: %v, %v", held, err)
	}
	if err := slow.Close(); err != nil {
		t.Error(err)
	}
	if held, err := next.Held(); err != nil || !held {
		t.Errorf("the next owner holds it: %v, %v", held, err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// Many processes want the lock of one that has died.
func TestOneOfManyTakesALeaseOver(t *testing.T) {
	withoutLocks(t, unix.ENOSYS)
	for range 20 {
		path := filepath.Join(t.TempDir(), "lock")
		leave(t, path, 1, time.Hour)
		var held atomic.Int32
		var all sync.WaitGroup
		locks := make([]*Lock, 8)
		for i := range locks {
			all.Go(func() {
				l, err := Acquire(path)
				if err == nil {
					held.Add(1)
				} else if !errors.As(err, new(*LockedError)) {
					t.Error(err)
				}
				locks[i] = l
			})
		}
		all.Wait()
		if held.Load() != 1 {
			t.Errorf("%d hold the lock", held.Load())
		}
		for _, l := range locks {
			if l != nil {
				l.Close()
			}
		}
	}
}

func TestLeaseOfAKilledProcessOfThisMachineEndsAtOnce(t *testing.T) {
	withoutLocks(t, unix.ENOSYS)
	leaseTimes.last = time.Hour
	path := filepath.Join(t.TempDir(), "lock")
	if hold := os.Getenv("FILELOCK_HOLD"); hold != "" {
		must.Get(Acquire(hold))(t)
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		time.Sleep(time.Minute)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "FILELOCK_HOLD="+path, "TMPDIR="+t.TempDir()) // its own is left behind
	cmd.Run()
	if n, err := newestLease(path); err != nil || n != 1 {
		t.Fatalf("the killed process left lease %d, %v", n, err)
	}
	l := must.Get(Acquire(path))(t)
	l.Close()
}

func TestTakenFileHasALease(t *testing.T) {
	withoutLocks(t, unix.ENOSYS)
	path := filepath.Join(t.TempDir(), "log")
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	if err := TakeItself(f); !errors.Is(err, unix.ENOSYS) {
		t.Errorf("without a lease: %v", err)
	}
	for range 2 {
		must.Do(t, Take(f))
		other := must.Get(os.Open(path))(t)
		if err := Take(other); !errors.As(err, new(*LockedError)) {
			t.Errorf("error = %v, want a LockedError", err)
		}
		other.Close()
		must.Do(t, Release(f))
		noFiles(t, path)
	}
}

// Processes that check do not hold each other up, however many start at once.
func TestChecksDoNotExcludeEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	if free, err := tryShare(f); err != nil || !free {
		t.Fatal(free, err)
	}
	if err := Check(path); err != nil {
		t.Error(err)
	}
	must.Do(t, unlock(f))
	l := must.Get(Acquire(path))(t)
	defer l.Close()
	var locked *LockedError
	if err := Check(path); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("error = %v, want a LockedError with our process id", err)
	}
}

func TestOwnerIsReadAsWritten(t *testing.T) {
	for _, o := range []Owner{Self(), {PID: 1}, {PID: 12, Host: "n2", Job: "SLURM 12_3"},
		{PID: 3, Host: "a", Space: "4026531836"}} {
		got, ours, err := readOwner(strings.NewReader(string(o.text())))
		if err != nil || !ours || got != o {
			t.Errorf("%+v became %+v, %v, %v", o, got, ours, err)
		}
	}
	text := Owner{PID: 12, Host: "n2", Space: "4026531836", Job: "SLURM 12_3"}.text()
	for n := range text { // after a power cut
		for _, torn := range []string{string(text[:n]), string(text[:n]) + strings.Repeat("\x00", len(text)-n)} {
			if _, ours, err := readOwner(strings.NewReader(torn)); err != nil || !ours {
				t.Errorf("%q is not taken for a lock file: %v", torn, err)
			}
		}
	}
	env := map[string]string{"SLURM_JOB_ID": "9"}
	getenv := func(name string) string { return env[name] }
	if got := job(getenv); got != "SLURM 9" {
		t.Error(got)
	}
	env["SLURM_ARRAY_JOB_ID"], env["SLURM_ARRAY_TASK_ID"] = "8", "3"
	if got := fmt.Sprint(job(getenv)); got != "SLURM 8_3" {
		t.Error(got)
	}
}

func TestProbeTellsWhatLocksThereAre(t *testing.T) {
	for want, err := range map[Support]error{Leases: unix.ENOLCK, Unguarded: nil} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			withoutLocks(t, err)
			if got, err := Probe(t.TempDir()); err != nil || got != want {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		})
	}
	dir := t.TempDir()
	if got, err := Probe(dir); err != nil || got != Locks {
		t.Errorf("%v, %v", got, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}
