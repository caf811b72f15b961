package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hgld/internal/exitcode"

	"github.com/urfave/cli/v2"
)

// stage is one step of the pipeline: a section of hgld.yaml, a command, and a
// line of `hgld status`. newStage makes one from typed functions.
type stage struct {
	name     string     // section of hgld.yaml: "cluster"
	command  string     // what a user types: "cluster run"
	settings func() any // pointer to a fresh copy of the defaults
	files    func(s any) (in, out []string)
	run      func(j *job, s any) error
	check    func(s any) error // of what settings can be told without reading data
	goesOn   bool              // the settings are those that the result was begun with: its stamp keeps what it says of them
}

// newStage declares a stage. files names the files and folders that the stage
// reads and writes with these settings: from their contents `hgld status` knows
// what is stale. run does the work; it may return early with context.Canceled
// when j.ctx is cancelled, having saved what is done. checks find names in the
// settings that no table has, for hgld config check and before hgld run begins.
func newStage[S any](name, command string, defaults S, files func(*S) (in, out []string), run func(*job, *S) error, checks ...func(*S) error) stage {
	return stage{
		name: name, command: command,
		settings: func() any { s := defaults; return &s },
		files:    func(s any) ([]string, []string) { return files(s.(*S)) },
		run:      func(j *job, s any) error { return run(j, s.(*S)) },
		check: func(s any) error {
			for _, check := range checks {
				if err := check(s.(*S)); err != nil {
					return withCode(exitUsage, err)
				}
			}
			return nil
		},
	}
}

// goingOn is the stage for a command that continues an earlier run with the
// settings which that run has kept.
func (s stage) goingOn() stage {
	s.goesOn = true
	return s
}

// job is what a running command has: where it writes, whether it should stop,
// and the options that all commands share.
type job struct {
	ctx     context.Context
	stdout  io.Writer // data
	stderr  io.Writer // everything else
	json    bool      // print data as JSON
	limit   int       // trial on the first n items; 0: all
	quiet   bool
	changed bool // inputs that were changed since a stage wrote them are meant so
	replace bool // overwrite what other work hangs on
	project *project
	args    []string // arguments behind the flags

	device, deviceOrigin string      // what computes, and who says so
	opened               []io.Closer // devices
}

// newJob opens the project and reads the common flags.
func newJob(c *cli.Context) (*job, error) {
	if n := c.Int("limit"); n < 0 {
		return nil, usagef("--limit is %d, want a number of items, or 0 for all", n)
	}
	p, err := openProject(c)
	if err != nil {
		return nil, err
	}
	j := jobIn(c, p)
	j.device, j.deviceOrigin, err = chosenDevice(c, p)
	return j, err
}

// jobIn reads the common flags for a command in a project.
func jobIn(c *cli.Context, p *project) *job {
	return &job{
		ctx: c.Context, stdout: c.App.Writer, stderr: c.App.ErrWriter,
		json: c.Bool("json"), limit: c.Int("limit"), quiet: c.Bool("quiet"), changed: c.Bool("changed"),
		replace: c.Bool("replace"),
		project: p, args: c.Args().Slice(),
	}
}

// say tells the user, on stderr, what is going on.
func (j *job) say(format string, args ...any) {
	if !j.quiet {
		fmt.Fprintln(j.stderr, visible(bounded(fmt.Sprintf(format, args...))))
	}
}

// print writes data to stdout.
func (j *job) print(format string, args ...any) {
	io.WriteString(j.stdout, visible(fmt.Sprintf(format, args...)))
}

// action makes the command-line action of a stage.
func (s stage) action(c *cli.Context) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	settings := s.settings()
	if err := j.project.load(c, s.name, settings); err != nil {
		return err
	}
	return s.execute(j, settings)
}

// execute runs the stage and records what it read and wrote, so that `hgld
// status` can tell whether its result is still good. A run that some items
// failed is recorded too: its files are complete.
func (s stage) execute(j *job, settings any) error {
	if err := s.missingInput(j, settings); err != nil {
		return err
	}
	if err := s.trustInputs(j, settings); err != nil {
		return err
	}
	in, out := s.files(settings)
	before, err := fingerprint(in)
	if err != nil {
		return fmt.Errorf("%s: %w", s.command, err)
	}
	err = errors.Join(s.run(j, settings), j.closeDevices())
	if err != nil && exitCode(err) != exitSomeFailed {
		return err
	}
	return errors.Join(err, s.record(j, settings, before, out, exitcode.IsRetryable(err)))
}

// subcommand is the urfave command of a stage: its flags come from the settings.
func (s stage) subcommand(name, usage, examples string) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, Description: examples,
		Flags:  append(flagsOf(s.settings()), stageFlags()...),
		Action: s.action,
	}
}

// stageFlags are the flags that every stage takes.
func stageFlags() []cli.Flag {
	return append(commonFlags(),
		&cli.IntFlag{Name: "limit", Usage: "trial: take only the first `N` items"},
		changedFlag(),
		overrideFlag(),
	)
}

// overrideFlag sets what has no flag of its own.
func overrideFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "override", Aliases: []string{"o"}, Usage: "set any setting of the stage: `key=value`"}
}

// commonFlags are the flags that every command with a project takes.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "project", Aliases: []string{"C"}, Usage: "folder with hgld.yaml (default: here or the nearest above)"},
		&cli.BoolFlag{Name: "json", Usage: "print data as JSON"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print results and errors only"},
	}
}

// group makes a command that only holds subcommands: alone it shows its help, and
// a misspelt subcommand is an error that names the nearest.
func group(name, usage, examples string, subcommands ...*cli.Command) *cli.Command {
	return &cli.Command{Name: name, Usage: usage, Description: examples, Subcommands: subcommands, Action: needsSubcommand}
}
