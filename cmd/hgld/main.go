// Command hgld builds hierarchical labels for image retrieval and trains models on them.
// It scrapes the tags of landmark categories, clusters them, records a curator's edits,
// writes Parquet shards, trains models on the shards and evaluates them.
package main

import (
	"errors"
	"hgld/internal/terminal"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"unicode/utf8"
)

func main() { os.Exit(hgld(os.Args, os.Stdout, os.Stderr)) }

// hgld runs one command line on this machine and returns its exit code.
func hgld(args []string, stdout, stderr io.Writer) int {
	return environment{stdout: stdout, stderr: stderr, cards: builtCards()}.run(args)
}

// run runs one command line and returns its exit code.
func (e environment) run(args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			code = reportDefect(p, debug.Stack(), e.stderr)
		}
	}()
	if asked := len(args) - 1; args[asked] == "--generate-bash-completion" && slices.Contains(args[:asked], "--") {
		return exitOK // after "--" this is an ordinary argument, and the command would run
	}
	ctx, stop := interruptible(e.stderr)
	defer stop()
	out := &output{to: e.stdout}
	e.stdout, args = out, moveNameLast(args)
	return reportError(out.join(newApp(e, args).RunContext(ctx, args)), e.stderr)
}

// output is stdout. It escapes control characters, see [terminal.Visible]: tables, names and paths
// hold text that other people chose. It keeps the first write error: callers of print ignore errors,
// but the command must still fail. A pipe closed by the reader, such as head(1), does not count as an
// error.
type output struct {
	mu   sync.Mutex
	to   io.Writer
	part []byte // start of a character whose other bytes have not been written yet
	err  error
}

// Write writes p. After an error it writes nothing and returns that error.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	whole := append(o.part, p...)
	end := len(whole)
	for i := max(end-utf8.UTFMax+1, 0); i < end; i++ {
		if utf8.RuneStart(whole[i]) && !utf8.FullRune(whole[i:]) {
			end = i
		}
	}
	o.part = slices.Clone(whole[end:])
	return len(p), o.write([]byte(terminal.Visible(string(whole[:end]))))
}

func (o *output) write(p []byte) error {
	if o.err == nil && len(p) > 0 {
		_, o.err = o.to.Write(p)
	}
	return o.err
}

// exactly writes the bytes of a file to stdout as they are, unless stdout is a terminal.
type exactly struct{ *output }

func (e exactly) Write(p []byte) (int, error) {
	if terminal.Is(e.to) {
		return e.output.Write(p)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(p), e.write(p)
}

// asFile returns a writer to stdout for the contents of a file, such as a CSV.
func asFile(stdout io.Writer) io.Writer {
	if o, is := stdout.(*output); is {
		return exactly{o}
	}
	return stdout
}

// asTable returns a writer to stdout for a table in a format of package texttable.
func asTable(stdout io.Writer, format string) io.Writer {
	if format == "csv" {
		return asFile(stdout)
	}
	return stdout
}

// Unwrap returns the underlying writer.
func (o *output) Unwrap() io.Writer { return o.to }

// join adds the write error to the command's error, unless err already contains it.
func (o *output) join(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write([]byte(terminal.Visible(string(o.part))))
	o.part = nil
	inErr, enough := errors.Is(err, o.err), errors.Is(o.err, syscall.EPIPE)
	switch {
	case o.err != nil && inErr && enough:
		return nil
	case o.err == nil || inErr || enough:
		return err
	}
	return errors.Join(err, o.err)
}
