package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"testing"
)

func TestErrorKeepsCodeAndHintsHoweverItIsWrapped(t *testing.T) {
	base := errors.New("base")
	fails := func(code int, op string, why error) error {
		return withCode(code, &fs.PathError{Op: op, Path: "x", Err: why})
	}
	hinted := withHint(withCode(exitIntegrity, base), "rebuild it")
	for name, c := range map[string]struct {
		err   error
		code  int
		hints []string
	}{
		"nothing":             {nil, exitOK, nil},
		"nothing with a code": {withCode(exitUsage, nil), exitOK, nil},
		"nothing with a hint": {withHint(nil, "look"), exitOK, nil},
		"nothing retryable":   {retryable(nil), exitOK, nil},
		"plain":               {base, exitFailed, nil},
		"hint":                {withHint(base, "look"), exitFailed, []string{"look"}},
		"coded again":         {withCode(exitUsage, hinted), exitUsage, []string{"rebuild it"}},
		"wrapped and coded": {withCode(exitSomeFailed, fmt.Errorf("stage: %w", hinted)), exitSomeFailed,
			[]string{"rebuild it"}},
		"the outermost hint": {withHint(hinted, "another"), exitIntegrity, []string{"another"}},
		"two stages": {errors.Join(withHint(withCode(exitSomeFailed, base), "one"),
			withHint(withCode(exitSomeFailed, base), "two")), exitSomeFailed, []string{"one", "two"}},
		"stopped with a hint": {withHint(fmt.Errorf("x: %w", context.Canceled), "go on"), exitInterrupted,
			[]string{"go on"}},
		"retryable":      {retryable(hinted), exitIntegrity, []string{"rebuild it"}},
		"disk full":      {fails(exitIntegrity, "write", syscall.ENOSPC), exitDiskFull, nil},
		"no permission":  {fails(exitUsage, "open", syscall.EACCES), exitFailed, nil},
		"a failing disk": {withCode(exitUsage, fmt.Errorf("read: %w", &fs.PathError{Err: syscall.EIO})), exitFailed, nil},
		"a damaged file": {fails(exitIntegrity, "read", syscall.EIO), exitIntegrity, nil},
		"no such file":   {fails(exitUsage, "open", syscall.ENOENT), exitUsage, nil},
		"a folder":       {fails(exitUsage, "read", syscall.EISDIR), exitUsage, nil},
		"no path":        {withCode(exitUsage, syscall.EACCES), exitUsage, nil},
	} {
		if got := exitCode(c.err); got != c.code {
			t.Errorf("%s: exit code %d, want %d", name, got, c.code)
		}
		if got := hints(c.err); !slices.Equal(got, c.hints) {
			t.Errorf("%s: hints %q, want %q", name, got, c.hints)
		}
	}
	if !isRetryable(errors.Join(retryable(hinted), base)) || isRetryable(hinted) {
		t.Error("the mark of retryable is lost, or found where it is not")
	}
}
