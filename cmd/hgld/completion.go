package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
)

// shells lists the completion scripts. bash, zsh and PowerShell ask hgld itself
// for the words that fit; fish gets them written out.
var shells = registry.Table[string]{
	{Name: "bash", About: "bash", Value: `_hgld() {
  local cur words
  COMPREPLY=()
  cur="${COMP_WORDS[COMP_CWORD]}"
  words=$("${COMP_WORDS[@]:0:$COMP_CWORD}" $([[ "$cur" == -* ]] && echo "$cur") --generate-bash-completion 2>/dev/null)
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "$cur"))
}
complete -o filenames -F _hgld hgld
`},
	{Name: "zsh", About: "zsh", Value: `#compdef hgld
_hgld() {
  local -a words
  words=("${(@f)$(${words[1,$((CURRENT-1))]} --generate-bash-completion 2>/dev/null)}")
  compadd -a words
  _files
}
compdef _hgld hgld
`},
	{Name: "fish", About: "fish"},
	{Name: "powershell", About: "PowerShell", Value: `Register-ArgumentCompleter -Native -CommandName hgld -ScriptBlock {
  param($word, $ast, $position)
  $line = $ast.ToString().Substring(0, [Math]::Min($position, $ast.ToString().Length))
  if ($word) { $line = $line.Substring(0, $line.Length - $word.Length) }
  Invoke-Expression "$line --generate-bash-completion" 2>$null |
    Where-Object { $_ -like "$word*" } |
    ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_) }
}
`},
}

func completionCommand() *cli.Command {
	cmd := group("completion", "completion script for a shell",
		"  source <(hgld completion bash)\n  hgld completion zsh > \"${fpath[1]}/_hgld\"\n  hgld completion fish > ~/.config/fish/completions/hgld.fish")
	for _, shell := range shells {
		cmd.Subcommands = append(cmd.Subcommands, &cli.Command{
			Name: shell.Name, Usage: "completion for " + shell.About, Description: "  hgld completion " + shell.Name,
			Action: func(c *cli.Context) error {
				script := shell.Value
				if shell.Name == "fish" {
					var err error
					if script, err = c.App.ToFishCompletion(); err != nil {
						return fmt.Errorf("completion: %w", err)
					}
				}
				_, err := io.WriteString(c.App.Writer, script)
				return err
			},
		})
	}
	return cmd
}
