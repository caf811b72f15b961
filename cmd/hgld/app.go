package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
	"hgld/internal/settings"
)

const welcome = `hgld builds labels with a hierarchy for image retrieval, and trains models on them.

  hgld demo                the whole pipeline in a minute, offline, without a GPU
  hgld init my-project     start a project: a folder with a commented hgld.yaml
  hgld status              what is done, what is stale, and the next command
  hgld --help              all commands
`

// commands returns the tree of commands. A later version may add commands but not move any.
func commands() []*cli.Command {
	return []*cli.Command{
		demoCommand(), initCommand(), statusCommand(), runCommand(),
		scrapeCommand(), embedCommand(), clusterCommand(), curateCommand(),
		labelsCommand(), shardsCommand(), trainCommand(), runsCommand(), evalCommand(), searchCommand(),
		lossCommand(), modelsCommand(),
		configCommand(), devCommand(), doctorCommand(), versionCommand(), completionCommand(),
	}
}

// newApp builds the application for one command line.
func newApp(stdout, stderr io.Writer, args []string) *cli.App {
	app := &cli.App{
		Name: "hgld", Usage: "hierarchical labels for image retrieval, and models trained on them",
		Writer: stdout, ErrWriter: stderr,
		Commands: commands(), HideHelpCommand: true, Version: version, EnableBashCompletion: true,
		Suggest: false, DisableSliceFlagSeparator: true, ExitErrHandler: func(*cli.Context, error) {},
		CustomAppHelpTemplate: appHelp,
		Action:                func(c *cli.Context) error { return needsSubcommand(c) },
	}
	guard(app.Commands, args)
	app.OnUsageError = wrongFlag
	return app
}

// guard completes every command with its help template and with errors for wrong flags.
// It also rejects input that would be ignored silently: arguments to a command that takes
// none, and flags after an argument, which the flag package treats as arguments.
func guard(list []*cli.Command, args []string) {
	for _, cmd := range list {
		switch {
		case len(cmd.Subcommands) > 0:
			cmd.CustomHelpTemplate = groupHelp
		case slices.ContainsFunc(args, cmd.HasName): // the flags of all commands take longer than most commands
			cmd.CustomHelpTemplate = commandHelp + flagHelp(cmd.Flags)
		}
		cmd.HideHelpCommand = true
		cmd.OnUsageError = wrongFlag
		cmd.UseShortOptionHandling = false
		if run := cmd.Action; len(cmd.Subcommands) == 0 && run != nil {
			cmd.Action = func(c *cli.Context) error {
				if asksForHelp(c, args) {
					cli.HelpPrinter(c.App.Writer, c.Command.CustomHelpTemplate, c.Command)
					return nil
				}
				if err := trailingFlag(c, args); err != nil {
					return err
				}
				if err := surplusArgument(c); err != nil {
					return err
				}
				if err := checkFlagBounds(c); err != nil {
					return err
				}
				return run(c)
			}
		}
		guard(cmd.Subcommands, args)
	}
}

// asksForHelp reports whether an argument is --help: users append it to a command line
// that they have typed.
func asksForHelp(c *cli.Context, args []string) bool {
	return !slices.Contains(args, "--") && slices.ContainsFunc(c.Args().Slice(),
		func(a string) bool { return a == "--help" || a == "-h" })
}

// trailingFlag returns an error for an argument that looks like a flag, unless the user
// wrote "--" before it.
func trailingFlag(c *cli.Context, args []string) error {
	free := 0
	if i := slices.Index(args, "--"); i >= 0 {
		free = len(args) - i - 1
	}
	list := c.Args().Slice()
	for _, a := range list[:max(0, len(list)-free)] {
		if len(a) > 1 && a[0] == '-' {
			return withHint(usagef("flag %s comes after the argument %.80q and would be ignored", a, list[0]),
				"write flags first: hgld %s %s … %s", commandPath(c), a, list[0])
		}
	}
	return nil
}

