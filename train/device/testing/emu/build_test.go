package emu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// TestBuildInProcess is run by the tests below in separate processes.
func TestBuildInProcess(t *testing.T) {
	if os.Getenv("HGLD_EMU_BUILD") == "" {
		return
	}
	start := time.Now()
	dir := BuildFolder(t, "testdata")
	t.Logf("built %s in %.1f s", dir, time.Since(start).Seconds())
}

func buildProcess(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBuildInProcess$", "-test.v", "-test.timeout=540s")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CI=") && !strings.HasPrefix(v, "CXX=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, append(env, "HGLD_EMU_BUILD=1")...)
	return cmd
}

// seed copies the library's own objects to an empty cache, so that only the kernels remain to
// be compiled.
func seed(t *testing.T, cache string) {
	t.Helper()
	BuildFolder(t, "testdata")
	c, err := findCompiler(func(compiler) bool { return true })
	must.Do(t, err)
	usual, err := cacheDir()
	must.Do(t, err)
	folder, err := filepath.Abs("testdata")
	must.Do(t, err)
	units, err := c.units(usual, folder, "*.cu", false)
	must.Do(t, err)
	for _, u := range units {
		if filepath.Ext(u.source) != ".cc" {
			continue
		}
		data, err := os.ReadFile(u.object)
		must.Do(t, err)
		must.Do(t, os.WriteFile(filepath.Join(cache, filepath.Base(u.object)), data, 0o644))
	}
}

// Three processes that find a cache without the library get one library.
func TestProcessesBuildOnce(t *testing.T) {
	cache := t.TempDir()
	seed(t, cache)
	type result struct {
		out []byte
		err error
	}
	results := make(chan result)
	for range 3 {
		cmd := buildProcess(t, "HGLD_EMU_CACHE="+cache)
		go func() {
			out, err := cmd.CombinedOutput()
			results <- result{out, err}
		}()
	}
	for range 3 {
		if r := <-results; r.err != nil {
			t.Errorf("%v\n%s", r.err, r.out)
		} else {
			t.Log(strings.Split(string(r.out), "\n")[1])
		}
	}
	libs, err := filepath.Glob(filepath.Join(cache, "*", "libcuda.so.1"))
	if err != nil || len(libs) != 1 {
		t.Errorf("the cache holds the libraries %v (%v)", libs, err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "build-*")); len(left) > 0 {
		t.Errorf("the builds left %v", left)
	}
}

func TestBuildWithoutACompiler(t *testing.T) {
	empty := t.TempDir()
	out, err := buildProcess(t, "PATH="+empty).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- SKIP") {
		t.Errorf("without a compiler: %v\n%s", err, out)
	}
	out, err = buildProcess(t, "PATH="+empty, "CI=1").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no C++ compiler was found ($CXX, g++, clang++)") {
		t.Errorf("without a compiler in CI: %v\n%s", err, out)
	}
}

func TestUnusedBuildsAreRemoved(t *testing.T) {
	cache := t.TempDir()
	for _, name := range []string{"old", "new", "lock"} {
		path := filepath.Join(cache, name)
		must.Do(t, os.Mkdir(path, 0o755))
		if name == "new" {
			continue
		}
		long := time.Now().Add(-15 * 24 * time.Hour)
		must.Do(t, os.Chtimes(path, long, long))
	}
	must.Do(t, prune(cache))
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("%v are left (%v), want lock and new", left, err)
	}
}

func TestCompileErrorNamesTheFile(t *testing.T) {
	cache, folder := t.TempDir(), t.TempDir()
	seed(t, cache)
	c, err := findCompiler(func(compiler) bool { return true })
	must.Do(t, err)
	must.Do(t, os.WriteFile(filepath.Join(folder, "wrong.cu"), []byte("HG_KERNEL(1, wrong\n"), 0o644))
	t.Setenv("HGLD_EMU_CACHE", cache)
	dir, err := c.library(folder, "*.cu", false)
	if err == nil || !strings.Contains(err.Error(), "wrong.cu:1:") {
		t.Errorf("a file that is no C++ was built to %q: %v", dir, err)
	}
}
