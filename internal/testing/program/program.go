// Package program runs the built hgld in tests of pages and of other programs that use it.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "hgld")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "hgld")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/hgld")
	cmd.Dir = goldens.Root()
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// Path returns the program under test: $HGLD_BINARY, or one that is built once.
func Path(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv("HGLD_BINARY"); path != "" {
		return path
	}
	path := must.Get(build())(tb)
	return path
}

// Run runs a command line in a folder and returns what it prints. A failure fails the test.
func Run(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	cmd := exec.Command(Path(tb), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("hgld %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