// surplusArgument returns an error for the arguments of a command that takes none.
func surplusArgument(c *cli.Context) error {
	if c.Command.ArgsUsage != "" || c.NArg() == 0 {
		return nil
	}
	path, first := commandPath(c), c.Args().First()
	err := usagef("%s takes no arguments, only flags; got %.80q", path, strings.Join(c.Args().Slice(), " "))
	switch {
	case path == "run" && slices.Contains(stageNames(), first):
		i := slices.Index(stageNames(), first)
		return withHint(err, "hgld run --until %s runs all stages up to this one; hgld %s runs it alone", first,
			sections()[i].Command)
	}
	if meant := argumentMeant(path, first); meant != "" {
		return withHint(err, "%s", meant)
	}
	return err
}

// flagBounds holds the bounds of numeric flags that are not settings. A setting declares
// its bounds in the tag of its field.
var flagBounds = map[string]settings.Bounds{
	"threads": {Least: 0, Most: 1024}, "iterations": {Least: 1, Most: 1e6}, "seeds": {Least: 1, Most: 1000},
	"measure": {Least: 1, Most: 1e6}, "trials": {Least: 2, Most: 1e4}, "eta": {Least: 2, Most: 100},
	"neighbours": {Least: 1, Most: 1e7}, "places": {Least: 1, Most: 1e7},
}

// checkFlagBounds returns an error for a numeric flag that is out of bounds.
func checkFlagBounds(c *cli.Context) error {
	for _, f := range c.Command.Flags {
		number, is := f.(*cli.IntFlag)
		if !is || !c.IsSet(number.Name) {
			continue
		}
		if want, bounded := flagBounds[number.Name]; bounded {
			if x := float64(c.Int(number.Name)); x < want.Least || x > want.Most {
				return withCode(exitUsage, &settings.BoundsError{Key: "--" + number.Name, Value: x, Want: want,
					Whole: true})
			}
		}
	}
	return nil
}

func commandPath(c *cli.Context) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.Command.HelpName, "hgld"), " ")
}

// needsSubcommand is the action of the application and of every group of commands.
func needsSubcommand(c *cli.Context) error {
	if !c.Args().Present() {
		if c.Command == nil || c.Command.Name == "hgld" || c.Command.HelpName == "hgld" {
			fmt.Fprint(c.App.Writer, welcome)
			return nil
		}
		return cli.ShowSubcommandHelp(c)
	}
	if c.Args().First() == "help" {
		return showHelp(c)
	}
	list, kind := c.App.Commands, "command"
	if c.Command != nil && len(c.Command.Subcommands) > 0 {
		list = c.Command.Subcommands
		if c.Command.Name != "hgld" {
			kind = c.Command.Name + " command"
		}
	}
	var names []string
	for _, cmd := range list {
		names = append(names, cmd.Name)
	}
	group := commandPath(c)
	unknown := &registry.UnknownError{Kind: kind, Name: c.Args().First(),
		Nearest: registry.Nearest(c.Args().First(), names), Known: names}
	if meant := commandsElsewhere[group][strings.ToLower(c.Args().First())]; meant != "" {
		unknown.Nearest = "hgld " + meant
	}
	help := strings.TrimSpace("hgld " + group)
	if _, err := os.Stat(c.Args().First()); err == nil && slices.Contains(names, "run") {
		if meant := argumentMeant(group+" run", c.Args().First()); meant != "" {
			return withHint(withCode(exitUsage, unknown), "%s", meant)
		}
	}
	return withHint(withCode(exitUsage, unknown), "%s --help lists the commands", help)
}

// showHelp runs when the user types "help" in place of a command.
func showHelp(c *cli.Context) error {
	if rest := c.Args().Tail(); len(rest) > 0 {
		command := strings.Join(append(strings.Fields(commandPath(c)), rest...), " ")
		return withHint(usagef("help takes no arguments"), "hgld %s --help", command)
	}
	if c.Command != nil && len(c.Command.Subcommands) > 0 && c.Command.Name != "hgld" {
		return cli.ShowSubcommandHelp(c)
	}
	return cli.ShowAppHelp(c)
}

var undefinedFlag = regexp.MustCompile(`flag provided but not defined: -+(\S+)`)

