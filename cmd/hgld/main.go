// Command hgld builds labels with a hierarchy for image retrieval and trains
// models on them: it scrapes the tags of landmark categories, clusters them,
// takes a curator's edits, writes Parquet shards, trains hierarchical models on
// the shards and evaluates them.
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

// hgld runs one command line and returns its exit code.
func hgld(args []string, stdout, stderr io.Writer) int {
	if asked := len(args) - 1; args[asked] == "--generate-bash-completion" && slices.Contains(args[:asked], "--") {
		return exitOK // behind "--" this is an argument, and the line would be executed
	}
	ctx, stop := interruptible(stderr)
	defer stop()
	out := &output{to: stdout}
	args = nameFirst(args)
	return reportError(out.join(newApp(out, stderr, args).RunContext(ctx, args)), stderr)
}

// output is stdout. It keeps the first write error, because the callers of print ignore
// it and the command must still fail. A closed pipe, as of head(1), does not count as an
// error.
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

// Unwrap returns the writer below.
func (o *output) Unwrap() io.Writer { return o.to }

// join adds the write error to that of the command, unless the command returned it itself.
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
