package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/terminal"
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
	args    []string // arguments after the flags

	device, deviceOrigin string      // name of the device, and where it was set
	opened               []io.Closer // open devices
}

// newJob opens the project and reads the common flags.
func newJob(c *cli.Context) (*job, error) {
	if n := c.Int("limit"); n < 0 {
		return nil, usagef("--limit is %d; want a number of items, or 0 for all", n)
	}
	l := stages()
	l.Isolated = c.App.Metadata[isolated] == true
	p, err := l.Open(c.String("project"))
	if err != nil {
		return nil, err
	}
	j := jobIn(c, p)
	j.device, j.deviceOrigin, err = chosenDevice(c, p)
	return j, err
}

// jobIn reads the common flags for a command in a project.
func jobIn(c *cli.Context, p *pipeline.Project) *job {
	return &job{
		ctx: c.Context, stdout: c.App.Writer, stderr: c.App.ErrWriter,
		json: c.Bool("json"), limit: c.Int("limit"), quiet: c.Bool("quiet"), changed: c.Bool("changed"),
		replace: c.Bool("replace"), profile: c.Bool("profile"),
		project: p, args: c.Args().Slice(),
	}
}

// say tells the user on stderr what is going on. It is silent with --quiet.
func (j *job) say(format string, args ...any) {
	if !j.quiet {
		fmt.Fprintln(j.stderr, terminal.Visible(terminal.Bounded(fmt.Sprintf(format, args...))))
	}
}

// sayAll says lines in a format of one text.
func (j *job) sayAll(format string, lines []string) {
	for _, line := range lines {
		j.say(format, line)
	}
}

// print writes data to stdout.
func (j *job) print(format string, args ...any) {
	io.WriteString(j.stdout, terminal.Visible(fmt.Sprintf(format, args...)))
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

// Options returns what the command line asks of every stage.
func (j *job) Options() pipeline.Options {
	return pipeline.Options{Project: j.project, Limit: j.limit, Changed: j.changed}
}

// Say is say, exported for package pipeline.
func (j *job) Say(format string, args ...any) { j.say(format, args...) }

// Start says why a stage runs, and its command.
func (j *job) Start(st pipeline.State) { j.say("%s", j.heading(st)) }

// heading returns why a stage runs, and its command.
func (j *job) heading(st pipeline.State) string {
	return fmt.Sprintf("%-8s %s: %s -> %s", st.Stage, st.State, st.Describe(j.project), typed(j.project, st.Command))
}

// stageAction makes the command-line action of a stage.
func stageAction(s pipeline.Stage) cli.ActionFunc {
	return func(c *cli.Context) error {
		j, err := newJob(c)
		if err != nil {
			return err
		}
		own := s.Settings()
		if err := j.project.Load(c, s.Name, own); err != nil {
			return err
		}
		return s.Execute(j, own)
	}
}

// stageCommand makes the command of a stage: its flags come from the settings.
func stageCommand(s pipeline.Stage, name, usage, examples string) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, Description: examples,
		Flags:  append(flagsOf(s.Settings()), stageFlags()...),
		Action: stageAction(s),
	}
}

// stageFlags returns the flags that every stage takes.
func stageFlags() []cli.Flag {
	return append(commonFlags(),
		&cli.IntFlag{Name: "limit", Usage: "trial: take only the first `N` items"},
		changedFlag(),
		overrideFlag(),
	)
}

// overrideFlag sets any setting, including those without a flag.
func overrideFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: pipeline.OverrideFlag, Aliases: []string{"o"},
		Usage: "set any setting of the stage: `key=value`"}
}

// changedFlag accepts inputs that changed after a stage wrote them.
func changedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "changed",
		Usage: "accept inputs that changed after a stage wrote them, and record that"}
}

// commonFlags returns the flags of every command that works in a project.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "project", Aliases: []string{"C"},
			Usage: "folder with hgld.yaml (default: the current folder or the nearest parent that has one)"},
		&cli.BoolFlag{Name: "json", Usage: "print data as JSON"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print results and errors only"},
	}
}

// group returns a command that only has subcommands. Without one it shows its help; for a
// misspelt one it returns an error that names the nearest.
func group(name, usage, examples string, subcommands ...*cli.Command) *cli.Command {
	return &cli.Command{Name: name, Usage: usage, Description: examples, Subcommands: subcommands,
		Action: needsSubcommand}
}