// wrongFlag replaces the flag package's error with one that names the nearest flag.
func wrongFlag(c *cli.Context, err error, _ bool) error {
	m := undefinedFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return withCode(exitUsage, err)
	}
	flags, name := c.App.Flags, "--"+m[1]
	if len(m[1]) == 1 {
		name = "-" + m[1]
	}
	path := strings.TrimSpace(commandPath(c))
	if c.Command != nil {
		flags = c.Command.Flags
	}
	var names []string
	for _, f := range flags {
		for _, n := range f.Names() {
			if len(n) > 1 {
				names = append(names, n)
			}
		}
	}
	unknown := &registry.UnknownError{Kind: "flag", Name: name, Nearest: registry.Nearest(m[1], names)}
	if unknown.Nearest != "" {
		unknown.Nearest = "--" + unknown.Nearest
	}
	if meant := flagLike(m[1], c); meant != "" && unknown.Nearest == "" {
		return withHint(withCode(exitUsage, unknown), "%s; hgld %s --help lists the flags", meant, path)
	}
	if path == "" && takenByCommands(m[1]) {
		return withHint(withCode(exitUsage, unknown), "put %s after the command: hgld status %s …", name, name)
	}
	return withHint(withCode(exitUsage, unknown), "%s --help lists the flags", strings.TrimSpace("hgld "+path))
}

// takenByCommands reports whether any command has a flag called name.
func takenByCommands(name string) bool {
	return slices.ContainsFunc(commonFlags(), func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// flagHelp returns the part of a help template that describes flags. It returns finished
// text: a template action over the flags would format them with cli.FlagStringer, which is
// a global variable.
func flagHelp(flags []cli.Flag) string {
	var b strings.Builder
	for _, f := range slices.Concat(flags, []cli.Flag{cli.HelpFlag}) {
		if seen, ok := f.(cli.VisibleFlag); !ok || seen.IsVisible() {
			fmt.Fprintf(&b, "  %s\n", describeFlag(f))
		}
	}
	return strings.ReplaceAll(b.String(), "{{", "{{`{{`}}")
}

// flagColumn is the column where the description of a flag begins.
const flagColumn = 26

// describeFlag returns the help line of a flag: its names and value, what it does, and its
// default unless that is empty.
func describeFlag(f cli.Flag) string {
	var names []string
	for _, n := range f.Names() {
		if len(n) > 1 {
			names = append([]string{"--" + n}, names...)
		} else {
			names = append(names, "-"+n)
		}
	}
	left := strings.Join(names, ", ")
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return left
	}
	usage, value := unquoteUsage(doc.GetUsage())
	if doc.TakesValue() {
		left += " " + value
	}
	if text := doc.GetDefaultText(); doc.TakesValue() && text != "" && text != "\"\"" && text != "0" {
		usage += " (default: " + text + ")"
	}
	if len(left) >= flagColumn {
		return left + "\n" + strings.Repeat(" ", flagColumn+3) + usage
	}
	return fmt.Sprintf("%-*s %s", flagColumn, left, usage)
}

// unquoteUsage returns the usage without back quotes, and the name of the flag's value,
// which is the quoted word.
func unquoteUsage(usage string) (text, value string) {
	before, rest, found := strings.Cut(usage, "`")
	name, after, closed := strings.Cut(rest, "`")
	if !found || !closed {
		return usage, "VALUE"
	}
	return before + name + after, name
}

const appHelp = `{{.Name}}: {{.Usage}}

Examples:
  hgld demo                        the whole pipeline in a minute, offline, without a GPU
  hgld init my-project             start a project
  hgld run                         execute every stale stage of hgld.yaml in order
  hgld cluster run --k 150         one stage alone

Usage: hgld COMMAND [SUBCOMMAND] [flags]

Commands:
{{range .VisibleCommands}}  {{printf "%-12s" .Name}} {{.Usage}}
{{range .VisibleCommands}}    {{printf "%-12s" .Name}} {{.Usage}}
{{end}}{{end}}
hgld COMMAND --help shows examples and flags.
`

const groupHelp = `hgld {{.Name}}: {{.Usage}}
{{if .Description}}
Examples:
{{.Description}}
{{end}}
Commands:
{{range .VisibleCommands}}  {{$.HelpName}} {{printf "%-10s" .Name}} {{.Usage}}
{{end}}
`

const commandHelp = `{{.HelpName}}: {{.Usage}}
{{if .Description}}
Examples:
{{.Description}}
{{end}}
Usage: {{.HelpName}} [flags]{{if .ArgsUsage}} {{.ArgsUsage}}{{end}}

Flags:
`
