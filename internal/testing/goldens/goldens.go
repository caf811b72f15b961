// Package goldens locates the results of reference implementations and the real data that
// tests use. Only tests may import it.
package goldens

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
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

// ReadJSON decodes a JSON file into v. It fails the test if v then holds no case, because a loop
// over the cases would pass without testing anything; see hasCases.
func ReadJSON(tb testing.TB, path string, v any) {
	tb.Helper()
	data := must.Get(os.ReadFile(path))(tb)
	if err := json.Unmarshal(data, v); err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	if !hasCases(reflect.ValueOf(v)) {
		tb.Fatalf("%s holds no cases", path)
	}
}

// hasCases reports whether v has something to loop over. A list must not be empty, nor a list in
// a map of lists, nor a struct's list of structs, unless its tag has omitempty.
func hasCases(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return hasCases(v.Elem())
	case reflect.Slice:
		return v.Len() > 0
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if e := v.MapIndex(key); e.Kind() == reflect.Slice && e.Len() == 0 {
				return false
			}
		}
		return v.Len() > 0
	case reflect.Struct:
		for i := range v.NumField() {
			f, tag := v.Field(i), v.Type().Field(i).Tag.Get("json")
			list := f.Kind() == reflect.Slice || f.Kind() == reflect.Map
			if list && f.Type().Elem().Kind() == reflect.Struct && f.Len() == 0 && !strings.Contains(tag, ",omitempty") {
				return false
			}
		}
	}
	return true
}

// started is the working directory at the start, before any test changes it.
var started, _ = os.Getwd()

// Root returns the repository's root: the nearest folder above the working directory at the start that
// has a go.mod. A test starts in its package's folder.
func Root() string {
	for dir := started; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	panic("no go.mod above the working directory")
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
