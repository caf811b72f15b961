package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Ask runs a command in a folder, "" for the current one, with in on its standard input, and returns what it wrote to
// its standard output. A command that writes nothing for limit, or more than most bytes, is killed with its children.
// The error is an *Error, or that of ctx; what says what the command is for.
func Ask(ctx context.Context, what string, command []string, folder string, limit time.Duration, in []byte,
	most int) ([]byte, error) {
	var words lastWords
	asked, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &answer{most: most, limit: limit, stop: cancel}
	out.late = time.AfterFunc(limit, func() { cancel(fmt.Errorf("it wrote nothing for %v", limit)) })
	defer out.late.Stop()
	cmd := exec.CommandContext(asked, command[0], command[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = folder, bytes.NewReader(in), out, &words, time.Second
	cmd.Cancel = func() error { kill(cmd); return nil }
	Separate(cmd)
	err := cmd.Run()
	switch cause := context.Cause(asked); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case cause != nil:
		err = cause
	case err != nil:
		err = fmt.Errorf("it ended: %w", err)
	case out.text.Len() == 0:
		err = errors.New("it ended without an answer")
	}
	if err != nil {
		return nil, &Error{What: what, Command: command, Reason: err, Words: words.String()}
	}
	return out.text.Bytes(), nil
}

// answer keeps what a command writes.
type answer struct {
	text  bytes.Buffer
	most  int
	limit time.Duration
	late  *time.Timer
	stop  func(error)
}

func (a *answer) Write(p []byte) (int, error) {
	a.late.Reset(a.limit)
	if a.text.Len()+len(p) > a.most {
		err := fmt.Errorf("its answer has more than %d bytes", a.most)
		a.stop(err)
		return 0, err
	}
	return a.text.Write(p)
}
