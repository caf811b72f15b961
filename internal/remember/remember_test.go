package remember

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hgld/internal/testing/must"
)

func TestLinesAreRemembered(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	t.Setenv("AppData", home)
	list := ForUser("written")
	if list.Has("a 1") {
		t.Error("an empty list has a line")
	}
	var all sync.WaitGroup
	for _, line := range []string{"a 1", "b 2", "a 1"} {
		all.Go(func() { must.Do(t, list.Add(line)) })
	}
	all.Wait()
	if !list.Has("a 1") || !list.Has("b 2") || list.Has("a") || ForUser("stores").Has("a 1") {
		t.Error("the lists have other lines")
	}
}

// Processes of a job array write into one project at once.
func TestNoProcessForgetsTheLinesOfAnother(t *testing.T) {
	if name := os.Getenv("HGLD_REMEMBER_CHILD"); name != "" {
		for i := range 20 {
			must.Do(t, In(".", "written").Add(fmt.Sprint(name, " ", i)))
		}
		return
	}
	t.Chdir(t.TempDir())
	var all sync.WaitGroup
	for child := range 6 {
		all.Go(func() {
			c := exec.Command(must.Get(os.Executable())(t), "-test.run=^TestNoProcessForgetsTheLinesOfAnother$")
			c.Env = append(os.Environ(), fmt.Sprint("HGLD_REMEMBER_CHILD=", child))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	if lines := must.Get(In(".", "written").lines())(t); len(lines) != 6*20 {
		t.Errorf("%d lines of %d", len(lines), 6*20)
	}
	if left := must.Get(os.ReadDir("."))(t); len(left) != 1 {
		t.Errorf("%v is left", left)
	}
}

// A list that cannot be read is not replaced by one with a single line.
func TestUnreadableListsStay(t *testing.T) {
	list := In(t.TempDir(), "written")
	must.Do(t, os.Symlink("written", list.path)) // to itself
	if err := list.Add("new"); err == nil {
		t.Error("no error")
	}
	if _, err := os.Readlink(list.path); err != nil {
		t.Error(err)
	}
}

// A list loses its older lines before it gets too long to read in every command.
func TestLongListsLoseTheirOlderHalf(t *testing.T) {
	list := In(t.TempDir(), "written")
	path := list.path
	must.Do(t, os.WriteFile(path, []byte("old\n"+strings.Repeat("line\n", most/5)+"late\n"), 0o600))
	must.Do(t, list.Add("new"))
	if list.Has("old") || !list.Has("late") || !list.Has("new") {
		t.Error("the older half is kept, or the newer is lost")
	}
	if info := must.Get(os.Stat(path))(t); info.Size() > most {
		t.Errorf("the list has %d bytes", info.Size())
	}
}

func TestAUserWithoutAFolderRemembersNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for _, home := range []string{"", filepath.Join(file, "home")} {
		t.Setenv("XDG_CONFIG_HOME", home)
		t.Setenv("HOME", home)
		t.Setenv("AppData", home)
		if err := ForUser("written").Add("a"); err != nil || ForUser("written").Has("a") {
			t.Errorf("home %q: %v", home, err)
		}
	}
}
