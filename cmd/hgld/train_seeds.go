package main

import "github.com/urfave/cli/v2"

func seedsFlag() cli.Flag {
	return &cli.IntFlag{Name: "seeds", Value: 1,
		Usage: "train `N` runs with different seeds in OUT-seed0, OUT-seed1 …, and print mean and interval; finished runs are kept"}
}

// trainSeeds trains one run per seed, one after the other, and compares them. It does not
// repeat runs that are complete.
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
	return runsCompared{seeds: true, format: "text"}.compare(j, dirs)
}
