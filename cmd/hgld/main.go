// Command hgld builds hierarchical labels for image retrieval and trains models on them.
// It scrapes the tags of landmark categories, clusters them, records a curator's edits,
// writes Parquet shards, trains models on the shards and evaluates them.
package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
)

func main() { os.Exit(hgld(os.Args, os.Stdout, os.Stderr)) }

// hgld runs one command line on this machine and returns its exit code.
func hgld(args []string, stdout, stderr io.Writer) int {
	return environment{stdout: stdout, stderr: stderr, cards: builtCards()}.run(args)
}

// run runs one command line and returns its exit code.
func (e environment) run(args []string) int {
	if asked := len(args) - 1; args[asked] == "--generate-bash-completion" && slices.Contains(args[:asked], "--") {
		return exitOK // after "--" this is an ordinary argument, and the command would run
	}
	ctx, stop := interruptible(e.stderr)
	defer stop()
	out := &output{to: e.stdout}
	e.stdout, args = out, moveNameLast(args)
	return reportError(out.join(newApp(e, args).RunContext(ctx, args)), e.stderr)
}

// output is stdout. It keeps the first write error: callers of print ignore errors, but
// the command must still fail. A pipe closed by the reader, such as head(1), does not
// count as an error.
type output struct {
	mu  sync.Mutex
	to  io.Writer
	err error
}

// Write writes p. After an error it writes nothing and returns that error.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.to.Write(p)
	o.err = err
	return n, err
}

// Unwrap returns the underlying writer.
func (o *output) Unwrap() io.Writer { return o.to }

// join adds the write error to the command's error, unless err already contains it.
func (o *output) join(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	inErr, enough := errors.Is(err, o.err), errors.Is(o.err, syscall.EPIPE)
	switch {
	case o.err != nil && inErr && enough:
		return nil
	case o.err == nil || inErr || enough:
		return err
	}
	return errors.Join(err, o.err)
}
