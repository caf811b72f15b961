package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/filehash"
	"hgld/internal/metrics"
	"hgld/internal/objectstore/address"
	"hgld/internal/pipeline"
	"hgld/internal/ranks"
	"hgld/internal/ranks/launch"
	"hgld/internal/report"
	"hgld/internal/seal"
	"hgld/internal/terminal"
	"hgld/train/device"
	"hgld/train/retrieval"
)

// job is a running command: its outputs, its context, and the options that all commands
// share.
type job struct {
	ctx     context.Context
	stdout  io.Writer // data
	stderr  io.Writer // everything else
	json    bool      // print data as JSON
	limit   int       // trial on the first n items; 0: all
	quiet   bool      // print results and errors only
	changed bool      // accept inputs that changed after a stage wrote them
	replace bool      // overwrite what other work depends on
	profile bool      // show where the time goes
	project *pipeline.Project
	args    []string // arguments without the flags

	allowCommand bool // run the command of an external loss

	device   string         // its name
	threads  int            // of the CPU; 0: one for each processor
	pictures report.Style   // how pictures are set
	cards    []device.Kind  // kinds of GPUs to choose from
	opened   []io.Closer    // open devices
	card     string         // of this process, if the device names several; "": it does not
	ranks    *ranks.Process // processes that train together; nil: this one alone
}

// newJob opens the project and reads the common flags.
func newJob(c *cli.Context) (*job, error) {
	if n := c.Int("limit"); n < 0 {
		return nil, usagef("--limit is %d; want a number of items, or 0 for all", n)
	}
	for _, arg := range c.Args().Slice() {
		if address.Is(arg) { // before anything prints it: it may hold a password
			if err := address.Check(arg); err != nil {
				return nil, err
			}
		}
	}
	l := stagesUntil(c.Context)
	l.Isolated = environmentOf(c).isolated
	p, err := l.Open(c.String("project"))
	if err != nil {
		return nil, err
	}
	if c.Bool("allow-store") {
		p.AllowStores()
	}
	j := jobIn(c, p)
	m, err := machineOf(c, p)
	j.device, j.threads, j.pictures = m.Device, m.Threads, m.Pictures
	return j, err
}

// jobIn reads the common flags for a command in a project.
func jobIn(c *cli.Context, p *pipeline.Project) *job {
	return &job{
		ctx: c.Context, stdout: c.App.Writer, stderr: c.App.ErrWriter,
		json: c.Bool("json"), limit: c.Int("limit"), quiet: c.Bool("quiet"), changed: c.Bool("accept-changed"),
		replace: c.Bool("replace"), profile: c.Bool("profile"), cards: environmentOf(c).cards,
		project: p, args: c.Args().Slice(), allowCommand: c.Bool("allow-command"),
	}
}

// log tells the user on stderr what is going on. It is silent with --quiet.
func (j *job) log(format string, args ...any) {
	if !j.quiet {
		fmt.Fprintln(j.stderr, message(fmt.Sprintf(format, args...)))
	}
}

// logAll logs lines in a format of one text.
func (j *job) logAll(format string, lines []string) {
	for _, line := range lines {
		j.log(format, line)
	}
}

// print writes data to stdout.
func (j *job) print(format string, args ...any) {
	io.WriteString(j.stdout, terminal.Visible(fmt.Sprintf(format, args...)))
}

// unread reports whether stdout takes no more. A command whose product is its output then stops.
func (j *job) unread() bool {
	o, ok := j.stdout.(*output)
	return ok && o.failed()
}

// show prints v as JSON with --json, and otherwise text, which says the same in words.
func (j *job) show(v any, text string) error {
	if j.json {
		return writeJSON(j, v)
	}
	j.print("%s", text)
	return nil
}

// progress starts a display of total units; 0 means unknown.
func (j *job) progress(label string, total int) *terminal.Progress {
	out := j.stderr
	if j.quiet {
		out = io.Discard
	}
	return terminal.NewProgress(out, label, total)
}

// metricsVariable names the file for the numbers of this process; see [metrics.Write].
const metricsVariable = "HGLD_METRICS"

// writeMetrics writes the numbers of this process to a file, and to one of its own if it is one of several. The
// returned function ends it.
func writeMetrics(path string) (end func() error) {
	if path == "" {
		return func() error { return nil }
	}
	if place, err := launch.Find(os.Getenv); err == nil && place != nil && place.Rank > 0 {
		ext := filepath.Ext(path)
		path = fmt.Sprintf("%s-rank%d%s", strings.TrimSuffix(path, ext), place.Rank, ext)
	}
	return metrics.Write(path)
}

// Options returns what the command line asks of every stage.
func (j *job) Options() pipeline.Options {
	return pipeline.Options{Project: j.project, Limit: j.limit, Changed: j.changed, Replace: j.replace}
}

// Log is log, exported for package pipeline.
func (j *job) Log(format string, args ...any) { j.log(format, args...) }

// Start says why a stage runs, its command, and which of its settings an earlier command gave.
func (j *job) Start(st pipeline.State) {
	j.log("%s", j.heading(st))
	if note := recalled([]pipeline.State{st}); note != "" {
		j.log("%s", note)
	}
}

// heading returns why a stage runs, and its command.
func (j *job) heading(st pipeline.State) string {
	return fmt.Sprintf("%-8s %s: %s -> %s", st.Stage, st.State, st.Describe(j.project),
		typedAgain(j.project, st))
}

// anyNumber is the upper limit for commands that take any number of arguments.
const anyNumber = 1 << 30

// newJobWithArgs calls newJob for a command that takes least to most arguments. It returns a
// usage error for any other number; what names the arguments in that error.
func newJobWithArgs(c *cli.Context, least, most int, what string) (*job, error) {
	j, err := newJob(c)
	if err != nil {
		return nil, err
	}
	if n := len(j.args); n < least || n > most {
		return nil, usagef("%s takes %s; got %s", commandPath(c), what, count(n, "argument"))
	}
	return j, nil
}

// action returns the action of a command that runs in a project. It passes the opened
// project to run, and releases the devices that run opened when run returns.
func action(run func(*cli.Context, *job) error) cli.ActionFunc {
	return actionWithArgs(0, anyNumber, "", run)
}

// actionWithArgs is like action, for a command that takes least to most arguments. what names the
// arguments in the error for any other number.
func actionWithArgs(least, most int, what string, run func(*cli.Context, *job) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		j, err := newJobWithArgs(c, least, most, what)
		if err != nil {
			return err
		}
		return errors.Join(run(c, j), j.Close())
	}
}

func writeJSON(j *job, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := j.stdout.Write(terminal.VisibleJSON(b.Bytes()))
	return err
}

// printResult prints an evaluation as JSON with the hash of its content, as in the file.
func printResult(j *job, r *retrieval.Result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, terminal.VisibleJSON(text), "", " "); err != nil {
		return err
	}
	if text, err = seal.JSON(b.Bytes()); err != nil {
		return err
	}
	_, err = j.stdout.Write(text)
	return err
}

// count is [terminal.Count].
func count(n int, noun string) string { return terminal.Count(n, noun) }

// sha256File returns the SHA-256 of a file, in hex.
func sha256File(path string) (string, error) {
	sum, _, err := filehash.SHA256(context.Background(), path)
	return sum, err
}
