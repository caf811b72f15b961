// Package goldens locates the results of reference implementations and the real data that
// tests use. Only tests may import it.
package goldens

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Shared returns the folder of reference material: $HGLD_SHARED, or by default ../shared next
// to the repository's root. If it is missing, Shared skips the test, or fails it on CI, where
// the folder must exist.
func Shared(tb testing.TB, elem ...string) string {
	tb.Helper()
	dir := os.Getenv("HGLD_SHARED")
	if dir == "" {
		dir = filepath.Join(Root(), "..", "shared")
	}
	return existing(tb, filepath.Join(append([]string{dir}, elem...)...))
}

// Dir returns a folder of golden values. It looks below $HGLD_GOLDENS, by default
// $HGLD_SHARED/goldens. If neither exists, it uses the selection in the repository.
func Dir(tb testing.TB, folder string) string {
	tb.Helper()
	if dir := os.Getenv("HGLD_GOLDENS"); dir != "" {
		return existing(tb, filepath.Join(dir, folder))
	}
	shared := os.Getenv("HGLD_SHARED")
	if shared == "" {
		shared = filepath.Join(Root(), "..", "shared")
	}
	dir := filepath.Join(shared, "goldens", folder)
	if _, err := os.Stat(dir); err != nil && os.Getenv("CI") == "" {
		dir = filepath.Join(Root(), "internal", "testing", "goldens", "testdata", folder)
	}
	return existing(tb, dir)
}

// ReadJSON decodes a JSON file into v.
func ReadJSON(tb testing.TB, path string, v any) {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
}

// Root returns the repository's root: the nearest folder above the working directory that
// has a go.mod. A test starts in its package's folder, so that is found with -trimpath too.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			panic("no go.mod above the working directory")
		}
		dir = up
	}
}

func existing(tb testing.TB, path string) string {
	tb.Helper()
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatalf("reference material is missing: %v", err)
		}
		tb.Skipf("reference material is missing (set HGLD_SHARED): %v", err)
	}
	return path
}
