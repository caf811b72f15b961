package main

import (
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hgld/internal/img"
	"hgld/internal/testing/fakes3"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/ramdisk"
)

func TestMain(m *testing.M) {
	if img.ServeAsChild() {
		return
	}
	if strings.Contains(filepath.Base(os.Args[0]), ".test") { // and not the command of a script
		heedHangups()
		os.Setenv("XDG_CONFIG_HOME", filepath.Join(os.DevNull, "none")) // the user's own folder is none of the tests'
		ramdisk.Use()
	}
	testscript.Main(m, map[string]func(){"hgld": advising, "defect": defect})
}

// heedHangups makes this process and those that it starts heed SIGHUP, also where the
// tests were started by nohup: a signal that is handled has its default in a new process.
func heedHangups() { signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) }

// TestScript runs the command lines of testdata/script: each file is a page of
// the manual. $SHARED is the folder of reference material, empty where it is
// missing; files called shared_*.txt need it. An object store has the bucket s3://bucket.
func TestScript(t *testing.T) {
	run := func(t *testing.T, pattern, shared string) {
		files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txt"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no scripts: %v", err)
		}
		var chosen []string
		for _, f := range files {
			if ok, _ := filepath.Match("shared_*", filepath.Base(f)); ok == (pattern == "shared") {
				chosen = append(chosen, f)
			}
		}
		if len(chosen) == 0 {
			return
		}
		testscript.Run(t, testscript.Params{Files: chosen, RequireExplicitExec: true, Setup: func(e *testscript.Env) error {
			e.Setenv("SHARED", shared)
			e.Setenv("CI", os.Getenv("CI"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, ".config"))
			store := fakes3.New()
			server := httptest.NewServer(store)
			e.Defer(server.Close)
			store.URL = server.URL
			for _, pair := range store.Environment(e.WorkDir) {
				name, value, _ := strings.Cut(pair, "=")
				e.Setenv(name, value)
			}
			return nil
		}})
	}
	t.Run("alone", func(t *testing.T) { run(t, "", "") })
	t.Run("shared", func(t *testing.T) {
		dir := must.Get(filepath.Abs(goldens.Shared(t)))(t)
		run(t, "shared", dir)
	})
}
