//go:build unix && !solaris && !aix

package atomicfile

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"hgld/internal/filelock"
	"hgld/internal/testing/must"
)

// TestTemporaryFileOfAKilledProcessIsRemoved kills a process between two writes.
func TestTemporaryFileOfAKilledProcessIsRemoved(t *testing.T) {
	if path := os.Getenv("ATOMICFILE_BEGIN"); path != "" {
		f := must.Get(Create(path))(t)
		defer f.Close()
		os.Stdout.WriteString("begun\n")
		time.Sleep(time.Hour)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "ATOMICFILE_BEGIN="+path)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	must.Do(t, WriteFile(path, []byte("ours")))
	RemoveLeftovers(dir)
	if left := names(t, dir); len(left) != 2 {
		t.Errorf("beside a running process there are %v, want its temporary file and a.txt", left)
	}
	must.Do(t, cmd.Process.Kill())
	cmd.Wait()
	must.Do(t, WriteFile(filepath.Join(dir, "b.txt"), nil))
	if left := names(t, dir); len(left) != 3 {
		t.Errorf("who writes another file has changed something: %v", left)
	}
	must.Do(t, WriteFile(path, []byte("next")))
	if left := names(t, dir); !slices.Equal(left, []string{"a.txt", "b.txt"}) {
		t.Errorf("after the next write there are %v", left)
	}
}

// A large folder is listed at the first write of a process, and not at each.
func TestALargeFolderIsListedOnce(t *testing.T) {
	dir := t.TempDir()
	leave := func(base string) {
		must.Do(t, os.WriteFile(filepath.Join(dir, "."+base+temporarySuffix+"1"), nil, 0o644))
	}
	gone := func(base string) bool {
		_, err := os.Stat(filepath.Join(dir, "."+base+temporarySuffix+"1"))
		return os.IsNotExist(err)
	}
	for i := range manyFiles + 1 {
		must.Do(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644))
	}
	leave("a")
	leave("b")
	for _, base := range []string{"a", "b"} {
		must.Do(t, WriteFile(filepath.Join(dir, base), nil))
		if !gone(base) {
			t.Errorf("the temporary file of %s is left", base)
		}
	}
	leave("c")
	must.Do(t, WriteFile(filepath.Join(dir, "c"), nil))
	if gone("c") {
		t.Error("the folder was listed again")
	}
	if RemoveLeftovers(dir); !gone("c") {
		t.Error("the temporary file of c is left")
	}
}

func TestOnlyTemporaryFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	others := []string{".a.txt.tmp-", ".a.txt.tmp-1x", ".tmp-1.a", "a.txt.tmp-1", ".a.txt.tmp-99999999999"}
	for _, name := range append(others, ".a.txt.tmp-1", ".b.tmp-2.tmp-3") {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, ".c.tmp-4"), 0o755))
	RemoveLeftovers(dir)
	RemoveLeftovers(filepath.Join(dir, "not there"))
	want := append(others, ".c.tmp-4")
	slices.Sort(want)
	if left := names(t, dir); !slices.Equal(left, want) {
		t.Errorf("there are %v, want %v", left, want)
	}
}

// TestWritersKeepEachOthersTemporaryFiles lets many writers replace the same file.
func TestWritersKeepEachOthersTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if err := WriteFile(path, []byte("text")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if left := names(t, dir); !slices.Equal(left, []string{"a.txt"}) {
		t.Errorf("there are %v", left)
	}
}

// TestLeftoversOfOtherMachinesStayForADay: on some file systems the locks of other machines are not seen.
func TestLeftoversOfOtherMachinesStayForADay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	self := filelock.Self()
	other := filelock.Owner{Host: "other-machine"}
	ended := exec.Command("true")
	must.Do(t, ended.Run())
	for _, c := range []struct {
		tag  string
		pid  int
		age  time.Duration
		left bool
	}{
		{other.Tag(), 1, 0, true},
		{other.Tag(), ended.Process.Pid, 23 * time.Hour, true},
		{other.Tag(), 1, 25 * time.Hour, false},
		{self.Tag(), os.Getppid(), 25 * time.Hour, true}, // it runs
		{self.Tag(), ended.Process.Pid, 0, false},
		{self.Tag(), self.PID, 0, false}, // of a process with our id, before the machine started anew
	} {
		name := fmt.Sprintf("%s/.a.txt.tmp-%s-%d-5", dir, c.tag, c.pid)
		must.Do(t, os.WriteFile(name, nil, 0o644))
		then := time.Now().Add(-c.age)
		must.Do(t, os.Chtimes(name, then, then))
		RemoveLeftoversOf(path)
		if _, err := os.Stat(name); (err == nil) != c.left {
			t.Errorf("%+v: %v", c, err)
		}
		os.Remove(name)
	}
	f := must.Get(Create(path))(t)
	defer f.Close()
	if err := filelock.Release(f.File); err != nil { // as if the file system had granted it to everybody
		t.Fatal(err)
	}
	RemoveLeftoversOf(path)
	if err := f.Commit(); err != nil {
		t.Errorf("a file that this process writes was removed: %v", err)
	}
}
