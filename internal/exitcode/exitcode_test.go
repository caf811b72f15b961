package exitcode

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
	hinted := Hint(With(Integrity, base), "rebuild it")
	for name, c := range map[string]struct {
		err   error
		code  int
		hints []string
	}{
		"nothing":             {nil, OK, nil},
		"nothing with a code": {With(Usage, nil), OK, nil},
		"nothing with a hint": {Hint(nil, "look"), OK, nil},
		"nothing retryable":   {Retryable(nil), OK, nil},
		"plain":               {base, Failed, nil},
		"hint":                {Hint(base, "look"), Failed, []string{"look"}},
		"coded again":         {With(Usage, hinted), Usage, []string{"rebuild it"}},
		"wrapped and coded":   {With(SomeFailed, fmt.Errorf("stage: %w", hinted)), SomeFailed, []string{"rebuild it"}},
		"the outermost hint":  {Hint(hinted, "another"), Integrity, []string{"another"}},
		"two stages": {errors.Join(Hint(With(SomeFailed, base), "one"), Hint(With(SomeFailed, base), "two")),
			SomeFailed, []string{"one", "two"}},
		"stopped with a hint": {Hint(fmt.Errorf("x: %w", context.Canceled), "go on"), Interrupted, []string{"go on"}},
		"retryable":           {Retryable(hinted), Integrity, []string{"rebuild it"}},
		"disk full":           {With(Integrity, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), DiskFull, nil},
		"no permission":       {With(Usage, &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}), Failed, nil},
		"a failing disk":      {With(Usage, fmt.Errorf("read: %w", &fs.PathError{Err: syscall.EIO})), Failed, nil},
		"a damaged file":      {With(Integrity, &fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}), Integrity, nil},
		"no such file":        {With(Usage, &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}), Usage, nil},
		"a folder":            {With(Usage, &fs.PathError{Op: "read", Path: "x", Err: syscall.EISDIR}), Usage, nil},
		"no path":             {With(Usage, syscall.EACCES), Usage, nil},
	} {
		if got := Of(c.err); got != c.code {
			t.Errorf("%s: exit code %d, want %d", name, got, c.code)
		}
		if got := Hints(c.err); !slices.Equal(got, c.hints) {
			t.Errorf("%s: hints %q, want %q", name, got, c.hints)
		}
	}
	if !IsRetryable(errors.Join(Retryable(hinted), base)) || IsRetryable(hinted) {
		t.Error("the mark of Retryable is lost, or found where it is not")
	}
}
