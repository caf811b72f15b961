package main

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"hgld/train"
	"hgld/train/history"
)

const runsExamples = "  hgld runs list                          the runs in runs/: state, loss, speed, result\n" +
	"  hgld runs compare runs/a runs/b         results side by side, and the settings that differ\n" +
	"  hgld runs compare --seeds runs/*        mean and deviation over runs that differ in their seeds alone\n" +
	"  hgld runs plot --out loss.svg runs/a runs/b\n" +
	"  hgld runs plot --what H-AP --out h-ap.png runs/a runs/b"

func runsCommand() *cli.Command {
	return group("runs", "look at trainings: list, compare, plot", runsExamples, runsListCommand(), runsCompareCommand(),
		runsPlotCommand())
}

// readPastRun reads a run directory.
func readPastRun(dir string) (*history.Run, error) {
	if info, err := os.Stat(dir); err != nil || info.IsDir() {
		if r, err := history.Read(dir); err != nil || r.Settings != nil {
			return r, err
		}
	}
	return nil, withHint(usagef("%s has no %s: it is not a run directory", dir, history.SettingsFile),
		"hgld runs list lists them")
}

// readPastRuns reads several.
func readPastRuns(dirs []string) ([]*history.Run, error) {
	var list []*history.Run
	for _, dir := range dirs {
		r, err := readPastRun(dir)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// runLine is one line of `hgld runs list`.
type runLine struct {
	Run      string       `json:"run"`
	State    string       `json:"state"`
	Backbone string       `json:"backbone"`
	LossName string       `json:"loss_name"`
	Seed     uint64       `json:"seed"`
	Loss     train.Number `json:"loss"`
	NoLoss   int          `json:"steps_without_loss,omitempty"` // no query of theirs had a positive
	Speed    train.Number `json:"images_per_second"`
	On       string       `json:"on"`          // what the last evaluation was of: validation or test; empty: there was none
	Fine     train.Number `json:"r@1_percent"` // R@1 of the finest level
	HAP      train.Number `json:"h_ap_percent"`
	Trained  float64      `json:"trained_seconds"` // of all steps, without evaluations
	Changed  time.Time    `json:"changed,omitzero"`
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
				return usagef("runs list takes one folder, got %d", len(j.args))
			}
			return listRuns(j, folder)
		},
	}
}

func listRuns(j *job, folder string) error {
	settings, err := fs.Glob(os.DirFS(folder), "*/"+history.SettingsFile)
	if err != nil {
		return err
	}
	if len(settings) == 0 {
		return withHint(usagef("%s holds no runs", folder), "hgld train run makes one in runs/default")
	}
	var list []runLine
	var unread []error
	for _, name := range settings {
		dir := filepath.Join(folder, path.Dir(name))
		r, err := readPastRun(dir)
		if err != nil { // the others are listed all the same
			none := train.Number(math.NaN())
			list = append(list, runLine{Run: dir, State: "unread", Backbone: "–", LossName: "–", Loss: none, Speed: none,
				Fine: none, HAP: none})
			unread = append(unread, err)
			continue
		}
		on := ""
		if r.Result != nil {
			on = r.Result.On
		}
		list = append(list, runLine{
			On: on, Run: r.Dir, State: r.State(), Backbone: r.Settings.Model.Backbone.Name, LossName: r.Settings.Loss.Name,
			Seed: r.Settings.Seed,
			Loss: r.Loss(), NoLoss: r.WithoutLoss(), Speed: r.Speed(), Fine: history.Percent(r.Result, "R@1_level0"),
			HAP:     history.Percent(r.Result, "H-AP"),
			Trained: r.Trained().Seconds(), Changed: r.Changed,
		})
	}
	failed := errors.Join(unread...)
	if j.json {
		return errors.Join(failed, writeJSON(j, list))
	}
	width, state := len("run"), len("state")
	for _, l := range list {
		width, state = max(width, utf8.RuneCountInString(l.Run)), max(state, len(l.State))
	}
	j.print("%-*s  %-*s  %-12s %-20s %5s %8s %7s  %-10s %7s %7s  %9s  %s\n", width, "run", state, "state", "backbone",
		"loss", "seed", "value", "img/s", "measured", "R@1", "H-AP", "trained", "changed")
	for _, l := range list {
		j.print("%-*s  %-*s  %-12s %-20s %5d %8s %7s  %-10s %7s %7s  %9s  %s\n", width, l.Run, state, l.State, l.Backbone,
			l.LossName, l.Seed, l.Loss.Decimals(4, "–"), l.Speed.Decimals(0, "–"), cmp.Or(l.On, "–"),
			l.Fine.Decimals(2, "–"), l.HAP.Decimals(2, "–"),
			time.Duration(l.Trained)*time.Second, dayOf(l.Changed))
	}
	for _, l := range list {
		if l.NoLoss > 0 {
			j.say("%s: %s had no query with a positive and are not part of the loss", l.Run, count(l.NoLoss, "step"))
		}
	}
	return failed
}

// dayOf formats a time for a list.
func dayOf(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Format("2006-01-02 15:04")
}
