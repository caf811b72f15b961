package main

import (
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"hgld/train/experiment/runs"
)

const runsExamples = "  hgld runs list                          the runs in runs/: state, loss, speed, result\n" +
	"  hgld runs plot --out loss.svg runs/a runs/b\n" +
	"  hgld runs plot --metric H-AP --out h-ap.png runs/a runs/b\n"

func runsCommand() *cli.Command {
	return group("runs", "list and plot training runs", runsExamples,
		runsListCommand(), runsPlotCommand())
}

// readPastRun reads a run directory.
func readPastRun(dir string) (*runs.Run, error) {
	if info, err := os.Stat(dir); err != nil || info.IsDir() {
		if r, err := runs.Read(dir); err != nil || r.Settings != nil {
			return r, err
		}
	}
	return nil, withHint(usagef("%s has no %s: it is not a run directory", dir, runs.SettingsFile),
		"hgld runs list lists them")
}

// readPastRuns reads several run directories.
func readPastRuns(dirs []string) ([]*runs.Run, error) {
	var list []*runs.Run
	for _, dir := range dirs {
		r, err := readPastRun(dir)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

func runsListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "the runs in a folder", ArgsUsage: "[FOLDER]",
		Description: "  hgld runs list\n  hgld runs list --json elsewhere/runs",
		Flags:       commonFlags(),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			folder := j.project.Join("runs")
			switch len(j.args) {
			case 0:
			case 1:
				folder = j.args[0]
			default:
				return usagef("runs list takes one folder; got %d", len(j.args))
			}
			return listRuns(j, folder)
		},
	}
}

// listRuns prints the runs in a folder. If one cannot be read, it still prints the others.
func listRuns(j *job, folder string) error {
	dirs, err := runs.Find(folder)
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		return withHint(usagef("%s contains no runs", folder), "hgld train run creates one in runs/default")
	}
	var list []runs.Line
	var unread []error
	for _, dir := range dirs {
		r, err := readPastRun(dir)
		if err != nil {
			list, unread = append(list, runs.Unread(dir)), append(unread, err)
			continue
		}
		list = append(list, r.Line())
	}
	failed := errors.Join(unread...)
	if j.json {
		return errors.Join(failed, writeJSON(j, list))
	}
	j.print("%s", runs.ListText(list))
	for _, l := range list {
		if l.NoLoss > 0 {
			j.log("%s: %s had no query with a positive and do not count in the loss", l.Run, count(l.NoLoss, "step"))
		}
	}
	return failed
}
