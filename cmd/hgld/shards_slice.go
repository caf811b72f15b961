package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/jobarray"
	"hgld/shards"
)

// loadShards reads the settings of a command that shares them with `hgld shards build`.
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
		Name: "slice", Usage: "build only every T-th shard, so that several machines can fill one folder", ArgsUsage: "N/T",
		Description: "  hgld shards slice --dataset gldv2 --input gldv2 3/8          shards 3, 11, 19 …\n" +
			"  sbatch --array=1-8 --wrap 'hgld shards slice … auto/8'       task N of the array builds slice N\n" +
			"  sbatch --array=$(hgld shards plan … --missing 8) …           only the missing slices, same --wrap\n" +
			"  hgld shards slice … auto/8                                   also in Grid Engine, LSF, PBS,\n" +
			"                                                               Kubernetes, AWS and Google Batch\n" +
			"  hgld shards finish …                                         once, at the end, with the same settings",
		Flags: append(append(flagsOf(shardsStage().Defaults()), stageFlags()...), replaceFlag(), memoryFlag(), scratchFlag()),
		Action: func(c *cli.Context) error {
			j, s, err := loadShards(c)
			if err := errors.Join(err, limitMemory(c)); err != nil {
				return err
			}
			if len(j.args) != 1 {
				return usagef("name one slice, such as 3/8; got %.80q", strings.Join(j.args, " "))
			}
			n, of, err := jobarray.Slice(j.args[0], os.Getenv)
			if err != nil {
				return withCode(exitUsage, err)
			}
			if err := shardsStage().CheckOutputs(j, s); err != nil {
				return err
			}
			scratch := c.String("scratch")
			if err := checkScratch(scratch, s.Out); err != nil {
				return err
			}
			return runShardsSlice(j, s, n, of, func(o *shards.Options) { o.Replace, o.Scratch = c.Bool("replace"), scratch })
		},
	}
}

// memoryFlag bounds what a command takes beside its data.
func memoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "memory", Usage: "free memory early, to stay below this `SIZE`, such as 500MB, if the data " +
		"fits; empty: no limit"}
}

// limitMemory sets the limit of memoryFlag. Close to it, the command is slower.
func limitMemory(c *cli.Context) error {
	text := c.String("memory")
	if text == "" {
		return nil
	}
	size, err := shards.ParseSize(text)
	if err != nil {
		return usagef("--memory: %w", err)
	}
	debug.SetMemoryLimit(size)
	return nil
}

func runShardsSlice(j *job, s *shardsSettings, n, of int, with func(*shards.Options)) error {
	src, o, err := s.openSource(j, shards.OfSlice(n, of))
	if err != nil {
		return err
	}
	with(o)
	if o.Made, err = s.provenance(j); err != nil {
		return errors.Join(err, src.Close())
	}
	end := showImages(j, o)
	r, err := shards.BuildSlice(j.ctx, src, s.Out, n, of, *o)
	end()
	if err := errors.Join(err, src.Close()); err != nil {
		listRefused(j, err)
		return shardsError(err)
	}
	s.sayUnknown(j, src)
	if j.json {
		err = writeJSON(j, map[string]any{"slice": n, "of": of, "shards": r.Shards, "kept": r.Kept, "images": r.Images,
			"failures": len(r.Failures)})
	} else {
		j.print("slice %d of %d: %s in %s, %d there already\n", n, of, count(r.Images, "image"), count(r.Shards, "shard"),
			r.Kept)
	}
	return errors.Join(err, failureError(r.Failures,
		"`hgld shards finish` lists them in "+shards.FailuresFile))
}

func shardsPlanCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "list the shards that a build would write, and which exist",
		Description: "  hgld shards plan                      every shard with its images\n" +
			"  hgld shards plan --missing 8          the slices out of 8 that miss a shard, such as 2,5, for\n" +
			"                                        sbatch --array=$(…) --wrap 'hgld shards slice … auto/8'",
		Flags: append(flagsOf(shardsStage().Defaults()), append(stageFlags(),
			memoryFlag(), &cli.IntFlag{Name: "missing", Usage: "print only which of `T` slices must still run, such as 2,5,7"})...),
		Action: func(c *cli.Context) error {
			j, s, err := loadShards(c)
			if err := errors.Join(err, limitMemory(c)); err != nil {
				return err
			}
			of := c.Int("missing")
			if c.IsSet("missing") && of < 1 {
				return usagef("--missing is %d; want the number of slices, 1 or more", of)
			}
			return runShardsPlan(j, s, of)
		},
	}
}

func runShardsPlan(j *job, s *shardsSettings, of int) error {
	src, o, err := s.openSource(j, func(int) bool { return false })
	if err != nil {
		return err
	}
	if of > 0 {
		missing, err := shards.MissingSlices(j.ctx, src, s.Out, *o, of)
		if err := errors.Join(err, src.Close()); err != nil {
			return shardsError(err)
		}
		j.print("%s\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(missing), " ", ","), "[]"))
		return nil
	}
	list, err := shards.Plan(j.ctx, src, s.Out, *o)
	if err := errors.Join(err, src.Close()); err != nil {
		return shardsError(err)
	}
	return j.show(list, shards.PlanText(list))
}
