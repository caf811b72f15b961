package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/curate"
)

func curateSalvageCommand() *cli.Command {
	return &cli.Command{
		Name: "salvage", Usage: "copy the edits before the damage in a log to a new log", ArgsUsage: "LOG [NEW]",
		Description: "  hgld curate salvage edits.jsonl                  writes the sound edits to edits.salvaged.jsonl\n" +
			"  hgld curate salvage edits.jsonl sound.jsonl      to another name; the damaged log is left unchanged",
		Flags: commonFlags(),
		Action: actionWithArgs(1, 2, "a damaged log and the name of the new one", func(c *cli.Context, j *job) error {
			to := strings.TrimSuffix(j.args[0], filepath.Ext(j.args[0])) + ".salvaged" + filepath.Ext(j.args[0])
			if len(j.args) == 2 {
				to = j.args[1]
			}
			return runCurateSalvage(j, j.args[0], to)
		}),
	}
}

// runCurateSalvage is `hgld curate salvage`. It returns exit code 3 if edits are lost.
func runCurateSalvage(j *job, from, to string) error {
	s, err := curate.Salvage(from, to)
	var damage *curate.DamageError
	switch {
	case errors.As(err, &damage):
		return withHint(err,
			"no edit can be kept without the header, which names the draft: restore the log from a backup")
	case errors.Is(err, fs.ErrExist):
		return withHint(err, "name another file after %s", filepath.Base(from))
	case err != nil:
		return logError(err)
	}
	edits := count(len(s.Edits), "edit")
	if j.json {
		result := map[string]any{"log": from, "edits": len(s.Edits), "sound": s.Damage == nil}
		if s.Damage != nil {
			result["new"], result["damage"], result["lines_left_out"] = to, s.Damage.Error(), s.Left
		}
		if err := writeJSON(j, result); err != nil {
			return err
		}
	}
	if s.Damage == nil {
		if !j.json {
			j.print("%s is sound: %s; nothing to salvage\n", from, edits)
		}
		return nil
	}
	if !j.json {
		j.print("%s written: %s; %s left out\n", to, edits, count(s.Left, "line"))
		j.print("continue with it: hgld curate serve --log %s\n", word(to))
	}
	return withCode(exitSomeFailed,
		fmt.Errorf("edit %d and all edits after it could not be kept: %w", len(s.Edits)+1, s.Damage))
}
