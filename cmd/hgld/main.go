// Command hgld builds hierarchical labels for image retrieval and trains models on them.
// It scrapes the tags of landmark categories, clusters them, records a curator's edits,
// writes Parquet shards, trains models on the shards and evaluates them.
package main

import (
	"errors"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"unicode/utf8"

	"hgld/internal/crash"
	"hgld/internal/img"
	"hgld/internal/terminal"
)

func main() {
	if img.ServeAsChild() {
		return
	}
	endOnPanic()
	os.Exit(hgld(os.Args, os.Stdout, os.Stderr))
}

// endOnPanic makes a panic of any goroutine end the process as one of the main goroutine does.
func endOnPanic() {
	crash.Report = func(panicked any, trace []byte) { os.Exit(reportDefect(panicked, trace, os.Stderr)) }
}

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
	out, messages := &output{to: e.stdout}, &output{to: e.stderr, raw: true}
	ctx, announced, stop := interruptible(messages)
	defer stop()
	e.stdout, e.stderr = out, messages
	args = commandFirst(args)
	app := newApp(e, args)
	err := checkOldForms(app.Commands, args)
	if err == nil {
		err = app.RunContext(ctx, flagsFirst(app.Commands, args))
	}
	err = out.join(err)
	announced()
	return reportError(err, messages)
}

// output is stdout or stderr. It keeps the first write error and drops everything after it: a
// command that writes files must finish them, whatever becomes of its output. The error on stdout
// fails the command at its end, unless the reader has gone, as in hgld … | head. On stdout it escapes
// control characters, see [terminal.Visible]: tables, names and paths hold text that other people chose.
type output struct {
	mu   sync.Mutex
	to   io.Writer
	raw  bool   // write bytes as they are
	part []byte // start of a character whose other bytes have not been written yet
	err  error
}

// Write writes p, or drops it after an error. It always succeeds.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.raw {
		o.write(p)
		return len(p), nil
	}
	whole := append(o.part, p...)
	end := len(whole)
	for i := max(end-utf8.UTFMax+1, 0); i < end; i++ {
		if utf8.RuneStart(whole[i]) && !utf8.FullRune(whole[i:]) {
			end = i
		}
	}
	o.part = slices.Clone(whole[end:])
	o.write([]byte(terminal.Visible(string(whole[:end]))))
	return len(p), nil
}

func (o *output) write(p []byte) {
	if o.err == nil && len(p) > 0 {
		_, o.err = o.to.Write(p)
	}
}

// exactly writes the bytes of a file to stdout as they are, unless stdout is a terminal.
type exactly struct{ *output }

func (e exactly) Write(p []byte) (int, error) {
	if terminal.Is(e.to) {
		return e.output.Write(p)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write(p)
	return len(p), nil
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

// failed reports whether a write failed. A command that only prints then has nothing left to do.
func (o *output) failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil
}

// join adds the write error to the command's error.
func (o *output) join(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write([]byte(terminal.Visible(string(o.part))))
	o.part = nil
	if o.err == nil || readerGone(o.to, o.err) {
		return err
	}
	return errors.Join(err, o.err)
}

// readerGone reports whether err of a write to w means that nobody reads w any longer: the other
// end of a pipe or a socket was closed, or a terminal.
func readerGone(w io.Writer, err error) bool {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return true
	}
	f, ok := w.(*os.File)
	if !ok || !errors.Is(err, syscall.EIO) {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
