package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
	"hgld/train/device"
)

// commands returns the tree of commands. A later version may add commands but not move any.
func commands() []*cli.Command {
	return []*cli.Command{
		demoCommand(), initCommand(), statusCommand(), runCommand(),
		scrapeCommand(), embedCommand(), clusterCommand(), curateCommand(),
		labelsCommand(), shardsCommand(), trainCommand(), runsCommand(), studyCommand(), evalCommand(), figureCommand(),
		embedImagesCommand(), searchCommand(),
		lossCommand(), modelsCommand(),
		configCommand(), devCommand(), doctorCommand(), versionCommand(), completionCommand(),
	}
}

// environment is what a command line finds around it.
type environment struct {
	stdout, stderr io.Writer
	cards          []device.Kind // kinds of GPUs, in the order in which auto tries them
	isolated       bool          // HGLD_* variables are ignored
}

// environmentKey is the key of the environment in the metadata of an application.
const environmentKey = "environment"

// environmentOf returns the environment of a running command.
func environmentOf(c *cli.Context) environment { return c.App.Metadata[environmentKey].(environment) }

// newApp builds the application for one command line.
func newApp(e environment, args []string) *cli.App {
	app := &cli.App{
		Name: "hgld", Usage: "hierarchical labels for image retrieval, and models trained on them",
		Writer: e.stdout, ErrWriter: e.stderr, Metadata: map[string]any{environmentKey: e},
		Commands: commands(), HideHelpCommand: true, Version: version, EnableBashCompletion: true,
		Suggest: false, DisableSliceFlagSeparator: true, ExitErrHandler: func(*cli.Context, error) {},
		CustomAppHelpTemplate: appHelp + flagLines(sharedFlags(), func(cli.Flag) bool { return true }),
		Action:                func(c *cli.Context) error { return needsSubcommand(c) },
	}
	completeCommands(app.Commands, args)
	app.OnUsageError = wrongFlag
	return app
}

// completeCommands completes every command with its help template and with errors for wrong flags.
// It also rejects arguments to a command that takes none, which would be ignored silently.
func completeCommands(list []*cli.Command, args []string) {
	for _, cmd := range list {
		switch {
		case len(cmd.Subcommands) > 0:
			cmd.CustomHelpTemplate = groupHelp
		case slices.ContainsFunc(args, cmd.HasName): // the flags of all commands take longer than most commands
			cmd.CustomHelpTemplate = commandHelp + flagHelp(cmd.Flags, cmd.UsageText)
		}
		cmd.HideHelpCommand = true
		cmd.OnUsageError = wrongFlag
		cmd.UseShortOptionHandling = false
		if run := cmd.Action; len(cmd.Subcommands) == 0 && run != nil {
			cmd.Action = func(c *cli.Context) error {
				if asksForHelp(c, args) {
					about := helpOf(c.Command, args)
					cli.HelpPrinter(c.App.Writer, about.CustomHelpTemplate, about)
					return nil
				}
				if err := surplusArgument(c); err != nil {
					return err
				}
				if err := checkFlagBounds(c); err != nil {
					return err
				}
				if err := checkAlone(c); err != nil {
					return err
				}
				end := writeMetrics(os.Getenv(metricsVariable))
				return errors.Join(run(c), end())
			}
		}
		completeCommands(cmd.Subcommands, args)
	}
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
	list, group := c.App.Commands, commandPath(c)
	if c.Command != nil && len(c.Command.Subcommands) > 0 {
		list = c.Command.Subcommands
	}
	var names []string
	for _, cmd := range list {
		names = append(names, cmd.Name)
	}
	unknown := &registry.UnknownError{Kind: strings.TrimSpace(group + " command"), Name: c.Args().First(),
		Nearest: registry.Nearest(c.Args().First(), names), Known: names}
	if meant := foreignCommands[group][strings.ToLower(c.Args().First())]; meant != "" {
		unknown.Nearest = "hgld " + meant
	}
	help := strings.TrimSpace("hgld " + group)
	if _, err := os.Stat(c.Args().First()); err == nil && slices.Contains(names, "run") {
		if meant := adviceOn(group+" run", c.Args().First()); meant != "" {
			return withHint(withCode(exitUsage, unknown), "%s", meant)
		}
	}
	return withHint(withCode(exitUsage, unknown), "%s --help lists the commands", help)
}

// group returns a command that only has subcommands. Without one it shows its help; for a
// misspelt one it returns an error that names the nearest.
func group(name, usage, examples string, subcommands ...*cli.Command) *cli.Command {
	return &cli.Command{Name: name, Usage: usage, Description: examples, Subcommands: subcommands,
		Action: needsSubcommand}
}
