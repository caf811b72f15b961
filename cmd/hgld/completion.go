package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
)

// shells lists the completion scripts. bash, zsh and PowerShell ask hgld itself
// for the words that fit; fish gets them written out.
//
// After "--" the shell completes nothing, because hgld would take the completion request
// for an argument and run the command. To complete "--" itself, the scripts pass "-"
// instead. No script evaluates the text of the line.
var shells = registry.Table[string]{
	{Name: "bash", About: "bash", Value: `_hgld() {
  local cur="${COMP_WORDS[COMP_CWORD]}" word
  local -a line=()
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:0:COMP_CWORD}"; do
    [[ "$word" == -- ]] && return
    line+=("$word")
  done
  case "$cur" in
    --) line+=(-) ;;
    -*) line+=("$cur") ;;
  esac
  COMPREPLY=($(compgen -W "$("${line[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o default -F _hgld hgld
`},
	{Name: "zsh", About: "zsh", Value: `#compdef hgld
_hgld() {
  local -a line found
  line=(${words[1,CURRENT-1]})
  (( ${line[(Ie)--]} )) && { _files; return }
  case ${words[CURRENT]} in
    (--) line+=(-) ;;
    (-*) line+=(${words[CURRENT]}) ;;
  esac
  found=("${(@f)$(${line} --generate-bash-completion 2>/dev/null)}")
  found=(${found:#})
  compadd -a found || _files
}
if [ "$funcstack[1]" = _hgld ]; then _hgld "$@"; else compdef _hgld hgld; fi
`},
	{Name: "fish", About: "fish"},
	{Name: "powershell", About: "PowerShell", Value: `Register-ArgumentCompleter -Native -CommandName hgld -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.EndOffset -lt $position } |
    ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })
  if ($words -ccontains '--') { return }
  if ($word -eq '--') { $words += '-' } elseif ($word.StartsWith('-')) { $words += $word }
  & $ast.GetCommandName() @words --generate-bash-completion 2>$null |
    Where-Object { $_ -and $_.StartsWith($word) } |
    ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_) }
}
`},
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "completion script for a shell: bash, zsh, fish or powershell", ArgsUsage: "SHELL",
		Hidden: true,
		Description: "  source <(hgld completion bash)\n  hgld completion zsh > \"${fpath[1]}/_hgld\"\n" +
			"  hgld completion fish > ~/.config/fish/completions/hgld.fish",
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("completion takes one shell: %s; got %s", strings.Join(shells.Names(), ", "),
					count(c.NArg(), "argument"))
			}
			script, err := shells.Get("shell", c.Args().First())
			if err != nil {
				return withCode(exitUsage, err)
			}
			if c.Args().First() == "fish" {
				if script, err = c.App.ToFishCompletion(); err != nil {
					return fmt.Errorf("completion: %w", err)
				}
			}
			_, err = io.WriteString(c.App.Writer, script)
			return err
		},
	}
}
