package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// asksForHelp reports whether an argument is --help: users append it to a command line
// that they have typed.
func asksForHelp(c *cli.Context, args []string) bool {
	return !slices.Contains(args, "--") && slices.ContainsFunc(c.Args().Slice(),
		func(a string) bool { return a == "--help" || a == "-h" })
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
	if b, ok := f.(*cli.BoolFlag); ok && b.Value {
		usage += " (default: true; " + names[0] + "=false)"
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

const groupHelp = `{{.HelpName}}: {{.Usage}}
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

const welcome = `hgld builds labels with a hierarchy for image retrieval, and trains models on them.

  hgld demo                the whole pipeline in a minute, offline, without a GPU
  hgld init my-project     start a project: a folder with a commented hgld.yaml
  hgld status              what is done, what is stale, and the next command
  hgld --help              all commands
`
