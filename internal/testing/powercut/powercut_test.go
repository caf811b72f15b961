//go:build linux && amd64

package powercut

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/atomicfile"
	"hgld/internal/testing/must"
)

// TestMain also acts as the recorded program: if POWERCUT_CHILD is set, it runs that function
// in the folder POWERCUT_DIR.
func TestMain(m *testing.M) {
	if name := os.Getenv("POWERCUT_CHILD"); name != "" {
		if err := os.Chdir(os.Getenv("POWERCUT_DIR")); err != nil {
			panic(err)
		}
		if err := programs[name](); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var programs = map[string]func() error{
	// An overwrite without any sync leaves the old text, the new one, parts of it, or nothing.
	"in place": func() error { return os.WriteFile("a", []byte("new text"), 0o644) },
	// The classic mistake: the file is renamed before its data is on the disk.
	"renamed unsynced": func() error {
		return errors.Join(os.WriteFile("b", []byte("new text"), 0o644), os.Rename("b", "a"))
	},
	"atomicfile": func() error { return atomicfile.WriteFile("a", []byte("new text")) },
	"two in order": func() error {
		return errors.Join(atomicfile.WriteFile("first", []byte("1")), atomicfile.WriteFile("second", []byte("2")))
	},
	"folder unsynced": func() error {
		return errors.Join(os.MkdirAll("x/y", 0o755), atomicfile.WriteFile("x/y/c", []byte("new")), done())
	},
	"folder": func() error {
		return errors.Join(atomicfile.MkdirAll("x/y", 0o755), atomicfile.WriteFile("x/y/c", []byte("new")), done())
	},
	"append": func() error {
		f, err := os.OpenFile("log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, line := range []string{"one\n", "two\n", "three\n"} {
			_, err := f.WriteString(line)
			if err := errors.Join(err, f.Sync(), atomicfile.SyncDir("."), done()); err != nil {
				return err
			}
		}
		return nil
	},
	// A file moves between two folders, and only one of them is synced.
	"between": func() error {
		err := errors.Join(os.Mkdir("x", 0o755), os.Mkdir("y", 0o755), os.WriteFile("x/a", nil, 0o644))
		return errors.Join(err, atomicfile.SyncDir("."), atomicfile.SyncDir("x"), os.Rename("x/a", "y/a"))
	},
}

// done acknowledges one line.
func done() error {
	f, err := os.OpenFile(Acknowledgements, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString("done\n")
	return errors.Join(err, f.Close())
}

// outcomes runs a program in a folder with the file a, "old text". It returns the sorted
// outcomes of power cuts, such as "a=old text log=one", each prefixed with one "!" per
// acknowledgement.
func outcomes(t *testing.T, name string) []string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "a"), []byte("old text"), 0o644))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "POWERCUT_CHILD="+name, "POWERCUT_DIR="+dir)
	trace := Record(t, cmd, dir)
	var list []string
	t.Setenv(Variable, "all")
	trace.Check(t, func(dir string, c *Crash) error {
		var files []string
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.Contains(path, ".tmp-") {
				return err
			}
			data, err := os.ReadFile(path)
			files = append(files, strings.TrimPrefix(path, dir+"/")+"="+string(data))
			return err
		})
		state := strings.Repeat("!", strings.Count(c.Acknowledged, "\n")) + strings.Join(files, " ")
		if !slices.Contains(list, state) {
			list = append(list, state)
		}
		return err
	})
	slices.Sort(list)
	return list
}

func TestPowerCutsLeaveOnlyStatesThatFileSystemsAllow(t *testing.T) {
	for name, c := range map[string]struct{ some, never []string }{
		"in place": {some: []string{"a=", "a=new text", "a=old text", "a=n", "a=new ",
			"a=\x00\x00\x00\x00\x00\x00\x00\x00"}},
		"renamed unsynced": {some: []string{"a=", "a=new text", "a=old text", "a=old text b=new text", "a=old text b="}},
		"atomicfile":       {some: []string{"a=new text", "a=old text"}},
		"two in order":     {some: []string{"a=old text", "a=old text first=1", "a=old text first=1 second=2"}},
		"folder unsynced":  {some: []string{"!a=old text", "!a=old text x/y/c=new"}},
		"folder":           {some: []string{"a=old text", "!a=old text x/y/c=new"}, never: []string{"!a=old text"}},
		"append": {some: []string{"a=old text", "a=old text log=", "!a=old text log=one\n", "!!a=old text log=one\ntwo\n",
			"!!a=old text log=one\ntwo\nt"},
			never: []string{"!a=old text log=", "!a=old text", "!!a=old text log=one\n", "!a=old text log="}},
		"between": {some: []string{"a=old text x/a=", "a=old text y/a="}, never: []string{"a=old text x/a= y/a="}},
	} {
		got := outcomes(t, name)
		t.Logf("%s: %q", name, got)
		for _, want := range c.some {
			if !slices.Contains(got, want) {
				t.Errorf("%s: never %q", name, want)
			}
		}
		for _, state := range got {
			if slices.Contains(c.never, state) || (name == "atomicfile" || name == "two in order") &&
				!slices.Contains(c.some, state) {
				t.Errorf("%s: %q is left", name, state)
			}
		}
	}
}

func TestSameSeedGivesTheSameFolders(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "POWERCUT_CHILD=append", "POWERCUT_DIR="+dir)
	trace := Record(t, cmd, dir)
	var runs [2][]string
	t.Setenv(SeedVariable, "7")
	t.Setenv(Variable, "10")
	for i := range runs {
		trace.Check(t, func(_ string, c *Crash) error { runs[i] = append(runs[i], c.String()+c.list()); return nil })
	}
	if len(runs[0]) != 10 || !slices.Equal(runs[0], runs[1]) {
		t.Errorf("first\n%q\nthen\n%q", runs[0], runs[1])
	}
}
