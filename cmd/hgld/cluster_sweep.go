package main

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"hgld/cluster"
	"hgld/cluster/sweep"
	"hgld/internal/pipeline"
	"hgld/internal/settings"
)

func clusterSweepCommand() *cli.Command {
	return &cli.Command{
		Name: "sweep", Usage: "measure drafts of several sizes and settings, to choose between them",
		Description: "  hgld cluster sweep                              k from 25 to 400\n" +
			"  hgld cluster sweep --ks 50,100,150 --vary algorithm=lloyd,ward --vary smooth=0,10\n" +
			"                                                  twelve drafts, one row each\n" +
			"  hgld cluster sweep --vary vectors=clip.safetensors,minilm.safetensors --ks 150\n" +
			"                                                  vectors that `hgld embed --out` made\n" +
			"  hgld cluster sweep --vary init=greedy-k-means++ --seeds 10\n" +
			"                                                  random starts, ten seeds\n" +
			"  hgld cluster sweep --truth tag_pairs.tsv --truth-where how=hand\n" +
			"                                                  purity, ARI and curation effort against known groups\n" +
			"  hgld cluster sweep --truth tag_pairs.tsv --subsample 0.1 --seeds 10\n" +
			"                                                  the same ten times, each without 10 % of the other tags\n" +
			"  hgld cluster sweep --plots figures --json       figures/inertia.svg, and a plot of every other measure",
		UsageText: overrideOnly("cluster"),
		Flags: append(stageFlags(), deviceFlag(),
			&cli.StringFlag{Name: "ks", Usage: "numbers of clusters, separated by commas",
				Value: "25,50,78,100,150,200,300,400"},
			&cli.StringSliceFlag{Name: "vary", Usage: "setting and its values, all combinations of which are tried: `KEY=A,B`, or KEY=A;B"},
			&cli.IntFlag{Name: "seeds", Usage: "number of seeds, for means, deviations and stability", Value: 3},
			&cli.Float64Flag{Name: "subsample", Usage: "leave out this share of the tags, a different one for each seed, to " +
				"see how much a draft depends on chance"},
			&cli.StringFlag{Name: "truth", Usage: "tab-separated `FILE` of tags and their true groups"},
			&cli.StringFlag{Name: "truth-where", Usage: "use only rows of that file with this value: `COLUMN=VALUE`"},
			&cli.StringFlag{Name: "plots", Usage: "folder for a plot of each measure (SVG)"},
			replaceFlag(),
		),
		Action: action(runClusterSweep),
	}
}

// clusterSweep is a run of `hgld cluster sweep`.
type clusterSweep struct {
	*job
	sweep.Sweep
	varied []sweep.Variation
	plan   *cluster.Plan
	made   string // settings that plan was made with
}

func runClusterSweep(c *cli.Context, j *job) error {
	s, err := clusterStage().Load(j.project, c)
	if err != nil {
		return err
	}
	if err := clusterStage().MissingInput(j.project, s); err != nil {
		return err
	}
	w := &clusterSweep{job: j, Sweep: sweep.Sweep{Seeds: c.Int("seeds"), Drop: c.Float64("subsample")}}
	if w.Seeds < 1 || !(w.Drop >= 0 && w.Drop < 1) {
		return usagef("--seeds is %d and --subsample %v; want 1 or more seeds, and a share from 0 to below 1", w.Seeds,
			w.Drop)
	}
	if w.varied, err = variations(c.StringSlice("vary")); err != nil {
		return err
	}
	if w.Truth, err = readTruth(c.String("truth"), c.String("truth-where")); err != nil {
		return err
	}
	var plots []pipeline.Output
	if folder := c.String("plots"); folder != "" {
		for _, path := range sweep.PlotFiles(folder) {
			plots = append(plots, pipeline.Output{Path: path, Kind: kindPlot})
		}
	}
	if err := j.checkOutputs("cluster sweep", []string{s.Tags, s.Vectors, c.String("truth")}, plots...); err != nil {
		return err
	}
	points, err := w.run(s, c.String("ks"), c.IsSet("ks"))
	if err != nil {
		return err
	}
	if folder := c.String("plots"); folder != "" {
		paths, err := sweep.Plot(folder, points)
		for _, path := range paths {
			j.log("%s written", path)
		}
		if err != nil {
			return err
		}
	}
	return j.show(points, sweep.Table(points, w.varied))
}

// readTruth reads the file of known groups at path. It returns nil if path is empty.
// where is COLUMN=VALUE or "".
func readTruth(path, where string) (*sweep.Truth, error) {
	if path != "" {
		t, err := sweep.ReadTruth(path, where)
		return t, err
	}
	if where != "" {
		return nil, usagef("--truth-where selects rows of the file of --truth, which is not given")
	}
	return nil, nil
}

// run measures every combination of settings. The number of clusters varies fastest.
func (w *clusterSweep) run(s *clusterSettings, list string, asked bool) ([]sweep.Point, error) {
	var points []sweep.Point
	for _, values := range sweep.Combinations(w.varied) {
		own, varied := *s, map[string]string{}
		fields := settings.Fields(&own)
		for i, v := range w.varied {
			varied[v.Key] = values[i]
			at, _ := settings.Find(fields, v.Key)
			if err := fields[at].Set(values[i]); err != nil {
				return nil, withCode(exitUsage, fmt.Errorf("--vary %s: %w", v.Key, err))
			}
		}
		if err := w.choose(&own); err != nil {
			return nil, err
		}
		ks, err := sweep.Sizes(list, !asked, w.plan)
		if err != nil {
			return nil, usagef("--ks: %w", err)
		}
		w.Begin = func(k int) (func(cluster.Iteration), func()) {
			return clusterProgress(w.job, "k "+strconv.Itoa(k), own.NInit)
		}
		for _, k := range ks {
			p, err := w.Measure(w.ctx, w.plan, own.options(), k, own.Seed)
			if err != nil {
				return nil, err
			}
			p.Settings = varied
			points = append(points, p)
		}
	}
	return points, nil
}

// choose returns the plan for a combination. If the vectors of the previous plan still
// apply, it only changes the clustering options and keeps the smoothed vectors and trees.
func (w *clusterSweep) choose(s *clusterSettings) error {
	same := *s
	same.Algorithm, same.Init, same.NInit, same.MaxIter, same.Join, same.Smooth, same.Seed = "", "", 0, 0, "", 0, 0
	made := fmt.Sprintf("%+v", same)
	if made == w.made {
		return w.plan.SetOptions(s.options())
	}
	w.made = made
	var err error
	w.plan, _, err = planCluster(w.job, s, 0, false)
	return err
}

// variations parses --vary. Every setting of the stage may vary except k, out, tags and
// seed.
func variations(list []string) ([]sweep.Variation, error) {
	var known []string
	for _, f := range settings.Fields(clusterStage().Defaults()) {
		if key := f.Key(); key != "k" && key != "out" && key != "tags" && key != "seed" {
			known = append(known, key)
		}
	}
	varied, err := sweep.ParseVariations(list, known)
	if err != nil {
		return nil, usagef("--vary %w", err)
	}
	return varied, nil
}
