package main

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/shards"
)

// loadShards reads the settings of a command that takes those of `hgld shards build`.
func loadShards(c *cli.Context) (*job, *shardsSettings, error) {
	j, err := newJob(c)
	if err != nil {
		return nil, nil, err
	}
	s, err := shardsStage().Load(j.project, c)
	if err != nil {
		return nil, nil, err
	}
	return j, s, shardsStage().TrustInputs(j, s)
}

func shardsSliceCommand() *cli.Command {
	return &cli.Command{
		Name: "slice", Usage: "build every T-th shard alone, for many machines with one folder", ArgsUsage: "N/T",
		Description: "  hgld shards slice --dataset gldv2 --input gldv2 3/8          shards 3, 11, 19 …\n" +
			"  sbatch --array=1-8 --wrap 'hgld shards slice … auto'         SLURM's array says which\n" +
			"  hgld shards slice … auto/8                                   or JOB_COMPLETION_INDEX of Kubernetes\n" +
			"  hgld shards build …                                          at the end, with the same settings",
		Flags: append(append(flagsOf(shardsStage().Defaults()), stageFlags()...), replaceFlag()),
		Action: func(c *cli.Context) error {
			j, s, err := loadShards(c)
			if err != nil {
				return err
			}
			if len(j.args) != 1 {
				return usagef("name one slice, such as 3/8, behind the flags; got %.80q", strings.Join(j.args, " "))
			}
			n, of, err := parseSlice(j.args[0], os.Getenv)
			if err != nil {
				return err
			}
			return runShardsSlice(j, s, n, of, c.Bool("replace"))
		},
	}
}

// parseSlice reads "3/8", or "auto" with or without a number of slices: SLURM
// numbers the tasks of an array from any number on, and says how many there are;
// Kubernetes numbers the pods of a job from 0 on, and does not.
func parseSlice(text string, getenv func(string) string) (n, of int, err error) {
	first, rest, counted := strings.Cut(text, "/")
	if counted {
		if of, err = strconv.Atoi(rest); err != nil {
			return 0, 0, usagef("slice %.80q; want N/T, such as 3/8, or auto", text)
		}
	}
	if first != "auto" {
		n, err = strconv.Atoi(first)
		if err != nil || !counted || n < 1 || n > of {
			return 0, 0, usagef("slice %.80q; want N/T, such as 3/8, with N from 1 to T, or auto", text)
		}
		return n, of, nil
	}
	number := func(name string) (int, bool) {
		v, err := strconv.Atoi(getenv(name))
		return v, err == nil
	}
	if id, ok := number("SLURM_ARRAY_TASK_ID"); ok {
		least, _ := number("SLURM_ARRAY_TASK_MIN")
		tasks, _ := number("SLURM_ARRAY_TASK_COUNT")
		n = id - least + 1
		if !counted {
			of = tasks
		}
	} else if index, ok := number("JOB_COMPLETION_INDEX"); ok {
		n = index + 1
		if !counted {
			return 0, 0, usagef("JOB_COMPLETION_INDEX is %d of unknown many; name their number: auto/8", index)
		}
	} else {
		return 0, 0, usagef("slice %.80q, and neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set; name it, such as 3/8", text)
	}
	if n < 1 || n > of {
		return 0, 0, usagef("slice %.80q is %d of %d here; want an array of tasks that follow each other, as many as there are slices", text, n, of)
	}
	return n, of, nil
}

func runShardsSlice(j *job, s *shardsSettings, n, of int, replace bool) error {
	src, o, err := s.openSource(j)
	if err != nil {
		return err
	}
	o.Replace = replace
	end := showImages(j, o)
	r, err := shards.BuildSlice(j.ctx, src, s.Out, n, of, *o)
	end()
	if err := errors.Join(err, src.Close()); err != nil {
		listRefused(j, err)
		return shardsError(err)
	}
	if j.json {
		err = writeJSON(j, map[string]any{"slice": n, "of": of, "shards": r.Shards, "kept": r.Kept, "images": r.Images, "failures": len(r.Failures)})
	} else {
		j.print("slice %d of %d: %s in %s, %d there already\n", n, of, count(r.Images, "image"), count(r.Shards, "shard"), r.Kept)
	}
	return errors.Join(err, failureError(r.Failures, "`hgld shards build`, at the end, lists them in "+shards.FailuresFile))
}

func shardsPlanCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "the shards that a build would write, and which are there",
		Description: "  hgld shards plan                      every shard with its images\n" +
			"  hgld shards plan --missing 8          the slices of 8 that miss one: sbatch --array=$(…)",
		Flags: append(flagsOf(shardsStage().Defaults()), append(stageFlags(),
			&cli.IntFlag{Name: "missing", Usage: "print only which of `T` slices have to be run, as 2,5,7"})...),
		Action: func(c *cli.Context) error {
			j, s, err := loadShards(c)
			if err != nil {
				return err
			}
			of := c.Int("missing")
			if c.IsSet("missing") && of < 1 {
				return usagef("--missing is %d; want the number of slices, from 1 up", of)
			}
			return runShardsPlan(j, s, of)
		},
	}
}

func runShardsPlan(j *job, s *shardsSettings, of int) error {
	src, o, err := s.openSource(j)
	if err != nil {
		return err
	}
	list, err := shards.Plan(j.ctx, src, s.Out, *o)
	if err := errors.Join(err, src.Close()); err != nil {
		return shardsError(err)
	}
	if of > 0 {
		j.print("%s\n", strings.Join(missingSlices(list, of), ","))
		return nil
	}
	if j.json {
		return writeJSON(j, list)
	}
	images, missing := 0, 0
	j.print("%-40s %8s %10s\n", "shard", "images", "size")
	for _, p := range list {
		state := "there"
		if !p.There {
			state = "missing"
			missing++
		}
		images += p.Images
		j.print("%-40s %8d %10s  %s\n", p.Name, p.Images, sizeText(p.Bytes), state)
	}
	j.print("%s in %s, %d missing\n", count(images, "image"), count(len(list), "shard"), missing)
	return nil
}

// missingSlices lists the slices, from 1, with a shard that is not there.
func missingSlices(list []shards.Planned, of int) []string {
	var missing []string
	for n := range of {
		for i := n; i < len(list); i += of {
			if !list[i].There {
				missing = append(missing, strconv.Itoa(n+1))
				break
			}
		}
	}
	return missing
}
