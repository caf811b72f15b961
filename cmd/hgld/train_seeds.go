package main

import (
	"github.com/urfave/cli/v2"

	"hgld/train"
	"hgld/train/history"
)

func seedsFlag() cli.Flag {
	return &cli.IntFlag{Name: "seeds", Value: 1,
		Usage: "train `N` runs, one a seed, into OUT-seed0, OUT-seed1 …, and print mean and interval; finished ones stay"}
}

// trainSeeds trains a run for each seed, one after the other, and compares them. A run that is
// complete has nothing left to do.
func trainSeeds(c *cli.Context, s *trainSettings, seeds int) error {
	var dirs []string
	for _, of := range s.Seeded(seeds) {
		j, err := newJob(c)
		if err != nil {
			return err
		}
		if err := trainStage().Execute(j, &of); err != nil {
			return err
		}
		dirs = append(dirs, of.Out)
	}
	j, err := newJob(c)
	if err != nil {
		return err
	}
	runs, err := readPastRuns(dirs)
	if err != nil {
		return err
	}
	var results []*train.Result
	for _, r := range runs {
		results = append(results, r.Result)
	}
	keys := history.Keys(results)
	groups := history.Groups(runs, keys, true)
	if j.json {
		return writeJSON(j, groups)
	}
	return printGroups(j, groups, keys, "text")
}
