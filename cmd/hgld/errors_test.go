package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestErrorKeepsCodeAndHintsHoweverItIsWrapped(t *testing.T) {
	base := errors.New("base")
	hinted := withHint(withCode(exitIntegrity, base), "rebuild it")
	for name, c := range map[string]struct {
		err   error
		code  int
		hints []string
	}{
		"plain":               {base, exitFailed, nil},
		"hint":                {withHint(base, "look"), exitFailed, []string{"look"}},
		"coded again":         {withCode(exitUsage, hinted), exitUsage, []string{"rebuild it"}},
		"wrapped and coded":   {withCode(exitSomeFailed, fmt.Errorf("stage: %w", hinted)), exitSomeFailed, []string{"rebuild it"}},
		"the outermost hint":  {withHint(hinted, "another"), exitIntegrity, []string{"another"}},
		"two stages":          {errors.Join(withHint(withCode(exitSomeFailed, base), "one"), withHint(withCode(exitSomeFailed, base), "two")), exitSomeFailed, []string{"one", "two"}},
		"stopped with a hint": {withHint(fmt.Errorf("x: %w", context.Canceled), "go on"), exitInterrupted, []string{"go on"}},
		"worth repeating":     {worthRepeating(hinted), exitIntegrity, []string{"rebuild it"}},
		"disk full":           {withCode(exitIntegrity, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), exitDiskFull, nil},
	} {
		if got := exitCode(c.err); got != c.code {
			t.Errorf("%s: exit code %d, want %d", name, got, c.code)
		}
		if got := hints(c.err); !slices.Equal(got, c.hints) {
			t.Errorf("%s: hints %q, want %q", name, got, c.hints)
		}
	}
	if !repeatable(errors.Join(worthRepeating(hinted), base)) || repeatable(hinted) {
		t.Error("the mark of worthRepeating is lost, or found where it is not")
	}
}

// stubborn is a writer that fails with err.
type stubborn struct{ err error }

func (s stubborn) Write([]byte) (int, error) { return 0, s.err }

func TestOutputThatCannotBeWrittenIsNoSuccess(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}, exitDiskFull},
		{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EIO}, exitFailed},
		{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, exitOK}, // hgld … | head
	} {
		for _, args := range []string{"version", "version --json", "doctor", "--help", "config schema", "train losses", "completion bash", "config"} {
			var stderr bytes.Buffer
			if code := hgld(append([]string{"hgld"}, strings.Fields(args)...), stubborn{c.err}, &stderr); code != c.code {
				t.Errorf("hgld %s, %v: exit code %d, want %d", args, c.err, code, c.code)
			}
			if n := strings.Count(stderr.String(), c.err.Error()); c.code != exitOK && n != 1 {
				t.Errorf("hgld %s: the error stands %d times in %q", args, n, &stderr)
			}
		}
	}
}
