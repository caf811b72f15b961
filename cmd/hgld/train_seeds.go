package main

import "github.com/urfave/cli/v2"

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
	return compareRuns(j, dirs, nil, true, "text")
}
