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
// Flags that many commands share follow in a paragraph without explanations, and then settings, a sentence.
func flagHelp(flags []cli.Flag, settings string) string {
	text := flagLines(append(slices.Clone(flags), cli.HelpFlag), func(f cli.Flag) bool { return !isShared(f) })
	var shared []string
	for _, f := range flags {
		if isShared(f) {
			shared = append(shared, flagNames(f))
		}
	}
	if len(shared) > 0 {
		text += "\nAs in other commands (hgld --help):\n" + filled(shared, ", ")
	}
	if settings != "" {
		text += "\n" + filled(strings.Fields(settings), " ")
	}
	return text
}

// flagLines describes the visible flags that a function accepts, one a line.
func flagLines(flags []cli.Flag, accept func(cli.Flag) bool) string {
	var b strings.Builder
	for _, f := range flags {
		if seen, ok := f.(cli.VisibleFlag); accept(f) && (!ok || seen.IsVisible()) {
			fmt.Fprintf(&b, "  %s\n", describeFlag(f))
		}
	}
	return strings.ReplaceAll(b.String(), "{{", "{{`{{`}}")
}

// filled joins words to indented lines of at most 100 characters.
func filled(words []string, between string) string {
	var b strings.Builder
	width := 0
	for i, w := range words {
		if i < len(words)-1 {
			w += strings.TrimSpace(between)
		}
		if width > 0 && width+1+len(w) > 100 {
			b.WriteString("\n")
			width = 0
		}
		if width == 0 {
			w = "  " + w
		} else {
			w = " " + w
		}
		b.WriteString(w)
		width += len(w)
	}
	return b.String() + "\n"
}

// flagColumn is the column where the description of a flag begins.
const flagColumn = 26

// flagNames returns the names of a flag and its value, such as "--project, -C FOLDER".
func flagNames(f cli.Flag) string {
	var names []string
	for _, n := range f.Names() {
		if len(n) > 1 {
			names = append([]string{"--" + n}, names...)
		} else {
			names = append(names, "-"+n)
		}
	}
	left := strings.Join(names, ", ")
	if doc, ok := f.(cli.DocGenerationFlag); ok && doc.TakesValue() {
		_, value := unquoteUsage(doc.GetUsage())
		left += " " + value
	}
	return left
}

// describeFlag returns the help line of a flag: its names and value, what it does, and its
// default unless that is empty.
func describeFlag(f cli.Flag) string {
	left := flagNames(f)
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return left
	}
	usage, _ := unquoteUsage(doc.GetUsage())
	if text := doc.GetDefaultText(); doc.TakesValue() && text != "" && text != "\"\"" && text != "0" {
		usage += " (default: " + text + ")"
	}
	if b, ok := f.(*cli.BoolFlag); ok && b.Value {
		usage += " (default: true; " + left + "=false)"
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

Flags of many commands, before or behind the command:
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
